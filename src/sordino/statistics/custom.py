"""Statistics of the user's own: a function of a sorted column, or of rows of several, with what is known about its sensitivity.

What makes two functions of a user the same function, as far as a recorded answer is concerned.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from hashlib import sha256
from types import CodeType
from typing import Any

import numpy as np

from sordino.errors import QueryError, builds
from sordino.privacy.number import as_bounds, as_positive
from sordino.privacy.relation import Relation

__all__ = ["Custom", "fingerprint", "statistic"]


def fingerprint(function: Any) -> str:
    """Name and digest of a function's code, constants, defaults and enclosed values. Anything that cannot be read makes it a new one."""
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"{name}:{sha256(repr(list(_parts(function))).encode()).hexdigest()[:16]}"


def _parts(thing: Any, depth: int = 0) -> Iterator[Any]:
    """Everything that decides what a function computes, without memory addresses where that is possible."""
    if isinstance(thing, functools.partial):
        yield "partial"
        yield from _parts(thing.func, depth + 1)
        yield repr((thing.args, sorted(thing.keywords.items())))
    elif isinstance(thing, CodeType):
        yield thing.co_code.hex()
        yield thing.co_names
        for constant in thing.co_consts:
            yield from _parts(constant, depth + 1)
    elif hasattr(thing, "__code__") and depth < 8:
        yield from _parts(thing.__code__, depth + 1)
        yield repr((thing.__defaults__, thing.__kwdefaults__))
        for cell in thing.__closure__ or ():
            yield from _parts(cell.cell_contents, depth + 1)
        called = {name: thing.__globals__[name] for name in thing.__code__.co_names if name in thing.__globals__}
        for name, value in called.items():  # helpers and constants it refers to; modules by their name
            yield name
            if hasattr(value, "__code__"):
                yield from _parts(value, depth + 1)
            else:
                yield getattr(value, "__name__", None) or repr(value)
    else:
        yield repr(thing)


Function = Callable[..., Any]
MOST_POINTS = 100_000
SUPPLIED = "supplied by the user"


