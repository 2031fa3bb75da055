"""A statistic of the user's own, asked of one column or of several.

One release of a custom statistic whose sensitivity is the same on every table: Laplace or Gaussian noise of a public size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.gaussian import Gaussian
from sordino.mechanisms.laplace import Laplace
from sordino.privacy.certificate import Part
from sordino.privacy.number import as_positive
from sordino.privacy.relation import Relation
from sordino.statistics.applied_fit import OwnStep
from sordino.statistics.applied_goal import GoalStep
from sordino.statistics.custom import Custom
from sordino.statistics.evaluation import values
from sordino.statistics.own_rows import OwnRows, Resize, Thinning, complete, resized_tables, thinned
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, ReachPrice, Step, Ways, per_group, per_row
from sordino.statistics.registry import Sealed, registered
from sordino.statistics.smooth_fit import FITS
from sordino.summaries import Ask, Draw, Held

__all__ = ["Applied", "FixedStep", "apply", "named", "reach_of"]

EXTRA = 1 + Fraction(1, 2**30)  # for the floats of a user's function
FARTHEST = 2**60


def reach_of(custom: Custom, moves: int) -> Fraction:
    """How far a unit that makes so many of the claimed steps moves f."""
    assert custom.global_sensitivity is not None
    return custom.global_sensitivity * moves * EXTRA


@dataclass(frozen=True)
class FixedStep(Priced):
    r"""f plus noise for a sensitivity that its author claims on every table.

    Theorem. If one row that comes or goes moves f by at most Delta, noise for m Delta is private for people of at most m rows who come and
    go, on a table that is thinned by a count at a hundredth of the price; for replaced people noise for 2 m Delta is. If one replaced row
    moves f by at most Delta at a public size, noise for m Delta is. If Delta is claimed for whole people, noise for Delta and 2 Delta is.
    Proof. In a thinned table rows still come and go; a cut one changes by at most m removals and m additions when a person is replaced.
    So a unit makes `Custom.moves` steps, each of which moves f, clipped to a range that was given, by at most Delta. The rest is the
    mechanism's own theorem for that sensitivity. QED
    """

    custom: Custom
    rows: OwnRows
    way: str
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _ = self.mechanism, self.rows.grids  # every refusal comes before the charge

    @property
    def context(self) -> Context:
        return self.rows.context

    @cached_property
    def replaced(self) -> bool:
        return per_group(self.epsilon, Fraction(0), self.context).relation is Relation.REPLACE

    @cached_property
    def resize(self) -> Resize | Thinning | None:
        return thinned(self.custom.relation, self.rows, self.epsilon, replaced=self.replaced)

    @cached_property
    def price(self) -> ReachPrice:
        spent = Fraction(0) if self.resize is None else self.resize.noise.epsilon
        left = self.epsilon - spent
        if self.way == "laplace" and self.custom.level == "row":  # a claim about people says nothing of a person's few rows in one group
            return per_row(left, self.context)
        return per_group(left, self.delta if self.way == "gaussian" else Fraction(0), self.context)

    @cached_property
    def mechanism(self) -> Laplace | Gaussian:
        reach = reach_of(self.custom, self.custom.moves(self.context.limits.rows, replaced=self.replaced))
        if self.way == "laplace":
            return Laplace(self.price.epsilon, reach, self.custom.dimension)
        return Gaussian(self.price.epsilon, self.price.delta, reach, self.custom.dimension)

    @property
    def bar(self) -> str:
        return "exact" if self.custom.dimension == 1 else "none"

    @property
    def name(self) -> str:
        return f"{type(self.mechanism).__name__}, {self.custom.__name__}"

    @property
    def parts(self) -> tuple[Part, ...]:
        own = self.mechanism.certificate()
        counted = () if self.resize is None else (self.resize.noise.part,)
        return (*counted, self.price.part(replace(own, assumptions=f"{own.assumptions}; {self.custom.claim}")))

    def located(self, x: Any) -> Any:
        """What `values` finds, in whole steps."""
        steps = [math.floor(Fraction(part) / self.mechanism.step + Fraction(1, 2)) for part in values(self.custom, x)]
        whole = [min(max(step, -FARTHEST), FARTHEST) for step in steps]
        return whole[0] if self.custom.dimension == 1 else np.array(whole, np.int64)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        answers = []
        for found in resized_tables(ask, draw, groups, resize=self.resize, rows=self.rows):
            place = self.located(self.rows.numbers(found, self.custom))
            drawn = self.mechanism.release(Held(place), draw)
            answers.append(self._said(drawn))
        return answers

    def _said(self, drawn: Any, level: float = LEVEL) -> Answer:
        if self.custom.dimension > 1:
            return Answer(tuple(float(part) for part in drawn), raw=tuple(float(part) for part in drawn))
        far = self._far(level)
        return Answer(float(drawn), float(drawn) - far, float(drawn) + far, raw=(float(drawn),))

    def _far(self, level: float) -> float:
        """The half-width of the noise, a step of rounding included."""
        scale, step = float(self.mechanism.scale * self.mechanism.step), float(self.mechanism.step)
        if self.way == "laplace":
            return scale * math.log(1 / (1 - level)) + step
        from scipy.special import ndtri

        return scale * float(ndtri((1 + level) / 2)) + step

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        if self.bar == "none":
            return None
        again = self._said(answer.raw[0], level)
        return again.low, again.high

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        return self._far(level) if self.custom.dimension == 1 else None

    def rmse(self, rows: int | None) -> float:
        return math.sqrt(self.mechanism.variance)


@dataclass(frozen=True)
class Applied(Plain):
    """A custom statistic of its columns. `propose` and `otherwise` belong to the question: a bound to test, and what a failed test says.

    `columns` are the table's, in the order of the statistic's own. `first` is where its condition stands among those of the frame.
    """

    custom: Any
    columns: tuple[str, ...]
    propose: Fraction | None = None
    otherwise: str = "refuse"
    first: int = 0
    unsettled = True

    def __post_init__(self) -> None:
        if not isinstance(self.custom, Custom):
            what = f"{getattr(self.custom, '__name__', self.custom)!r} is not a statistic."
            raise QueryError("SRD-105", what, "Decorate it with @sd.statistic(bounds=..., relation=...).")
        object.__setattr__(self, "propose", None if self.propose is None else as_positive(self.propose, "propose"))
        if self.otherwise not in ("refuse", "global"):
            raise QueryError("SRD-106", f"otherwise is {self.otherwise!r}.", 'Use "refuse" or "global".')
        wanted = max(len(self.custom.columns), 1)
        if len(self.columns) != wanted or len(set(self.columns)) != wanted:
            names = ", ".join(self.custom.columns) or "one sorted array"
            what = f"{self.custom.__name__!r} is a function of {names}, and {len(set(self.columns))} columns were named."
            raise QueryError("SRD-103", what, f"Name {wanted} different columns of the table, in that order.")

    @property
    def several(self) -> bool:
        return bool(self.custom.columns)

    @property
    def predicates(self) -> tuple[Any, ...]:  # type: ignore[override]
        """Rows that count are counted by a condition where several columns decide."""
        return (complete(self.columns),) if self.several else ()

    @property
    def label(self) -> str:
        return f"{self.custom.__name__}({', '.join(self.columns)})"

    def question(self) -> dict[str, Any]:
        tested = {} if self.propose is None else {"propose": str(self.propose), "otherwise": self.otherwise}
        asked: dict[str, Any] = {"columns": list(self.columns)} if self.several else {"column": self.columns[0]}
        return {"statistic": "custom", **asked, "name": self.custom.__name__, **self.custom.question(), **tested}

    @property
    def offered(self) -> tuple[str, ...]:
        """The mechanisms its author's claims suffice for, the planner's choice first."""
        custom, found = self.custom, []
        if custom.rungs is not None and custom.dimension == 1:
            found += [way for way in FITS if way != "ptr"]
        if custom.global_sensitivity is not None:
            found += ["laplace", "gaussian"] if custom.norm == 1 or custom.dimension == 1 else ["gaussian"]
        if custom.range is not None and (custom.rungs is not None or custom.measures_distance):
            found += ["ptr", "ladder"]
        if custom.steps_away is not None or custom.rungs is not None:
            found.append("stability")
        if (custom.goals is not None or custom.reached is not None) and custom.dimension == 1:
            found.insert(len(found) if custom.reached is not None and custom.rungs is not None else 0, "inverse")
        if not found:
            what = f"nothing is known about the sensitivity of {custom.__name__!r}."
            raise QueryError("SRD-109", what, "Add @statistic.sensitivity_at, .distance_at, .distance_to or .path_at, or sensitivity=.")
        return tuple(found)

    def needs_delta(self, context: Context) -> bool:
        return self.offered[0] in ("gaussian", "ptr", "ladder", "stability")

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        propose = self.propose if self.propose is not None else context.propose
        otherwise = self.otherwise if self.propose is not None else context.otherwise
        rows = OwnRows(self.columns, self.several, context, self.first)

        def build(way: str) -> Step:
            if way in ("laplace", "gaussian"):
                return FixedStep(self.custom, rows, way, epsilon, delta)
            if way == "inverse":
                return GoalStep(self.custom, rows, epsilon)
            return OwnStep(self.custom, rows, way, epsilon, delta, propose, otherwise)

        return {way: partial(build, way) for way in self.offered}


def named(custom: Any, columns: Any) -> tuple[str, ...]:
    """The table's columns a statistic is asked of: one name, several in order, a mapping from its own names, or its own names."""
    own = tuple(getattr(custom, "columns", ()))
    if columns is None:
        if not own:
            raise QueryError("SRD-103", "no column was named.", 'Name the column, as in table.apply(f, "income").')
        return own
    if isinstance(columns, Mapping):
        if set(columns) != set(own):
            raise QueryError("SRD-103", f"columns are given for {', '.join(map(str, columns))}.", f"Give one for each of {', '.join(own)}.")
        columns = [columns[name] for name in own]
    return (columns,) if isinstance(columns, str) else tuple(columns)


def _about(sealed: Sealed) -> str:
    return f"{sealed.said['name']} of {sealed.of} as its author defines it{sealed.clamped}"


registered("custom", about=_about, verb=False)(Applied)  # its name in a question


@registered(about=_about, remote=False)
def apply(custom: Custom, columns: Any = None, *, propose: Any = None, otherwise: str = "refuse") -> Applied:
    """Ask a statistic of one's own of a column, or of several."""
    return Applied(custom, named(custom, columns), propose, otherwise)
