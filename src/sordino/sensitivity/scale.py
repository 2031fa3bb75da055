"""The ladder of public noise scales, in whole numbers, so that smoothness is a fact about integers and not about rounding."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sordino.errors import QueryError
from sordino.sensitivity.order import WIDEST, Array, whole

__all__ = ["ScaleLadder", "growth"]

UNIT = 20  # scales are counted in 2^-20 grid steps
MILLION = 10**6
LONGEST = 1_000_000
LARGEST = 2**63 - 1


def growth(beta: Fraction) -> int:
    """floor(10^6 e^beta), exactly: two enclosing decimal exponentials that round down to the same integer."""
    digits = 40
    while True:
        with decimal.localcontext(decimal.Context(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)) as context:
            ends = []
            for rounding in (decimal.ROUND_FLOOR, decimal.ROUND_CEILING):
                context.rounding = rounding
                power = (decimal.Decimal(beta.numerator) / decimal.Decimal(beta.denominator)).exp()  # exp is correctly rounded
                near = power.next_minus() if rounding == decimal.ROUND_FLOOR else power.next_plus()
                ends.append(math.floor(Fraction(near) * MILLION))
        if ends[0] == ends[1]:
            return ends[0]
        digits *= 2


@dataclass(frozen=True)
class ScaleLadder:
    """Whole-number scales s_0 < s_1 < ... < s_J, each at most e^beta times the one before, that end above the global sensitivity.

    s_0 = ceil(1024 / beta), s_(j+1) = floor(r s_j), r = floor(10^6 e^beta) / 10^6, until s_J >= 2^20 GS; one unit is 2^-20 grid
    step.

    Theorem. With c(A) = min{j: s_j >= 2^20 A} and j(x) = max(0, max_{k<K} c(A_k) - k, c(GS) - K) a legal ladder of rungs has |j(x)
    - j(x')| <= 1 for neighbours and s_j(x) >= 2^20 LS(x), so s_j(x) is a beta-smooth bound that is never zero.
    Proof. c is non-decreasing, so c(A_k(x)) - k <= c(A_{k+1}(x')) - (k + 1) + 1 <= j(x') + 1 for k + 1 < K, and for k + 1 = K it is
    at most c(GS) - K + 1. The term k = 0 covers LS. s_(j+1) <= r s_j <= e^beta s_j. Only integers are compared. QED
    """

    beta: Fraction | float | str
    global_sensitivity: int
    ratio: Fraction = field(init=False)
    steps: tuple[int, ...] = field(init=False, repr=False)
    marks: NDArray[np.int64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            beta = Fraction(str(self.beta))
        except (ValueError, ZeroDivisionError):
            beta = Fraction(0)
        if not 0 < beta <= 100:
            raise QueryError("SRD-103", f"beta is {self.beta!r}.", "Give 0 < beta <= 100, for instance 0.3 epsilon.")
        top = whole("global_sensitivity", self.global_sensitivity, 0) << UNIT
        if self.global_sensitivity >= WIDEST:
            raise QueryError("SRD-103", "the global sensitivity does not fit 62 bits.", "Use a coarser grid or narrower bounds.")
        factor = growth(beta)
        steps = [math.ceil(1024 / beta)]
        while steps[-1] < top:
            grown = factor * steps[-1] // MILLION
            if grown <= steps[-1] or len(steps) > LONGEST:
                raise QueryError("SRD-103", f"beta={self.beta!r} lets the scales hardly grow.", "Give a larger beta: at least 0.0001.")
            steps.append(grown)
        # s_j >= 2^20 A holds for a whole number A exactly when floor(s_j / 2^20) >= A, and that comparison fits int64
        marks = np.array([min(step >> UNIT, LARGEST) for step in steps], dtype=np.int64)
        for name, value in (("beta", beta), ("ratio", Fraction(factor, MILLION)), ("steps", tuple(steps)), ("marks", marks)):
            object.__setattr__(self, name, value)

    @property
    def last(self) -> int:
        """J, the index of the largest scale."""
        return len(self.steps) - 1

    @property
    def least_window(self) -> int:
        """The least window K that leaves nothing to the global sensitivity: c(GS), and at least one rung."""
        return max(1, int(self.cover(self.global_sensitivity)))

    def cover(self, sensitivity: ArrayLike) -> NDArray[np.int64]:
        """c(A) = min{j: s_j >= 2^20 A} for whole numbers A; what exceeds the global sensitivity counts as the global sensitivity."""
        amount: Array = np.asarray(sensitivity)
        if amount.dtype.kind == "O" and all(isinstance(a, int) for a in amount.flat):  # Python integers beyond int64
            amount = np.array([min(a, self.global_sensitivity) for a in amount.flat], dtype=np.int64).reshape(amount.shape)
        if amount.dtype.kind not in "iu" and amount.size:
            raise QueryError("SRD-103", "a rung is not a whole number of grid steps.", "Round rungs up first, or use index with eta.")
        capped = np.minimum(amount, self.global_sensitivity).astype(np.int64)
        return np.asarray(np.searchsorted(self.marks, capped, side="left"), dtype=np.int64)

    def index(self, rungs: ArrayLike, window: int | None = None, *, eta: Fraction | float | str = 0) -> int:
        """j(x) from the rungs A_0, A_1, ... of one table; float rungs with error at most eta count as ceil(A_k + (2k + 1) eta).

        Theorem. The rounded rungs are a legal ladder again.
        Proof. A_k(x) + (2k + 1) eta <= true A_k(x) + (2k + 2) eta <= true A_{k+1}(x') + (2k + 2) eta <= A_{k+1}(x') + (2k + 3) eta;
        ceil keeps the order. QED
        """
        amount = np.asarray(rungs)
        count = len(amount) if window is None else whole("window", window, 1)
        if len(amount) < count:
            raise QueryError("SRD-103", f"{len(amount)} rungs for a window of {count}.", "Give as many rungs as the window is long.")
        amount = amount[:count]
        if amount.dtype.kind == "f":
            amount = self.whole_rungs(amount, eta)
        reach = self.cover(amount) - np.arange(count)
        return max(0, int(reach.max(initial=0)), int(self.cover(self.global_sensitivity)) - count)

    def whole_rungs(self, rungs: Array, eta: Fraction | float | str) -> Array:
        """ceil(A_k + (2k + 1) eta) in exact arithmetic, at most the global sensitivity."""
        error, top = Fraction(str(eta)), self.global_sensitivity
        if np.isnan(rungs).any() or error < 0:
            raise QueryError("SRD-103", "a rung is not a number or eta is negative.", "Give finite rungs and their error eta >= 0.")
        capped = np.minimum(rungs, float(top)).tolist()
        padded = [min(math.ceil(Fraction(rung) + (2 * k + 1) * error), top) for k, rung in enumerate(capped)]
        return np.array(padded, dtype=np.int64)

    def scale(self, index: int) -> Fraction:
        """s_j as grid steps."""
        return Fraction(self.steps[index], 1 << UNIT)
