"""Where a Spark session comes from: the caller's own, or a small local one that leaves nothing behind."""

from __future__ import annotations

import atexit
import contextlib
import glob
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sordino.engines.duckdb import Spill
from sordino.engines.scan import broken
from sordino.errors import not_installed

__all__ = ["active_session", "frame_of", "is_frame", "pinned", "quiet", "undisturbed"]

FIX = "Give a Spark DataFrame, the name of a table, or a Parquet path."
PINNED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",  # what does not fit raises instead of wrapping around
    "spark.sql.caseSensitive": "true",
    "spark.sql.variable.substitute": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.execution.topKSortFallbackThreshold": "100000",  # the driver does not sort millions of rows
}
KEPT = ("spark.sql.shuffle.", "spark.sql.adaptive.", "spark.sql.files.", "spark.sql.autoBroadcast")  # how fast, not what
_lock = threading.Lock()
_silent = threading.local()


def is_frame(source: Any) -> bool:
    """Whether this is a Spark DataFrame, without importing Spark."""
    return type(source).__module__.startswith("pyspark.") and type(source).__name__ == "DataFrame"


def frame_of(source: Any) -> tuple[Any, tuple[str, ...]]:
    """The rows of a source as a DataFrame that has read nothing, and the names its budget is bound to."""
    if is_frame(source):
        if ".connect" in type(source).__module__:
            raise broken("a DataFrame of Spark Connect cannot be read yet.", "Use a DataFrame of a classic session.")
        return source, ()
    if not isinstance(source, str | Path):
        raise broken(f"a {type(source).__name__} is not a source for Spark.", FIX)
    text = str(source)
    session = active_session()
    from pyspark.errors import PySparkException

    try:
        if text.startswith("spark:"):
            name = text.removeprefix("spark:").removeprefix("//")
            return session.table(name), (f"spark:{name}",)
        if text.lower().rstrip("/").endswith((".parquet", ".parq", ".pq")) or glob.has_magic(text) or "/" in text:
            return pinned(session).read.parquet(text), _paths(text)
        return session.table(text), (f"spark:{text}",)
    except PySparkException as error:
        what = f"Spark cannot open {text!r} ({error.getCondition() or type(error).__name__})."
        raise broken(what, FIX) from None


def pinned(user: Any) -> Any:
    """A session of our own over the caller's cluster, in which every setting that could change an answer is fixed."""
    session = user.newSession()
    for name, value in {**{k: v for k, v in user.conf.getAll.items() if k.startswith(KEPT)}, **PINNED}.items():
        session.conf.set(name, value)
    return session


def _paths(text: str) -> tuple[str, ...]:
    """Local files and folders by their own names, everything else by its address."""
    path = os.path.abspath(os.path.expanduser(text.removeprefix("file://")))
    found = [path] if os.path.exists(path) else sorted(glob.glob(path, recursive=True))
    return tuple(found) or (text,)


def active_session() -> Any:
    """The caller's active session, or a local one of our own."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise not_installed(error) or error from None
    with _lock:
        if SparkContext._active_spark_context is None:
            return _local(SparkSession)
        return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def _local(kind: Any) -> Any:
    """Two threads in this process. What it writes down is private while it lives and deleted at the end; it listens to nobody."""
    spill = Spill()
    settings = {
        "spark.master": "local[2]",
        "spark.app.name": "sordino",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(spill.folder),
        "spark.sql.warehouse.dir": str(spill.folder / "warehouse"),
        "spark.sql.shuffle.partitions": "8",
    }
    builder = kind.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        spill.close()
        raise broken(f"Spark does not start ({type(error).__name__}).", "Install Java 17, or open a Spark session first.") from None
    session.sparkContext.setLogLevel("OFF")  # its complaints quote values

    def end() -> None:
        with contextlib.suppress(Exception):
            session.stop()
        spill.close()

    atexit.register(end)
    return session


@contextlib.contextmanager
def undisturbed(session: Any) -> Iterator[None]:
    """Afterwards the session that is active in this thread is the one it was: Spark activates whichever made a frame last."""
    kind = type(session)
    sessions, before = kind._get_j_spark_session_class(session._jvm), kind._activeSession
    active = sessions.getActiveSession()
    try:
        yield
    finally:
        kind._activeSession = before
        if active.isDefined():
            sessions.setActiveSession(active.get())
        else:
            sessions.clearActiveSession()


class _Silence(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(_silent, "now", False)


_SILENCE = _Silence()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within, this thread's Spark errors are raised but not also written to the screen: they quote values."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).addFilter(_SILENCE)  # a filter is added once
    before, _silent.now = getattr(_silent, "now", False), True
    try:
        yield
    finally:
        _silent.now = before
