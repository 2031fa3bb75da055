"""The most frequent values of a column.

The k most frequent values of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.exponential import Exponential
from sordino.mechanisms.noisy_max import NoisyMax
from sordino.mechanisms.permute_and_flip import PermuteAndFlip
from sordino.mechanisms.selection import Selection
from sordino.mechanisms.stable_mode import StableMode
from sordino.privacy.certificate import Part
from sordino.schema.column import Column
from sordino.statistics.port import Answer, Context, Counted, Groups, NoInterval, Plain, ReachPrice, Shape, Step, Ways, column_of, per_group
from sordino.statistics.reach import read_cells, tally
from sordino.statistics.registry import Sealed, registered
from sordino.statistics.top_counts import COUNTS_SHARE, ORDER_SHARE, CountedTopStep
from sordino.statistics.top_values import PodiumStep, choice, choice_price, together_pays
from sordino.summaries import Ask, Draw, Held
from sordino.summaries.totals import Item

__all__ = ["Mode", "mode", "public_values", "refuse_private_groups", "top_k"]


def public_values(column: Column) -> tuple[Any, ...] | None:
    """The public keys of a counted column: those declared, both truth values for a bool, otherwise none."""
    return column.keys if column.keys is not None else (False, True) if column.type == "bool" else None


@dataclass(frozen=True)
class PeeledStep(NoInterval):
    r"""The k most frequent of public keys: the winner is chosen and taken out, and again, each time at 1/k of the price.

    Theorem. With at most r rows of a person per key every round is (epsilon/k)-DP, whatever the number of keys a person is in.
    Proof. A person moves every count by at most r, all of them up or all of them down under add_remove. The candidates of a round
    depend on earlier outcomes only; k rounds compose. QED
    """

    keys: tuple[Any, ...]
    size: int
    epsilon: Fraction
    context: Context
    kind: type[Selection] = PermuteAndFlip
    bar: str = "none"

    def __post_init__(self) -> None:
        _ = self.mechanism  # every refusal comes before the charge

    @property
    def price(self) -> ReachPrice:
        return choice_price(self.epsilon / self.size, self.context)

    @cached_property
    def mechanism(self) -> Selection:
        return choice(self.kind, self.epsilon / self.size, self.context)

    @property
    def name(self) -> str:
        return self.kind.__name__ if self.size == 1 else f"{self.kind.__name__}, {self.size} rounds"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.price.part(self.mechanism.certificate()),) * self.size

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        answers = []
        for cells in read_cells(ask, Item("rows"), groups):
            left, chosen = list(self.keys), []
            for _ in range(self.size):
                scores = np.array([cells.get(key, 0) for key in left], np.int64)
                chosen.append(left.pop(self.mechanism.release(Held(scores), draw)))
            answers.append(Answer(chosen[0] if self.size == 1 else tuple(chosen)))
        return answers


@dataclass(frozen=True)
class StableStep(NoInterval):
    """The k most frequent of keys nobody listed: the exact set if it is stable enough, otherwise "refused", at the same price."""

    size: int
    epsilon: Fraction
    delta: Fraction
    context: Context
    bar: str = "none"

    def __post_init__(self) -> None:
        _ = self.name

    @cached_property
    def price(self) -> ReachPrice:
        return per_group(self.epsilon, self.delta, self.context)

    @cached_property
    def mechanism(self) -> StableMode:
        return StableMode(self.price.epsilon, self.price.delta, self.size, self.price.relation, self.context.cells().rows)

    @property
    def shown_from(self) -> int:
        """The lead from which the answer is shown more often than not."""
        return self.mechanism.least_lead

    @property
    def name(self) -> str:
        return f"StableMode, shown from a lead of about {self.mechanism.least_lead} rows"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.price.part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        answers = []
        for cells in read_cells(ask, Item("rows"), groups):
            held = tally(cells)
            drawn = self.mechanism.release(Held(held), draw)
            if isinstance(drawn, frozenset):
                drawn = tally(dict.fromkeys(drawn, 1)).keys
            answers.append(Answer(drawn))
        return answers


@dataclass(frozen=True)
class Mode(Plain):
    """The k most frequent values of a column in rank order; with private keys by stability, which may refuse. k = 1 is the mode.

    With `counts` the number of rows of each is drawn too, at half of the price. A set of keys nobody listed has no order of its own: it
    is that of counts drawn for it, at a quarter of the price where they are not asked for.
    """

    column: str
    k: int = 1
    columns: tuple[str, ...] = ()
    counts: bool = False
    naming = True

    def __post_init__(self) -> None:
        if not isinstance(self.counts, bool):
            raise QueryError("SRD-103", f"counts is {self.counts!r}.", "Give counts=True or counts=False.")
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:
            raise QueryError("SRD-103", f"k is {self.k!r}.", "Give k as a whole number of at least 1.")

    @property
    def label(self) -> str:
        return f"mode({self.column})" if self.k == 1 and not self.counts else f"top_k({self.column}, {self.k})"

    @property
    def weight(self) -> int:  # type: ignore[override]
        return 2 if self.counts else 1

    def counted(self, context: Context) -> Counted:
        return Counted(self.column, public_values(column_of(context, self.column)))

    def shape(self, label: str) -> Shape | None:
        if self.counts:
            return {"cells": "key", "count": "count" if label == self.label else label}
        return {"list": label} if self.k > 1 else None

    def question(self) -> dict[str, Any]:
        return {"statistic": "top_k", "column": self.column, "k": self.k, **({"counts": True} if self.counts else {})}

    def needs_delta(self, context: Context) -> bool:
        return public_values(column_of(context, self.column)) is None

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        """For one value permute-and-flip, which is never worse than the exponential mechanism or noisy maxima; for several the way of
        less predicted loss, one by one or all in one draw. Keys nobody listed leave stability only."""
        refuse_private_groups(context, self.label)
        private = public_values(column_of(context, self.column)) is None
        ordered = private and self.k > 1
        share = COUNTS_SHARE if self.counts else ORDER_SHARE if ordered else Fraction(0)
        chosen = self._choices(epsilon * (1 - share), delta, context)
        if not share:
            return chosen

        def counted(choose: Callable[[], Step]) -> Step:
            return CountedTopStep(choose(), self.k, epsilon * share, context, self.counts, ordered)

        return {name: partial(counted, choose) for name, choose in chosen.items()}

    def _choices(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        keys = public_values(column_of(context, self.column))
        if keys is None:
            return {"stability": lambda: StableStep(self.k, epsilon, delta, context)}
        if len(keys) < self.k:
            raise QueryError("SRD-103", f"{self.column!r} has {len(keys)} public keys, fewer than k.", "Ask for fewer.")
        kinds = {"permute_and_flip": PermuteAndFlip, "exponential": Exponential, "noisy_max": NoisyMax}
        ways: dict[str, Callable[[], Step]] = {
            name: partial(PeeledStep, keys, self.k, epsilon, context, kind) for name, kind in kinds.items()
        }
        if self.k == 1:
            return ways
        joint = {"joint_exponential": lambda: PodiumStep(keys, self.k, epsilon, context)}
        return {**joint, **ways} if together_pays(keys, self.k, epsilon, context) else {**ways, **joint}


def refuse_private_groups(context: Context, label: str) -> None:
    if context.private_keys:
        what = f"{label} counts values inside groups whose keys are private."
        raise QueryError("SRD-203", what, "Declare the keys of the group column, or group by both columns and count.")


def _about(sealed: Sealed) -> str:
    counted = " and the number of rows of each" if sealed.said.get("counts") else ""
    return f"the most frequent value{'s' if sealed.said.get('k', 1) != 1 else ''} of {sealed.of}{counted}"


@registered(
    about=_about, cells=True, sql=("MODE",), together=True, menu=(12, "most frequent value"),
    examples=(("", ("sex",), {}), (" of private keys", ("zip",), {})),
)  # fmt: skip
def mode(column: str) -> Mode:
    """The most frequent value of a column."""
    return Mode(column)


@registered(
    about=_about,
    cells=True,
    examples=(
        ("", ("job", 2), {}),
        (" of private keys", ("zip", 1), {}),
        (" of private keys with counts", ("zip", 2), {"counts": True}),
    ),
)
def top_k(column: str, k: int, counts: bool = False) -> Mode:
    """The k most frequent values in rank order, with the number of rows of each if `counts`; of keys nobody listed it may be refused."""
    return Mode(column, k, counts=counts)
