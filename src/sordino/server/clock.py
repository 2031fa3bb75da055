"""Time as the server sees it: one clock that tests can hold still."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "Wall"]


class Clock(Protocol):
    """Seconds that only grow, and a way to let them pass for a thread that has nothing else to do."""

    def now(self) -> float: ...
    def wait(self, seconds: float) -> None: ...


class Wall:
    """The machine's own clock."""

    def now(self) -> float:
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)
