"""The tables an engine is checked on, stored as Arrow tables of native types or of text, and the frames asked of each.

They hold what has gone wrong in one database or another: nulls, not-a-numbers and infinities, far dates, integers where 64 bits end,
letters of all kinds, text that would be read as SQL, one person with thousands of rows, no row at all.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sordino.engines.array import text_array
from sordino.errors import not_installed
from sordino.lab.awkward_frames import DERIVED, JOINED, SOLO
from sordino.lab.awkward_tables import AGE, CITY, COLUMNS, FRAMES, INF, NAN, PERSON, awkward, person
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import And, Between, Compare, In, IsNull, Like, Literal, Name, Not, Or
from sordino.schema.frame import Frame

__all__ = ["CASES", "EngineCase"]

HOSTILE = ("", "a'b", "' OR 1=1 --", "\\", "\\'", "%", "_", "100%", "a_b", "${env:HOME}", "{x}", "$1", "%s", "%(x)s", "\n", "😀", "e\u0301",
           "é", "\u202e")  # fmt: skip


@dataclass(frozen=True)
class EngineCase:
    """A table as it is stored, what its owner declares, and the frames asked of it."""

    table: Any
    columns: tuple[Column, ...]
    frames: Mapping[str, Frame]
    full: bool = False  # small enough that every request is made of every column
    brief: bool = False  # and so small that even an engine with a slow start is asked so


def arrow() -> Any:
    """pyarrow, in which every case is stored, or what to install."""
    try:
        import pyarrow
    except ImportError as error:
        raise (not_installed(error) or error) from None
    return pyarrow


def as_text(table: dict[str, list[Any]]) -> Any:
    """Everything as text but integer ids, the way a mixed column has to be stored."""
    pa, declared = arrow(), {column.name: column for column in COLUMNS}
    texts = {name: text_array(values, kind=declared[name].type).tolist() for name, values in table.items() if name != "person"}
    stored = {name: pa.array(values, pa.string()) for name, values in texts.items()}
    return pa.table({"person": pa.array(table["person"], pa.int64()), **stored})


def tidy() -> EngineCase:
    """Columns of one native type each, with nulls, not-a-numbers, infinities, far dates and letters of all kinds."""
    pa, n = arrow(), 180
    moments = [dt.datetime(2020, 1 + i % 12, 1 + i % 28, i % 24, 5, 6, 999_999 * (i % 2)) for i in range(n)]
    columns: dict[str, Any] = {
        "person": pa.array([None if i % 13 == 0 else f"{'päöñ😀'[i % 5]} {i % 11}" for i in range(n)]),
        "small": pa.array([None if i % 7 == 0 else i % 100 - 50 for i in range(n)], pa.int16()),
        "real": pa.array([[None, NAN, INF, -INF, 0.1 * i, -0.0, 1e308, 5e-324, -5e-324, 1 / 3][i % 10] for i in range(n)]),
        "single": pa.array([[None, NAN, 0.1, 7.25, -INF][i % 5] for i in range(n)], pa.float32()),
        "money": pa.array([None if i % 6 == 0 else Decimal(i * 7 - 100) / 1000 for i in range(n)], pa.decimal128(20, 3)),
        "flag": pa.array([[True, False, None][i % 3] for i in range(n)]),
        "day": pa.array(
            [[None, dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970 + i % 60, 2, 3)][i % 4] for i in range(n)], pa.date32()
        ),
        "seen": pa.array([None if i % 8 == 0 else m for i, m in enumerate(moments)], pa.timestamp("us")),
        "zoned": pa.array([None if i % 9 == 0 else m.replace(tzinfo=dt.UTC) for i, m in enumerate(moments)], pa.timestamp("us", "UTC")),
        "city": pa.array([None if i % 10 == 0 else HOSTILE[i % len(HOSTILE)] for i in range(n)]),
    }
    small = Column("small", "int", bounds=(-20, 30))
    real, single = Column("real", "float", bounds=(-1, 9)), Column("single", "float", bounds=(0, 10), resolution=Fraction(1, 100))
    ten = Column("real", "float", bounds=(-100, 100), resolution=Fraction(10))  # 5e-324 / 10 is nothing at all
    money, flag = Column("money", "decimal", bounds=("-0.05", "0.90"), scale=2), Column("flag", "bool")
    day, city = Column("day", "date", bounds=("1960-01-01", "2010-01-01")), Column("city", "cat")
    seen, zoned = (Column(name, "timestamp", bounds=("2020-02-01", "2020-11-30")) for name in ("seen", "zoned"))
    declared = (PERSON, small, real, single, money, flag, day, seen, zoned, city)
    texts = tuple(Compare("=", Name("city"), Literal(text)) for text in HOSTILE) + tuple(Like(Name("city"), text) for text in HOSTILE)
    filters = (
        Compare("<", Name("real"), Literal(Fraction(1, 10))),
        Between(Name("seen"), Literal(dt.date(2020, 3, 1)), Literal(dt.date(2020, 6, 1))),
        Compare("<", Name("seen"), Name("day")),
        Compare("<>", Name("money"), Literal(Fraction(1, 3))),
        Not(IsNull(Name("single"))),
        In(Name("small"), (Literal(1), Literal(2), Literal(None))),
        And((Compare("=", Name("flag"), Literal(True)), Like(Name("city"), "%_"))),
        Or((Compare(">", Name("zoned"), Literal(dt.datetime(2020, 5, 5, tzinfo=dt.UTC))), Compare(">=", Name("small"), Name("money")))),
    )
    every = (small, real, single, money, flag, day, seen, zoned)
    bins = Column("small", "int", bounds=(-20, 30), keys=(0, 1, 2))
    frames = {
        "everything": Frame(person(2, 1), PERSON, columns=every, counted=filters),
        "hostile texts": Frame(PrivacyUnit(), counted=texts),
        "coarse": Frame(PrivacyUnit(), by=(Column("flag", "bool"),), columns=(ten,)),
        "hostile keys": Frame(person(1, 2), PERSON, by=(Column("city", "cat", keys=(*HOSTILE, None)),), columns=(small,)),
        "by moment": Frame(person(2, 3), PERSON, by=(Column("zoned", "timestamp"), Column("day", "date")), columns=(money,)),
        "bins": Frame(person(2, 2), PERSON, by=(bins,), columns=(real,), edges=(0, 10, 30, 50), where=Not(IsNull(Name("city")))),
        "folded": Frame(person(1, 1), PERSON, fold_ids=True, columns=(single,)),
    }
    return EngineCase(pa.table(columns), declared, frames, full=True)


def wide() -> EngineCase:
    """Integers, decimals and doubles where 64 bits end."""
    pa = arrow()
    whole = [None, 0, 2**53 + 1, 2**53 + 3, 2**62, -(2**62), 2**63 - 1, -(2**63), *[2**61 - 1] * 20]
    long = [None, Decimal(10) ** 37, -(Decimal(10) ** 37), Decimal("12345678901234567890"), *[Decimal(2**60 + i) for i in range(24)]]
    seventh = Decimal(1) / Decimal(10) ** 18 * 142_857_142_857_142_857
    fine = [None, Decimal("99999999999999999999.999999999999999999"), Decimal("-0.000000000000000001"), *[seventh * i for i in range(25)]]
    far = [None, NAN, INF, 0.0, *[2.0**100 + i * 2.0**50 for i in range(24)]]
    below = [None if value is None else -value for value in far]
    columns = {
        "whole": pa.array(whole, pa.int64()),
        "long": pa.array(long, pa.decimal128(38, 0)),
        "fine": pa.array(fine, pa.decimal128(38, 18)),
        "far": pa.array(far),
        "below": pa.array(below),
        "spelled": pa.array([None if v is None else str(v) for v in long], pa.string()),
    }
    table = pa.table(columns)
    declared = (
        Column("whole", "int", bounds=(0, 2**61)),
        Column("long", "int", bounds=(-(2**60), 2**60 + 20)),
        Column("fine", "decimal", bounds=("-1", "3.5"), scale=15),
        Column("far", "float", bounds=(2**100, 2**100 + 2**55), resolution=Fraction(2**20)),
        Column("below", "float", bounds=(-(2**100) - 2**55, -(2**100)), resolution=Fraction(2**20)),
        Column("spelled", "decimal", bounds=(0, 2**40), scale=2),
    )
    return EngineCase(table, declared, {"rows": Frame(PrivacyUnit(), columns=declared)}, full=True)


def crowd() -> EngineCase:
    """One person with thousands of rows, all of them ties, ids that differ by a space, and more public keys than a statement lists."""
    pa, n = arrow(), 2_000
    people = ["one"] * n + ["two", " two", "TWO", "", None, None, "one "] * 3
    table = pa.table(
        {
            "person": pa.array(people),
            "age": pa.array([i % 7 for i in range(len(people))], pa.int64()),
            "city": pa.array([["Ulm", "ulm", None][i % 3] for i in range(len(people))]),
            "key": pa.array([i % 1_500 for i in range(len(people))], pa.int32()),
        }
    )
    many = Column("key", "int", bounds=(0, 5_000), keys=tuple(range(1_100)))
    frames = {
        "all ties": Frame(person(5, 1), PERSON, columns=(AGE,)),
        "by city": Frame(person(3, 2), PERSON, by=(CITY,), columns=(AGE,)),
        "many keys": Frame(person(1, 40), PERSON, by=(many,)),
        "folded": Frame(person(4, 1), PERSON, fold_ids=True, by=(CITY,), columns=(AGE,)),
    }
    return EngineCase(table, (PERSON, AGE, CITY, many), frames, full=True)


def brief() -> EngineCase:
    """One frame, small enough that even an engine with a slow start is asked every kind of request about every column."""
    return EngineCase(as_text(awkward(60)), COLUMNS, {"people by": FRAMES["people by"]}, full=True, brief=True)


def expressions() -> EngineCase:
    """Every expression there is, a dozen in a frame."""
    columns = tuple({column.name: column for column in SOLO}.values())
    frames = {f"expressions {i + 1} to {min(i + 12, len(columns))}": columns[i : i + 12] for i in range(0, len(columns), 12)}
    return EngineCase(as_text(awkward(120, seed=4)), COLUMNS, {name: Frame(PrivacyUnit(), columns=part) for name, part in frames.items()})


def ids() -> EngineCase:
    """The same people under ids of every storage, and ids no integer says: halves, flags, text that looks like a number."""
    import pyarrow as pa

    kinds = {"short": pa.int16(), "long": pa.int64(), "double": pa.float64(), "exact": pa.decimal128(12, 2)}
    kinds |= {"wide": pa.decimal128(38, 18), "text": pa.string()}
    some: list[Any] = [None if i % 11 == 10 else i * 7 % 23 - 5 for i in range(200)]
    columns: dict[str, Any] = {name: pa.array([as_id(v, name) for v in some], kind) for name, kind in kinds.items()}
    columns["flag"] = pa.array([None if v is None else v % 2 == 0 for v in some], pa.bool_())
    columns["half"] = pa.array([None if v is None else -0.0 if v == 0 else v / 2 for v in some], pa.float64())
    columns["spelled"] = pa.array([None if v is None else (f"{v}", f"{v}.0", f" {v}")[i % 3] for i, v in enumerate(some)], pa.string())
    columns["age"] = pa.array([i * 13 % 121 for i in range(200)], pa.int64())
    declared = (*(Column(name, "id") for name in columns if name != "age"), AGE)
    frames = {
        f"{column.name}, {rows}": Frame(PrivacyUnit(column.name, max_rows=rows), column, fold_ids=fold, columns=(AGE,))
        for column in declared[:-1]
        for rows, fold in ((1, False), (4, True))
    }
    return EngineCase(pa.table(columns), declared, frames)


def as_id(value: int | None, name: str) -> Any:
    made: dict[str, Callable[[int], Any]] = {"double": float, "exact": Decimal, "wide": Decimal, "text": str}
    return None if value is None else made.get(name, int)(value)


SOME = ("rows", "people by", "rows by public", "people by two")
CASES: dict[str, Callable[[], EngineCase]] = {
    "awkward": lambda: EngineCase(as_text(awkward(400)), COLUMNS, FRAMES),
    "nobody": lambda: EngineCase(as_text(awkward(0)), COLUMNS, {name: FRAMES[name] for name in SOME}),
    "one row": lambda: EngineCase(as_text(awkward(1)), COLUMNS, {name: FRAMES[name] for name in SOME}),
    "tidy": tidy,
    "wide": wide,
    "crowd": crowd,
    "brief": brief,
    "ids": ids,
    "derived": lambda: EngineCase(as_text(awkward(120)), COLUMNS, DERIVED),
    "expressions": expressions,
    "joined": lambda: EngineCase(as_text(awkward(120)), COLUMNS, JOINED),
}
