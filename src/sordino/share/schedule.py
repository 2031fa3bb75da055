"""What a shared table costs and how the price is divided: fixed before the first row is read, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from sordino.errors import QueryError
from sordino.mechanisms.estimate import Portions, root_up
from sordino.mechanisms.exponential import Exponential
from sordino.mechanisms.gaussian import Gaussian
from sordino.privacy.certificate import Part, whole_cost
from sordino.privacy.cost import Cost, gaussian_epsilon
from sordino.privacy.number import round_down, round_up
from sordino.privacy.relation import Relation

__all__ = ["METHODS", "Schedule", "affordable", "rounds_of"]

METHODS = ("adaptive", "tree", "given")
# of rho: first counts, choices, measurements, report; first counts and measurements of "adaptive" are those of 3d rounds
SHARES = {
    "adaptive": (Fraction(15, 100), Fraction(8, 100), Fraction(72, 100), Fraction(5, 100)),
    "tree": (Fraction(25, 100), Fraction(10, 100), Fraction(60, 100), Fraction(5, 100)),
    "given": (Fraction(20, 100), Fraction(0), Fraction(75, 100), Fraction(5, 100)),
}
FINE = 1024  # parts of a counted unit in which scores and distances are whole
COLUMN = Fraction(5, 8)  # what counting one column gets of the rho of a chosen set: so divides "adaptive" at every number of rounds
CLOSE, TRIES = 1e-4, 60  # of the price that may be left over, and prices that are tried


def rounds_of(columns: int, cells: float, rho: float, rows: int | None) -> int:
    r"""How many marginals are chosen: as many as keep the noise of a typical one below a tenth of the rows, from d - 1 to 3d.

    The noise of T measurements that share rho has standard deviation sqrt(T/(2 rho)), and adds .8 of that in each of the cells.
    """
    least, most = max(columns - 1, 1), 3 * columns
    if rows is None:
        return min(max(2 * columns, least), most)
    return min(max(math.floor(2 * rho * (0.1 * rows / (0.8 * cells)) ** 2), least), most)


def shares_of(method: str, columns: int, rounds: int, reported: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """The parts of rho for first counts, choices, measurements and report; what is not done gets nothing.

    Where few sets are chosen, each gets much, and counts of single columns with the noise of many rounds would be the worst of all that is
    known. So a column gets its part of what a chosen set gets, whatever their number.
    """
    first, chosen, measured, report = SHARES[method]
    if method == "adaptive" and rounds:
        both, weight = first + measured, COLUMN * columns
        first, measured = both * weight / (weight + rounds), both * rounds / (weight + rounds)
    return first, chosen if rounds else Fraction(0), measured, report if reported else Fraction(0)


@dataclass(frozen=True)
class Schedule:
    r"""The parameters of every draw of one shared table.

    Theorem. Let one person move every marginal by at most `reach` (m rows, or one person in equal parts) in L1 and in L2. Counting every
    column, choosing T marginals by the exponential mechanism with scores |x_C - e_C|_1 weighted by at most w, measuring them with
    Gaussian noise, and reporting K distances |x_C - s_C|_1 with Gaussian noise costs the adaptive composition of one Gaussian with
    mu^2 = sum (L2 reach/sigma)^2 and T choices of bounded range.
    Proof. e_C and s_C are functions of what was drawn before, so by the reverse triangle inequality a score moves by at most w reach and
    the K distances by at most sqrt(K) reach in L2. Every parameter is fixed here; only which question is asked adapts. Under replace one
    cell loses and another gains: 2 reach in L1, sqrt(2) reach in L2. Adaptive Gaussians compose to one (`Portions`), choices of bounded
    range to their dominating pairs (`privacy.pld`). QED
    """

    method: str
    columns: int
    rounds: int
    reported: int
    reach: int  # of one person, in counted units
    heaviest: int  # the largest weight of a score
    relation: Relation
    choice: Fraction  # epsilon of one choice; zero where nothing is chosen
    gaussian: tuple[Fraction, Fraction]  # epsilon and delta whose mu all Gaussian draws share
    named: tuple[Part, ...] = ()  # what naming private categories costs

    @cached_property
    def purse(self) -> Portions:
        return Portions(*self.gaussian)

    @property
    def parts(self) -> tuple[Part, ...]:
        chosen = (Part(self.selection.certificate(), full=self.rounds),) if self.choice else ()
        return (*self.named, Part(Gaussian(*self.gaussian).certificate()), *chosen)

    @cached_property
    def cost(self) -> Cost:
        return whole_cost(self.parts).at_its_delta()

    @property
    def selection(self) -> Exponential:
        twice = 2 if self.relation is Relation.REPLACE else 1
        return Exponential(self.choice, twice * self.heaviest * self.reach * FINE, relation=self.relation)

    @property
    def length(self) -> Fraction:
        """How far one person moves a marginal in L2."""
        return self.reach * (root_up(Fraction(2)) if self.relation is Relation.REPLACE else Fraction(1))

    def _share(self, which: int) -> Fraction:
        first, _, measured, report = shares_of(self.method, self.columns, self.rounds, self.reported)
        return (first, measured, report)[which] / (first + measured + report)

    @cached_property
    def first(self) -> Fraction:
        """The standard deviation of the counts of single columns, in counted units."""
        return self.purse.scale(self.length, self._share(0) / self.columns)

    @cached_property
    def measured(self) -> Fraction:
        return self.purse.scale(self.length, self._share(1) / max(self.rounds, 1))

    @cached_property
    def report(self) -> Fraction:
        """That of the reported distances, in parts of a counted unit."""
        twice = 2 if self.relation is Relation.REPLACE else 1
        return self.purse.scale(Fraction(twice * self.reach * FINE), self._share(2) / max(self.reported, 1))

    @classmethod
    def at(
        cls, rho: float, delta: Fraction, *, method: str, columns: int, rounds: int, reported: int, reach: int, heaviest: int,
        relation: Relation, named: tuple[Part, ...] = (),
    ) -> Schedule:  # fmt: skip
        """The schedule whose Gaussian and bounded-range parts have about this rho together."""
        first, chosen, measured, report = shares_of(method, columns, rounds, reported)
        whole = first + chosen + measured + report
        mu = math.sqrt(2 * rho * float((whole - chosen) / whole))
        epsilon = round_up(gaussian_epsilon(mu, float(delta)) * (1 + 1e-9), 15)
        choice = round_down(math.sqrt(8 * rho * float(chosen / whole) / rounds), 12) if chosen else Fraction(0)
        return cls(method, columns, rounds, reported, reach, heaviest, relation, choice, (epsilon, delta), named)


@lru_cache(maxsize=128)
def affordable(
    epsilon: Fraction, delta: Fraction, *, method: str, columns: int, reported: int, reach: int, heaviest: int, relation: Relation,
    cells: float, rows: int | None, fixed: int | None = None, named: tuple[Part, ...] = (), by_rho: bool = False,
) -> Schedule:  # fmt: skip
    """The schedule of most rho whose composed privacy profile stays within (epsilon, delta), or whose zCDP price within a rho.

    `fixed` is the number of measurements where the method or the caller sets it.
    """
    spent = sum((part.cost.delta for part in named), Fraction(0))
    if delta <= spent or not delta:
        raise QueryError("SRD-102", "a shared table takes a delta.", "Give delta=1e-6 from a budget that has a delta.")

    def made(rho: float) -> Schedule:
        free = rho * float(SHARES[method][2])
        rounds = fixed if fixed is not None else rounds_of(columns, cells, free, None if rows is None else rows * 1)
        return Schedule.at(rho, delta - spent, method=method, columns=columns, rounds=rounds, reported=reported, reach=reach,
                           heaviest=heaviest, relation=relation, named=named)  # fmt: skip

    def above(rho: float) -> float:
        """The logarithm of how many times the price is paid."""
        try:
            cost = made(rho).cost
            return math.log((cost.rho if by_rho else cost.epsilon) / epsilon)
        except (QueryError, OverflowError):
            return math.inf

    log = math.log(1 / float(delta))
    low, high, at = 0.0, math.inf, float(epsilon) if by_rho else (math.sqrt(log + float(epsilon)) - math.sqrt(log)) ** 2
    known: list[tuple[float, float]] = []
    for _ in range(TRIES):  # a secant in logarithms, kept inside what is known to fit and not to fit
        found = above(at)
        low, high = (at, high) if found <= 0 else (low, at)
        if -CLOSE <= found <= 0 or high < low * (1 + CLOSE):
            return made(low)
        known = [*known[-1:], (math.log(at), found)] if math.isfinite(found) else known
        slope = (known[1][1] - known[0][1]) / (known[1][0] - known[0][0]) if len(known) > 1 and known[1][0] != known[0][0] else 0.6
        if math.isfinite(found) and 0.1 < slope < 10:
            at = math.exp(math.log(at) - (found + CLOSE / 2) / slope)
        else:
            at /= 4
        if not low < at < high:
            at = high / 4 if not low else 2 * low if math.isinf(high) else math.sqrt(low * high)
    if not low:
        raise QueryError("SRD-110", "no shared table can be had at this price.", "Ask with a larger epsilon or delta.")
    return made(low)


def median_cells(sizes: Sequence[int]) -> float:
    """The cells of a typical pair of columns."""
    pairs = sorted(a * b for i, a in enumerate(sizes) for b in sizes[:i])
    return float(pairs[len(pairs) // 2]) if pairs else float(sizes[0])
