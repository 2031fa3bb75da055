"""Dominating pairs: the worst two laws a release of one family can have, as laws of the privacy loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sordino.errors import QueryError
from sordino.privacy.number import exact

__all__ = ["NUDGE", "SHAPES", "DominatingPair", "Floats", "discrete", "gaussian_dots"]

Floats = NDArray[np.float64]
NUDGE = 1e-9  # of a grid cell: every atom is moved up by this much, far more than its place can be rounded by

# P-mass at +epsilon, P-mass at -epsilon, and the height d of the density d e^{(l - epsilon)/2} between them
SHAPES: Mapping[str, Callable[[float], tuple[float, float, float]]] = {
    "approximate": lambda epsilon: (1 / (1 + math.exp(-epsilon)), math.exp(-epsilon) / (1 + math.exp(-epsilon)), 0.0),
    "laplace": lambda epsilon: (0.5, math.exp(-epsilon) / 2, 0.25),
    "bounded_range": lambda epsilon: (0.0, 0.0, -0.5 / math.expm1(-epsilon)),
}


@dataclass(frozen=True)
class DominatingPair:
    r"""The law under P of the loss ln P/Q, given that it is finite: a few atoms and perhaps an exponential band between two of them.

    Theorem. `approximate`, `laplace` and `bounded_range` dominate every release of their family in both directions, and grow with epsilon.
    Proof. approximate: outside a revealed event of mass delta, both ways, the pair is pure, and every pure pair is a post-processing of
    randomized response (Kairouz, Oh and Viswanath 2015). laplace: P(l > s) = 1 - e^{(s - epsilon)/2}/2 inside (-epsilon, epsilon), by
    integration. bounded_range: all losses of the pair lie in [t - epsilon, t] for some t in [0, epsilon]; stretching each loss to the two
    ends, keeping the masses of P and Q, only raises the hockey stick, which is convex in the likelihood ratio; this gives
    delta_t(s) = (e^epsilon - e^t)(1 - e^{s-t})/(e^epsilon - 1) on that interval. The best t is (epsilon + s)/2, with the envelope
    (e^{epsilon/2} - e^{s/2})^2/(e^epsilon - 1). An envelope of hockey sticks is the hockey stick of a pair (Zhu, Dong and Wang 2022), here
    of the density e^{(l-epsilon)/2}/(2 - 2e^{-epsilon}) = (delta' - delta'')(l) on [-epsilon, epsilon]. It holds for every t, so also for
    a t chosen adaptively. The reverse pair has losses in [-t, epsilon - t], the same set; laplace and approximate are symmetric. QED
    """

    atoms: tuple[tuple[float, float], ...]
    width: float
    band: float = 0.0
    family: str = ""

    @classmethod
    def of(cls, family: str, epsilon: float) -> DominatingPair:
        above, below, band = SHAPES[family](epsilon)
        atoms = ((epsilon, above), (-epsilon, below)) if above else ()
        return cls(atoms, epsilon, band, family)

    def nodes(self, points: int = 12) -> tuple[Floats, Floats]:
        """A quadrature of the loss, good enough to choose a grid and a tilt; no bound rests on it."""
        losses, masses = (np.array([atom[i] for atom in self.atoms if atom[1] > 0]) for i in (0, 1))
        if not self.band:
            return losses, masses
        x, weight = np.polynomial.legendre.leggauss(points)
        inside = self.width * weight * self.band * np.exp(self.width * (x - 1) / 2)
        return np.concatenate([losses, self.width * x]), np.concatenate([masses, inside])

    def dots(self, step: float) -> tuple[int, Floats]:
        """The first grid index and the P-masses of a dominating law on multiples of step.

        Theorem. The law returned dominates this one, and their hockey sticks agree at the grid points up to the nudge.
        Proof. Mass inside a cell moves to the cell's two ends so that its mass under P and under Q is kept (connect the dots, Doroshenko,
        Ghazi, Kamath, Kumar and Manurangsi 2022): the hockey stick is convex in e^-l, so spreading raises it, and linear outside the
        cell, so nothing changes at grid points. An atom a fraction f into its cell sends (1 - e^{-f step})/(1 - e^{-step}) up. In the
        half-tilted measure e^{-l/2} dP the band is flat, so each end of a cell of length r gets the same half-tilted mass, and keeping
        the P-mass makes it 2d tanh(r/4) e^{-epsilon/2}. Atoms are nudged up, and the last short cell is lengthened, by more than their
        rounding; more P-mass, or the same at a higher loss, only raises the hockey stick. QED
        """
        if not self.atoms and not self.band:
            return 0, np.ones(1)
        edge = math.floor(self.width / step)
        out = np.zeros(2 * edge + 5)
        first, atoms = -edge - 2, list(self.atoms)
        if self.band:
            rest = max(0.0, self.width - edge * step) + 1e-15 * self.width
            index = np.arange(-edge, edge + 1)
            flat = np.full(index.size, 4 * math.tanh(step / 4)) if edge else np.zeros(1)
            flat[[0, -1]] /= 2
            short = 2 * math.tanh(rest / 4)
            flat[0] += short
            flat[-1] += short
            out[2:-2] = self.band * flat * np.exp((index * step - self.width) / 2)
            atoms += [(self.width, self.band * short), (-self.width, self.band * short * math.exp(-self.width))]
        for loss, mass in atoms:
            cell = math.floor(loss / step)
            up = min(1.0, math.expm1(-(loss / step - cell + NUDGE) * step) / math.expm1(-step))
            out[cell - first] += mass * (1 - up)
            out[cell + 1 - first] += mass * up
        return first, out


def gaussian_dots(mu: float, theta: float, step: float, reach: float) -> tuple[int, Floats, float]:
    r"""First index, masses on the grid, and the mass above it, of a law that dominates the mu-Gaussian; theta moves the grid's top.

    Theorem. Rounding each cell's loss up dominates; so does, in cells above zero, leaving the share 1/(1 + e^{step/2}) at the lower end.
    Proof. The first raises losses. For the second, the half-tilted density e^{-l/2} dP is that of N(0, mu^2), which falls in a cell above
    zero, so connecting the dots puts at most half of the half-tilted mass at the upper end; exactly half, at the same P-mass, is the
    share stated, and moves mass up. Boundaries are nudged down and masses inflated by more than their rounding. QED
    """
    low, high = math.floor((mu / 2 - reach) * mu / step), math.ceil((mu / 2 + theta * mu + reach) * mu / step)
    index = np.arange(low, high + 1)
    z = ((index - NUDGE) * step - mu * mu / 2) / mu
    cells = np.where(z[1:] > 0, ndtr(-z[:-1]) - ndtr(-z[1:]), ndtr(z[1:]) - ndtr(z[:-1]))
    cells = np.maximum(cells, 0.0) * (1 + 1e-12 + 1e-14 * mu / step)
    stay = np.where(index[:-1] > 0, 1 / (1 + math.exp(step / 2)), 0.0)
    masses = np.concatenate([[float(ndtr(z[0]))], cells * (1 - stay)])
    masses[:-1] += cells * stay
    return low, masses, float(ndtr(-z[-1])) * (1 + 1e-9)


def discrete(P: Mapping[Any, Any], Q: Mapping[Any, Any]) -> tuple[tuple[DominatingPair, float], tuple[DominatingPair, float]]:
    """Two finite laws, outcome to probability: the pair and its infinite mass for P against Q, then for Q against P."""
    laws = [{outcome: exact(mass, "a probability") for outcome, mass in law.items()} for law in (P, Q)]
    for law in laws:
        if any(mass < 0 for mass in law.values()) or abs(sum(law.values(), Fraction(-1))) > Fraction(1, 10**9):
            raise QueryError("SRD-105", "the probabilities of a law must add up to one.", "Give outcome: probability for each outcome.")
    return _one_way(laws[0], laws[1]), _one_way(laws[1], laws[0])


def _one_way(P: Mapping[Any, Fraction], Q: Mapping[Any, Fraction]) -> tuple[DominatingPair, float]:
    atoms: dict[float, Fraction] = {}
    infinite = Fraction(0)
    for outcome, mass in P.items():
        other = Q.get(outcome, Fraction(0))
        if mass and other:
            ratio = mass / other
            loss = math.log(ratio.numerator) - math.log(ratio.denominator) if abs(ratio - 1) > 0.1 else math.log1p(ratio - 1)
            atoms[loss] = atoms.get(loss, Fraction(0)) + mass
        elif mass:
            infinite += mass
    finite = tuple(sorted((loss, float(mass / (1 - infinite))) for loss, mass in atoms.items()))
    return DominatingPair(finite, max((abs(loss) for loss, _ in finite), default=0.0)), min(1.0, float(infinite) * (1 + 1e-12))
