"""The PostgreSQL engine: one snapshot, nothing written, nothing believed, and no value that can raise."""

from __future__ import annotations

import uuid
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import sordino as sd
from sordino.engines.postgres import Postgres, address
from sordino.errors import LedgerError, QueryError, ReleaseFailed
from sordino.lab.awkward_tables import AGE, CITY, PERSON, person
from sordino.lab.engine_case import EngineCase
from sordino.lab.engine_check import SALT, checked
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import Compare, Literal, Name
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Totals

from .test_conformance import stored

ROWS, SUM = Item("rows"), Item("sum", "age")
FRAME = Frame(PrivacyUnit(), columns=(AGE,))
EVIL = [
    "1e400", "-1e400", "1e-400", "-1e-400", "1e9999", "1e-9999", "1e99999", "9" * 900, "9" * 5_000, "0." + "0" * 800 + "1", "0x10", "5d",
    "1_0", "+-5", "NaN", "nan", "Infinity", "-inf", "+inf", " 7 ", "\t7\n", "7\u00a0", "٣", "", " ", ".", "e5", "--", "'", "\\", "1 2",
    "1,5", "2020-02-30", "2019-02-29", "2020-02-29", "2020-13-01", "2020-00-10", "0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01",
    "2020-06-01 24:00", "2020-06-01 23:59:60", "2020-06-01 12:00:00.9999999", "2020-06-01T12:00:00+15:59", "2020-06-01T12:00:00+16:00",
    "2020-06-01 12:00+0230", "now", "today", "infinity", "epoch", "January 8, 1999", "true", "TRUE ", "on", "t", "2", None,
]  # fmt: skip


def rows_and_sum(engine: Postgres, frame: Frame = FRAME) -> list[int]:
    with engine.bounded(frame, SALT) as bounded:
        found = bounded.ask(Totals((ROWS, SUM))).values
        return [int(found[item][0]) for item in (ROWS, SUM)]


@pytest.fixture
def ages(postgres: Any) -> str:
    return stored(postgres.address, pa.table({"person": ["a", "a", "b"], "age": [1, 2, 4], "city": ["x", "y", None]}))


def execute(server: Any, *statements: str) -> None:
    with psycopg.connect(server.address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_an_address_names_a_server_and_a_table() -> None:
    assert address("postgres://u@h/d?table=people&sslmode=disable") == ("postgres://u@h/d?sslmode=disable", "people")
    assert address(("postgresql://h/d", "s.people")) == ("postgresql://h/d", "s.people")
    assert address("people.parquet") is None
    with pytest.raises(QueryError, match="SRD-205"):
        address("postgres://h/d")


def test_no_text_raises_whatever_it_is_declared_to_be(postgres: Any) -> None:
    source = stored(postgres.address, pa.table({"x": pa.array(EVIL, pa.string())}))
    kinds = [Column("x", kind, bounds=(-5, 9), scale=2) for kind in ("int", "float", "decimal", "bool")]
    kinds += [Column("x", kind, bounds=("1000-01-01", "3000-01-01")) for kind in ("date", "timestamp")]
    for column in kinds:
        engine = Postgres(source, (column,))
        by = () if column.type in ("float", "decimal") else (Column("x", column.type),)
        for frame in (Frame(PrivacyUnit(), columns=(column,)), Frame(PrivacyUnit(), by=by)):
            with engine.bounded(frame, SALT) as bounded:
                assert sum(bounded.ask(Totals((ROWS,))).values[ROWS]) == len(EVIL)


def test_a_release_sees_one_snapshot(postgres: Any, ages: str) -> None:
    name, engine = ages.rpartition("=")[2], Postgres(ages, (AGE, PERSON))
    for temporary in (True, False):
        engine._temporary = temporary
        with engine.bounded(Frame(person(9, 1), PERSON, columns=(AGE,)), SALT) as bounded:
            before = bounded.ask(Totals((ROWS, SUM))).values[SUM].tolist()
            execute(postgres, f"INSERT INTO {name} VALUES ('c', 100, 'z')", f"UPDATE {name} SET age = age + 1")
            assert bounded.ask(Totals((ROWS, SUM))).values[SUM].tolist() == before
    assert rows_and_sum(engine) == [5, (1 + 2) + (2 + 2) + (4 + 2) + (100 + 2) + (100 + 1)]


def test_a_release_can_write_nothing(ages: str) -> None:
    engine = Postgres(ages, (AGE,))
    with engine.bounded(FRAME, SALT) as bounded:
        for statement in ("CREATE TABLE stolen (x int)", f"DELETE FROM public.{ages.rpartition('=')[2]}", "CREATE TEMP TABLE more (x int)"):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), bounded._cursor._connection.transaction():
                bounded._cursor._connection.execute(statement)


