"""What answers at a price look like, before one is paid: the release itself, held a few hundred times on public rows.

The plan that would be charged is drawn from on the owner's public twin or, where there is none, on made-up rows within the declared
bounds; the private source is never opened. Noise that does not depend on the rows is so seen exactly as it will be.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.errors import SordinoError
from sordino.pictures import Picture, bars, density
from sordino.session.forecast import Outlook, outlook
from sordino.session.preview import rounded

if TYPE_CHECKING:
    from sordino.session.query import Query
    from sordino.session.settled import Settled

__all__ = ["Spread", "spreads"]

DRAWS, FEW = 400, 60  # at once, and where answers have to be drawn one after the other
MADE_UP = 10_000  # rows where nobody has said how many there are
KEPT = 256  # simulations of a twin; an analyst may slide through any number of prices
LEAST = 20  # simulated numbers that say anything about odds


@dataclass(frozen=True)
class Spread:
    """Simulated answers to one statistic: how far from the exact number they fell, or which value they named."""

    name: str
    errors: tuple[float, ...]  # in order, of every group and part
    rows: str  # what it was simulated on, in words
    named: tuple[tuple[str, int], ...] = ()
    each: str = ""  # "in each group", where there are several

    def within(self, share: float) -> float:
        """Under which distance so large a share of the answers fell."""
        return float(np.quantile(np.abs(self.errors), share))

    @property
    def odds(self) -> str:
        """One sentence somebody can bet by."""
        if self.named:
            total = sum(count for _, count in self.named)
            shares = ", ".join(f"{name} {count} times" for name, count in self.named[:3])
            return f"Of {total} simulated answers {self.rows} so many named each value: {shares}."
        exact = f"the exact number{f' {self.each}' if self.each else ''}"
        near, sure = rounded(self.within(0.5)), rounded(self.within(0.95))
        said = f"The odds are 19 to 1 that the answer falls within ± {sure} of {exact}, and even that it falls within ± {near}"
        return f"{said}: simulated {self.rows}."

    def plot(self) -> Picture:
        if self.named:
            return bars(
                [name for name, _ in self.named], [count for _, count in self.named], title="Which value is named", x="simulated answers"
            )
        marks = {"half of the answers": self.within(0.5), "19 of 20": self.within(0.95)}
        return density(self.errors, marks, title=f"{self.name}: where the answer will fall", x="distance from the exact number")


def spreads(query: Query, plan: Settled) -> tuple[Spread, ...]:
    """The simulated spread of every statistic of a plan. Nothing private is read; what was simulated before is remembered."""
    view = outlook(query)
    if view.twin is None:
        view = Outlook(query, view.rows, query.table.guess_rows(query.table.size or MADE_UP), query.level)
    found = (_remembered(view, plan, name) for name in plan.names)
    return tuple(item for item in found if item is not None)


def _remembered(view: Outlook, plan: Settled, name: str) -> Spread | None:
    place = (view.query.key(), view.query.labels.canonical.get(name, name), plan.terms, view.rows)
    known: dict[Any, Spread | None] = {} if view.twin is None or not plan.terms else view.twin.known.setdefault("spreads", {})
    if place not in known:
        try:
            known[place] = _simulated(view, plan, name)
        except SordinoError:  # a question made-up rows cannot answer
            known[place] = None
        for old in list(known)[:-KEPT]:
            known.pop(old, None)
    return known.get(place)


def _simulated(view: Outlook, plan: Settled, name: str) -> Spread | None:
    each = "in each group" if plan.by else ""
    if name not in plan.steps:  # counted together with its private keys, by noise that is the same for every key
        keys: Any = plan.plan.keys
        sure = (np.arange(DRAWS // 2) + 0.5) / (DRAWS // 2)
        sizes = [float(keys.width(level=float(level))) for level in sure]
        return Spread(name, tuple(sorted([*sizes, *(-size for size in sizes)])), "by the law of its noise", each=each)
    if view.twin is None:
        return None
    count = f"{view.twin.rows:,} made-up rows" if view.twin.rows else "made-up rows"
    where = f"on {count}" if view.twin.guess else "on the public twin"
    values, words = view.drawn(name, plan, DRAWS, FEW)
    if words:
        return Spread(name, (), where, tuple(Counter(words).most_common(8)), each)
    found = sorted(float(error) for error in values if math.isfinite(error))
    return Spread(name, _thinned(found), where, each=each) if len(found) >= LEAST else None


def _thinned(errors: Sequence[float]) -> tuple[float, ...]:
    """At most a few hundred of them, evenly out of their order: what is remembered stays small."""
    stride = max(1, len(errors) // DRAWS)
    return tuple(errors[stride // 2 :: stride])
