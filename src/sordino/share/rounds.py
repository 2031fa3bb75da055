"""The conversation behind a shared table: count every column, choose and measure marginals, fit, sample, report how far off the file is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.privacy.discrete import ArgMax, UniformInteger
from sordino.privacy.families import GaussianLaw
from sordino.privacy.law import output_grid
from sordino.share.cells import FineCells, Joined, joined
from sordino.share.fitting import DrawnMarginal, MarginalFit, fitted, merged, rows_of, shrunk
from sordino.share.junction_tree import Clique, JunctionTree, TreeLaw, cells_with, triangulated
from sordino.share.sampling import sampled
from sordino.share.schedule import FINE, Schedule
from sordino.summaries import Ask, Draw
from sordino.summaries.marginal import CellAxis, Marginals

__all__ = ["CAP", "FitSteps", "ShareOutcome", "Talk", "check_cap"]

Integers = NDArray[np.int64]
CAP = 200_000  # cells of the model
WIDE = 1_000_000  # cells of a marginal anybody looks at
FEWEST_CELLS = 2
EXACT = 20  # columns up to which the cells of a larger model are counted exactly
Progress = Callable[[float], None]


def check_cap(cells: Sequence[FineCells | None], sets: Iterable[Clique], ruled: Iterable[Clique], cap: int = CAP) -> None:
    """Refuse sets to measure and rules that no model within the cap can hold, as far as public facts say: private categories count once."""
    ruled = list(ruled)
    apart = {i for clique in ruled for i in clique}
    sizes = [1 if c is None else c.places if i in apart else c.expected for i, c in enumerate(cells)]
    for cliques, what, fix in (
        (ruled, "the rules", "Forbid combinations of fewer columns that overlap, or of columns with fewer values."),
        ([*sets, *ruled], "the sets of the workload", "Name fewer sets that overlap, declare fewer bins=, or use method='adaptive'."),
    ):
        if sum(math.prod(sizes[i] for i in c) for c in triangulated(sizes, cliques)) > cap:
            raise QueryError("SRD-208", f"a model that keeps {what} exactly has more than {cap:,} cells.", fix)


@dataclass(frozen=True)
class FitSteps:
    """Steps of the fits: between two measurements, and at the end."""

    between: int = 25
    last: int = 200


@dataclass(frozen=True, eq=False)
class ShareOutcome:
    """Everything drawn and everything that follows from it. All of it may be published."""

    first: tuple[Integers, ...]  # drawn counts of the fine cells of every column, in counted units
    columns: tuple[Joined, ...]
    chosen: tuple[tuple[Clique, Integers], ...]  # drawn marginals of the joined cells, in counted units
    rows: float
    law: TreeLaw
    seed: int
    codes: Integers  # the sampled table in joined cells
    distances: Mapping[Clique, int]  # drawn |x - s|_1, in parts of a counted unit


@dataclass(frozen=True)
class Talk:
    """Who asks: the columns' cells, the schedule, which sets may be chosen with which weight, and which are reported."""

    cells: tuple[FineCells, ...]
    schedule: Schedule
    workload: Mapping[Clique, int]
    reported: tuple[Clique, ...]
    parts: int = 1  # of a row or person, in which counts are whole
    rows: int | None = None  # of the shared table, if somebody wants another number than was counted
    cap: int = CAP
    rules: Mapping[Clique, NDArray[np.bool_]] = field(default_factory=dict)  # forbidden fine cells

    def run(self, ask: Ask, draw: Draw, effort: FitSteps = FitSteps(), progress: Progress = lambda done: None) -> ShareOutcome:
        """Every request depends on public facts and on values drawn before it."""
        first = self._first(ask, draw)
        sigma = float(self.schedule.first)
        ruled = {i for clique in self.rules for i in clique}
        columns = tuple(joined(c, y.astype(float), sigma, apart=i in ruled) for i, (c, y) in enumerate(zip(self.cells, first, strict=True)))
        axes = tuple(c.axis(j.cells) for c, j in zip(self.cells, columns, strict=True))
        sizes = tuple(j.size for j in columns)
        one = float(self.parts)
        singles = [
            DrawnMarginal((i,), j.summed(y.astype(float)) / one, j.summed(np.full(len(y), sigma**2)) / one**2)
            for i, (j, y) in enumerate(zip(columns, first, strict=True))
        ]
        fit = self._refit(sizes, singles, None, effort.between)
        progress(0.05)
        chosen, fit = self._chosen(ask, draw, axes, singles, fit, effort=effort, progress=progress)
        measured = merged([*singles, *(self._measured(c, y) for c, y in chosen)])
        fit = self._refit(sizes, measured, fit, effort.last)
        seed = draw(UniformInteger(0, 2**63 - 1))
        law = TreeLaw.from_record(fit.law.to_record())
        codes = sampled(law, self.rows if self.rows is not None else max(round(fit.rows), 1), seed)
        progress(0.9)
        distances = self._distances(ask, draw, axes, fit.rows, codes)
        progress(1.0)
        return ShareOutcome(first, columns, tuple(chosen), fit.rows, law, seed, codes, distances)

    def _first(self, ask: Ask, draw: Draw) -> tuple[Integers, ...]:
        axes = tuple(cells.axis() for cells in self.cells)
        tables = ask(Marginals(axes, tuple((i,) for i in range(len(axes))), self.parts)).tables
        return tuple(self._noisy(table, draw, self.schedule.first) for table in tables)

    def _noisy(self, table: Integers, draw: Draw, scale: object) -> Integers:
        law = GaussianLaw().at(table.ravel(), scale, grid=output_grid(scale))  # type: ignore[arg-type]
        return np.asarray(draw(law), np.int64).reshape(table.shape)

    def _measured(self, clique: Clique, drawn: Integers) -> DrawnMarginal:
        return DrawnMarginal(clique, drawn / float(self.parts), np.array((float(self.schedule.measured) / self.parts) ** 2))

    def _refit(self, sizes: tuple[int, ...], measured: list[DrawnMarginal], start: MarginalFit | None, steps: int) -> MarginalFit:
        fixed = {clique: np.where(never, -np.inf, 0.0) for clique, never in self.rules.items()}
        tree, rows = JunctionTree.of(sizes, [*(one.columns for one in measured), *fixed]), rows_of(measured)
        if tree.cells > self.cap:
            measured = self._within(sizes, measured)
            tree = JunctionTree.of(sizes, [*(one.columns for one in measured), *fixed])
        return fitted(tree, shrunk(measured, rows), rows, steps, start, fixed=fixed)

    def _within(self, sizes: tuple[int, ...], measured: list[DrawnMarginal]) -> list[DrawnMarginal]:
        """The marginals the model holds within its cap, those of most weight first: names and spikes that were drawn may make sets larger
        than public facts say. The others stay measured and reported."""
        held = [*self.rules, *(one.columns for one in measured if len(one.columns) == 1)]
        for clique in sorted((one.columns for one in measured if len(one.columns) > 1), key=lambda c: (-self._weights.get(c, 0), c)):
            if cells_with(sizes, held, clique) <= self.cap:
                held.append(clique)
        return [one for one in measured if one.columns in held]

    def _candidates(self, sizes: tuple[int, ...]) -> list[Clique]:
        """What may be chosen: every set of two or more of the workload's columns that is not too wide, smaller sets included."""
        return sorted(c for c in self._weights if math.prod(sizes[i] for i in c) <= min(self.cap, WIDE))

    @cached_property
    def _weights(self) -> dict[Clique, int]:
        """The weight of every set: the largest of those of the workload it is part of."""
        out: dict[Clique, int] = {}
        for wanted, weight in self.workload.items():
            for k in range(2, len(wanted) + 1):
                for small in combinations(wanted, k):
                    out[small] = max(weight, out.get(small, 0))
        return out

    def _chosen(
        self,
        ask: Ask,
        draw: Draw,
        axes: tuple[CellAxis, ...],
        singles: list[DrawnMarginal],
        fit: MarginalFit,
        *,
        effort: FitSteps,
        progress: Progress,
    ) -> tuple[list[tuple[Clique, Integers]], MarginalFit]:
        sizes = tuple(axis.size for axis in axes)
        candidates = self._candidates(sizes)
        if not candidates or not self.schedule.rounds:
            return [], fit
        if self.schedule.method == "given":
            wanted = [c for c in sorted(self.workload) if c in set(candidates)]
            tables = ask(Marginals(axes, tuple(wanted), self.parts)).tables
            return [(c, self._noisy(t, draw, self.schedule.measured)) for c, t in zip(wanted, tables, strict=True)], fit
        counts = dict(zip(candidates, ask(Marginals(axes, tuple(candidates), self.parts)).tables, strict=True))
        if self.schedule.method == "tree":
            return self._spanning(draw, counts, fit), fit
        chosen: list[tuple[Clique, Integers]] = []
        measured, rounds = singles, self.schedule.rounds
        for turn in range(1, rounds + 1):
            have = [one.columns for one in measured] + list(self.rules)
            tree, most = fit.law.tree, self.cap * turn / rounds
            # of many columns by a bound, as eliminating anew for every candidate would take minutes
            grown = tree.cells_with if len(sizes) > EXACT else lambda c, have=have: cells_with(sizes, have, c)
            open_ = [c for c in candidates if tree.home(c) is not None or grown(c) <= most]
            open_ = open_ or [min(candidates, key=lambda c: (tree.cells_with(c), c))]
            clique = open_[self._pick(draw, open_, counts, fit)]
            chosen.append((clique, self._noisy(counts[clique], draw, self.schedule.measured)))
            measured = merged([*measured, self._measured(*chosen[-1])])
            fit = self._refit(sizes, measured, fit, effort.between)
            progress(0.05 + 0.8 * turn / rounds)
        return chosen, fit

    def _pick(self, draw: Draw, among: list[Clique], counts: Mapping[Clique, Integers], fit: MarginalFit) -> int:
        """The exponential mechanism on how far the model is from the rows, less what noise of a measurement would add.

        A model has no negative cells: of noise in a cell that holds little it takes in the positive part, of mean sigma/sqrt(2 pi).
        """
        scores = [self._score(c, counts[c], fit.rows * fit.law.marginal(c)) for c in among]
        return int(draw(ArgMax(np.array(scores, np.int64), self.schedule.selection.scale, "gumbel")))

    def _score(self, clique: Clique, counts: Integers, expected: NDArray[np.float64]) -> int:
        noise = float(self.schedule.measured) / math.sqrt(2 * math.pi)
        return self._weights[clique] * (self._apart(counts, expected) - math.floor(noise * counts.size * FINE))

    def _apart(self, counts: Integers, expected: NDArray[np.float64]) -> int:
        """|counts - expected|_1 in whole parts of a counted unit, so that one person moves it by no more than their own."""
        whole = np.floor(np.maximum(expected, 0.0) * (self.parts * FINE)).astype(np.int64)
        return int(np.abs(counts * FINE - whole).sum())

    def _spanning(self, draw: Draw, counts: Mapping[Clique, Integers], fit: MarginalFit) -> list[tuple[Clique, Integers]]:
        """A private spanning tree of pairs: again and again the pair, between parts not yet connected, that independence misses most."""
        group = list(range(len(self.cells)))
        found: list[Clique] = []
        for _ in range(self.schedule.rounds):
            among = [c for c in counts if len(c) == FEWEST_CELLS and group[c[0]] != group[c[1]]]
            among = among or [c for c in counts if len(c) == FEWEST_CELLS]
            clique = among[self._pick(draw, among, counts, fit)]
            found.append(clique)
            old, new = group[clique[1]], group[clique[0]]
            group = [new if g == old else g for g in group]
        return [(c, self._noisy(counts[c], draw, self.schedule.measured)) for c in found]

    def _distances(self, ask: Ask, draw: Draw, axes: tuple[CellAxis, ...], rows: float, codes: Integers) -> dict[Clique, int]:
        """How far the file is from the rows, for every reported set, each with noise."""
        if not self.reported:
            return {}
        shapes = {c: tuple(axes[i].size for i in c) for c in self.reported}
        tables = ask(Marginals(axes, self.reported, self.parts)).tables
        scale = rows / max(len(codes), 1)
        found = []
        for clique, table in zip(self.reported, tables, strict=True):
            flat = np.ravel_multi_index([codes[:, i] for i in clique], shapes[clique])
            own = np.bincount(flat, minlength=table.size).reshape(table.shape)
            found.append(self._apart(table, np.asarray(own * scale, np.float64)))
        drawn = self._noisy(np.array(found, np.int64), draw, self.schedule.report)
        return dict(zip(self.reported, drawn.tolist(), strict=True))
