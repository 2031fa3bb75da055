"""Text has a public length: what follows is never looked at, and a long id is compared by its hash."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.engines.expression_text import Layers
from sordino.engines.postgres import Postgres
from sordino.engines.source import open_source
from sordino.engines.value_text import SHORT, id_of, joined
from sordino.errors import QueryError
from sordino.lab.awkward_tables import PERSON, person
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.declaration import declare
from sordino.schema.expression import Call, Compare, Constant, IsNull, Leaf, Like, Literal, Name
from sordino.schema.frame import Frame
from sordino.schema.interval import LENGTHS, derive
from sordino.schema.view import Chosen, PersonJoin, PrivateTable, text_lengths
from sordino.summaries.totals import Item, Totals

from .test_conformance import stored

ROWS, UNITS = Item("rows"), Item("units")
NOTES = ["a" * 300, "a" * 256, "a" * 256 + "b", "ä" * 300, "short", None, "😀" * 400]
IDS = ["x" * 65, "x" * 65, "x" * 64, "x" * 66, "x" * 100_000 + "1", "x" * 100_000 + "2", "y", "ä" * 33]


def counts(engine: Any, frame: Frame) -> tuple[Any, list[int]]:
    with engine.bounded(frame, 3) as bounded:
        found = bounded.ask(Totals((UNITS if frame.unit_column else ROWS,)))
        return found.keys, [int(value) for value in next(iter(found.values.values()))]


def engines(table: pa.Table, columns: tuple[Column, ...], folder: Path, postgres: Any) -> list[Any]:
    pq.write_table(table, folder / "t.parquet")
    opened = [open_source(source, columns, portable=True) for source in (table, table.to_pydict(), folder / "t.parquet")]
    return [*opened, Postgres(stored(postgres.address, table), columns)]


def test_text_is_cut_on_every_engine(tmp_path: Path, postgres: Any) -> None:
    for length in (256, 3):
        note = Column("note", "cat", max_length=length)
        expected: dict[Any, int] = {}
        for value in NOTES:
            cut = None if value is None else value[:length]
            expected[(cut,)] = expected.get((cut,), 0) + 1
        for engine in engines(pa.table({"note": NOTES}), (note,), tmp_path, postgres):
            keys, found = counts(engine, Frame(PrivacyUnit(), by=(note,)))
            assert dict(zip(keys, found, strict=True)) == expected


def test_a_pattern_sees_no_more_than_the_cut_text(tmp_path: Path, postgres: Any) -> None:
    note = Column("note", "cat")
    for engine in engines(pa.table({"note": NOTES}), (note,), tmp_path, postgres):
        assert counts(engine, Frame(PrivacyUnit(), where=Like(Name("note"), "%b")))[1] == [0]
        assert counts(engine, Frame(PrivacyUnit(), where=Like(Name("note"), "%" + "_" * 257)))[1] == [0]
        assert counts(engine, Frame(PrivacyUnit(), where=Like(Name("note"), "_" * 256)))[1] == [5]


PARTS = ["a" * 256, "a" * 15 + "b" + "a" * 240, "ä" * 256, "😀" * 250 + "b", "b" * 200, "x", "", None]
LEAF = Leaf(Column("note", "cat"))
LONG = Call("concat", (LEAF,) * 50)  # 12,800 characters as declared
MIXED = Call("concat", (Call("concat", (Constant("<"), *(LEAF,) * 30)), Constant("!"), *(Call("lower", (LEAF,)),) * 60))


def put_together(engine: Any) -> list[int]:
    """How many rows fulfil conditions on texts that are cut where a text may end, and what the same texts say in Python."""
    long, mixed = (Name(derive(item).name, item) for item in (LONG, MIXED))
    size = Name("size", Call("length", (LONG,)))
    asked = (
        Compare("=", size, Literal(LENGTHS)), Compare(">", size, Literal(LENGTHS)), Like(long, "%b"), Like(long, "_" * LENGTHS),
        Like(mixed, "<%!%"), Like(mixed, "%" + "_" * LENGTHS + "%"), Like(mixed, "<%b"), IsNull(mixed),
    )  # fmt: skip
    with engine.bounded(Frame(PrivacyUnit(), counted=asked), 1) as bounded:
        items = tuple(Item("counted", index=i) for i in range(len(asked)))
        found = bounded.ask(Totals(items)).values
        return [int(found[item][0]) for item in items]


def in_python() -> list[int]:
    notes = [note for note in PARTS if note is not None]
    long = [(note * 50)[:LENGTHS] for note in notes]
    mixed = [(("<" + note * 30)[:LENGTHS] + "!" + note * 60)[:LENGTHS] for note in notes]
    return [
        sum(len(text) == LENGTHS for text in long), 0, sum(text.endswith("b") for text in long), sum(len(text) == LENGTHS for text in long),
        len(mixed), sum(len(text) == LENGTHS for text in mixed), sum(text.endswith("b") for text in mixed), 1,
    ]  # fmt: skip


def test_text_that_is_put_together_is_cut_on_every_engine(tmp_path: Path, postgres: Any) -> None:
    assert in_python()[:4] == [5, 0, 2, 5]
    table = pa.table({"note": PARTS})
    for engine in (*engines(table, (LEAF.column,), tmp_path, postgres), Reference(table.to_pydict(), (LEAF.column,))):
        assert put_together(engine) == in_python(), engine


def test_no_text_in_between_is_twice_as_long_as_a_text_may_be() -> None:
    """Each part is of the declared length, so the longest text of a statement follows from it."""
    said = joined([(f"t{i}", 256) for i in range(180)] + [("long", LENGTHS)] * 9)
    while "substr" in said:
        inner = re.findall(rf"substr\(([^()]*), 1, {LENGTHS}\)", said)
        assert inner
        for text in inner:
            assert LENGTHS < sum(256 if part.startswith("t") else LENGTHS for part in text.split(" || ")) <= 2 * LENGTHS
            said = said.replace(f"substr({text}, 1, {LENGTHS})", "cut")
    assert joined([("a", 5_000), ("b", 5_000)]) == "a || b"


def test_text_that_a_view_puts_together_is_known_to_be_longer_than_a_declared_one() -> None:
    table = PrivateTable("t", (Column("who", "id"), LEAF.column), person="who")
    made = derive(LONG)
    inner = Chosen(table, (("n", made), ("m", LEAF.column)))
    assert text_lengths(inner) == {"n": LENGTHS, "m": 256}
    outer = Chosen(inner, (("k", derive(Call("right", (Leaf(inner.columns["n"]), Constant(300))))),))
    assert text_lengths(PersonJoin(inner, outer, "left", name="o")) == {"n": LENGTHS, "m": 256, "o.k": 300}
    twice = Call("concat", (Leaf(inner.columns["n"]), Leaf(inner.columns["n"])))
    base = {"n": (inner.columns["n"], "t0")}
    assert "substr" in Layers(base, text_lengths(inner))._text(twice)
    assert "substr" not in Layers(base)._text(twice)


GREEDY = ["%" + "a_%" * many + "_b" for many in (2, 4, 8, 16, 32)]  # tried place by place, 256 to the power of many steps


def test_a_pattern_with_many_stars_takes_no_more_than_its_length_times_that_of_the_text(tmp_path: Path, postgres: Any) -> None:
    note = Column("note", "cat")
    table = pa.table({"note": ["a" * 256] * 50 + ["ab" * 128] * 50})
    for engine in engines(table, (note,), tmp_path, postgres):
        start = time.monotonic()
        for pattern in GREEDY:
            assert counts(engine, Frame(PrivacyUnit(), where=Like(Name("note"), pattern)))[1] == [50]
        assert time.monotonic() - start < 30


def test_numbers_are_cut_like_the_text_they_are(tmp_path: Path, postgres: Any) -> None:
    code = Column("code", "cat", max_length=3)
    for values in ([12345, 1, 12399], [12345.0, None, 12399.0], ["12345", "1", "123"]):
        for engine in engines(pa.table({"code": values}), (code,), tmp_path, postgres):
            keys, found = counts(engine, Frame(PrivacyUnit(), by=(code,)))
            assert dict(zip(keys, found, strict=True))[("123",)] == 2


def test_long_ids_are_people_of_their_own(tmp_path: Path, postgres: Any) -> None:
    table = pa.table({"person": IDS})
    for engine in engines(table, (PERSON,), tmp_path, postgres):
        assert counts(engine, Frame(person(9, 1), PERSON))[1] == [7]
        for value in set(IDS):
            same = Frame(PrivacyUnit(), where=Compare("=", Name("person"), Literal(value)))
            assert counts(engine, same)[1] == [IDS.count(value)]
        folded = Frame(person(9, 1), PERSON, fold_ids=True)
        assert counts(engine, folded)[1] == [7]


def test_no_short_id_is_the_hash_of_a_long_one() -> None:
    sums = hashlib.md5(b"x" * 65).hexdigest() + hashlib.md5(b"#" + b"x" * 65).hexdigest()
    assert id_of("x" * 65) == "#" + sums
    assert len(id_of("x" * 65)) > SHORT
    assert id_of("x" * 64) == "x" * 64
    assert id_of(id_of("x" * 65)) != id_of("x" * 65)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"type": "cat", "values": ["a" * 257]}, "max_length = 256"),
        ({"type": "cat", "max_length": 3, "values": ["abcd"]}, "max_length = 3"),
        ({"type": "cat", "max_length": 3, "nulls": "none"}, "max_length = 3"),
        ({"type": "cat", "max_length": 0}, "from 1 to"),
        ({"type": "cat", "max_length": 10**9}, "from 1 to"),
        ({"type": "cat", "max_length": True}, "from 1 to"),
        ({"type": "int", "max_length": 3}, "Only text"),
    ],
)
def test_a_wrong_length_is_refused_at_the_door(facts: dict[str, Any], says: str) -> None:
    with pytest.raises(QueryError, match="SRD-204") as raised:
        declare({"x": facts})
    assert says in str(raised.value)


class Touched(list[Any]):
    """A column that notes that somebody looked at it."""

    seen = False

    def __iter__(self) -> Any:
        self.seen = True
        return super().__iter__()


def test_a_column_nobody_names_is_never_touched() -> None:
    note, age = Touched(NOTES), Touched(range(len(NOTES)))
    columns = (Column("note", "cat"), Column("age", "int", bounds=(0, 9)))
    with open_source({"note": note, "age": age}, columns) as engine:
        assert counts(engine, Frame(PrivacyUnit(), columns=columns[1:]))[1] == [len(NOTES)]
    assert (note.seen, age.seen) == (False, True)


def test_the_statement_reads_named_columns_alone(tmp_path: Path) -> None:
    pq.write_table(pa.table({"note": NOTES, "age": range(len(NOTES))}), tmp_path / "t.parquet")
    columns = (Column("note", "cat"), Column("age", "int", bounds=(0, 9)))
    with open_source(tmp_path / "t.parquet", columns) as engine, engine.bounded(Frame(PrivacyUnit(), columns=columns[1:]), 1) as bounded:
        plan = "\n".join(map(str, bounded._cursor.execute(f"EXPLAIN SELECT * FROM {bounded._table}").fetchall()))
    assert "age" in plan
    assert "note" not in plan
