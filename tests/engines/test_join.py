"""Public tables beside a private one: at most one public row each, whatever either table holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sordino.engines.source import open_source, read_public
from sordino.errors import QueryError
from sordino.lab.awkward_frames import BEDS, BESIDE, JOINED, WARD_TABLE, WITHIN
from sordino.lab.awkward_tables import AGE, COLUMNS, PERSON, WARD, awkward, person
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame, Join
from sordino.summaries.totals import Item, Totals

from .everything import everything


@pytest.mark.parametrize("rows", [0, 1, 400])
@pytest.mark.parametrize("name", JOINED)
def test_every_answer_beside_public_tables_is_the_oracles(name: str, rows: int) -> None:
    table, frame = awkward(rows, seed=21), JOINED[name]
    with open_source(table, COLUMNS, portable=True, threads=2) as engine:
        engine.check(frame)
        assert everything(engine, frame) == everything(Reference(table, COLUMNS), frame)


def counted(frame: Frame, table: dict[str, list[object]]) -> tuple[int, int]:
    with open_source(table, (PERSON, AGE, WARD)) as engine, engine.bounded(frame, 5) as bounded:
        found = bounded.ask(Totals((Item("rows"), Item("units"))))
        return tuple(int(values[0]) for values in found.values.values())


def test_a_person_with_many_rows_and_a_public_table_with_repeated_keys_stay_within_the_units_bound() -> None:
    """The declaration says unique and the table is not: the engine alone must keep one row per row."""
    wrong = replace(WARD_TABLE, rows={name: [cell for cell in cells for _ in range(50)] for name, cells in WARD_TABLE.rows.items()})
    table = {"person": ["one"] * 5_000 + ["two", "two"], "age": [1] * 5_002, "ward": [1] * 5_002}
    for outer in (True, False):
        join = Join("wards", wrong, (("ward", "ward"),), outer)
        for columns in ((AGE,), (AGE, BEDS)):
            assert counted(Frame(person(3, 1), PERSON, columns=columns, joins=(join,)), table) == (5, 2)
            assert counted(Frame(PrivacyUnit(), columns=columns, joins=(join,)), table) == (5_002, 5_002)


def test_keys_that_are_spelled_differently_and_mean_the_same_cannot_match_twice() -> None:
    cells = {"ward": [1, 1], "beds": [3, 4], "kind": ["eye", "ear"], "rate": ["1", "1.0"], "town": ["a", "b"], "open": [1, 1]}
    join = Join("wards", replace(WARD_TABLE, rows=cells), (("ward", "ward"), ("price", "rate")), outer=True)
    table = {"person": [1, 2], "age": [1, 1], "ward": [1, 1], "price": ["1.00", 1]}
    price = Column("price", "decimal", bounds=(0, 10), scale=2)
    frame = Frame(person(9, 1), PERSON, columns=(BEDS,), joins=(join,))
    with open_source(table, (PERSON, AGE, WARD, price)) as engine, engine.bounded(frame, 5) as bounded:
        found = bounded.ask(Totals((Item("rows"), Item("sum", "wards.beds"))))
        assert [int(values[0]) for values in found.values.values()] == [2, 6]


def test_removing_one_person_changes_nobody_elses_joined_rows() -> None:
    table = awkward(300, seed=5)
    frame = replace(JOINED["by kind"], joins=(BESIDE,))

    def chosen(rows: dict[str, list[object]]) -> dict[object, list[str]]:
        kept: dict[object, list[str]] = {}
        with open_source(rows, COLUMNS) as engine, engine.bounded(frame, 99) as bounded:
            for unit, *row in bounded._cursor.execute(f"SELECT * FROM {bounded._table}").fetchall():
                kept.setdefault(unit, []).append(repr(row))
        return {unit: sorted(rows) for unit, rows in kept.items()}

    before = chosen(table)
    stay = [i for i, who in enumerate(table["person"]) if who != 4]
    after = chosen({name: [values[i] for i in reversed(stay)] for name, values in table.items()})
    assert after == {unit: rows for unit, rows in before.items() if unit != 4}


def declared() -> dict[str, Column]:
    return {"region": Column("region", "int", bounds=(0, 99)), "rate": Column("rate", "decimal", bounds=(0, 9), scale=1, nulls=3)}


def test_a_public_table_is_read_with_its_declared_types(tmp_path) -> None:
    path = tmp_path / "regions.csv"
    path.write_text("region,rate,name\n1,0.55,north\n02,,south\n,9,nowhere\n,9,nowhere\nx,1,\n3,n/a,east\n")
    found = read_public("regions", path, declared(), ("region",))
    assert found.rows["region"] == [1, 2, None, None, None, 3]
    assert [None if cell is None else float(cell) for cell in found.rows["rate"]] == [0.55, 3, 9, 9, 1, 3]
    assert found.rows["name"] == ["north", "south", "nowhere", "nowhere", None, "east"]
    assert found.columns["name"] == Column("name", "cat")
    assert "north" not in repr(found)


@pytest.mark.parametrize(
    ("text", "unique", "say"),
    [
        ("region,rate\n1,2\n01,3\n", ("region",), "several rows with 'region' = 1"),
        ("region,rate\n1,2\n1,2\n", ("region", "rate"), "several rows"),
        ("region,rate\n1,2\n", ("regio",), "Did you mean 'region'"),
        ("region\n1\n", ("region",), "rate"),
    ],
)
def test_a_public_table_that_breaks_its_promise_is_refused_when_it_is_opened(tmp_path, text, unique, say) -> None:
    path = tmp_path / "regions.csv"
    path.write_text(text)
    with pytest.raises(QueryError, match=r"SRD-20[14]") as caught:
        read_public("regions", path, declared(), unique)
    assert say in str(caught.value)


def test_what_cannot_be_equal_cannot_be_a_key(tmp_path) -> None:
    path = tmp_path / "regions.csv"
    path.write_text("region\n1\n")
    with pytest.raises(QueryError, match="SRD-203"):
        read_public("regions", path, {"region": Column("region", "float", bounds=(0, 1))}, ("region",))


def test_joined_columns_are_null_where_nothing_matches_whatever_the_table_says() -> None:
    assert all(column.nulls == "drop" for column in WITHIN.columns.values())
    assert BEDS.name == "wards.beds"
    assert WITHIN.own("wards.beds") == "beds"
