"""Statistics of the user's own: a function of a sorted column, with what is known about its sensitivity."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sordino.errors import QueryError
from sordino.privacy.number import as_bounds, as_positive
from sordino.privacy.relation import Relation
from sordino.statistics.fingerprint import fingerprint

__all__ = ["Custom", "statistic"]

Function = Callable[..., Any]


class Custom:
    """A function f of a sorted, clipped array, and its author's claims about it.

    `sensitivity_at(x, k)` bounds how far one row can move f on every table within k rows of x; `distance_at(x)`, or `distance_at(x,
    above)`, is how many rows can change before one more could change f, or change it by more than `above`; `sensitivity` bounds it on
    every table. Rows come and go or are replaced, as `relation` says. Nobody checks a claim but `sordino.lab.falsify`, whose verdict
    stays with the statistic and goes on the card.
    """

    def __init__(
        self,
        function: Function,
        *,
        bounds: Any = None,
        relation: str | Relation = "add_remove",
        sensitivity: Any = None,
        norm: int = 1,
        dimension: int = 1,
        range: Any = None,
    ) -> None:
        self.function, self.relation = function, Relation.of(relation)
        self.bounds = None if bounds is None else as_bounds(bounds)
        self.global_sensitivity = None if sensitivity is None else as_positive(sensitivity, "sensitivity")
        if norm not in (1, 2):
            raise QueryError("SRD-103", f"norm is {norm!r}.", "Give norm=1 or norm=2, the norm in which sensitivity is meant.")
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise QueryError("SRD-103", f"dimension is {dimension!r}.", "Give the public number of coordinates, at least 1.")
        if self.bounds is None and self.global_sensitivity is None:
            what = "a statistic needs bounds for its rows, or a sensitivity that holds for all of them."
            raise QueryError("SRD-104", what, "Give bounds=(low, high), or sensitivity=.")
        self.norm, self.dimension = norm, dimension
        self.rungs: Function | None = None
        self.steps_away: Function | None = None
        self.verdict: Any = None
        self._range = None if range is None else as_bounds(range)
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = getattr(function, "__doc__", None)

    @property
    def range(self) -> tuple[Fraction, Fraction] | None:
        """Public limits of f: those given, else what holds for centres and spreads: the bounds, and 0 to their distance."""
        if self._range is not None or self.bounds is None:
            return self._range
        low, high = self.bounds
        return min(low, Fraction(0)), max(high, high - low)

    def __call__(self, x: ArrayLike) -> Any:
        """The statistic of an array one owns, as the table's release would call it: sorted and clipped."""
        return self.function(self.prepared(x))

    def prepared(self, x: ArrayLike) -> NDArray[np.float64]:
        """Sorted, clipped to the bounds, and not to be written to."""
        values = np.sort(np.asarray(x, float))
        if self.bounds is not None:
            values = np.clip(values, float(self.bounds[0]), float(self.bounds[1]))
        values.flags.writeable = False
        return values

    def sensitivity_at(self, function: Function) -> Function:
        """Say how far one row can move the statistic within k rows of x: a decorator for a function of (x, k)."""
        _check_arguments(function, (2,), "sensitivity_at", "(x, k)")
        if self.bounds is None:
            raise QueryError("SRD-104", f"{self.__name__} has no bounds.", "Give bounds=(low, high) to sd.statistic first.")
        self.rungs, self.verdict = function, None
        return function

    def distance_at(self, function: Function) -> Function:
        """Say how many rows can change before the next one could change the statistic: a decorator for a function of (x) or (x, above)."""
        _check_arguments(function, (1, 2), "distance_at", "(x) or (x, above)")
        self.steps_away, self.verdict = function, None
        return function

    @property
    def measures_distance(self) -> bool:
        """Whether the distance is known for every bound, not for stability alone."""
        return self.steps_away is not None and _arguments(self.steps_away) == 2

    def question(self) -> dict[str, Any]:
        """What makes two statistics the same."""
        parts = {"function": self.function, "sensitivity_at": self.rungs, "distance_at": self.steps_away}
        marks = {name: None if part is None else fingerprint(part) for name, part in parts.items()}
        pairs = {"bounds": self.bounds, "range": self.range}
        facts = {name: None if pair is None else [str(end) for end in pair] for name, pair in pairs.items()}
        said = None if self.global_sensitivity is None else str(self.global_sensitivity)
        return {**marks, **facts, "relation": self.relation.value, "sensitivity": said, "norm": self.norm, "dimension": self.dimension}

    @property
    def claim(self) -> str:
        """What the card says about the sensitivity."""
        tried = "no pairs tried"
        if self.verdict is not None:
            tried = f"{self.verdict.pairs:,} pairs tried" if self.verdict.ok else f"REFUTED after {self.verdict.pairs:,} pairs"
        return f"sensitivity supplied by the user, {tried}, not a proof"

    def __repr__(self) -> str:
        known = [word for word, part in (("sensitivity_at", self.rungs), ("distance_at", self.steps_away)) if part is not None]
        known += [] if self.global_sensitivity is None else [f"sensitivity {float(self.global_sensitivity):g}"]
        return f"Statistic {self.__name__!r}, {self.relation.value}: {', '.join(known) or 'no sensitivity yet'}; {self.claim}"


def _arguments(function: Function) -> int:
    try:
        kinds = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return -1
    if any(kind.kind is kind.VAR_POSITIONAL for kind in kinds):
        return -1
    return sum(kind.kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD) and kind.default is kind.empty for kind in kinds)


def _check_arguments(function: Any, allowed: tuple[int, ...], name: str, example: str) -> None:
    if not callable(function) or _arguments(function) not in (*allowed, -1):
        raise QueryError("SRD-103", f"{name} is not a function of {example}.", f"Give a function of {example}.")


def statistic(
    *,
    bounds: Any = None,
    relation: str | Relation = "add_remove",
    sensitivity: Any = None,
    norm: int = 1,
    dimension: int = 1,
    range: Any = None,
) -> Callable[[Function], Custom]:
    """Make a function of a sorted column a statistic of one's own.

    `bounds` are those of the rows, `range` the public limits of the value where they differ. With `sensitivity=` a bound that holds on
    every table is known; otherwise say more with `.sensitivity_at` or `.distance_at`.

    >>> import sordino as sd
    >>> @sd.statistic(sensitivity=1)
    ... def above(x):
    ...     return int((x > 10).sum())
    >>> above([5, 15, 25])
    2
    """

    def made(function: Function) -> Custom:
        if not callable(function):
            raise QueryError("SRD-105", f"{function!r} is not a function.", "Decorate a function of a sorted array.")
        options: dict[str, Any] = {"bounds": bounds, "relation": relation, "sensitivity": sensitivity, "norm": norm}
        return Custom(function, **options, dimension=dimension, range=range)

    return made
