"""Work that somebody else stops: the statement of one release ends at once, on every engine, and the next release is served."""

from __future__ import annotations

import threading
import time
from typing import Any

import pyarrow as pa

from ledger.conftest import POSTGRES
from sordino.engines.port import Stop, stoppable
from sordino.engines.postgres import Postgres
from sordino.engines.source import open_source
from sordino.lab.awkward_tables import AGE
from sordino.lab.engine_check import SALT
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Totals

from .test_conformance import stored

ROWS = Item("rows")
FRAME = Frame(PrivacyUnit(), columns=(AGE,))
TABLE = pa.table({"person": ["a", "a", "b"], "age": [1, 2, 4], "city": ["x", "y", None]})
HOURS = "SELECT count(*) FROM range(1000000000) AS a, range(1000000000) AS b WHERE hash(a.range + b.range) = 1"
SERIES = "SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b WHERE a * b = -1"


def stopped(engine: Any, endless: Any) -> tuple[BaseException | None, float]:
    """What a release that never ends is ended by, and how long after it was told to."""
    stop, inside = Stop(), threading.Event()
    found: list[BaseException] = []

    def look() -> None:
        try:
            with stop.listening(), engine.bounded(FRAME, SALT) as bounded:
                inside.set()
                endless(bounded)
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    assert inside.wait(60)
    time.sleep(0.1)
    start = time.monotonic()
    while thread.is_alive():
        assert time.monotonic() - start < 60, "it goes on"
        stop.now()
        thread.join(0.1)
    stop.now()  # nothing is left to stop
    return found[0] if found else None, time.monotonic() - start


def rows(engine: Any) -> int:
    with engine.bounded(FRAME, SALT) as bounded:
        return int(bounded.ask(Totals((ROWS,))).values[ROWS][0])


def test_duckdb_stops_and_goes_on() -> None:
    with open_source(TABLE, (AGE,)) as engine:
        error, took = stopped(engine, lambda bounded: bounded._cursor.execute(HOURS).fetchall())
        assert "Interrupted" in str(error)
        assert took < 20
        assert rows(engine) == 3


@POSTGRES
def test_postgres_stops_and_goes_on(postgres: Any) -> None:
    engine = Postgres(stored(postgres.address, TABLE), (AGE,))
    error, took = stopped(engine, lambda bounded: bounded._cursor._connection.execute(SERIES).fetchall())
    assert type(error).__name__ == "QueryCanceled"
    assert took < 20
    assert rows(engine) == 3


def test_another_release_of_the_same_engine_is_not_stopped() -> None:
    with open_source(TABLE, (AGE,)) as engine, Stop().listening(), engine.bounded(FRAME, SALT) as mine:
        stopped(engine, lambda bounded: bounded._cursor.execute(HOURS).fetchall())
        assert int(mine.ask(Totals((ROWS,))).values[ROWS][0]) == 3


def test_without_a_listener_nothing_is_kept_and_a_way_that_fails_is_no_failure() -> None:
    with stoppable(lambda: None):
        pass
    stop, called = Stop(), []

    def fails() -> None:
        called.append(1)
        raise RuntimeError("gone")

    with stop.listening(), stoppable(fails):
        stop.now()
    stop.now()
    assert called == [1]
