"""The exact sampler of spherical vectors: its floats agree with its refinement, and its law is the law."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from sordino.noise import draw, rounding
from sordino.privacy.sphere import SphericalT


class Script:
    """A stream that deals given words, and then given refinements."""

    def __init__(self, words: list[int], more: int = 0) -> None:
        self._words, self._more, self.asked = words, more, 0

    def words(self, count: int) -> np.ndarray:
        assert count == len(self._words)
        return np.array(self._words, np.uint64)

    def bits(self, count: int) -> int:
        self.asked += 1
        return self._more % 2**count


def ideal(words: list[int], more: int, law: SphericalT) -> list[mpmath.mpf]:
    """The draw itself, at the middle of its refined cell."""
    with mpmath.workdps(60):
        u = [(mpmath.mpf((word >> 12 << 64) + more) + mpmath.mpf(1) / 2) / mpmath.mpf(2) ** 116 for word in words]
        chi = -2 * sum(mpmath.log(x) for x in u[law.dimension :])
        size = [mpmath.sqrt(2) * mpmath.erfinv(1 - x) * mpmath.sqrt(law.nu / chi) for x in u[: law.dimension]]
        return [-z if word & 1 else z for z, word in zip(size, words, strict=False)]


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1000), Fraction(2**40)])
def test_every_outcome_is_the_rounded_ideal_draw(scale: Fraction) -> None:
    law, rng = SphericalT(3, 4), np.random.default_rng(8)
    for _ in range(60):
        words = [int(w) for w in rng.integers(0, 2**64, 5, dtype=np.uint64)]
        more = int(rng.integers(0, 2**63))
        placed = law.at(np.array([7, -5, 2**40]), scale)
        found = rounding.spherical(placed, Script(words, more)).tolist()
        with mpmath.workdps(60):
            exact = [int(mpmath.floor(f + z * scale.numerator / scale.denominator + mpmath.mpf(1) / 2))
                     for f, z in zip((7, -5, 2**40), ideal(words, more, law), strict=True)]  # fmt: skip
        assert found == exact


def test_doubt_is_settled_by_more_bits_and_ends_at_infinity_too() -> None:
    law = SphericalT(2, 2)
    rare = Script([0, 3, 2**63], more=2**60)  # a Gaussian cell that reaches to infinity
    assert rounding.spherical(law.at(np.array([0, 0]), Fraction(1)), rare).shape == (2,)
    assert rare.asked > 0
    whole = Script([2**63, 2**62, 2**64 - 1], more=5)  # a uniform cell that reaches one: chi^2 may be zero
    assert np.abs(rounding.spherical(law.at(np.array([0, 0]), Fraction(1)), whole)).min() > 0
    assert whole.asked > 0


def test_grid_and_clamp_are_public_functions_of_the_draw() -> None:
    law, rng = SphericalT(2, 4), np.random.default_rng(9)
    for _ in range(50):
        words, more = [int(w) for w in rng.integers(0, 2**64, 4, dtype=np.uint64)], int(rng.integers(0, 2**63))
        fine = rounding.spherical(law.at(np.array([3, 1000]), Fraction(500)), Script(words, more))
        coarse = rounding.spherical(law.at(np.array([3, 1000]), Fraction(500), grid=64, low=-640, high=640), Script(words, more))
        assert (coarse % 64 == 0).all()
        assert (np.abs(coarse - np.clip(fine, -640, 640)) <= 32 + 1).all()


def test_draws_follow_the_law() -> None:
    law = SphericalT(3, 4)
    found = np.array([draw(law.at(np.array([0, 10, -10]), Fraction(10**6))) for _ in range(2_000)]) - [0, 10, -10]
    z = found / 1e6
    # Kolmogorov-Smirnov at a level of 1e-7 each
    for column in z.T:
        assert stats.kstest(column, stats.t(4).cdf).pvalue > 1e-7
    assert stats.kstest((z**2).sum(axis=1) / 3, stats.f(3, 4).cdf).pvalue > 1e-7