def test_odd_defaults_and_functions_in_the_way_change_nothing(postgres: Any) -> None:
    table = pa.table(
        {"person": ["a", "a", "a"], "seen": ["2020-06-01 12:00:00", "2020-06-02", "x"], "v": [0.29, 1e300, -5.5], "city": ["Ä", "ä", "b"]}
    )
    seen, price = Column("seen", "timestamp", bounds=("2020-01-01", "2021-01-01")), Column("v", "decimal", bounds=(0, 9), scale=2)
    frame = Frame(person(1, 2), PERSON, by=(CITY,), columns=(seen, price))
    role, source = f"odd_{uuid.uuid4().hex[:8]}", stored(postgres.address, table)
    execute(
        postgres,
        f"CREATE ROLE {role} LOGIN",
        f"GRANT SELECT ON {source.rpartition('=')[2]} TO {role}",
        *(f"ALTER ROLE {role} SET {setting}" for setting in (
            "TimeZone = 'Asia/Kathmandu'", "DateStyle = 'SQL, DMY'", "extra_float_digits = -5", "standard_conforming_strings = off",
            "statement_timeout = '5s'", "search_path = public, pg_catalog", "default_transaction_read_only = off",
        )),
        "CREATE OR REPLACE FUNCTION public.md5(text) RETURNS text LANGUAGE sql AS 'SELECT ''same'''",
        "CREATE OR REPLACE FUNCTION public.length(text) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    )  # fmt: skip
    try:
        engine = Postgres(source.replace("postgres@", f"{role}@"), (PERSON, seen, price, CITY))
        with engine.bounded(frame, SALT) as bounded:
            assert bounded._cursor._connection.execute("SHOW statement_timeout").fetchone() == ("0",)
        case = EngineCase(table, (PERSON, seen, price, CITY), {"far": frame})
        assert all(row.ok for row in checked(engine, "mine", case, full=True))
    finally:
        execute(
            postgres, "DROP FUNCTION public.md5(text)", "DROP FUNCTION public.length(text)", f"DROP OWNED BY {role}", f"DROP ROLE {role}"
        )


def test_a_column_nobody_names_is_never_read(postgres: Any) -> None:
    """Whoever asks may read the other columns alone: a statement that names the notes fails, and one that does not is answered."""
    note, unit = Column("note", "cat"), person(3, 1)
    source = stored(postgres.address, pa.table({"person": ["a", "a", "b"], "age": [1, 2, 4], "note": ["x", "y", "z"]}))
    role = f"few_{uuid.uuid4().hex[:8]}"
    execute(postgres, f"CREATE ROLE {role} LOGIN", f"GRANT SELECT (person, age) ON {source.rpartition('=')[2]} TO {role}")
    try:
        engine = Postgres(source.replace("postgres@", f"{role}@"), (PERSON, AGE, note))
        assert rows_and_sum(engine) == [3, 7]
        young = Compare("<", Name("age"), Literal(3))
        assert rows_and_sum(engine, Frame(unit, PERSON, columns=(AGE,)))[0] == 3
        assert rows_and_sum(engine, Frame(unit, PERSON, where=young, columns=(AGE,)))[0] == 2
        words = {
            "columns": {"age": {"type": "int", "bounds": (0, 120)}, "note": {"type": "cat"}},
            "unit": "person",
            "max_rows": 2,
            "max_groups": 1,
        }
        with sd.table(source.replace("postgres@", f"{role}@"), **words, budget=sd.Budget(epsilon=10), ledger=":memory:") as people:
            assert people.sum("age").release(epsilon=1).value is not None
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            rows_and_sum(engine, Frame(unit, PERSON, by=(note,), columns=(AGE,)))
    finally:
        execute(postgres, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def test_what_cannot_be_opened_says_why_and_never_a_password(postgres: Any, ages: str) -> None:
    secret = "postgres://someone:hunter2@127.0.0.1:1/nowhere?table=people&connect_timeout=2"
    for source, code in (
        (secret, "SRD-205"),
        (f"{postgres.address}&table=nobody", "SRD-205"),
        ("postgres://h/d", "SRD-205"),
        (7, "SRD-205"),
    ):
        with pytest.raises(QueryError, match=code) as raised:
            Postgres(source, (AGE,))
        assert (
            "hunter2" not in f"{raised.value!r} {raised.value.__cause__!r} {raised.value.__context__ and raised.value.__suppress_context__}"
        )
    with pytest.raises(QueryError, match="SRD-201"):
        Postgres(ages, (Column("shoe", "int", bounds=(0, 50)),))


def test_a_table_in_a_schema_a_view_and_awkward_names(postgres: Any) -> None:
    name = 'odd "schema'
    quoted = name.replace('"', '""')
    execute(
        postgres, f'CREATE SCHEMA "{quoted}"', f'CREATE TABLE "{quoted}"."my % table" ("AGE" int, age int)',
        f'INSERT INTO "{quoted}"."my % table" VALUES (1, 5), (2, NULL)',
        f'CREATE VIEW "{quoted}".seen AS SELECT age FROM "{quoted}"."my % table"',
    )  # fmt: skip
    upper = Column("AGE", "int", bounds=(0, 120))
    both = Postgres((postgres.address, f"{name}.my % table"), (AGE, upper))
    with both.bounded(Frame(PrivacyUnit(), by=(Column("age", "int", keys=tuple(range(1_200))),), columns=(upper,)), SALT) as bounded:
        assert bounded.ask(Totals((Item("sum", "AGE"),))).values[Item("sum", "AGE")][5] == 1
    assert rows_and_sum(Postgres((postgres.address, f"{name}.seen"), (AGE,))) == [2, 5]
    execute(postgres, f'DROP SCHEMA "{quoted}" CASCADE')


def test_a_release_from_postgres_is_bound_to_its_ledger(postgres: Any, ages: str, tmp_path: Any) -> None:
    words: dict[str, Any] = {"bounds": {"age": (0, 120)}, "keys": {"city": ["x", "y"]}, "budget": sd.Budget(epsilon=60)}
    with sd.table(ages, ledger=tmp_path / "one.ledger", **words) as people:
        assert isinstance(people.engine, Postgres)
        assert people.sum("age").release(epsilon=20).value == pytest.approx(7, abs=120)
        assert people.group_by("city").count().release(epsilon=20).to_dict()["city"] == ["x", "y"]
    with pytest.raises(LedgerError, match="SRD-604"):
        sd.table(ages, ledger=tmp_path / "two.ledger", **words)
    with sd.table(ages, ledger=tmp_path / "one.ledger", **words) as people:
        execute(postgres, f"DROP TABLE {ages.rpartition('=')[2]}")
        with pytest.raises(ReleaseFailed) as raised:
            people.count().release(epsilon=20)
        assert raised.value.__cause__ is raised.value.__context__ is None
        assert people.budget.exact["left"] == 0


def test_a_dataset_file_may_name_a_table_in_postgres(postgres: Any, ages: str, tmp_path: Any) -> None:
    file = tmp_path / "people.toml"
    file.write_text(f"""
        [dataset]
        format = 2
        name = "people"
        ledger = "people.ledger"
        [privacy]
        unit_column = "person"
        max_rows = 2
        max_groups = 1
        [budget]
        epsilon = 30
        [tables.ages]
        source = "{ages}"
        [tables.ages.columns]
        age = {{ type = "int", bounds = [0, 120] }}
        """)
    with sd.open(file) as opened:
        assert opened.ages.count_units().release(epsilon=20).value == pytest.approx(2, abs=3)


def test_the_owner_sees_the_same_rows_as_in_duckdb(postgres):
    ages = [*range(200), None, -5]
    rows = pa.table({
        "who": pa.array([f"p{i % 37}" for i in range(202)]),
        "age": pa.array(ages, pa.int64()),
        "said": pa.array((["7", "7.5", "n/a", "1e400", None, " 3 ", "x", "inf", "-2", "NaN"] * 21)[:202]),
        "cost": pa.array([i * 1.25 for i in range(202)], pa.float64()),
        "sex": pa.array(["f", "m", None] * 67 + ["x"]),
    })  # fmt: skip
    words = {
        "unit": "who", "max_rows": 3, "max_groups": 2, "bounds": {"cost": (0, 100)}, "keys": {"sex": ["f", "m"]},
        "columns": {"age": {"type": "int", "bounds": (0, 120)}, "said": {"type": "float", "bounds": (0, 10)}},
        "budget": sd.Budget(epsilon=1), "ledger": ":memory:",
    }  # fmt: skip
    found = []
    for source in (stored(postgres.address, rows), rows):
        with sd.table(source, **words) as table:
            fit = sd.owner.fit(table)
            found.append(fit.to_plain())
    here, there = found
    assert here["columns"] == there["columns"]
    assert here == there
