"""A user's function as a total map: whatever it does on some data, it gives a whole number between public ends and never an error."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Array
from sordino.statistics.custom import Custom
from sordino.statistics.smooth_fit import Located

__all__ = ["Evaluation", "called", "plain", "values"]

BITS = 32  # of the public range, for the value
LONGEST = 10_000
SLACK = 4  # steps that rounding adds to a proposed bound, for each move of a unit
FARTHEST = 64  # steps of a path that are walked where nobody says how many
ERROR = Fraction(1, 1024)  # of a step: how far the floats of a user's function may be off


def called(function: Any, *arguments: Any) -> Any:
    """The function's result, or None for whatever went wrong; nothing is printed and nothing is warned about."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*arguments)
        except (Exception, SystemExit):  # an error is an output, and an output nobody paid for
            return None


def number(found: Any, otherwise: float) -> float:
    try:
        value = float(found)
    except Exception:
        return otherwise
    return value if math.isfinite(value) else otherwise


def values(custom: Custom, x: Any) -> list[float]:
    """f as a release by a global sensitivity sees it: finite numbers, inside the range if its author gave one, and never an error.

    What is no number is the middle of the range, or 0; a wrong number of coordinates is that in every one. A range that only follows
    from the bounds clips nothing: a sum, say, leaves it, and the author's sensitivity speaks about the sum.
    """
    ends = custom.range
    middle = 0.0 if ends is None else float(sum(ends) / 2)
    found = called(custom.function, x)
    parts = called(lambda: np.asarray(found, float).ravel().tolist()) or []
    if len(parts) != custom.dimension:
        parts = [middle] * custom.dimension
    numbers = [number(part, middle) for part in parts]
    if custom.given_range is None:
        return numbers
    low, high = (float(end) for end in custom.given_range)
    return [min(max(part, low), high) for part in numbers]


def plain(found: Any, depth: int = 4) -> Any:
    """A value that can be recorded whatever it is: numbers, short text, flags, and tuples of them; anything else is None."""
    if isinstance(found, np.generic):
        found = found.item()
    kind = type(found)  # a subclass could do anything when it is written down
    if kind in (tuple, list) and depth and len(found) <= LONGEST:
        return tuple(plain(part, depth - 1) for part in found)
    fits = (
        kind is bool
        or (kind is int and abs(found) < 2**63)
        or (kind is float and math.isfinite(found))
        or (kind is str and len(found) <= LONGEST)
    )
    return found if fits else None


