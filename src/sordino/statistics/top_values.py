"""The most frequent of public keys in one draw, and whether that beats choosing them one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.joint_top import JointTop
from sordino.mechanisms.permute_and_flip import PermuteAndFlip
from sordino.mechanisms.selection import Selection
from sordino.privacy.certificate import Part
from sordino.privacy.relation import Relation
from sordino.statistics.port import Answer, Context, Groups, NoInterval, ReachPrice, per_row
from sordino.statistics.reach import read_cells
from sordino.summaries import Ask, Draw, Held
from sordino.summaries.totals import Item

__all__ = ["PodiumStep", "choice", "predicted_losses", "together_pays"]

Floats = NDArray[np.float64]
Kind = TypeVar("Kind", bound=Selection)
ROWS = 10_000  # of the codebook where the public knows no number
LISTED = 200  # keys of the codebook that have a count of their own; the others share the last one


def choice(kind: type[Kind], epsilon: Fraction, context: Context, **more: Any) -> Kind:
    """A choice among keys at a price: a person moves each count by at most r, and all one way if people come and go."""
    price = choice_price(epsilon, context)
    return kind(price.epsilon, context.cells().rows, price.relation is Relation.ADD_REMOVE, price.relation, **more)


def choice_price(epsilon: Fraction, context: Context) -> ReachPrice:
    """Of one group's choice among keys: the loss is linear in the most rows a person has of one key."""
    return per_row(epsilon, context)


@dataclass(frozen=True)
class PodiumStep(NoInterval):
    """The k most frequent of public keys, in order, all in one draw."""

    keys: tuple[Any, ...]
    size: int
    epsilon: Fraction
    context: Context
    bar: str = "none"

    def __post_init__(self) -> None:
        self.mechanism.farthest(len(self.keys))  # every refusal comes before the charge

    @property
    def price(self) -> ReachPrice:
        return choice_price(self.epsilon, self.context)

    @cached_property
    def mechanism(self) -> JointTop:
        return choice(JointTop, self.epsilon, self.context, k=self.size)

    @property
    def name(self) -> str:
        return f"JointTop, {self.size} of {len(self.keys):,} keys"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.price.part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        answers = []
        for cells in read_cells(ask, Item("rows"), groups):
            scores = np.array([cells.get(key, 0) for key in self.keys], np.int64)
            chosen = self.mechanism.release(Held(scores), draw)
            answers.append(Answer(tuple(self.keys[place] for place in chosen)))
        return answers


def together_pays(keys: Sequence[Any], size: int, epsilon: Fraction, context: Context) -> bool:
    """Whether one draw of all k is predicted to lose less than k draws, by the number of keys, the price and the public rows alone."""
    try:
        joint = choice(JointTop, epsilon, context, k=size)
        joint.farthest(len(keys))
    except QueryError:
        return False
    one, many = predicted_losses(joint, choice(PermuteAndFlip, epsilon / size, context), len(keys), context.rows or ROWS)
    return one < many


@lru_cache(maxsize=256)
def predicted_losses(joint: JointTop, single: PermuteAndFlip, keys: int, rows: int) -> tuple[float, float]:
    """The expected loss (of the worst place) on a codebook whose j-th key has a share proportional to 1/j: together, and one by one.

    One by one the rounds are taken as if the earlier ones had been right.
    """
    shares = 1 / np.arange(1, keys + 1)
    counts = np.floor(rows * shares / shares.sum()).astype(np.int64)
    counts[LISTED:] = counts[min(LISTED, keys) - 1]
    heaps = joint.heaps(counts)
    weights = heaps.log_number - float(joint.rate) * heaps.loss
    weights = np.exp(weights - weights.max())
    together = float(weights @ heaps.loss / weights.sum())
    losses = np.unique(np.concatenate([counts[i] - counts[i:] for i in range(joint.k)]))
    within = np.ones(len(losses))
    for i in range(joint.k):
        values, often = np.unique(counts[i:], return_counts=True)
        chances = _winner((values - values[-1]) / float(single.scale), often)
        fallen = np.searchsorted(losses, values[-1] - values)
        within *= np.cumsum(np.bincount(fallen, chances, len(losses)))
    return together, float(np.diff(losses) @ (1 - within[:-1]))


@lru_cache(maxsize=1)
def _nodes() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(80)
    return nodes, weights


def _winner(scores: Floats, often: NDArray[np.int64]) -> Floats:
    """How likely permute-and-flip ends in each heap of equal scores: n p times the integral of prod (1 - u p_j)^{n_j} / (1 - u p)."""
    nodes, weights = _nodes()
    u, weight = ((nodes + 1) / 2) ** 4, weights / 2 * 4 * ((nodes + 1) / 2) ** 3  # most of it happens near zero
    p = np.exp(scores)
    missed = np.log1p(-np.outer(u, p))
    whole = missed @ often
    found = often * p * (weight @ np.exp(whole[:, None] - missed))
    return np.asarray(found / found.sum())
