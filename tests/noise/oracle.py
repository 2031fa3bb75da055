"""A second opinion on every draw: a tape in place of the stream, and the two-sided tails of all laws in mpmath, from their densities."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp
from numpy.typing import NDArray

from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT

POWER_LAWS = tuple(
    PowerLaw(Fraction(e), Fraction(b)) for e, b in (("1", "0.3"), ("0.1", "0.05"), ("2", "1.9"), ("0.5", "0.025"), ("3", "0.3"))
)
CAUCHYS = tuple(GeneralizedCauchy(Fraction(g)) for g in ("2", "4", "1.5"))
QUICK = (LaplaceLaw(), GaussianLaw(), StudentT(1), StudentT(2), StudentT(4), *POWER_LAWS)
LAWS = (*QUICK, *CAUCHYS)
PRECISION = 500


def named(law: Any) -> str:
    return f"{law.name}-{float(law.epsilon):g}-{float(law.beta):g}" if isinstance(law, PowerLaw) else str(law.name)


class Tape:
    """A stream that plays back given words, then given refinements, and then repeatable noise of its own."""

    def __init__(self, words: Sequence[int] = (), extra: Sequence[int] = (), seed: int = 0) -> None:
        self._words, self._extra = list(words), list(extra)
        self._more = np.random.default_rng(seed)
        self.refinements: list[int] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        given, self._words = self._words[:count], self._words[count:]
        rest = self._more.integers(0, 2**64, count - len(given), dtype=np.uint64)
        return np.concatenate([np.array(given, np.uint64), rest])

    def bits(self, count: int) -> int:
        fresh = int.from_bytes(self._more.bytes(-(-count // 64) * 8), "little") >> (-count % 64)
        self.refinements.append(self._extra.pop(0) if self._extra else fresh)
        return self.refinements[-1]


def _beta_tail(a: Any, b: Any, odds: Any) -> Any:
    """The incomplete beta function at 1/(1 + odds), from the end where its argument keeps its digits."""
    if odds < 1:
        return 1 - mp.betainc(b, a, 0, odds / (1 + odds), regularized=True)
    return mp.betainc(a, b, 0, 1 / (1 + odds), regularized=True)


def tail(law: Any, z: Any) -> Any:
    """P(|Z| > z) for z >= 0."""
    match law:
        case LaplaceLaw():
            return mp.exp(-z)
        case GaussianLaw():
            return mp.erfc(z / mp.sqrt(2))
        case StudentT():
            nu = mp.mpf(law.nu)
            return _beta_tail(nu / 2, mp.mpf(1) / 2, z * z / nu)
        case GeneralizedCauchy():
            g = mp.mpf(law.gamma.numerator) / law.gamma.denominator
            return _beta_tail(1 - 1 / g, 1 / g, z**g)
        case PowerLaw():
            e, b = (mp.mpf(x.numerator) / x.denominator for x in (law.epsilon, law.beta))
            a = e / b
            constant = (1 - 1 / a) ** (a - 1) * (1 + 1 / a) ** (a + 1)

            def beyond(x: Any) -> Any:
                return constant * (1 + b * x) ** -a / e

            whole = (1 - (1 - b / e) ** a) / e + beyond(1 / e)
            return beyond(z) / whole if z >= 1 / e else ((1 - b * z) ** a - (1 - b / e) ** a) / e / whole + beyond(1 / e) / whole
    raise TypeError(law)


def uniform(word: int, refinements: Sequence[int], first: int = 52) -> Any:
    """The number between 0 and 1 that a word and its refinements spell out; what follows them is taken as one half of the last place."""
    value, bits = word >> (64 - first), first
    for more in refinements:
        value, bits = (value << 64) | more, bits + 64
    return (mp.mpf(value) + mp.mpf(1) / 2) / mp.mpf(2) ** bits


def digits(value: Any, first: int, rounds: int) -> list[int]:
    """The leading bits of a number between 0 and 1, then so many groups of 64."""
    out = [int(mp.floor(value * mp.mpf(2) ** first))]
    rest = value * mp.mpf(2) ** first - out[0]
    for _ in range(rounds):
        rest *= mp.mpf(2) ** 64
        out.append(int(mp.floor(rest)))
        rest -= out[-1]
    return out


def is_rounding(law: Any, u: Any, outcome: int, *, negative: bool, location: int, scale: Fraction, grid: int) -> bool:
    """Whether grid * round((location + scale Z) / grid) is this outcome, for the Z whose two-sided tail is u."""
    b = mp.mpf(scale.numerator) / scale.denominator
    below, above = ((outcome + shift * mp.mpf(grid) / 2 - location) / b for shift in (-1, 1))
    least, most = (-above, -below) if negative else (below, above)
    return bool(most > 0 and tail(law, most) <= u and (least <= 0 or u <= tail(law, least)))
