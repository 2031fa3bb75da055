"""The port between a release and a database: an engine only computes summaries."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from sordino.schema.frame import Frame

__all__ = ["Bounded", "Engine"]


class Bounded(Protocol):
    """The bounded table of one release. `ask` takes Totals or Ranks."""

    def ask(self, request: Any) -> Any: ...


class Engine(Protocol):
    """A source of rows. `header` reads column names only; `bounded` is the first moment data are read."""

    def header(self) -> tuple[str, ...]: ...
    def check(self, frame: Frame) -> None:
        """Refuse what could not be read, from public facts alone: it is called before the charge."""

    def bounded(self, frame: Frame, salt: int) -> AbstractContextManager[Bounded]: ...
    def close(self) -> None: ...
