"""Bounding once, for those who exceed: whichever way is taken, the rows that stay are those of the definition."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from sordino.engines import text as texts
from sordino.engines.postgres import Postgres
from sordino.engines.source import open_source
from sordino.engines.text import Text
from sordino.lab.engine_check import values
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Totals

from .test_conformance import stored

WHO, GROUP, VALUE = Column("who", "id"), Column("g", "cat"), Column("v", "int", bounds=(0, 99))
LISTED = Column("g", "cat", keys=("a", "b"))
COLUMNS = (WHO, GROUP, VALUE)
ASKED = Totals((Item("rows"), Item("units"), Item("sum", "v")))
SALT = 2**99 + 5
ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c", None]), st.integers(0, 2)), max_size=40)
LIMITS = st.tuples(st.integers(1, 7), st.integers(1, 4), st.one_of(st.none(), st.integers(1, 4)))


def table(rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(("who", "g", "v"))}


SEVERAL = [(1, 1, None), (20, 2, None), (12, 4, 3), (5, 2, 2), (40, 4, None), (4, 1, 5)]


def person_rows() -> list[tuple[Any, ...]]:
    """People who are over each of several limits, and people who are not."""
    return [(who, group, v) for who in range(9) for group, n in zip("abc", (who % 3, who // 2, who // 4), strict=True) for v in range(n)]


def frame(limits: tuple[int, int, int | None], by: tuple[Column, ...]) -> Frame:
    total, groups, each = limits
    return Frame(PrivacyUnit("who", max_rows=total, max_groups=groups, max_rows_per_group=each), WHO, by=by, columns=(VALUE,))


def answers(engine: Any, asked: Frame) -> Any:
    with engine.bounded(asked, SALT) as bounded:
        return values(bounded.ask(ASKED))


@contextlib.contextmanager
def large(rows: int, mostly: float) -> Any:
    """Every table is large from so many rows on, and so large a share of them is mostly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts, "LARGE", rows)
        patch.setattr(Text.bound, "__defaults__", (mostly,))
        yield


