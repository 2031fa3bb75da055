"""A statistic whose sensitivity nobody has to find: it follows from how the function is written."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sordino.errors import QueryError, builds
from sordino.privacy.relation import Relation
from sordino.sensitivity.ball import Ball, Move, moves
from sordino.sensitivity.order import Array
from sordino.sensitivity.row_term import Row, column
from sordino.sensitivity.term import Term, spelled
from sordino.statistics.custom import Custom

__all__ = ["Enclosed", "written"]

Around = tuple[Array, Array, Array]
FIRST = 16  # distances computed at once; twice as many when more are asked for
MOST = 2**20  # kinds of moves times distances
KEPT = 4  # tables whose rungs are remembered while somebody holds their rows
ROUNDING = 2.0**-28  # of a rung, for each row of distance
FLOATS = 2.0**-42  # of the range, for each row of distance
RULES = {
    "count": "one more or one less; the same where a row is replaced",
    "sum": "a row that comes, goes or changes moves it by its own number; k rows by those k that move it most",
    "quantile": "the exact ladder of its rank",
    "rank": "no further than the next rank, k rows as far as the k next ones",
    "differences": "a row moves it by its distances to all others",
    "+": "moves add up",
    "-": "moves subtract",
    "*": "a'b' - ab = da b' + a db",
    "/": "a'/b' - a/b = (da - (a/b) db)/b'",
    "min": "between the smaller and the larger of both moves",
    "max": "between the smaller and the larger of both moves",
    "square": "a'^2 - a^2 = da (a + a')",
    "root": "da over the sum of both roots",
}
SOURCE = "derived and proved from how the statistic is written,"


@dataclass(frozen=True, eq=False, repr=False)
class Enclosed:
    r"""Value, sensitivity and path of a written statistic on every table.

    Theorem. `rung(x, k)` is at least the local sensitivity of every table within k rows of x, and at most `rung(x', k + 1)` for every
    neighbour x'. `path(x, k)` holds the value of every such table, and lies in `path(x', k + 1)`. So both are what `sensitivity_at` and
    `path_at` ask for.
    Proof. Of the numbers it is built of in `leaf`, of everything computed from them in `Enclosure`. Rungs are longer by (k + 1) 2^-28
    of themselves, paths wider by as much and by (k + 1) 2^-42 of the range: more than floats are off, and more so for k + 1 than for
    k. QED
    """

    term: Term
    names: tuple[str, ...]
    relation: Relation
    several: bool
    range: tuple[float, float]  # that is public
    moves: tuple[Move, ...]
    _known: list[tuple[list[Any], int, Around]] = field(default_factory=list)  # of the last tables
    _public: dict[Any, Any] = field(default_factory=dict)

    def ball(self, x: Any, depth: int) -> Ball:
        """The tables around x."""
        columns = {name: np.asarray(x[name], float) for name in self.names} if self.several else {self.names[0]: np.asarray(x, float)}
        return Ball(columns, len(columns[self.names[0]]), self.relation, depth, self.moves, public=self._public)

    def around(self, x: Any, k: int) -> Around:
        """The rungs and both ends of the path up to k rows away, in doubling pieces. The rows themselves are not kept."""
        ball = self.ball(x, FIRST * 2 ** (k // FIRST).bit_length())
        for refs, depth, found in tuple(self._known):
            if depth > k and all(ref() is part for ref, part in zip(refs, ball.columns.values(), strict=True)):
                return found
        enclosed = self.term.enclosure(ball)
        made = enclosed.rungs, enclosed.low, enclosed.high
        if not any(part.flags.writeable for part in ball.columns.values()):
            self._known.append(([weakref.ref(part) for part in ball.columns.values()], ball.depth, made))
            del self._known[:-KEPT]
        return made

    @property
    def farthest(self) -> int:
        """The public distance from which on anything is possible: further away the intervals would need too much memory."""
        return max(MOST // len(self.moves), FIRST)

    def value(self, x: Any) -> float:
        return self.term.value(self.ball(x, 1))

    def rung(self, x: Any, k: int) -> float:
        """How far one row can move it within k rows of x."""
        return math.inf if k >= self.farthest else float(self.around(x, k)[0][k]) * (1 + (k + 1) * ROUNDING)

    def path(self, x: Any, k: int) -> tuple[float, float]:
        """Between which values k rows can take it."""
        if k >= self.farthest:
            return self.range
        low, high = (float(ends[k]) for ends in self.around(x, k)[1:])
        more = k * ((high - low) * ROUNDING + (self.range[1] - self.range[0]) * FLOATS) if k else 0.0
        here = self.value(x) if not k else low
        low, high = (min(max(end, self.range[0]), self.range[1]) for end in (min(low, here) - more, max(high, here) + more))
        return low, high

    def __str__(self) -> str:
        """What every part is built of and how far one row can move it on any table."""
        how = "a row changes" if self.relation is Relation.REPLACE else "rows come and go"
        ends = {name: pair for row in self.term.numbers for name, pair in row.columns.items()}
        known = ", ".join(f"{name} in [{spelled(low)}, {spelled(high)}]" for name, (low, high) in ends.items())
        return "\n".join([f"{self.term.text}: {how}, {known}", *(f"  {part.text}: {RULES[part.kind]}" for part in self._parts())])

    def shown(self, x: Any, *ks: int) -> str:
        """The derivation on one table. NOT PRIVATE: for each k every part's values within k rows, and how far one more row moves it."""
        lines = []
        for k in ks or (0, 1, 10):
            ball = self.ball(x, k + 1)
            lines.append(f"within {k} rows:")
            for part in self._parts():
                found = part.enclosure(ball)
                moved = max(float(found.up[:, k].max()), -float(found.down[:, k].min()))
                lines.append(f"  {part.text} in [{found.low[k]:.6g}, {found.high[k]:.6g}], one row moves it by at most {moved:.6g}")
        return "\n".join(lines)

    def _parts(self) -> list[Term]:
        return list({part.text: part for part in self.term.walk() if part.kind != "number"}.values())


@dataclass(frozen=True, eq=False)
class _Asked:
    """One of the functions of a derivation, told apart by what is written."""

    text: str
    what: str
    function: Callable[..., Any] = field(repr=False)

    def __call__(self, x: Any, *k: int) -> Any:
        return self.function(x, *k)


class _At(_Asked):
    def __call__(self, x: Any, k: int) -> Any:  # type: ignore[override]
        return self.function(x, k)


@builds
def written(
    *, bounds: Any, range: Any = None, relation: str | Relation = "add_remove", columns: Any = None, points: int = 10_000
) -> Callable[[Callable[[Any], Any]], Custom]:
    """Make a written function a statistic with all that is needed to release it: `sensitivity_at` and `path_at` follow from it.

    The function is called once, with a column that is not there yet (with `columns` a dict of them), and says what is computed: count(),
    sum(), mean(), median(), quantile(q), min(), max(), rank(i), differences() of a column or of arithmetic on columns; `trim=` for sums
    and means; then + - * /, squares, abs, sqrt(), at_most, at_least and clip. What is divided by zero counts as zero.

    >>> import sordino as sd
    >>> @sd.written(bounds=(0, 100), relation="replace")
    ... def spread(x):
    ...     return x.quantile(0.75) - x.quantile(0.25)
    >>> spread([10, 20, 30, 40])
    20.0
    """

    def made(function: Callable[[Any], Any]) -> Custom:
        shell = Custom(function, bounds=bounds, relation=relation, columns=columns, range=range, sensitivity=1, points=points)
        names = shell.columns or ("x",)
        missing = [name for name in shell.columns if name not in shell.limits]
        if missing or (not shell.columns and shell.bounds is None):
            raise QueryError("SRD-104", f"{(missing or ['the column'])[0]} has no bounds.", "Give bounds= for every column.")
        ends: Any = shell.limits if shell.columns else {"x": shell.bounds}
        rows = {name: column(name, tuple(map(float, ends[name]))) for name in names}  # type: ignore[arg-type]
        term = function(dict(rows) if shell.columns else rows["x"])
        if not isinstance(term, Term):
            what = f"{shell.__name__} gives {'a number of every row' if isinstance(term, Row) else type(term).__name__}."
            raise QueryError("SRD-105", what, "Give a number of the table: a sum(), mean(), median(), ... or arithmetic on them.")
        given = range if range is not None else _limits(term)
        ends_of = float(given[0]), float(given[1])
        found = Enclosed(term, names, shell.relation, bool(shell.columns), ends_of, moves(shell.relation, term.numbers))
        mark = f"{term.text} of {', '.join(f'{name} in {row.ends}' for name, row in rows.items())}"
        custom = Custom(_Asked(mark, "value", found.value), bounds=bounds, relation=relation, columns=columns, range=given, points=points)
        custom.__name__, custom.__doc__ = shell.__name__, shell.__doc__
        custom.sensitivity_at(_At(mark, "rung", found.rung))
        custom.path_at(_At(mark, "path", found.path))
        custom.source, custom.derivation = SOURCE, found
        return custom

    return made


def _limits(term: Term) -> Any:
    if not np.isfinite(term.limits).all():
        what = f"nobody knows how large {term.text} can be."
        raise QueryError("SRD-104", what, "Give range=(low, high), the public limits of the answer.")
    return term.limits