class Custom:
    """A function f of a sorted, clipped array, or of the rows of several `columns`, and its author's claims about it.

    `sensitivity_at(x, k)` bounds how far one row can move f on every table within k rows of x; `distance_at(x)`, or `distance_at(x,
    above)`, is how many rows can change before one more could change f, or change it by more than `above`; `sensitivity` bounds it on
    every table. Rows come and go or are replaced, as `relation` says. With level="person" the steps of all these claims are whole people
    of at most `max_rows` rows instead, who come and go or whose rows are replaced, all at once. Nobody checks a claim but
    `sordino.lab.falsify`, whose verdict stays with the statistic and goes on the card.
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
        level: str = "row",
        max_rows: int | None = None,
        columns: Any = None,
        matrix: bool = False,
        points: int | None = None,
    ) -> None:
        self.function, self.relation = function, Relation.of(relation)
        self.columns, self.matrix, self.points = _columns(columns), matrix, _points(points)
        self.limits = _limits(bounds, self.columns)  # of each of several columns
        self.bounds = None if bounds is None or self.columns else as_bounds(bounds)
        self.global_sensitivity = None if sensitivity is None else as_positive(sensitivity, "sensitivity")
        if norm not in (1, 2):
            raise QueryError("SRD-103", f"norm is {norm!r}.", "Give norm=1 or norm=2, the norm in which sensitivity is meant.")
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise QueryError("SRD-103", f"dimension is {dimension!r}.", "Give the public number of coordinates, at least 1.")
        if self.bounds is None and self.global_sensitivity is None and not self.columns:
            what = "a statistic needs bounds for its rows, or a sensitivity that holds for all of them."
            raise QueryError("SRD-104", what, "Give bounds=(low, high), or sensitivity=.")
        self.norm, self.dimension = norm, dimension
        self.level, self.max_rows = level, _rows_of_a_step(level, max_rows)
        self.rungs: Function | None = None
        self.steps_away: Function | None = None
        self.goals: Function | None = None
        self.reached: Function | None = None
        self.source = SUPPLIED  # where the sensitivity comes from, and how, if it follows from how f is written
        self.derivation: Any = None
        self.verdict: Any = None
        self.given_range = None if range is None else as_bounds(range)
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = getattr(function, "__doc__", None)

    @property
    def range(self) -> tuple[Fraction, Fraction] | None:
        """Public limits of f: those given, else what holds for centres and spreads: the bounds, and 0 to their distance."""
        if self.given_range is not None or self.bounds is None:
            return self.given_range
        low, high = self.bounds
        return min(low, Fraction(0)), max(high, high - low)

    def __call__(self, x: Any) -> Any:
        """The statistic of rows one owns, as the table's release would call it: sorted and clipped."""
        return self.function(self.prepared(x))

    def size(self, x: Any) -> int:
        """How many rows were prepared."""
        return len(x[self.columns[0]]) if self.columns and not self.matrix else len(x)

    def prepared(self, x: Any) -> Any:
        """Sorted, clipped to the bounds, and not to be written to: an array; of several columns a dict of arrays, or a matrix."""
        if self.columns:
            return self._rows(x)
        values = np.sort(np.asarray(x, float))
        if self.bounds is not None:
            values = np.clip(values, float(self.bounds[0]), float(self.bounds[1]))
        values.flags.writeable = False
        return values

    def _rows(self, x: Any) -> Any:
        """Rows in the order of their values, so that the order in which they came shows nothing."""
        if not isinstance(x, Mapping):
            x = dict(zip(self.columns, np.asarray(x, float).reshape(-1, len(self.columns)).T, strict=True))
        cells = np.column_stack([np.asarray(x[name], float) for name in self.columns]).reshape(-1, len(self.columns))
        for i, name in enumerate(self.columns):
            if name in self.limits:
                low, high = self.limits[name]
                cells[:, i] = np.clip(cells[:, i], float(low), float(high))
        cells = np.asfortranarray(cells[np.lexsort(cells.T[::-1])])
        cells.flags.writeable = False
        return cells if self.matrix else {name: cells[:, i] for i, name in enumerate(self.columns)}

    def sensitivity_at(self, function: Function) -> Function:
        """Say how far one row can move the statistic within k rows of x: a decorator for a function of (x, k)."""
        _check_arguments(function, (2,), "sensitivity_at", "(x, k)")
        if self.range is None:
            given = "range=(low, high), the public limits of the answer," if self.columns else "bounds=(low, high)"
            raise QueryError(
                "SRD-104", f"{self.__name__} has no {'range' if self.columns else 'bounds'}.", f"Give {given} to sd.statistic first."
            )
        self.rungs, self.verdict = function, None
        self.source, self.derivation = SUPPLIED, None
        return function

    def distance_at(self, function: Function) -> Function:
        """Say how many rows can change before the next one could change the statistic: a decorator for a function of (x) or (x, above)."""
        _check_arguments(function, (1, 2), "distance_at", "(x) or (x, above)")
        self.steps_away, self.verdict = function, None
        return function

    def distance_to(self, function: Function) -> Function:
        """Say how many rows must change until the statistic could be y: a decorator for a function of (x, y), a whole number."""
        _check_arguments(function, (2,), "distance_to", "(x, y)")
        if self.range is None:
            raise QueryError("SRD-104", f"{self.__name__} has no range.", "Give range=(low, high), the public limits of the answer.")
        self.goals, self.reached, self.verdict = function, None, None
        return function

    def path_at(self, function: Function) -> Function:
        """Say between which values the statistic can be made to lie by changing k rows: a decorator for a function of (x, k), a pair.

        That is the other form of `distance_to`: y is as far away as the least k whose values reach it.
        """
        _check_arguments(function, (2,), "path_at", "(x, k)")
        if self.range is None:
            raise QueryError("SRD-104", f"{self.__name__} has no range.", "Give range=(low, high), the public limits of the answer.")
        self.reached, self.goals, self.verdict = function, None, None
        return function

    def moves(self, rows: int, *, replaced: bool = False) -> int:
        """How many of the claimed steps one unit of at most `rows` rows makes when it comes or goes, or when people are `replaced`.

        A claim about rows is walked row by row, one about people at once; replacing is a removal and an addition where the claim is
        about rows or people that come and go.
        """
        if self.level == "person" and rows > self.max_rows:
            what = f"{self.__name__!r} is claimed for people of at most {self.max_rows} rows, and a person may have {rows} here."
            raise QueryError("SRD-109", what, f"Claim it with max_rows={rows}, or limit the table to max_rows={self.max_rows}.")
        twice = 2 if replaced and self.relation is Relation.ADD_REMOVE else 1
        return twice * (1 if self.level == "person" else rows)

    @property
    def measures_distance(self) -> bool:
        """Whether the distance is known for every bound, not for stability alone."""
        return self.steps_away is not None and _arguments(self.steps_away) == 2

    def question(self) -> dict[str, Any]:
        """What makes two statistics the same."""
        parts = {"function": self.function, "sensitivity_at": self.rungs, "distance_at": self.steps_away}
        marks = {name: None if part is None else fingerprint(part) for name, part in parts.items()}
        for word, part in (("distance_to", self.goals), ("path_at", self.reached)):
            marks |= {} if part is None else {word: fingerprint(part), "points": str(self.points)}
        pairs = {"bounds": self.bounds, "range": self.range}
        facts = {name: None if pair is None else [str(end) for end in pair] for name, pair in pairs.items()}
        said = None if self.global_sensitivity is None else str(self.global_sensitivity)
        return (
            {**marks, **facts, "relation": self.relation.value, "sensitivity": said, "norm": self.norm, "dimension": self.dimension}
            | ({"level": self.level, "max_rows": self.max_rows} if self.level == "person" else {})
            | self._several()
        )

    def _several(self) -> dict[str, Any]:
        if not self.columns:
            return {}
        return {
            "bounds": {name: [str(end) for end in pair] for name, pair in self.limits.items()},
            "rows": list(self.columns),
            "matrix": self.matrix,
        }

    @property
    def claim(self) -> str:
        """What the card says about the sensitivity."""
        claimed, tried = "single rows" if self.level == "row" else f"people of up to {_counted(self.max_rows)}", "no pairs tried"
        if self.verdict is not None:
            many = f"{self.verdict.pairs:,} pairs"
            tried = (
                f"{many} tried with units of up to {_counted(self.verdict.rows)}, {self.verdict.hunted:,} of them hunted"
                if self.verdict.ok
                else f"REFUTED after {many}"
            )
        proved = ", not a proof" if self.derivation is None else ""
        return f"sensitivity {self.source} for {claimed}, {tried}{proved}"

    def __repr__(self) -> str:
        known = [
            word
            for word, part in (
                ("sensitivity_at", self.rungs),
                ("distance_at", self.steps_away),
                ("distance_to", self.goals),
                ("path_at", self.reached),
            )
            if part is not None
        ]
        known += [] if self.global_sensitivity is None else [f"sensitivity {float(self.global_sensitivity):g}"]
        return f"Statistic {self.__name__!r}, {self.relation.value}: {', '.join(known) or 'no sensitivity yet'}; {self.claim}"


