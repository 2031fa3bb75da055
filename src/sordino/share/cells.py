"""Columns as cells: which values share one, how a database numbers them, and how a number of a cell becomes a value again.

Every column is first counted in fine cells that are public: declared values, truth values, every whole number of a short range, or a
few hundred intervals of a long one, both bounds apart; null is a cell, and so is "other" where values are listed. Once these counts are
drawn, cells too rare to be told apart from noise share one, and neighbouring intervals are joined until each holds a worthwhile number
of rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.schema.column import Column, Grid, shown
from sordino.schema.expression import Case, Compare, Constant, Expression, IsNull, Literal, Name
from sordino.summaries.marginal import CellAxis

__all__ = ["OTHER", "FineCells", "Joined", "joined", "nearest_law"]

Floats = NDArray[np.float64]
SHORT = 256  # whole numbers of a range of which each is a fine cell
EVEN, STEEP = 128, 64  # intervals of equal width, and of growing width from the lower end on
BINS = 16  # intervals a number column is joined to
RARE = 1.0  # standard deviations of noise below which a listed value shares its cell with other rare ones
RUN = 0.25  # and below which an interval is joined with its neighbour: what is lost is only where in between
APART = 2.0  # and below which a stretch of a joined interval is taken to be empty
ABSENT = 4.0  # and below which null and "other" are taken not to occur
MOST = 1000  # listed values
OTHER = "other"


@dataclass(frozen=True)
class FineCells:
    """The fine cells of one column: listed values, or intervals between `edges`, which are grid steps; then null, if it may occur.

    `closed` intervals are declared ones: they are not joined. `other` says that the last listed place is for every other value.
    """

    column: Column
    values: tuple[Any, ...] = ()
    edges: tuple[int, ...] = ()
    other: bool = False
    closed: bool = False

    @classmethod
    def of(cls, column: Column, bins: Any = None, keys: Sequence[Any] | None = None) -> FineCells:
        """From what is declared, or from keys that were drawn."""
        listed = keys if keys is not None else column.keys
        if listed is not None and bins is None:
            values = tuple(key for key in listed if key is not None)
            if len(values) > MOST:
                what = f"column {shown(column.name)} lists {len(values):,} values, more than {MOST:,}."
                raise QueryError("SRD-208", what, "Leave it out, or group its values in a column of its own.")
            return cls(column, values, other=True)
        if column.type == "bool":
            return cls(column, (False, True))
        if not column.number:
            what = f"column {shown(column.name)} of type {column.type} has no cells."
            raise QueryError("SRD-203", what, "Share columns of numbers, dates, truth values or categories.")
        return cls._number(column, bins)

    @classmethod
    def _number(cls, column: Column, bins: Any) -> FineCells:
        width = column.grid().width
        if isinstance(bins, Mapping):
            spikes = [_step(column, spike) for spike in bins.get("spikes", ())]
            inner = cls._number(column, bins.get("bins"))
            cuts = {*inner.edges, *(e for s in spikes for e in (s, s + 1) if 0 <= e <= width)}
            return cls(column, edges=tuple(sorted(cuts)), closed=inner.closed)
        if isinstance(bins, int) and not isinstance(bins, bool) and 1 <= bins <= MOST:
            return cls(column, edges=_even(width, bins), closed=True)
        if isinstance(bins, Sequence) and not isinstance(bins, str) and len(bins) >= 2:
            edges = tuple(_step(column, edge) for edge in bins)
            if list(edges) != sorted(set(edges)):
                raise QueryError("SRD-208", f"the bins of {shown(column.name)} do not ascend.", "Give ascending edges inside the bounds.")
            return cls(column, edges=(0, *(e for e in edges if 0 < e < width), width), closed=True)
        if bins is not None and bins != "private":
            what = f"the bins of {shown(column.name)} are {shown(bins)}."
            raise QueryError("SRD-208", what, 'Give a number of bins, a list of edges, "private", or {"bins": ..., "spikes": [0]}.')
        if width < SHORT:
            return cls(column, edges=tuple(range(width + 1)) if width > 1 else (0, 1), closed=False) if width else cls(column, edges=(0, 1))
        steep = {round(math.expm1(math.log1p(width) * i / STEEP)) for i in range(1, STEEP)}
        return cls(
            column, edges=(*sorted({*_even(width, EVEN), *steep}), width + 1)
        )  # both bounds are cells of their own: values pile up there

    @property
    def short(self) -> bool:
        """Whether every interval is one grid step: then the last edge is a value of its own."""
        return bool(self.edges) and not self.closed and self.column.grid().width < SHORT and len(self.edges) == self.column.grid().width + 1

    @property
    def ordered(self) -> bool:
        return bool(self.edges)

    @property
    def places(self) -> int:
        """Fine cells, null included."""
        if not self.edges:
            return len(self.values) + self.other + 1
        return (self.column.grid().width + 1 if self.short else len(self.edges) - 1) + 1

    @property
    def expected(self) -> int:
        """Cells of the model the column will have: every listed value and declared bin, about sixteen of other intervals."""
        known = max(self.places - 1 - self.other, 1)
        return min(known, BINS) if self.ordered and not self.closed else known

    @property
    def single(self) -> bool:
        """Whether every cell is one value."""
        return not self.edges or self.short

    def coded(self) -> Column:
        """The column a frame reads: numbers as they are, listed values as their place in the list."""
        if self.edges or self.column.type == "bool":
            return self.column
        name, last = Name(self.column.name, self.column.expression), len(self.values)
        branches: list[tuple[Any, Expression]] = [(IsNull(name), Constant(last + 1))]
        branches += [(Compare("=", name, Literal(value)), Constant(i)) for i, value in enumerate(self.values)]
        place = Case(tuple(branches), Constant(last))
        return Column(f"cell of {self.column.name}", "int", (0, last + 1), expression=place)

    def axis(self, cells: Sequence[int] | None = None) -> CellAxis:
        """How the engine numbers the cells; `cells` joins some of them."""
        kept = tuple(range(self.places)) if cells is None else tuple(cells)
        if not self.edges or (self.short and cells is None):
            return CellAxis(self.coded().name, None, kept)
        cuts = (*range(self.places - 1), self.column.grid().width + 1) if self.short else self.edges
        first = [i for i in range(len(kept) - 1) if i == 0 or kept[i] != kept[i - 1]]  # where a run of one cell begins
        return CellAxis(self.column.name, (*(cuts[i] for i in first), cuts[-1]), (*(kept[i] for i in first), kept[-1]))

    def label(self, place: int) -> str:
        """A fine cell in words."""
        if place == self.places - 1:
            return "null"
        if not self.edges:
            return OTHER if place == len(self.values) else str(self.values[place])
        grid = self.column.grid()
        if self.short:
            return str(grid.value(place))
        first, last = self.edges[place], min(self.edges[place + 1] - (place < len(self.edges) - 2), grid.width)
        return str(grid.value(first)) if first == last else f"{grid.value(first)} to {grid.value(min(self.edges[place + 1], grid.width))}"

    def decoded(self, places: NDArray[np.int64], chance: Floats) -> list[Any]:
        """A value for each fine cell; `chance`, between 0 and 1, says where in an interval."""
        null = self.places - 1
        if not self.edges:
            known = [*self.values, *([OTHER] if self.other and self.column.type == "cat" else [None] * self.other), None]
            return [known[place] for place in places.tolist()]
        grid = self.column.grid()
        if self.short:
            known = [*(grid.value(step) for step in range(grid.width + 1)), None]
            return [known[place] for place in places.tolist()]
        edges = np.array(self.edges, np.int64)
        inside = np.minimum(places, len(edges) - 2)
        start, stop = edges[inside], np.minimum(edges[inside + 1] + (inside == len(edges) - 2), grid.width + 1)  # the last one is closed
        steps = np.minimum(start + np.floor(chance * (stop - start)).astype(np.int64), stop - 1)
        return [None if place == null else grid.value(step) for place, step in zip(places.tolist(), steps.tolist(), strict=True)]

    def words(self) -> dict[str, Any]:
        """What a question says about this column: everything the cells follow from."""
        if not self.edges:
            return {"type": self.column.type, "values": [str(value) for value in self.values], "other": self.other}
        grid = self.column.grid()
        return {"type": self.column.type, "grid": [str(grid.step), grid.low, grid.high], "edges": list(self.edges), "closed": self.closed}

    def to_record(self) -> dict[str, Any]:
        """What somebody who does not know the declaration needs to make values of cells; public."""
        grid = self.column.grid() if self.edges else None
        steps = None if grid is None else [str(grid.step), grid.low, grid.high]
        shape = {"values": list(self.values), "edges": list(self.edges), "other": self.other, "closed": self.closed}
        return {"name": self.column.name, "type": self.column.type, "grid": steps, **shape}

    @classmethod
    def from_record(cls, said: Mapping[str, Any]) -> FineCells:
        name, kind, shape = str(said["name"]), str(said["type"]), (bool(said["other"]), bool(said["closed"]))
        if said["grid"] is None:
            return cls(Column(name, kind), tuple(said["values"]), (), *shape)
        step, low, high = Fraction(said["grid"][0]), int(said["grid"][1]), int(said["grid"][2])
        ends: tuple[Any, Any] = (low * step, high * step)
        if kind in ("date", "timestamp"):
            ends = tuple(Grid(kind, step, end, end).value(0) for end in (low, high))
        column = Column(name, kind, ends, scale=len(str(step.denominator)) - 1 if kind == "decimal" else 0, resolution=step)
        return cls(column, (), tuple(map(int, said["edges"])), *shape)


def _even(width: int, bins: int) -> tuple[int, ...]:
    return tuple(sorted({width * i // bins for i in range(bins + 1)}))


def _step(column: Column, value: Any) -> int:
    """A constant of the column's type as a grid step above the lower bound."""
    grid = column.grid()
    if column.type in ("date", "timestamp"):
        return math.floor(column._steps(value)) - grid.low
    try:
        return math.floor(Fraction(str(value)) / grid.step) - grid.low
    except (ValueError, ZeroDivisionError):
        raise QueryError("SRD-208", f"{shown(value)} is no number of column {shown(column.name)}.", "Give edges of its type.") from None


