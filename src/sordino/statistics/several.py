"""Several quantiles at once: which of the three ways comes first, by public facts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.statistics.halving import HalvingStep
from sordino.statistics.port import Context, Step, Ways
from sordino.statistics.ranks import JointStep, RankStep

__all__ = ["several"]

GROUP_WORK = 1_000_000  # a few seconds for one group of a large table
WORK = 10_000_000
GROUPS = 20  # how many private groups to expect


def several(column: str, levels: tuple[Fraction, ...], shape: str, epsilon: Fraction, context: Context, *, private: bool) -> Ways:
    """One draw for all levels is best where its sums are short enough; then halving, which from three levels on beats single draws."""
    facts = (column, levels, shape, epsilon, context, private)
    ways: dict[str, Callable[[], Step]] = {
        "joint_exponential": lambda: JointStep(*facts),
        "approximate": lambda: HalvingStep(*facts),
        "exponential": lambda: RankStep(*facts),
    }
    if len(levels) == 1:
        order = ["exponential", "joint_exponential", "approximate"]
    elif quick(JointStep, *facts):
        order = ["joint_exponential", "approximate", "exponential"]
    else:
        order = ["approximate", "exponential"] if len(levels) > 2 else ["exponential", "approximate"]
        order.append("joint_exponential")
    return {way: ways[way] for way in order}


def quick(make: type[JointStep], *facts: Any) -> bool:
    """Whether the joint draw is possible here and short enough, whatever the table holds."""
    try:
        work = make(*facts).work
    except QueryError:
        return False
    context: Context = facts[4]
    groups = 1 if not context.grouped else len(context.keys) if context.keys is not None else GROUPS
    return work <= GROUP_WORK and work * groups <= WORK
