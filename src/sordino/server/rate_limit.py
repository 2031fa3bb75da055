"""How often one person may ask: a bucket that fills at a steady rate and empties by one with every request."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from sordino.server.clock import Clock
from sordino.server.problem import Refusal

__all__ = ["Buckets"]


@dataclass
class Buckets:
    """One bucket per name. Names are those of tokens, so there are as many as the owner handed out."""

    clock: Clock
    rate: float  # a second
    burst: float
    _level: dict[str, tuple[float, float]] = field(default_factory=dict)

    def pay(self, name: str, cost: float = 1) -> None:
        """Take as much as the work is worth, or refuse."""
        if wait := self.wait(name, cost):
            seconds = str(math.ceil(wait))
            raise Refusal(429, "SRD-504", "too many requests.", f"Ask again in {seconds} seconds.", Retry_After=seconds)

    def standing(self, name: str) -> dict[str, str]:
        """How much is left, as headers say it."""
        level, _ = self._level.get(name, (self.burst, 0.0))
        full = math.ceil((self.burst - level) / self.rate)
        return {"ratelimit-limit": f"{self.burst:.0f}", "ratelimit-remaining": str(int(level)), "ratelimit-reset": str(full)}

    def wait(self, name: str, cost: float = 1) -> float:
        """Take this many; or the seconds until they are there, and then nothing is taken."""
        now = self.clock.now()
        level, then = self._level.get(name, (self.burst, now))
        level = min(self.burst, level + (now - then) * self.rate)
        if level < cost:
            self._level[name] = (level, now)
            return (cost - level) / self.rate
        self._level[name] = (level - cost, now)
        return 0.0
