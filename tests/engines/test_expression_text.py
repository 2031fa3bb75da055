"""Derived columns: the database computes what the book says, on every row, and nothing leaves its extent."""

from __future__ import annotations

import datetime as dt
import random
from fractions import Fraction
from typing import Any

import pytest

from sordino.engines.source import open_source
from sordino.errors import QueryError
from sordino.lab.awkward_frames import (
    AGES,
    BANDS,
    GROUPS,
    MOMENTS,
    NESTED,
    OLD,
    PLACES,
    RATE,
    SOLO,
    SPLIT,
    STAY,
    SUM,
    TENS,
    WEIGHTS,
    WHOLE,
    YEARS,
    name,
)  # fmt: skip
from sordino.lab.awkward_tables import AGE, COLUMNS, PERSON, WEIGHT, awkward, person
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Compare,
    Constant,
    Expression,
    IsNull,
    Leaf,
    Like,
    Literal,
    Name,
    Not,
)
from sordino.schema.frame import Frame, fit, fit_column, fit_predicate
from sordino.schema.interval import derive

from .derived import grow, legal, made
from .everything import everything


def rows(engine: Any, frame: Frame, salt: int = 12345) -> list[Any]:
    """Every row of a bounded table, in some order of its own: keys, grid integers, flags."""
    with engine.bounded(frame, salt) as bounded:
        if isinstance(engine, Reference):
            found = [(*row[1], *row[2], *row[3]) for group in bounded.groups.values() for row in group]
        else:
            names = ", ".join((*bounded._text.keys, *bounded._text.content))
            found = bounded._cursor.execute(f"SELECT {names} FROM {bounded._table} AS bounded").fetchall()
    return sorted(found, key=repr)


@pytest.mark.parametrize("portable", [True, False])
def test_the_database_computes_every_expression_as_the_book_does(portable: bool) -> None:
    table = awkward(250, seed=4)
    columns = tuple({column.name: column for column in SOLO}.values())
    frames = [Frame(PrivacyUnit(), columns=columns)]
    frames.append(Frame(person(2, 1), PERSON, where=Compare("<", name(SUM), Literal(Fraction(307, 2))), columns=columns[:12]))
    with open_source(table, COLUMNS, portable=portable, threads=2) as engine:
        for frame in frames[: 1 if not portable else None]:
            assert rows(engine, frame) == rows(Reference(table, COLUMNS), frame)


def test_group_keys_are_the_values_an_expression_can_have() -> None:
    assert BANDS.keys == ("old", "young", None)
    assert TENS.keys == tuple(range(13))
    assert WHOLE.keys == (False, True)
    assert YEARS.keys == tuple(range(1950, 2021))
    assert PLACES.keys == ("ulm", "Ulm", "a'b", "nowhere", "😀", "unknown")
    assert SPLIT.keys == ("ulm", "Ulm", "a'b", "nowhere", None, "😀", "young")
    assert derive(Arithmetic("*", AGES, Constant(100))).keys == tuple(range(0, 12_001, 100))
    assert derive(Arithmetic("*", AGES, AGES)).keys is None
    assert derive(Case(((OLD, Leaf(Column("city", "cat"))),))).keys is None


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("unit", [PrivacyUnit(), person(2, 2)])
def test_groups_by_an_expression_are_the_oracles(name: str, unit: PrivacyUnit) -> None:
    table = awkward(400, seed=6)
    frame = Frame(unit, PERSON if unit.column else None, by=GROUPS[name], columns=(AGE, SOLO[0]), counted=(OLD,))
    with open_source(table, COLUMNS, portable=True) as engine:
        assert everything(engine, frame) == everything(Reference(table, COLUMNS), frame)


CONDITIONS = [
    Compare(op, name(item), Literal(value))
    for op in ("=", "<>", "<", "<=", ">", ">=")
    for item, value in (
        (SUM, Fraction(3529, 100)),
        (SUM, Fraction(1, 3)),
        (RATE, Fraction(1, 4)),
        (Arithmetic("*", AGES, Constant(2)), 70),
        (STAY, 0),
        (Cast(MOMENTS, "date"), dt.date(2020, 6, 1)),
    )
]


def test_conditions_on_expressions_are_decided_as_the_oracle_decides_them() -> None:
    table = awkward(200, seed=8)
    bands = Name(BANDS.name, BANDS.expression)
    more = (
        Compare("=", bands, Literal("old")),
        IsNull(bands),
        Like(bands, "y%"),
        Compare("=", Name(WHOLE.name, WHOLE.expression), Literal(True)),
    )
    frame = Frame(PrivacyUnit(), counted=(*CONDITIONS, *more, *map(Not, CONDITIONS)))
    with open_source(table, COLUMNS) as engine:
        assert rows(engine, frame) == rows(Reference(table, COLUMNS), frame)


