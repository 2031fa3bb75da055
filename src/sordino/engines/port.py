"""The port between a release and a database: an engine only computes summaries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import Protocol, TypeVar, runtime_checkable

from sordino.engines.inspection import Inspection
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries import KeyWeights, Request
from sordino.summaries.marginal import Marginals
from sordino.summaries.moment import Gradient, Gram, Lengths, Outer
from sordino.summaries.records import Records
from sordino.summaries.totals import Clipped, Middles, Ranks, Rows, Totals

__all__ = ["Bounded", "BoundsAgain", "Engine", "Inspectable", "Stop", "TableRequest", "stoppable"]

A = TypeVar("A")
# all that is ever asked of a bounded table
TableRequest = Totals | Clipped | Ranks | Middles | Rows | Records | Gram | Gradient | Lengths | Outer | Marginals | KeyWeights


class Bounded(Protocol):
    """The bounded table of one release. `ask` answers every TableRequest."""

    def ask(self, request: Request[A], /) -> A: ...


@runtime_checkable
class BoundsAgain(Bounded, Protocol):
    """A bounded table that can be bounded again inside wanted keys for less than opening that frame would cost."""

    def again(self, frame: Frame) -> Bounded | None:
        """The same rows as opening the frame with the same salt; None where that is to be done instead."""


class Engine(Protocol):
    """A source of rows. `header` reads column names only; `bounded` is the first moment data are read."""

    def header(self) -> tuple[str, ...]: ...
    def check(self, frame: Frame) -> None:
        """Refuse what could not be read, from public facts alone: it is called before the charge."""

    def bounded(self, frame: Frame, salt: int) -> AbstractContextManager[Bounded]: ...
    def close(self) -> None: ...


@runtime_checkable
class Inspectable(Protocol):
    """An engine whose owner may look at the rows themselves. No release does."""

    def inspected(self, columns: tuple[Column, ...]) -> AbstractContextManager[Inspection]:
        """NOT PRIVATE: the raw rows, in one snapshot."""


class Stop:
    """The work of one release, which somebody outside may stop: the engine says how, whoever waits for it says when."""

    def __init__(self) -> None:
        self._ways: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def now(self) -> None:
        """Stop whatever statement runs at this moment. Between two statements there is nothing to stop: say it again until it is over."""
        with self._lock:
            for way in self._ways:
                with suppress(Exception):  # what has just ended cannot be stopped any more
                    way()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Work in this thread, from here to the end of the block, is what `now` stops."""
        before = _stop.set(self)
        try:
            yield
        finally:
            _stop.reset(before)


_stop: ContextVar[Stop | None] = ContextVar("stop", default=None)


@contextmanager
def stoppable(way: Callable[[], None]) -> Iterator[None]:
    """For an engine: while the block runs, its statements are stopped by `way`, from another thread."""
    stop = _stop.get()
    if stop is None:
        yield
        return
    with stop._lock:
        stop._ways.append(way)
    try:
        yield
    finally:
        with stop._lock:
            stop._ways.remove(way)
