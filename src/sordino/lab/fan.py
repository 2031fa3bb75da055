"""Many noisy descents from one start: how far the noise of every step carries them from the path without any. NOT PRIVATE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.lab.report import as_html, as_json, matrix, say
from sordino.mechanisms import NoisyDescent
from sordino.noise import draw
from sordino.pictures import Picture, lines
from sordino.session.owned import owned
from sordino.summaries.moment import FINE

__all__ = ["Fan", "descent"]

Floats = NDArray[np.float64]
INSIDE = (0.05, 0.5, 0.95)


@dataclass(frozen=True, repr=False)
class Fan:
    """Coordinates by step: `calm` without noise, and of all paths the 5%, 50% and 95% quantiles. The number of steps is public."""

    steps: int
    calm: tuple[tuple[float, ...], ...]  # by step, then by coordinate
    quantiles: tuple[tuple[tuple[float, ...], ...], ...]  # low, middle, high: each by step, then by coordinate
    repeats: int

    def spread(self, coordinate: int = 0) -> list[float]:
        """How wide nine in ten paths lie apart after every step."""
        low, _, high = ([row[coordinate] for row in path] for path in self.quantiles)
        return [b - a for a, b in zip(low, high, strict=True)]

    def __repr__(self) -> str:
        return say(
            [
                f"descent: {self.repeats:,} noisy paths of {self.steps:,} steps, {len(self.calm[0])} coordinates",
                f"  without noise it ends at {', '.join(f'{value:.4g}' for value in self.calm[-1])}",
                f"  nine in ten paths end within {self.spread()[-1]:.3g} of each other in the first coordinate",
            ]
        )

    def plot(self, coordinate: int = 0) -> Picture:
        """The fan of one coordinate over the steps."""
        if not 0 <= coordinate < len(self.calm[0]):
            raise QueryError("SRD-103", f"coordinate is {coordinate!r}.", f"Give one from 0 to {len(self.calm[0]) - 1}.")
        at = list(range(len(self.calm)))
        series = {"without noise": (at, [row[coordinate] for row in self.calm])}
        for share, path in zip(INSIDE, self.quantiles, strict=True):
            series[f"{share:.0%} of paths below"] = (at, [row[coordinate] for row in path])
        return lines(series, title=f"Noisy descent, {self.steps} steps fixed beforehand", x="step", y=f"coordinate {coordinate}")

    def to_json(self) -> str:
        return as_json(self, spread=self.spread())

    def _repr_html_(self) -> str:
        return as_html(self)


def descent(mechanism: NoisyDescent, data: Any, *, repeats: int = 60) -> Fan:
    """NOT PRIVATE: run a noisy descent many times on rows you own, once without noise. Rows are in [-1, 1], the target last.

    The constant is the first coordinate and stands in no column.
    """
    if not isinstance(mechanism, NoisyDescent):
        raise QueryError("SRD-103", f"{type(mechanism).__name__} does not descend.", "Give a NoisyDescent.")
    if isinstance(repeats, bool) or not isinstance(repeats, int) or not 2 <= repeats <= 100_000:
        raise QueryError("SRD-103", f"repeats is {repeats!r}.", "Give a whole number from 2 to 100,000.")
    rows = matrix(data, "the rows")
    if rows.shape[1] != mechanism.dimension:
        what = f"{rows.shape[1]} columns do not fit dimension {mechanism.dimension}."
        raise QueryError("SRD-105", what, "Give dimension - 1 features and the target.")
    answer = owned(mechanism, rows)
    calm = _path(mechanism, answer, lambda law: np.asarray(law.location))
    paths = np.array([_path(mechanism, answer, draw) for _ in range(repeats)])
    found = np.quantile(paths, INSIDE, axis=0)
    return Fan(mechanism.steps, _tuples(calm), tuple(_tuples(path) for path in found), repeats)


def _path(mechanism: NoisyDescent, answer: Any, outcome: Any) -> Floats:
    """Where the descent stood before every step, and where it ended: the places it asks at are public."""
    seen: list[list[float]] = []

    def ask(request: Any) -> Any:
        if hasattr(request, "theta"):
            seen.append([part / FINE for part in request.theta])
        return answer(request)

    end = mechanism.release(ask, outcome)
    return np.array([*seen, list(end)])


def _tuples(path: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, row)) for row in path)