@dataclass(frozen=True, eq=False)
class Evaluation:
    r"""A custom statistic on the integers its release works with.

    Theorem. If the author's A(x, k) bounds the sensitivity of f within k rows, does not fall with k and has A(x, k) <= A(x', k + 1),
    and floats are off by at most 2^-42 of the range, then ceil(A/g + 1 + 2 eta + (2k + 1) eta), eta = 1/1024, at most the whole range,
    is a legal ladder of f rounded to steps g = range 2^-32. Where the table may have been cut to N rows, rungs with n + (k+1) a > N are
    the whole range, a the rows that one step may add.
    Proof. Clipping f to its range moves nothing apart, rounding by at most one step more. Errors of A grow by 2 eta per rung, as for
    any float ladder. The whole range is above every rung, and a neighbour's next rung is the whole range, too. QED

    Theorem. Let a unit make j of the steps the claims are about (`Custom.moves`), and let d(x) = `distance_at(x, B/j)` move by at most
    one in a step and be 0 unless a step from x moves f by at most B/j. Then D = floor(d/j) moves by at most one between units, and if
    D(x) >= 1 or D(x') >= 1, they differ by at most `bound(B)` in steps of g.
    Proof. d moves by at most j on a walk of j steps, hence floor(d/j) by at most one. If D(x) >= 1, then d >= j at x and d >= j - i > 0
    after i < j steps of the walk to x': each of the j steps starts where f moves by at most B/j, in all by B. Rounding adds one step of
    g, and floats at most 2 eta for each step of the walk: less than 4 j. QED
    Asking for B itself and dividing only the distance would let a unit move f by j B.
    A rung that is not a number, is negative or cannot be computed is the whole range; a value of f that is none is the middle of it.
    """

    custom: Custom
    moves: int = 1  # how many of the claimed steps one unit makes
    most: int | None = None  # where a table might have been cut, under add_remove

    @cached_property
    def range(self) -> tuple[Fraction, Fraction]:
        assert self.custom.range is not None
        return self.custom.range

    @cached_property
    def step(self) -> Fraction:
        width = self.range[1] - self.range[0]
        power = width.numerator.bit_length() - width.denominator.bit_length() - BITS
        return Fraction(2) ** power

    @cached_property
    def top(self) -> int:
        """The whole range in steps."""
        return math.floor((self.range[1] - self.range[0]) / self.step) + 1

    def bound(self, propose: Fraction) -> Fraction:
        """What the noise has to cover, in steps, where units were proposed to move f by at most this."""
        return propose / self.step + SLACK * self.moves

    def plain(self, x: Any) -> float:
        """f as a number inside its range."""
        found = number(called(self.custom.function, x), float(sum(self.range) / 2))
        return min(max(found, float(self.range[0])), float(self.range[1]))

    def value(self, x: Any) -> int:
        clipped = min(max(Fraction(self.plain(x)), self.range[0]), self.range[1])
        return math.floor((clipped - self.range[0]) / self.step + Fraction(1, 2))

    def steps_to(self, x: Any, goal: float, most: int = 10**9) -> int:
        """How many steps of the claim lead to a table where f could be `goal`; a broken answer is the longest way."""
        if self.custom.reached is not None:
            return int(self.walked(x, np.array([goal]), 0.0, min(most, FARTHEST))[0])
        found = number(called(self.custom.goals, x, goal), float(most))
        return int(min(max(found, 0.0), float(most)))

    def walked(self, x: Any, goals: Array, near: float, most: int) -> Array:
        """How many steps of the claimed path lead within `near` of each goal; a broken step leads nowhere, and `most` is the longest way.

        Theorem. If the path of x at k lies inside that of a neighbour at k + 1, this moves by at most one in a step.
        Proof. What x reaches with k steps, the neighbour reaches with k + 1. QED
        """
        found = np.full(len(goals), most, np.int64)
        for k in range(most):
            said = called(self.custom.reached, x, k)
            ends = called(lambda said=said: [float(end) for end in said])
            low, high = ends if ends is not None and len(ends) == 2 else (math.nan, math.nan)
            found[(found > k) & (goals >= low - near) & (goals <= high + near)] = k
            if (found <= k).all():
                break
        return found

    def rung(self, x: Any, k: int) -> int:
        """The rung of single steps of the claim."""
        if self.custom.rungs is None or (self.most is not None and self.custom.size(x) + (k + 1) * self.custom.max_rows > self.most):
            return self.top
        found = number(called(self.custom.rungs, x, k), math.inf) * float(1 / self.step)
        return min(math.ceil(Fraction(found) + 1 + (2 * k + 3) * ERROR), self.top) if 0 <= found < self.top else self.top

    def ladder(self, x: Any) -> Ladder:
        """Rungs are asked for once, in order; they never fall, and above the whole range there is nothing to ask."""
        known: list[int] = []

        def block(k0: int, k1: int) -> Array:
            while len(known) < k1 and (not known or known[-1] < self.top):
                known.append(max(known[-1] if known else 0, self.rung(x, len(known))))
            return np.array((known[k0:k1] + [self.top] * (k1 - k0))[: k1 - k0], dtype=np.int64)

        return Ladder(block, self.top, self.custom.size(x) + 1).people(self.moves, self.top)

    def located(self, x: Any, propose: Fraction | None = None) -> Located:
        known = self.custom.rungs is None and propose is not None
        return Located(self.value(x), self.ladder(x), 0, self.top, self.distance(x, propose) if known else None)

    def distance(self, x: Any, above: Fraction | None = None, most: int = 10**9) -> int:
        """How many units can change before the next one could move f by more than `above` (None: at all); a broken answer is 0.

        Where only a ladder is known it is the least k with A(x, k) > 0, as far as `most` units.
        """
        room = most * self.moves
        if self.most is not None:
            room = min(room, max(self.most - self.custom.size(x), 0) // self.custom.max_rows)
        if self.custom.steps_away is not None:
            arguments = (x, float((above or Fraction(0)) / self.moves)) if self.custom.measures_distance else (x,)
            found = number(called(self.custom.steps_away, *arguments), 0.0)
            return int(min(max(found, 0.0), room)) // self.moves
        still = (k for k in range(room) if number(called(self.custom.rungs, x, k), math.inf) != 0)
        return next(still, room) // self.moves