@pytest.mark.parametrize("by", [(), (GROUP,), (LISTED,)], ids=["no groups", "private", "public"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(rows=ROWS, limits=LIMITS)
def test_whichever_way_is_taken_the_same_rows_stay(by: tuple[Column, ...], rows: Any, limits: Any) -> None:
    asked = frame(limits, by)
    expected = answers(Reference(table(rows), COLUMNS), asked)
    source = pa.table({"who": pa.array([r[0] for r in rows], pa.int64()), "g": pa.array([r[1] for r in rows], pa.string()),
                       "v": pa.array([r[2] for r in rows], pa.int64())})  # fmt: skip
    with open_source(source, COLUMNS, portable=True) as engine:
        for most, mostly in ((10**9, 1.0), (0, 2.0), (0, -1.0)):  # split; some people looked at first; everybody ranked
            with large(most, mostly):
                assert answers(engine, asked) == expected, (most, mostly)
        with contextlib.closing(engine._cursor()) as cursor:
            text = Text(asked, engine.columns, engine.source.scan(cursor, COLUMNS), SALT, portable=True)
            whole = sum(cursor.execute(f"SELECT count(*) FROM ({text.bounded()}) AS bounded").fetchall()[0])
    assert whole == sum(expected[2]["Item(what='rows', column=None, index=0)"])


def over(rows: list[tuple[Any, ...]], asked: Frame) -> set[Any]:
    """Who is over a limit, by definition."""
    unit, limits = asked.unit, asked.unit.limits(asked.unit.max_groups) if asked.by else asked.unit.limits()
    found = set()
    for who, mine in itertools.groupby(sorted(rows, key=lambda row: row[0]), key=lambda row: row[0]):
        each = Counter(row[1] for row in mine)
        if sum(each.values()) > limits.total or (asked.by and (len(each) > unit.max_groups or max(each.values()) > limits.rows)):
            found.add(who)
    return found


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows=ROWS, limits=LIMITS)
def test_only_people_over_a_limit_are_ranked(rows: Any, limits: Any) -> None:
    for by in ((), (GROUP,)):
        asked = frame(limits, by)
        with open_source(table(rows), COLUMNS) as engine, contextlib.closing(engine._cursor()) as cursor:
            text = Text(asked, engine.columns, engine.source.scan(cursor, COLUMNS), SALT)
            cursor.execute(f"CREATE TEMP TABLE chosen AS {text.clipped()}")
            cursor.execute(f"CREATE TEMP TABLE many AS {text.many('chosen')}")
            named = [int(who) for (who,) in cursor.execute(text.crowded("chosen", "many")).fetchall()]
        assert sorted(named) == sorted(over(rows, asked))  # each once


def doubted(rows: list[tuple[Any, ...]], asked: Frame) -> set[Any]:
    """Whose groups have to be counted, by definition: their number of rows alone does not say whether they are within all limits."""
    unit = asked.unit
    limits = unit.limits(unit.max_groups)
    surely = min(limits.total, limits.rows, unit.max_groups)
    return {who for who, n in Counter(row[0] for row in rows).items() if surely < n <= limits.total}


@settings(max_examples=30, deadline=None, derandomize=True)
@given(rows=ROWS, limits=LIMITS)
def test_groups_are_counted_only_for_people_whose_number_of_rows_leaves_a_doubt(rows: Any, limits: Any) -> None:
    asked = frame(limits, (GROUP,))
    with open_source(table(rows), COLUMNS) as engine, contextlib.closing(engine._cursor()) as cursor:
        text = Text(asked, engine.columns, engine.source.scan(cursor, COLUMNS), SALT)
        cursor.execute(f"CREATE TEMP TABLE chosen AS {text.clipped()}")
        cursor.execute(f"CREATE TEMP TABLE many AS {text.many('chosen')}")
        many = {int(who): n for who, n in cursor.execute("SELECT * FROM many").fetchall()}
        counting = [
            part.this for part in parse_one(text.crowded("chosen", "many"), read="duckdb").find_all(exp.Subquery) if part.alias == "pairs"
        ]
        counted = [int(row[0]) for part in counting for row in cursor.execute(part.sql("duckdb")).fetchall()]
    assert many == {who: n for who, n in Counter(row[0] for row in rows).items() if n > text.least}
    assert set(counted) == doubted(rows, asked)
    if limits[2] is None or limits[2] >= limits[1]:
        assert all(many[who] > limits[1] for who in counted), "who has no more rows than max_groups is in no more groups"


def test_postgres_ranks_only_people_over_a_limit(postgres: Any) -> None:
    rows = person_rows()
    source = pa.table({name: pa.array(column, pa.string() if name == "g" else pa.int64()) for name, column in table(rows).items()})
    remote = Postgres(stored(postgres.address, source), COLUMNS)
    for limits in SEVERAL:
        for by in ((), (GROUP,)):
            asked = frame(limits, by)
            text = remote._text(asked, SALT)
            named = f"WITH chosen AS MATERIALIZED ({text.clipped()}), many AS MATERIALIZED ({text.many('chosen')})"
            with remote.bounded(asked, SALT) as bounded:
                found = [int(who) for (who,) in bounded._cursor.execute(f"{named} {text.crowded('chosen', 'many')}").fetchall()]
            assert sorted(found) == sorted(over(rows, asked)), (limits, by)  # each once


def test_postgres_and_duckdb_keep_the_same_rows_of_people_at_every_limit(postgres: Any) -> None:
    rng = np.random.default_rng(5)
    source = pa.table({"who": rng.integers(0, 12, 150), "g": [("a", "b", "c", None)[i] for i in rng.integers(0, 4, 150)],
                       "v": rng.integers(0, 3, 150)})  # fmt: skip
    remote = Postgres(stored(postgres.address, source), COLUMNS)
    with open_source(source, COLUMNS, portable=True) as engine:
        for limits in [(1, 1, None), (20, 2, None), (12, 4, 3), (9, 3, 2), (40, 4, None), (5, 4, 5)]:
            for by in ((), (GROUP,), (LISTED,)):
                asked = frame(limits, by)
                remote.check(asked)
                assert answers(remote, asked) == answers(engine, asked), (limits, by)


def test_a_column_nobody_names_is_never_read(tmp_path: Path) -> None:
    """Its bytes are overwritten: whoever reads them fails."""
    file = tmp_path / "t.parquet"
    source = pa.table({"who": list(range(1000)), "v": [1] * 1000, "note": [f"note {i} {'x' * 50}" for i in range(1000)]})
    pq.write_table(source, file, use_dictionary=False, compression="none")
    chunk = pq.ParquetFile(file).metadata.row_group(0).column(2)
    with file.open("r+b") as stream:
        stream.seek(chunk.data_page_offset)
        stream.write(b"\xff" * chunk.total_compressed_size)
    note = Column("note", "cat")
    with open_source(file, (WHO, VALUE, note)) as engine:
        assert answers(engine, frame((3, 1, None), ()))[2]["Item(what='sum', column='v', index=0)"] == [1000]
        with pytest.raises(Exception, match=r"."):
            answers(engine, frame((3, 1, None), (note,)))
