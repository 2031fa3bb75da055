"""The DuckDB engine against the oracle, and its locks."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.engines.source import open_source
from sordino.errors import QueryError, ReleaseFailed
from sordino.lab.awkward_tables import AGE, CITY, COLUMNS, FRAMES, PERSON, awkward, person
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.request import rank_window
from sordino.summaries.totals import Item, Ranks, Totals

from .everything import everything


@pytest.mark.parametrize("rows", [0, 1, 2, 400])
@pytest.mark.parametrize("name", FRAMES)
def test_every_answer_on_an_awkward_table_is_the_oracles(name: str, rows: int) -> None:
    table, frame = awkward(rows), FRAMES[name]
    with open_source(table, COLUMNS, portable=True, threads=2) as engine:
        assert everything(engine, frame) == everything(Reference(table, COLUMNS), frame)


def test_all_ties_and_one_person_with_a_hundred_thousand_rows() -> None:
    table = {"person": [1] * 100_000 + [2, 3, 3], "age": [*range(100_000), 7, 7, 7], "city": ["Ulm"] * 100_003}
    for frame in (Frame(person(5, 1), PERSON, columns=(AGE,)), Frame(person(5, 1), PERSON, by=(CITY,), columns=(AGE,))):
        with open_source(table, (PERSON, AGE, CITY), portable=True) as engine:
            found = everything(engine, frame)
            assert found == everything(Reference(table, (PERSON, AGE, CITY)), frame)
            assert found[1][0] == (Item("rows"), [8])


def test_ids_that_differ_by_case_or_space_are_people_of_their_own_unless_folded() -> None:
    table = {"person": ["ann", "Ann", " ann", "ANN ", "bob", None], "age": [1, 2, 3, 4, 5, 6]}
    for fold, people in ((False, 5), (True, 2)):
        frame = Frame(person(1, 1), PERSON, fold_ids=fold, columns=(AGE,))
        with open_source(table, (PERSON, AGE), portable=True) as engine:
            assert everything(engine, frame) == everything(Reference(table, (PERSON, AGE)), frame)
            assert everything(engine, frame)[1][1] == (Item("units"), [people])


def test_integers_are_exact_beyond_doubles_and_beyond_64_bits() -> None:
    wide = Column("x", "int", bounds=(0, 2**61))
    values = [2**53 + 1, 2**53 + 3, *[2**61 - 1] * 20]
    with open_source({"x": np.array(values)}, (wide,)) as engine, engine.bounded(Frame(PrivacyUnit(), columns=(wide,)), 0) as bounded:
        total, squares = Item("sum", "x"), Item("squares", "x")
        found = bounded.ask(Totals((total, squares))).values
        assert found[total].tolist() == [sum(values)]
        assert found[squares].tolist() == [sum((v >> 42) ** 2 for v in values)]
        window = next(bounded.ask(Ranks("x", (Fraction(0),), 2)))[0]
        assert window.values.tolist() == rank_window(np.sort(values), Fraction(0), 2, 0, 2**61).values.tolist()
    with open_source({"x": [2**53 + 1]}, (wide,)) as engine, engine.bounded(Frame(PrivacyUnit(), columns=(wide,)), 0) as bounded:
        alone = bounded.ask(Totals((total,))).values[total]
        assert alone.dtype == np.int64
        assert alone.tolist() == [2**53 + 1]


def shuffled(table: dict[str, list[object]], seed: int) -> dict[str, list[object]]:
    order = list(range(len(table["person"])))
    random.Random(seed).shuffle(order)
    return {name: [values[i] for i in order] for name, values in table.items()}


@pytest.mark.parametrize("portable", [True, False])
def test_row_order_and_threads_change_nothing(portable: bool) -> None:
    table = awkward(500, seed=3)
    for name in ("people by", "people by two", "rows"):
        found = []
        for seed, threads in ((0, 1), (1, 2), (2, 4)):
            with open_source(shuffled(table, seed), COLUMNS, portable=portable, threads=threads) as engine:
                found.append(everything(engine, FRAMES[name]))
        assert found[0] == found[1] == found[2]


def chosen(engine: object, frame: Frame, salt: int) -> dict[object, list[object]]:
    """The rows each person keeps, as the bounded table holds them."""
    kept: dict[object, list[object]] = {}
    with engine.bounded(frame, salt) as bounded:  # type: ignore[attr-defined]
        for unit, *row in bounded._cursor.execute(f"SELECT * FROM {bounded._table}").fetchall():
            kept.setdefault(unit, []).append(repr(row))
    return {unit: sorted(rows) for unit, rows in kept.items()}


@pytest.mark.parametrize("portable", [True, False])
@pytest.mark.parametrize("name", ["people", "people by", "people by two", "people by public"])
def test_removing_one_person_changes_nobody_elses_rows(name: str, portable: bool) -> None:
    table = awkward(300, seed=5)
    with open_source(table, COLUMNS, portable=portable) as engine:
        before = chosen(engine, FRAMES[name], 99)
        other_salt = chosen(engine, FRAMES[name], 100)
    assert before != other_salt
    for leaver in (1, 4, 8):
        stay = [i for i, who in enumerate(table["person"]) if who != leaver]
        rest = shuffled({column: [values[i] for i in stay] for column, values in table.items()}, leaver)
        with open_source(rest, COLUMNS, portable=portable, threads=1) as engine:
            assert chosen(engine, FRAMES[name], 99) == {unit: rows for unit, rows in before.items() if unit != leaver}


@pytest.mark.parametrize("portable", [True, False])
def test_every_group_and_every_row_is_as_likely_to_be_kept(portable: bool) -> None:
    people = 6_000
    table = {
        "person": [p for p in range(people) for _ in range(5)],
        "city": ["a", "b", "c", "d", "e"] * people,
        "age": [1, 2, 3, 4, 5] * people,
    }
    with open_source(table, (PERSON, CITY, AGE), portable=portable) as engine:
        for frame in (Frame(person(1, 1), PERSON, by=(CITY,)), Frame(person(1, 1), PERSON, columns=(AGE,), by=(AGE,))):
            with engine.bounded(frame, 2**100 + 7) as bounded:
                counts = bounded.ask(Totals((Item("rows"),))).values[Item("rows")]
            assert counts.sum() == people
            assert np.abs(counts - people / 5).max() < 5 * np.sqrt(people * 0.2 * 0.8)


def test_private_groups_come_in_byte_order_and_ranks_read_only_those_named() -> None:
    table = {"city": ["b", "a", "ä", None, "b", "B"], "age": [1, 2, 3, 4, 5, 6]}
    with open_source(table, (CITY, AGE)) as engine, engine.bounded(Frame(PrivacyUnit(), by=(CITY,), columns=(AGE,)), 0) as bounded:
        assert bounded.ask(Totals((Item("rows"),))).keys == (("B",), (None,), ("a",), ("b",), ("ä",))
        named = list(bounded.ask(Ranks("age", (Fraction(1, 2),), 1, keys=(("b",), ("zz",), (None,)))))
        assert [window.n for (window,) in named] == [2, 0, 1]
        assert named[0][0].values.tolist() == [1, 5]


def test_the_database_is_locked(tmp_path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    with open_source(awkward(5), COLUMNS) as engine, engine.bounded(FRAMES["people"], 1) as bounded:
        for statement in (
            f"SELECT * FROM read_csv('{secret}')",
            f"SELECT * FROM '{secret}'",
            f"SELECT * FROM read_text('{secret}')",
            "SELECT * FROM glob('/*')",
            f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
            f"ATTACH '{tmp_path / 'other.duckdb'}'",
            f"EXPORT DATABASE '{tmp_path / 'all'}'",
            "SET memory_limit = '1TB'",
            "SET enable_external_access = true",
            "SET lock_configuration = false",
            "RESET threads",
            "INSTALL httpfs",
            "LOAD httpfs",
        ):
            cursor = engine._connection.cursor()
            with pytest.raises(duckdb.Error):
                cursor.execute(statement)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.csv"]
        assert repr(bounded) == "Answer(private)"


def test_a_closed_engine_says_so() -> None:
    engine = open_source(awkward(5), COLUMNS)
    engine.close()
    engine.close()
    with pytest.raises(QueryError, match="SRD-205"), engine.bounded(FRAMES["people"], 1):
        pass


def test_two_releases_at_once_do_not_see_each_others_rows() -> None:
    table = awkward(200, seed=7)
    frames = [FRAMES["people"], FRAMES["people by"]]
    expected = [everything(Reference(table, COLUMNS), frame) for frame in frames]
    with open_source(table, COLUMNS, portable=True) as engine:
        with engine.bounded(frames[0], 12345) as one, engine.bounded(frames[1], 12345) as two:
            assert one.ask(Totals((Item("rows"),))).keys == ((),)
            assert len(two.ask(Totals((Item("rows"),))).keys) > 1
            outsider = engine._connection.cursor()
            assert outsider.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda i: everything(engine, frames[i % 2]), range(12)))
    assert found == expected * 6


def test_a_failed_release_leaves_the_engine_usable() -> None:
    with open_source(awkward(20), COLUMNS) as engine:
        for _ in range(3):
            with pytest.raises(RuntimeError), engine.bounded(FRAMES["people"], 1):
                raise RuntimeError
        assert everything(engine, FRAMES["people"])


def test_a_file_that_changes_between_two_questions_is_noticed(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    write = "COPY (SELECT i AS age FROM range({}) AS t(i)) TO '{}' (FORMAT parquet)"
    duckdb.execute(write.format(10, path))
    with open_source(path, (AGE,)) as engine, engine.bounded(Frame(PrivacyUnit(), columns=(AGE,)), 1) as bounded:
        bounded.ask(Totals((Item("rows"),)))
        duckdb.execute(write.format(11, path))
        with pytest.raises(ReleaseFailed, match="SRD-401"):
            bounded.ask(Totals((Item("rows"),)))


def test_people_are_bounded_the_same_whether_their_file_is_one_or_many(tmp_path) -> None:
    table, frame = awkward(400, seed=11), Frame(person(2, 2), PERSON, by=(CITY,), columns=(AGE,))
    rows = {
        "person": table["person"],
        "age": [a if type(a) is int and a < 2**60 and a > -(2**60) else None for a in table["age"]],
        "city": [c if isinstance(c, str) else None for c in table["city"]],
    }
    found = []
    for parts in (1, 4):
        folder = tmp_path / str(parts)
        folder.mkdir()
        for i in range(parts):
            pq.write_table(pa.table({name: values[i::parts] for name, values in rows.items()}), folder / f"{i}.parquet")
        for threads in (1, 2):
            with open_source(folder / "*.parquet", (PERSON, AGE, CITY), threads=threads) as engine:
                found.append(everything(engine, frame))
    assert all(one == found[0] for one in found)


def test_a_person_with_a_million_rows_counts_as_far_as_the_bound():
    many = 1_000_000
    ids, values = np.concatenate([np.zeros(many, np.int64), np.arange(1, 101)]), np.concatenate([np.arange(many) % 97, np.full(100, 5)])
    source = {"id": ids, "x": values}
    column, person = Column("x", "int", bounds=(0, 100)), Column("id", "id")
    frame = Frame(PrivacyUnit("id", max_rows=3, max_groups=1), person, columns=(column,))
    rows, total = Item("rows", "x"), Item("sum", "x")
    with open_source(source, (column, person)) as engine, engine.bounded(frame, 11) as table:
        found = table.ask(Totals((rows, total)))
    assert found.values[rows].tolist() == [103]
    assert 500 <= found.values[total][0] <= 500 + 3 * 96
