"""Estimated shares of the answers to one survey question, each with its interval."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sordino.pictures import Picture, intervals

__all__ = ["Shares"]


@dataclass(frozen=True)
class Shares(Mapping[str, tuple[float, float, float]]):
    """Option -> (share, low, high). The interval of each option holds at `level` on its own, whatever the true shares are."""

    shares: Mapping[str, tuple[float, float, float]]
    reports: int
    epsilon: float
    level: float = 0.95

    def __getitem__(self, option: str) -> tuple[float, float, float]:
        return self.shares[option]

    def __iter__(self) -> Iterator[str]:
        return iter(self.shares)

    def __len__(self) -> int:
        return len(self.shares)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns, ready for a frame."""
        value, low, high = zip(*self.shares.values(), strict=True)
        return {"option": list(self.shares), "share": list(value), "share_low": list(low), "share_high": list(high)}

    def to_json(self) -> str:
        return json.dumps({"reports": self.reports, "epsilon": self.epsilon, "level": self.level, "columns": self.to_dict()})

    def plot(self) -> Picture:
        """A dot with its interval for every option."""
        value, low, high = zip(*self.shares.values(), strict=True)
        title = f"{self.reports:,} randomised reports, epsilon {self.epsilon:g}"
        return intervals(list(self.shares), list(value), list(low), list(high), title=title, x="share")

    def __str__(self) -> str:
        wide = max(len(option) for option in self.shares)
        lines = [f"{option.rjust(wide)}  {s:6.1%}  [{a:.1%}, {b:.1%}]" for option, (s, a, b) in self.shares.items()]
        note = f"({self.reports:,} reports, epsilon {self.epsilon:g}, intervals at {self.level:.0%})"
        return "\n".join([*lines, note])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.plot()._repr_html_()
