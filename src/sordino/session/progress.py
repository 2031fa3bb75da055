"""How far a shared table is, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Tell", "bar"]

Tell = Callable[[float], None]


@contextmanager
def bar(text: str, tell: Tell | None = None) -> Iterator[Tell | None]:
    """A bar that is told the part that is done; whoever wants to be told instead is, and nobody where there is no terminal."""
    if tell is not None or not sys.stderr.isatty():
        yield tell
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(text, total=1.0)
        yield lambda done: shown.update(task, completed=done)
