"""Time as the server sees it: one clock that tests can hold still, and a public grid on which answers leave."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Clock", "Tick", "Wall"]


class Clock(Protocol):
    """Seconds that only grow, and two ways to let them pass."""

    def now(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...
    def wait(self, seconds: float) -> None:
        """The same for a thread that has nothing else to do."""
        ...


class Wall:
    """The machine's own clock."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(frozen=True)
class Tick:
    """A public grid in time. What starts at s may be seen at s + tick, s + 2 tick, ... and at no other moment. With 0 there is no grid."""

    seconds: float
    clock: Clock

    def left(self, start: float) -> float:
        """Seconds until the next moment on the grid of something that started then; a whole tick if that moment is now."""
        if not self.seconds:
            return 0.0
        passed = self.clock.now() - start
        return start + max(1, math.ceil(passed / self.seconds)) * self.seconds - self.clock.now()
