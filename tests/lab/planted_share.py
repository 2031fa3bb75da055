"""A shared table: what looks like a public fact of it and comes from the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from planted_kit import HAND, planted

from sordino.noise import draw
from sordino.privacy.discrete import ArgMax
from sordino.privacy.law import Placed
from sordino.privacy.relation import Relation
from sordino.schema.column import Column
from sordino.share.cells import FineCells
from sordino.share.rounds import FitSteps, Talk
from sordino.share.schedule import affordable
from sordino.summaries.marginal import Crossed

RNG = np.random.default_rng(20_24)
CODES = np.column_stack([RNG.integers(0, 2, 60), RNG.integers(0, 2, 60), RNG.integers(0, 2, 60)])
MORE = np.concatenate([CODES, [[0, 1, 0]]])
RARE = np.concatenate([CODES, [[2, 1, 0]]])  # the only one with no value in the first column
QUICK = FitSteps(2, 4)
REPEATS = 25  # what was drawn decides whether a mistake shows


HEAVY = {(0, 1): 1, (0, 2): 2, (1, 2): 2}


def talk(workload: Any = None, heaviest: int = 1) -> Talk:
    cells = tuple(FineCells.of(Column(f"c{i}", "bool")) for i in range(3))
    sets = tuple(c for k in (1, 2, 3) for c in combinations(range(3), k))
    schedule = affordable(
        Fraction(1), Fraction(1, 10**6), method="adaptive", columns=3, reported=len(sets), reach=1, heaviest=heaviest,
        relation=Relation.ADD_REMOVE, cells=4.0, rows=60, fixed=3,
    )  # fmt: skip
    return Talk(cells, schedule, workload or dict.fromkeys(combinations(range(3), 2), 1), sets)


def answering(codes: Any) -> Any:
    def ask(request: Any) -> Crossed:
        tables = []
        for chosen in request.sets:
            table = np.zeros(request.shape(chosen), np.int64)
            np.add.at(table, tuple(_cell(request.axes[i], codes[:, i]) for i in chosen), 1)
            tables.append(table)
        return Crossed(tuple(tables))

    return ask


def _cell(axis: Any, codes: Any) -> Any:
    place = codes if axis.edges is None else np.minimum(np.searchsorted(axis.edges, codes, side="right") - 1, len(axis.edges) - 2)
    return np.array(axis.cells)[np.minimum(place, len(axis.cells) - 1)]


@dataclass(frozen=True)
class PinnedShare:
    """Pinned outcomes on a neighbour: requests, public parts of laws and the table must be equal, and no place may move beyond its price.

    The subject makes a conversation from the codes it may peep at.
    """

    d0: Any
    d1: Any
    name: ClassVar[str] = "replay"

    def _run(self, subject: Any, codes: Any, outcomes: list[Any] | None) -> tuple[list[Any], list[Any], list[Any], Any]:
        laws: list[Any] = []
        asked: list[Any] = []
        drawn: list[Any] = []
        given = None if outcomes is None else iter(outcomes)

        def pinned(law: Any) -> Any:
            laws.append(law)
            drawn.append(draw(law) if given is None else next(given))
            return drawn[-1]

        def heard(request: Any) -> Any:
            asked.append(request)
            return answering(codes)(request)

        return laws, asked, drawn, subject(codes).run(heard, pinned, QUICK)

    def alarm(self, subject: Any) -> bool:
        return any(self._told(subject) for _ in range(REPEATS))

    def _told(self, subject: Any) -> bool:
        laws, asked, drawn, seen = self._run(subject, self.d0, None)
        try:
            others, also, _, again = self._run(subject, self.d1, drawn)
        except (StopIteration, ValueError, IndexError):  # draws of another shape: what was asked for is no public fact
            return True
        if asked != also or not np.array_equal(seen.codes, again.codes) or len(laws) != len(others):
            return True
        schedule, spent = subject(self.d0).schedule, Fraction(0)
        for one, other in zip(laws, others, strict=True):
            if isinstance(one, ArgMax):
                moved = one.scores.shape != other.scores.shape or np.abs(one.scores - other.scores).max() > schedule.selection.sensitivity
                if moved or not one.scale == other.scale == schedule.selection.scale:
                    return True
            elif isinstance(one, Placed):
                if np.shape(one.location) != np.shape(other.location) or one.scale != other.scale:
                    return True
                gap = np.asarray(one.location, object) - np.asarray(other.location, object)
                spent += Fraction(int((gap**2).sum())) / one.scale**2
        return spent > schedule.purse.mu**2


def clean(codes: Any) -> Talk:
    return talk()


class TrueRows(Talk):
    """Expected counts are scaled to the private number of rows."""

    def _apart(self, counts: Any, expected: Any) -> int:
        return super()._apart(counts, expected * (int(counts.sum()) / max(float(expected.sum()), 1e-9)))


def with_class(kind: type[Talk]) -> Talk:
    plain = talk()
    return kind(plain.cells, plain.schedule, plain.workload, plain.reported)


@planted(HAND, PinnedShare(CODES, MORE), clean)
def share_scores_by_the_true_number_of_rows(codes):
    """A marginal is scored against expected counts that add up to the private number of rows instead of the drawn one."""
    return with_class(TrueRows)


@planted(HAND, PinnedShare(CODES, RARE), clean)
def share_cells_from_the_values_that_occur(codes):
    """The domain of a column is the list of values in it: somebody with a value of their own adds a cell."""
    plain = talk()
    values = tuple(FineCells.of(Column(f"c{i}", "int", (0, max(int(codes[:, i].max()), 1)))) for i in range(3))
    return replace(plain, cells=values)


@planted(HAND, PinnedShare(CODES, MORE), lambda codes: talk(HEAVY, 2))
def share_scores_that_forget_their_weights(codes):
    """Marginals with the target count twice in the choice, and the price of the choice is that of scores counted once."""
    return talk(HEAVY)


WIDE = np.concatenate([np.repeat([[0, 0, 0]], 30, axis=0), np.repeat([[3, 1, 1]], 31, axis=0)])


@planted(HAND, PinnedShare(WIDE, WIDE[:-1]), lambda codes: binned(codes, private=False))
def share_bins_at_the_quantiles_of_the_rows(codes):
    """The edges of a number column are the median of its rows, read without noise."""
    return binned(codes, private=True)


def binned(codes: Any, *, private: bool) -> Talk:
    plain, column = talk(), Column("c0", "int", (0, 4))
    middle = int(np.sort(codes[:, 0])[(len(codes) - 1) // 2]) if private else 2
    return replace(plain, cells=(FineCells.of(column, [0, max(middle, 1), 4]), *plain.cells[1:]))


@planted(HAND, PinnedShare(CODES, RARE), clean)
def share_zeros_mined_from_the_rows(codes):
    """A combination that no row has is taken for impossible: the first person who has it makes it possible."""
    never = np.zeros((3, 3), bool)
    for a in range(3):
        for b in range(3):
            never[a, b] = not ((codes[:, 0] == a) & (codes[:, 1] == b)).any()
    return replace(talk(), rules={(0, 1): never})


class ReusedSeed(Talk):
    """The seed of the sampling is the number of rows."""

    def run(self, ask: Any, draw: Any, effort: Any = QUICK, progress: Any = None) -> Any:
        outcome = super().run(ask, draw, effort)
        from sordino.share.sampling import sampled

        return replace(outcome, seed=self.peeped, codes=sampled(outcome.law, len(outcome.codes), self.peeped))

    peeped = 0


@planted(HAND, PinnedShare(CODES, MORE), clean)
def share_seed_from_the_rows(codes):
    """The seed of the sampling is computed from the table, so the rows change with anybody in it."""
    made = with_class(ReusedSeed)
    object.__setattr__(made, "peeped", int(codes.sum()) + len(codes))
    return made
