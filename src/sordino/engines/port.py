"""The port between a release and a database: an engine only computes summaries."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol, TypeVar, runtime_checkable

from sordino.engines.inspection import Inspection
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries import Request
from sordino.summaries.clip import Clipped
from sordino.summaries.middle import Middles
from sordino.summaries.moment import Gradient, Gram, Lengths, Outer
from sordino.summaries.totals import Ranks, Rows, Totals

__all__ = ["Bounded", "Engine", "Inspectable", "TableRequest"]

A = TypeVar("A")
TableRequest = Totals | Clipped | Ranks | Middles | Rows | Gram | Gradient | Lengths | Outer  # all that is ever asked of a bounded table


class Bounded(Protocol):
    """The bounded table of one release. `ask` answers every TableRequest."""

    def ask(self, request: Request[A], /) -> A: ...


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
