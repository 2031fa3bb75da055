"""Any function of one's own, about which nothing is known: asked of parts that share nobody, and aggregated privately."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.gaussian import Gaussian
from sordino.mechanisms.laplace import Laplace, as_dimension
from sordino.mechanisms.sample_aggregate import SampleAggregate
from sordino.privacy.certificate import Part
from sordino.privacy.number import as_bounds
from sordino.privacy.relation import Relation
from sordino.statistics.applied import named
from sordino.statistics.custom import Custom, fingerprint
from sordino.statistics.own_rows import OwnRows
from sordino.statistics.port import Answer, Context, Groups, Plain, ReachPrice, Redrawn, Step, Ways, per_group
from sordino.statistics.registry import Sealed, registered
from sordino.summaries import Ask, Draw, Held
from sordino.summaries.records import Records, RowMatrix
from sordino.summaries.request import rank_window

__all__ = ["Aggregated", "aggregate"]

Floats = NDArray[np.float64]
BITS = 32  # of the public range, for one answer
LEAST, MOST, MOST_RUNS = 3, 1_000, 5_000
USUAL = (20, 200)  # parts, where nobody named their number


def usual_parts(rows: int) -> int:
    """Parts for a public number of rows: as many as rows in each, so that neither the noise nor the bias of small parts wins."""
    return min(max(math.isqrt(rows), USUAL[0]), USUAL[1])


@dataclass(frozen=True)
class Aggregated(Plain):
    """A function nobody can bound, its parts, and what an answer may be. A part that fails, or has no rows, says `failed`."""

    function: Callable[[Any], Any]
    columns: tuple[str, ...]
    several: bool
    names: tuple[str, ...]
    range: tuple[Fraction, Fraction]
    parts: int | None = None
    dimension: int = 1
    limit_s: float = 10.0
    limit_mb: int = 512
    failed: Fraction = Fraction(0)

    @property
    def label(self) -> str:
        return f"{self.name}({', '.join(self.columns)})"

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def question(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"columns": list(self.columns)} if self.several else {"column": self.columns[0]}
        facts = {"range": [str(end) for end in self.range], "parts": self.parts, "dimension": self.dimension, "failed": str(self.failed)}
        limits = {"limit_s": str(self.limit_s), "limit_mb": self.limit_mb}
        return {"statistic": "aggregate", **asked, "name": self.name, "function": fingerprint(self.function), **facts, **limits}

    def prepared(self, columns: Floats) -> Any:
        """One part as the function sees it: runs in the child."""
        cells = np.asfortranarray(columns)
        cells.flags.writeable = False
        return {name: cells[:, i] for i, name in enumerate(self.names)} if self.several else cells[:, 0]

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        def build(way: str) -> Step:
            return AggregateStep(self, way, epsilon, delta, context)

        ways = ("aggregate",) if self.dimension == 1 else ("gaussian", "laplace") if delta else ("laplace", "gaussian")
        return {way: partial(build, way) for way in ways}

    @property
    def takes_delta(self) -> bool:
        return self.dimension > 1


@dataclass(frozen=True)
class AggregateStep(Redrawn):
    r"""The private median of the answers of all parts, or for vectors their mean with noise.

    Theorem. With p parts that share nobody, answers in [a, b] in each of d coordinates, and c = 1 where people come and go, c = 2 where
    they are replaced: the median by `SampleAggregate` is epsilon-DP, the mean with noise for c d (b - a)/p in L1 norm, or for
    c sqrt(d) (b - a)/p in L2 norm, is as private as that noise, whatever the function does in its own process.
    Proof. A unit changes the rows of at most c parts (`Records`), and each part's answer is a function of its own rows, run where it
    can see no others; what it fails to say is a constant. So c of p answers change. QED
    """

    asked: Aggregated
    way: str
    epsilon: Fraction
    delta: Fraction
    context: Context
    slow = True  # what the parts of a public twin say is worth keeping

    def __post_init__(self) -> None:
        if not hasattr(os, "fork"):
            raise QueryError("SRD-110", "this system cannot run a part in a process of its own.", "Use Linux or macOS for aggregate.")
        groups = 1 if not self.context.grouped else len(self.context.keys or ())
        if self.context.private_keys:
            what = "parts of groups with private keys cannot be planned before the rows are read."
            raise QueryError("SRD-110", what, "Declare the public keys with keys=, or ask without groups.")
        if groups * self.parts_of > MOST_RUNS:
            what = f"{groups:,} groups of {self.parts_of:,} parts are {groups * self.parts_of:,} runs of the function."
            raise QueryError("SRD-110", what, f"Give fewer parts=, or fewer groups: at most {MOST_RUNS:,} runs.")
        _ = self.mechanism, self.rows.grids  # every refusal comes before the charge

    @cached_property
    def rows(self) -> OwnRows:
        return OwnRows(self.asked.columns, True, self.context)

    @cached_property
    def parts_of(self) -> int:
        """How many parts: as many as were named, or as follow from what the public knows of the rows."""
        if self.asked.parts is not None:
            return self.asked.parts
        if self.context.rows is None:
            raise QueryError("SRD-204", "nobody knows how many rows there are.", "Give parts=, or declare size=, or release a count first.")
        return usual_parts(self.context.rows)

    @cached_property
    def price(self) -> ReachPrice:
        return per_group(self.epsilon, self.delta if self.way == "gaussian" else Fraction(0), self.context)

    @property
    def changed(self) -> int:
        return 2 if self.price.relation is Relation.REPLACE else 1

    @cached_property
    def step(self) -> Fraction:
        width = self.asked.range[1] - self.asked.range[0]
        return Fraction(2) ** (width.numerator.bit_length() - width.denominator.bit_length() - BITS)

    @property
    def top(self) -> int:
        return math.floor((self.asked.range[1] - self.asked.range[0]) / self.step)

    @cached_property
    def mechanism(self) -> SampleAggregate | Laplace | Gaussian:
        if self.way == "aggregate":
            return SampleAggregate(self.price.epsilon, high=self.top, max_rows=self.changed)
        width, size = self.asked.range[1] - self.asked.range[0], self.asked.dimension
        if self.way == "laplace":
            return Laplace(self.price.epsilon, self.changed * size * width / self.parts_of, size)
        root = Fraction(math.isqrt(size * 10**12) + 1, 10**6)
        return Gaussian(self.price.epsilon, self.price.delta, self.changed * root * width / self.parts_of, size)

    @property
    def bar(self) -> str:
        return "none"

    @property
    def name(self) -> str:
        how = "SampleAggregate" if self.way == "aggregate" else f"{type(self.mechanism).__name__}, mean of answers"
        return f"{how}, {self.asked.name} of {self.parts_of:,} parts"

    @property
    def covers(self) -> str:
        how = "the middle" if self.asked.dimension == 1 else "the mean"
        return f"{how} of what the function says about each of {self.parts_of:,} parts, which is not what it says about all rows"

    @property
    def parts(self) -> tuple[Part, ...]:
        from sordino.statistics.sandbox import NOT_STOPPED

        own = self.mechanism.certificate()
        limits = f"every part in a process of its own with {self.asked.limit_s:g} s and {self.asked.limit_mb:,} MB"
        silence = f"a part that fails counts as {float(self.asked.failed):g}"
        return (self.price.part(replace(own, assumptions=f"{own.assumptions}; {limits}; {silence}; {NOT_STOPPED}")),)

    def repeated(self, ask: Ask, draw: Draw, groups: Groups, copies: int) -> list[list[Answer]]:
        """Per group several draws around the same answers of the parts, for a forecast on public rows; one draw is the release."""
        from sordino.statistics.sandbox import ForkServer

        asked, out = self.asked, []

        def run(rows: Floats) -> Any:
            return asked.function(asked.prepared(rows))

        limits: dict[str, Any] = {"seconds": asked.limit_s, "megabytes": asked.limit_mb, "dimension": asked.dimension}
        with ForkServer(run, **limits) as forks:  # before a row is read
            for found in ask(Records(asked.columns, parts=self.parts_of)):
                if copies > 1 and asked not in found.memo:
                    found.memo[asked] = self._answers(found, forks.answer)
                said = found.memo[asked] if copies > 1 else self._answers(found, forks.answer)
                out.append(self._drawn(said, draw, copies))
        return out

    def _answers(self, found: RowMatrix, answer: Callable[[Floats], Floats]) -> Floats:
        """One row of numbers in the range for each part."""
        low, high = (float(end) for end in self.asked.range)
        silence = np.full(self.asked.dimension, float(self.asked.failed))
        cells, out = np.column_stack(self.rows.floats(found.values)), []
        for part in range(self.parts_of):
            mine = cells[found.part == part]
            said = answer(mine) if len(mine) else silence
            out.append(np.clip(said, low, high) if np.isfinite(said).all() else silence)
        return np.array(out)

    def _drawn(self, said: Floats, draw: Draw, copies: int) -> list[Answer]:
        low = self.asked.range[0]
        if isinstance(self.mechanism, SampleAggregate):
            steps = np.sort([min(max(math.floor((Fraction(value) - low) / self.step + Fraction(1, 2)), 0), self.top) for (value,) in said])
            window = rank_window(steps.astype(np.int64), *self._window, 0, self.top)
            found = [self.mechanism.release(Held(window), draw) for _ in range(copies)]
            return [Answer(float(low + value * self.step)) for value in found]
        sums = [sum(map(Fraction, values)) for values in said.T.tolist()]  # exactly: a rounding error is not in the sensitivity
        mean = [math.floor(total / (len(said) * self.mechanism.step) + Fraction(1, 2)) for total in sums]
        drawn = [self.mechanism.release(Held(np.array(mean, np.int64)), draw) for _ in range(copies)]
        return [Answer(tuple(float(part) for part in one)) for one in drawn]

    @property
    def _window(self) -> tuple[Fraction, int]:
        assert isinstance(self.mechanism, SampleAggregate)
        return self.mechanism.request.q, self.mechanism.request.radius

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        return None


def _about(sealed: Sealed) -> str:
    return f"{sealed.said['name']} of {sealed.of}, asked of parts of the rows{sealed.clamped}"


@registered(about=_about, remote=False)
def aggregate(
    function: Any,
    columns: Any = None,
    *,
    range: Any = None,
    parts: int | None = None,
    dimension: int | None = None,
    limit_s: float = 10.0,
    limit_mb: int = 512,
    failed: Any = None,
) -> Aggregated:
    """Ask any function of parts of the rows, each in a process of its own, and aggregate what they say."""
    own = function if isinstance(function, Custom) else None
    run = function.function if own is not None else function
    if not callable(run):
        raise QueryError("SRD-105", f"{function!r} is not a function.", "Give a function of an array, or of a dict of arrays.")
    ends = own.range if own is not None and range is None else None if range is None else as_bounds(range)
    if ends is None:
        raise QueryError(
            "SRD-104", "an answer of unknown size cannot be aggregated.", "Give range=(low, high), the public limits of an answer."
        )
    names = named(function, columns)
    several = bool(own.columns) if own is not None else not isinstance(columns, str)
    size = as_dimension((own.dimension if own is not None else 1) if dimension is None else dimension)
    if parts is not None and (isinstance(parts, bool) or not isinstance(parts, int) or not LEAST <= parts <= MOST):
        raise QueryError("SRD-103", f"parts is {parts!r}.", f"Give a whole number from {LEAST} to {MOST:,}.")
    for word, value in (("limit_s", limit_s), ("limit_mb", limit_mb)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 10**6:
            raise QueryError("SRD-103", f"{word} is {value!r}.", "Give a positive number.")
    middle = sum(ends) / 2 if failed is None else Fraction(str(failed))
    if not ends[0] <= middle <= ends[1]:
        raise QueryError("SRD-104", f"failed is {float(middle):g}.", "Give a number inside the range.")
    labels = own.columns if own is not None and several else names
    return Aggregated(run, names, several, labels, ends, parts, size, float(limit_s), int(limit_mb), Fraction(middle))
