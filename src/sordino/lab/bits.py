"""The last bits of a floating-point answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.lab.report import as_html, as_json, outputs, say
from sordino.pictures import Picture, bars

__all__ = ["LowBits", "low_bits", "lowest_bit", "reachable"]

_SEEN = 20  # a sign seen this often on one table and never on the other is taken as certain; at epsilon 1 chance does that once in 1,500
_NEAR = 4  # uniform draws tried around the inverse, for the rounding of exp and log


@dataclass(frozen=True, repr=False)
class LowBits:
    """The share of releases whose low bits alone name the table, and the share they name wrongly."""

    decided: float
    wrong: float
    by_reach: float
    by_precision: float
    trials: int

    @property
    def right(self) -> float:
        """The share of right guesses when what is not decided is left to a coin; 1/2 is chance."""
        return self.decided + (1 - self.decided - self.wrong) / 2

    def __repr__(self) -> str:
        return say(
            [
                f"low bits: {self.decided:.1%} of single releases decided, {self.wrong:.1%} decided wrongly",
                f"  {self.by_reach:.1%} because only one table reaches the value, {self.by_precision:.1%} by its precision",
                f"  {self.trials:,} trials on each dataset, half to learn and half to judge",
            ]
        )

    def plot(self) -> Picture:
        names = ["decided", "by reach", "by precision", "decided wrongly"]
        return bars(names, [self.decided, self.by_reach, self.by_precision, self.wrong], title="Low bits", x="share of releases")

    def to_json(self) -> str:
        return as_json(self, right=self.right)

    def _repr_html_(self) -> str:
        return as_html(self)


def reachable(x: float, f: float, scale: float = 1.0) -> bool:
    r"""Can f plus a Laplace draw in doubles, as numpy makes them, be exactly x?

    The draw is scale ln(2u) for a uniform u below 1/2 and -scale ln(2 - u - u) above, u a multiple of 2^-53; these hit only some doubles
    (Mironov 2012). We invert the draw, try the few u around the inverse, and repeat the sampler's own arithmetic.
    """
    if not math.isfinite(x):
        return False
    half = math.exp(-abs(x - f) / scale) * 2**52
    for k in range(max(round(half) - _NEAR, 1), min(round(half) + _NEAR, 2**52) + 1):
        u, rest = k / 2**53, 1 - k / 2**53
        if f + scale * math.log(u + u) == x or f - scale * math.log(2.0 - rest - rest) == x:
            return True
    return False


def lowest_bit(x: float) -> int:
    """The power of two of the last bit set in x; how far down it reaches tells the size of what was added (Haney and others 2022)."""
    if not math.isfinite(x) or x == 0:
        return 10_000
    top, bottom = x.as_integer_ratio()
    return (top & -top).bit_length() - bottom.bit_length()


def low_bits(
    release: Callable[..., Any],
    d0: Any,
    d1: Any,
    *,
    values: tuple[float, float] | None = None,
    scale: float = 1.0,
    reach: Callable[[float, float], bool] | None = None,
    trials: int = 4_000,
    vectorised: bool = False,
) -> LowBits:
    """Name the table behind a single release from bits that should carry no information.

    `values` are the true answers on d0 and d1 (the data themselves when they are numbers), `scale` is that of the noise; both are known
    to an attacker who tests a guess. `reach(x, f)` replaces the test whether the sampler can turn f into x. Signs are which of the two
    values can reach the release, and its lowest bit; a sign is believed if the learning half showed it on one table only.
    """
    f0, f1 = _values(d0, d1) if values is None else values
    test = reach if reach is not None else lambda x, f: reachable(x, f, scale)
    seen = outputs(release, d0, d1, trials, vectorised)
    flat = seen.ravel().tolist()
    known = {x: (test(x, float(f0)), test(x, float(f1))) for x in set(flat)}
    reached = _named([known[x] for x in flat], seen.shape)
    precise = _named([lowest_bit(x) for x in flat], seen.shape)
    truth = np.array([[0], [1]])
    both = np.where(reached >= 0, reached, precise)
    decided, wrong, reach_share, precision_share = (
        float(np.mean(part)) for part in (both == truth, both == 1 - truth, reached == truth, precise == truth)
    )
    return LowBits(decided, wrong, reach_share, precision_share, trials)


def _values(d0: Any, d1: Any) -> tuple[float, float]:
    try:
        return float(d0), float(d1)
    except (TypeError, ValueError):
        raise QueryError("SRD-105", "the true answers are not known.", "Give values=(answer on d0, answer on d1).") from None


def _named(signs: Sequence[Hashable], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The table each judged release is pinned on: 0, 1, or -1 for neither."""
    codes: dict[Hashable, int] = {}
    column = np.array([codes.setdefault(sign, len(codes)) for sign in signs]).reshape(shape)
    first, second = (np.bincount(side[::2], minlength=len(codes)) for side in column)
    verdict = np.where((first >= _SEEN) & (second == 0), 0, np.where((second >= _SEEN) & (first == 0), 1, -1))
    return np.asarray(verdict[column[:, 1::2]], np.int64)