@dataclass(frozen=True, eq=False)
class Joined:
    """Which cell of the model each fine cell belongs to, and the law of the fine cells inside each."""

    cells: tuple[int, ...]
    inside: Floats  # per fine cell its share of its cell

    @property
    def size(self) -> int:
        return max(self.cells) + 1

    def summed(self, values: Floats) -> Floats:
        out = np.zeros(self.size)
        np.add.at(out, list(self.cells), values)
        return out

    def fine(self, cells: NDArray[np.int64], chance: Floats) -> NDArray[np.int64]:
        """A fine cell for every cell, by its share."""
        out, of = np.zeros(len(cells), np.int64), np.array(self.cells)
        for cell in range(self.size):
            here, members = np.flatnonzero(cells == cell), np.flatnonzero(of == cell)
            law = np.cumsum(self.inside[members])
            out[here] = members[np.minimum(np.searchsorted(law / law[-1], chance[here], side="right"), len(members) - 1)]
        return out


def nearest_law(values: Floats) -> Floats:
    """The law nearest to noisy counts: what is negative, and as much of everything else, is taken away until they add up."""
    total = max(float(values.sum()), 1.0)
    order = np.sort(values)[::-1]
    above = np.cumsum(order) - total
    last = int(np.flatnonzero(order - above / np.arange(1, len(order) + 1) > 0)[-1])
    return np.asarray(np.maximum(values - above[last] / (last + 1), 0.0) / total)