def _points(points: Any) -> int | None:
    if points is not None and (isinstance(points, bool) or not isinstance(points, int) or not 2 <= points <= MOST_POINTS):
        raise QueryError("SRD-103", f"points is {points!r}.", f"Give a whole number from 2 to {MOST_POINTS:,}: that of the public grid.")
    return points


def _columns(columns: Any) -> tuple[str, ...]:
    names = () if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)
    if columns is not None and (not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names)):
        raise QueryError("SRD-103", f"columns are {columns!r}.", 'Give different names, such as columns=("x", "y").')
    return names


def _limits(bounds: Any, columns: tuple[str, ...]) -> dict[str, tuple[Fraction, Fraction]]:
    """The bounds of each column: a mapping, or one pair for all of them."""
    if bounds is None or not columns:
        return {}
    given = bounds if isinstance(bounds, Mapping) else dict.fromkeys(columns, bounds)
    unknown = sorted(set(given) - set(columns))
    if unknown:
        raise QueryError("SRD-201", f"bounds are given for {unknown[0]!r}.", f"The columns are {', '.join(columns)}.")
    return {name: as_bounds(given[name]) for name in columns if name in given}


def _counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


def _rows_of_a_step(level: str, max_rows: Any) -> int:
    """How many rows one step of the claims may touch."""
    if level not in ("row", "person"):
        raise QueryError("SRD-106", f"level is {level!r}.", 'Use "row" or "person": what one step of the claimed sensitivity is.')
    if level == "row":
        if max_rows is not None:
            raise QueryError("SRD-103", "max_rows is given for a claim about rows.", 'Add level="person", or leave max_rows out.')
        return 1
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
        what = "a claim about people needs the most rows one of them may have."
        raise QueryError("SRD-103", what, "Give max_rows=, a whole number of at least 1.")
    return max_rows


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


@builds
def statistic(
    *,
    bounds: Any = None,
    relation: str | Relation = "add_remove",
    sensitivity: Any = None,
    norm: int = 1,
    dimension: int = 1,
    range: Any = None,
    level: str = "row",
    max_rows: int | None = None,
    columns: Any = None,
    matrix: bool = False,
    points: int | None = None,
) -> Callable[[Function], Custom]:
    """Make a function of a sorted column, or with `columns` of the rows of several, a statistic of one's own.

    With columns=("x", "y") the function is given a dict of arrays, rows in the order of their values (with matrix=True one matrix), each
    clamped to the table's declared bounds and to those given here as bounds={"x": (low, high)}; `range` is that of the answer.
    `points` is the number of answers mechanism="inverse" chooses from, evenly over the range.

    `bounds` are those of the rows, `range` the public limits of the value where they differ. With `sensitivity=` a bound that holds on
    every table is known; otherwise say more with `.sensitivity_at` or `.distance_at`. Claims are about single rows, and a person of m
    rows is walked in m steps; with level="person" they are about people of up to `max_rows` rows who come, go or change at once.

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
        return Custom(
            function,
            **options,
            dimension=dimension,
            range=range,
            level=level,
            max_rows=max_rows,
            columns=columns,
            matrix=matrix,
            points=points,
        )

    return made