def test_a_filter_narrows_what_an_expression_is_computed_from_and_changes_no_kept_value() -> None:
    where = And((Compare(">=", Name("age"), Literal(30)), Compare("<", Name("age"), Literal(90)), Compare(">", name(SUM), Literal(40))))
    columns = (SOLO[0], derive(RATE), derive(NESTED), derive(Case(((OLD, Arithmetic("*", AGES, AGES)),), Constant(0))))
    narrow = tuple(fit_column(column, where) for column in columns)
    assert [column.bounds for column in narrow] != [column.bounds for column in columns]
    assert fit_column(TENS, where).keys == (3, 4, 5, 6, 7, 8)
    assert narrow[1].bounds[1] < columns[1].bounds[1]
    table = awkward(400, seed=11)
    wide = Frame(PrivacyUnit(), where=where, columns=columns)
    tight = Frame(PrivacyUnit(), where=fit_predicate(where, where), columns=narrow)
    reference = Reference(table, COLUMNS)
    with open_source(table, COLUMNS) as engine:
        for frame in (wide, tight):
            assert rows(engine, frame) == rows(reference, frame)
    kept = [row for row in reference.rows if reference._made(wide, row) is not None]
    assert len(kept) > 20
    for before, after in zip(columns, narrow, strict=True):
        assert [made(before.expression, row) for row in kept] == [made(after.expression, row) for row in kept]


def test_any_legal_expression_is_computed_as_the_book_does() -> None:
    dice = random.Random(12)
    items: dict[str, Expression] = {}
    while len(items) < 160:
        item = grow(dice)
        if legal(item):
            items[derive(item).name] = item
    table, columns = awkward(60, seed=13), [derive(item) for item in items.values()]
    with open_source(table, COLUMNS) as engine:
        for start in range(0, len(columns), 20):
            frame = Frame(PrivacyUnit(), columns=tuple(columns[start : start + 20]))
            assert rows(engine, frame) == rows(Reference(table, COLUMNS), frame)


WIDE = (
    Column("whole", "int", bounds=(-(2**60), 2**60)),
    Column("above", "int", bounds=(2**60 - 5, 2**61 - 1)),
    Column("cents", "decimal", bounds=(-(10**15), 10**15), scale=2),
    Column("fine", "decimal", bounds=(-1, 2), scale=18),
    Column("far", "float", bounds=(-1e150, 1e150)),
    Column("near", "float", bounds=(-1e-140, 1e-140)),
    Column("away", "float", bounds=(1e-149, 1e10)),
)


def test_nothing_overflows_where_numbers_end() -> None:
    """Whatever is legal is computed without an error on the worst values there are, and its integers stay on the grid."""
    ends = [
        None,
        0,
        1,
        -1,
        2**63 - 1,
        -(2**63),
        2**61,
        1e300,
        -1e300,
        5e-324,
        -5e-324,
        float("inf"),
        float("-inf"),
        float("nan"),
        1e-150,
        0.5,
    ]
    exact = ["0.999999999999999999", "-0.000000000000000001", "99999999999999999999", "1e-18", "-1e40"]
    dice = random.Random(31)
    table = {column.name: [dice.choice(ends + exact) for _ in range(60)] for column in WIDE}
    columns: dict[str, Column] = {}
    while len(columns) < 240:
        item = grow(dice, leaves=tuple(map(Leaf, WIDE)))
        if legal(item):
            columns[derive(item).name] = derive(item)
    chosen = list(columns.values())
    with open_source(table, WIDE) as engine:
        for start in range(0, len(chosen), 30):
            part = tuple(chosen[start : start + 30])
            for row in rows(engine, Frame(PrivacyUnit(), columns=part)):
                assert all(q is None or 0 <= q <= column.grid().width for q, column in zip(row, part, strict=True))


def test_a_branch_may_rely_on_its_own_condition() -> None:
    safe = Case(((Compare(">=", Name("weight"), Literal(Fraction(1))), Arithmetic("/", Constant(1), WEIGHTS)),), Constant(0))
    with pytest.raises(QueryError, match="arbitrarily close to zero"):
        derive(safe)
    assert derive(fit(safe, None)).bounds == (0.0, 1.0)


def test_a_statement_is_as_long_as_its_expressions_and_not_longer() -> None:
    """Written wherever it is used, a value that is doubled six times would fill the statement sixty-four times and more."""
    from sordino.engines.scan import Scan
    from sordino.engines.text import Text
    from sordino.engines.value_text import Field

    item: Expression = Call("least", (WEIGHTS, Constant(3)))
    for _ in range(6):
        item = Call("least", (Call("round", (Arithmetic("*", item, item),), 2), Constant(3)))
    frame = Frame(PrivacyUnit(), columns=(Column("x", "decimal", bounds=(-1, 4), scale=2, expression=item),))
    text = Text(frame, {"weight": WEIGHT}, Scan("source", {"weight": Field("x", "text")}), 0).clipped()
    assert len(text) < 8_000