def joined(cells: FineCells, drawn: Floats, sigma: float, *, apart: bool = False) -> Joined:
    """The cells of the model, from drawn counts of the fine ones; `apart` keeps every fine cell, where a rule is about them."""
    count = len(drawn)
    if apart or count == 1:
        return _with(list(range(count)), drawn)
    null, least, nothing = count - 1, RARE * sigma, ABSENT * sigma
    if cells.ordered and not cells.closed:
        groups = _runs(drawn[:null], sigma, max(float(drawn.sum()), 0.0) / BINS if null > BINS else 0.0)
    else:
        groups = [[i] for i in range(null)]
    rare: list[int] = []
    if not cells.ordered:
        rare = [i for i in range(null) if drawn[i] < (nothing if cells.other and i == null - 1 else least)]
        groups = [[i] for i in range(null) if i not in rare] + ([rare] if rare else [])
    groups.append([null])
    for weak in ([null], rare):
        if weak in groups and len(groups) > 1 and float(drawn[weak].sum()) < nothing:  # too few to stand alone: joined to the fewest
            groups.remove(weak)
            min(groups, key=lambda group: float(drawn[group].sum())).extend(weak)
    of = [0] * count
    for cell, group in enumerate(groups):
        for place in group:
            of[place] = cell
    absent = [i for i in (null, null - cells.other) if drawn[i] < nothing]
    return _with(of, _settled(drawn, groups, sigma) if cells.ordered and not cells.closed else drawn, absent)


