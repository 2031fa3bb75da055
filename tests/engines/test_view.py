"""Views over tables of people: who leaves takes their rows along and changes nobody else's; two databases agree on every integer."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import sordino as sd
from engines import person_world
from engines.person_world import BUGS, CUT, DECLARED, STATEMENTS, World, asked, moved, planted, seen, shared_key, strays, violations, world
from sordino.engines.duckdb import DuckDB
from sordino.engines.postgres import Postgres
from sordino.engines.several import SeparateTables, together
from sordino.engines.source import open_source
from sordino.errors import QueryError

LEAVERS = [{1}, {2}, {3}, {1, 3}]


@contextlib.contextmanager
def in_memory(tables: World) -> Iterator[Any]:
    readers = {name: open_source(table, tuple(DECLARED[name].values()), portable=True) for name, table in tables.items()}
    joint = together(readers)
    try:
        yield joint
    finally:
        for engine in (joint, *readers.values()):
            engine.close()


@contextlib.contextmanager
def small_memory(tables: World) -> Iterator[Any]:
    with in_memory(tables) as engine:
        small = DuckDB(engine.source, (), memory="256MB", portable=True)
        yield small
        small.close()


@pytest.fixture
def on_server(postgres: Any) -> Any:
    import psycopg

    kinds = {"cost": "bigint", "pid": "bigint", "patient_id": "text", "age": "double precision", "born": "date", "day": "date",
             "share": "numeric",
             "price": "integer", "weight": "double precision"}  # fmt: skip

    @contextlib.contextmanager
    def opened(tables: World) -> Iterator[Any]:
        names = {name: f"{name}_{uuid.uuid4().hex[:8]}" for name in tables}
        with psycopg.connect(postgres.address, autocommit=True) as connection:
            for name, table in tables.items():
                columns = ", ".join(f"{column} {kinds.get(column, 'text')}" for column in table)
                connection.execute(f"CREATE TABLE {names[name]} ({columns})")
                marks = ", ".join(f"%s::text::{kinds.get(column, 'text')}" for column in table)
                rows = [[None if v is None else str(v) for v in row] for row in zip(*table.values(), strict=True)]
                connection.cursor().executemany(f"INSERT INTO {names[name]} VALUES ({marks})", rows)
            try:
                readers = {name: Postgres((postgres.address, names[name]), tuple(DECLARED[name].values())) for name in tables}
                yield together(readers)
            finally:
                for name in names.values():
                    connection.execute(f"DROP TABLE {name}")

    return opened


@pytest.mark.parametrize("name", STATEMENTS)
def test_who_leaves_takes_their_rows_and_nobody_elses(name: str) -> None:
    for seed in range(3):
        assert violations(in_memory, STATEMENTS[name], world(seed), LEAVERS) == 0


def test_a_key_of_two_people_is_what_the_claim_assumes_away() -> None:
    assert sum(violations(in_memory, STATEMENTS["path"], shared_key(world(seed)), LEAVERS) for seed in range(4) if _two(seed)) > 0


def _two(seed: int) -> bool:
    return len(set(world(seed)["visits"]["pid"])) > 1


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(bug: str, monkeypatch: Any) -> None:
    tables = world(5, people=8)
    assert violations(in_memory, STATEMENTS[BUGS[bug]], tables, [{1, 2}, {3}]) == 0
    with planted(monkeypatch, bug):
        assert violations(in_memory, STATEMENTS[BUGS[bug]], tables, [{1, 2}, {3}]) > 0


def test_an_owner_from_the_wrong_side_of_a_left_join_is_caught(monkeypatch: Any) -> None:
    tables = world(5, people=8)
    assert strays(in_memory, tables) == 0
    with planted(monkeypatch, "owner from the wrong side"):
        assert strays(in_memory, tables) > 0


def test_bounding_comes_after_the_join(monkeypatch: Any) -> None:
    tables = world(5, people=8)
    most = max(moved(in_memory, STATEMENTS["self"], tables, person, 2) for person in range(1, 5))
    assert most == 2
    with planted(monkeypatch, "bounded before the join"):
        assert max(moved(in_memory, STATEMENTS["self"], tables, person, 2) for person in range(1, 5)) > 2


def test_a_person_with_ten_thousand_visits_counts_as_much_as_declared() -> None:
    tables = world(1)
    many = {name: [*values, *[value] * 10_000] for (name, values), value in
            zip(tables["visits"].items(), ("k", 2, 30, "x", "2024-03-01", "1"), strict=True)}  # fmt: skip
    many["visit_id"] = [f"k{i}" for i in range(len(many["pid"]))]
    tables = {**tables, "visits": many}
    for name in ("inner", "left"):
        assert moved(in_memory, STATEMENTS[name], tables, 2, 8) <= 8
    with in_memory(tables) as engine:
        rows = seen(engine, asked(STATEMENTS["per person"]))
    assert rows["2"][0] == 1


@pytest.mark.parametrize("name", CUT)
def test_a_side_that_is_cut_before_a_join_still_leaves_with_its_person(name: str, monkeypatch: Any) -> None:
    tables = world(8, people=8)
    assert violations(in_memory, STATEMENTS[name], tables, [{2}, {3}], 2) == 0
    with in_memory(tables) as engine:
        whole, same, cut = (seen(engine, asked(STATEMENTS[name], join_rows=most)) for most in (1000, 8, 2))
    assert same == whole  # nobody has more
    assert cut != whole
    assert max(rows for rows, *_ in cut.values()) <= 4
    with planted(monkeypatch, "a side cut over everybody"):
        assert violations(in_memory, STATEMENTS[name], tables, [{2}, {3}], 2) > 0


def test_joins_that_cannot_multiply_are_not_cut() -> None:
    for name in ("inner", "left", "along the path", "per person joined"):
        tables = world(5, people=8)
        with in_memory(tables) as engine:
            assert seen(engine, asked(STATEMENTS[name], join_rows=1)) == seen(engine, asked(STATEMENTS[name])), name


def test_what_a_person_keeps_depends_on_who_they_are(monkeypatch: Any) -> None:
    assert not all(person_world.twins(in_memory))
    with planted(monkeypatch, "hash without owner"):
        assert all(person_world.twins(in_memory))


def test_one_person_with_twenty_thousand_rows_in_two_tables_cannot_make_a_join_fail() -> None:
    """Their product would be four hundred million rows; the engine has 256 MB and a few seconds."""
    tables = person_world.crowded()
    for name in CUT:
        before = time.process_time()
        with small_memory(tables) as engine:
            rows = seen(engine, asked(STATEMENTS[name], 8, 300))
        assert rows["2"][0] == 8
        assert time.process_time() - before < 20
    assert violations(in_memory, STATEMENTS["self"], person_world.crowded(2_000), [{2}], 300) == 0


def test_postgres_says_the_same_integers(on_server: Any, monkeypatch: Any) -> None:
    tables = world(5, people=8)
    with in_memory(tables) as engine, on_server(tables) as other:
        for name, statement in STATEMENTS.items():
            assert seen(other, asked(statement)) == seen(engine, asked(statement)), name
            if name in ("self", "windows"):
                assert seen(other, asked(statement, 2)) == seen(engine, asked(statement, 2)), name
            if name in CUT:
                assert seen(other, asked(statement, join_rows=2)) == seen(engine, asked(statement, join_rows=2)), name
    for bug, name in BUGS.items():
        with planted(monkeypatch, bug):
            assert violations(on_server, STATEMENTS[name], tables, [{1, 2, 3}]) > 0
    assert violations(on_server, STATEMENTS["path"], tables, [{1}]) == 0
    assert violations(on_server, STATEMENTS["path"], shared_key(tables), [{1}]) > 0  # a key of two people
    with planted(monkeypatch, "a side cut over everybody"):
        assert violations(on_server, STATEMENTS["self"], world(8, people=8), [{3}], 2) > 0
    assert strays(on_server, tables) == 0
    with planted(monkeypatch, "owner from the wrong side"):
        assert strays(on_server, tables) > 0
    with planted(monkeypatch, "bounded before the join"):
        assert max(moved(on_server, STATEMENTS["self"], tables, person, 2) for person in (1, 2, 3, 5)) > 2


def test_a_crowd_of_rows_of_one_person_is_cut_alike_on_postgres(on_server: Any) -> None:
    tables = person_world.crowded(700)
    with in_memory(tables) as engine, on_server(tables) as other:
        for name in ("self", "many to many"):
            frame = asked(STATEMENTS[name], 1_000, 50)
            assert seen(other, frame) == seen(engine, frame), name


def test_what_a_person_keeps_depends_on_who_they_are_on_postgres(on_server: Any, monkeypatch: Any) -> None:
    assert not all(person_world.twins(on_server))
    with planted(monkeypatch, "hash without owner"):
        assert all(person_world.twins(on_server, range(2)))


def test_tables_of_different_databases_are_refused_before_anything_is_paid(on_server: Any) -> None:
    tables = world(5)
    with in_memory(tables) as engine, on_server(tables) as other:
        apart = together({"patients": engine, "visits": other})
        assert isinstance(apart, SeparateTables)
        with pytest.raises(QueryError, match="different databases"):
            apart.check(asked(STATEMENTS["inner"]))


def test_models_and_shares_of_a_joined_view_on_postgres(postgres: Any) -> None:
    import psycopg

    people, ages = 120, [20 + i % 60 for i in range(120)]
    rows = {"patients": [(i, ages[i]) for i in range(people)], "visits": [(i // 2, 5 * ages[i // 2]) for i in range(2 * people)]}
    names = {name: f"{name}_{uuid.uuid4().hex[:8]}" for name in rows}
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {names['patients']} (patient_id bigint, age bigint)")
        connection.execute(f"CREATE TABLE {names['visits']} (pid bigint, cost bigint)")
        try:
            for name, table in rows.items():
                connection.cursor().executemany(f"INSERT INTO {names[name]} VALUES (%s, %s)", table)
            hospital = sd.dataset(
                {name: (postgres.address, names[name]) for name in rows}, person={"patients": "patient_id", "visits": "pid"},
                unique={"patients": ["patient_id"]}, bounds={"cost": (0, 500), "age": (0, 100)}, max_rows=2, max_groups=1, size=people,
                budget=sd.Budget(epsilon=10_000, delta=1e-3), ledger=":memory:",
            )  # fmt: skip
            joined = hospital.view("SELECT v.cost, p.age FROM visits v JOIN patients p ON v.pid = p.patient_id")
            line = joined.regress("cost ~ age").release(epsilon=500).to_dict()
            made = joined.share(epsilon=50, columns=["cost", "age"]).to_pandas()
            hospital.close()
        finally:
            for name in names.values():
                connection.execute(f"DROP TABLE {name}")
    assert abs(line["coefficient"][1] - 5) < 0.3
    assert made["cost"].corr(made["age"]) > 0.5