def _settled(drawn: Floats, groups: list[list[int]], sigma: float) -> Floats:
    """Stretches of a run that do not stand out of their noise hold nobody: made-up rows in an empty tail would move every mean."""
    out = drawn.copy()
    for group in groups:
        stretch: list[int] = []
        kept = False
        for i in sorted(group):
            stretch.append(i)
            if float(drawn[stretch].sum()) >= APART * sigma * math.sqrt(len(stretch)):
                gone = _empty(drawn, stretch, sigma)
                out[gone if len(gone) < len(stretch) else []] = 0.0
                stretch, kept = [], True
        out[_empty(drawn, stretch, sigma) if kept else []] = 0.0
    return out


def _empty(drawn: Floats, stretch: list[int], sigma: float) -> list[int]:
    """The fine cells of a stretch but for halves, quarters, .. that stand out of their noise with both their halves."""
    if not stretch:
        return []
    half, noise = len(stretch) // 2, sigma * math.sqrt(len(stretch))
    parts = [stretch[:half], stretch[half:]] if half else []
    even = all(float(drawn[part].sum()) >= APART * sigma * math.sqrt(len(part)) for part in parts)
    if even and float(drawn[stretch].sum()) >= ABSENT * noise:
        return []
    return [i for part in parts for i in _empty(drawn, part, sigma)] if parts else stretch


def _with(of: list[int], drawn: Floats, absent: Sequence[int] = ()) -> Joined:
    """With the law of the fine cells inside each; those that were not told apart from nothing, null and other, do not occur."""
    inside = np.zeros(len(of))
    for cell in range(max(of) + 1):
        members = [i for i, own in enumerate(of) if own == cell]
        present = [i for i in members if i not in absent] or members
        inside[present] = nearest_law(drawn[present])
    return Joined(tuple(of), inside)


def _runs(drawn: Floats, sigma: float, wanted: float) -> list[list[int]]:
    """Neighbouring intervals joined until each run holds what is wanted and stands out of its noise; the rest goes to the last run."""
    runs: list[list[int]] = []
    run: list[int] = []
    held = 0.0
    for i, value in enumerate(drawn.tolist()):
        if run and value >= max(wanted, RUN * sigma):  # a spike is a run of its own, if what is before it can stand alone
            if held >= RUN * sigma * math.sqrt(len(run)) or not runs:
                runs.append(run)
            else:
                runs[-1] += run
            runs.append([i])
            run, held = [], 0.0
            continue
        run.append(i)
        held += value
        if held >= max(wanted, RUN * sigma * math.sqrt(len(run))):
            runs.append(run)
            run, held = [], 0.0
    if run:
        runs = [*runs[:-1], runs[-1] + run] if runs else [run]
    return runs
