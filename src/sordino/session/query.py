"""A question tied to a table: it can be priced, released, recalled and improved."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.plan.query import Query as Question
from sordino.plan.recall import question, recall_key
from sordino.privacy.number import as_delta, as_epsilon
from sordino.session.execute import execute
from sordino.session.release import Release
from sordino.session.settled import Settled, settle
from sordino.session.verbs import Verbs

if TYPE_CHECKING:
    from sordino.session.table import Table

__all__ = ["Query"]


@dataclass(frozen=True, eq=False)
class Query(Verbs):
    """An immutable question. Building it reads nothing and spends nothing; `release` pays first and looks afterwards."""

    table: Table = field(repr=False)
    asked: Question

    def _ask(self, statistic: Any) -> Query:
        return replace(self, asked=self.asked.agg(**{statistic.label: statistic}))

    def _condition(self, text: str) -> Any:
        return self.table._condition(text)

    def where(self, condition: str) -> Query:
        """Keep only rows that also fulfil this condition."""
        return replace(self, asked=self.asked.with_where(condition))

    def group_by(self, *columns: str) -> Query:
        """One answer per value of these columns."""
        return replace(self, asked=self.asked.group_by(*columns))

    def agg(self, **asked: Any) -> Query:
        """Several statistics in one release, under names of your choice."""
        return replace(self, asked=self.asked.agg(**asked))

    def settle(self, epsilon: Any, delta: Any = None) -> Settled:
        """The plan at a price: what would be charged, asked and recorded. Uses public facts only."""
        return settle(self.table, self.asked, as_epsilon(epsilon), None if delta is None else as_delta(delta, zero=True))

    def key(self) -> bytes:
        """What makes a repeat of this question free."""
        asked = question(self.asked, self.table.unit, fold_ids=self.table.fold_ids)
        return recall_key(self.table.dataset, self.table.version, asked)

    def release(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        within: float | None = None,
        fresh: bool = False,
        analyst: str | None = None,
        request: str | None = None,
    ) -> Release:
        """Pay, look, draw. A recorded answer to this question at this price or more is returned at no price; fresh=True pays again."""
        if (epsilon is None) == (within is None):
            raise QueryError("SRD-101", "a release needs a price.", "Give epsilon=, or within= for a half-width at 95%.")
        if within is not None:
            epsilon = self.price(within)
        price = as_epsilon(epsilon)
        if not fresh:
            recorded = self.recall(price)
            if recorded is not None:
                return recorded
        plan = self.settle(price, delta)
        sealed = execute(
            plan,
            self.table.ledger,
            self.table.engine,
            request=request,
            analyst=analyst,
            owner_log=self.table.log_failure,
        )
        return Release.from_bytes(sealed, query=self)

    def recall(self, price: Fraction) -> Release | None:
        """The recorded answer with the largest epsilon that is at least this price; the oldest on ties."""
        found = [Release.from_bytes(item, recalled=True, query=self) for item in self.table.ledger.recall(self.key())]
        enough = [item for item in found if item.cost.exact.epsilon >= price]
        return max(enough, key=lambda item: item.cost.exact.epsilon) if enough else None

    def width(self, epsilon: Any) -> float | None:
        """The predicted 95% half-width at a price, for one ungrouped statistic; None where it is private or needs a size."""
        steps = list(self.settle(epsilon).steps.values())
        return steps[0].width(self.table.size) if len(steps) == 1 and not self.asked.by else None

    def price(self, within: float) -> Fraction:
        """The least epsilon, to 1%, whose predicted half-width is at most `within`."""
        wish = float(within)
        if not (math.isfinite(wish) and wish > 0):
            raise QueryError("SRD-103", f"within is {within!r}.", "Give a positive half-width in the statistic's unit.")
        low, high = Fraction(1, 10**6), Fraction(20)
        best = self.width(high)
        if best is None:
            what = "the error of this question cannot be predicted from public facts."
            raise QueryError("SRD-103", what, "Give size=, or ask with epsilon=.")
        if best > wish:
            fix = f"At epsilon 20 the half-width is {best:.4g}; ask for that or more."
            raise QueryError("SRD-103", f"a half-width of {wish:g} is out of reach.", fix, best=best)
        while high > low * Fraction(101, 100):
            middle = Fraction(math.sqrt(low * high)).limit_denominator(10**9)
            reached = self.width(middle)
            low, high = (low, middle) if reached is not None and reached <= wish else (middle, high)
        return high

    def improve(self, earlier: Release, *, within: float, analyst: str | None = None) -> Release:
        """A better answer. Two independent unbiased draws are averaged by inverse variance where the noise is additive.

        For an additive statistic the second draw is priced so that the mean meets `within`; everything else is a fresh release at full
        price. Either way the price is what the second release costs, and it is charged before anything is read.
        """
        if earlier.bar == "exact" and not earlier.grouped and earlier.mechanism.endswith("Laplace") and earlier.low is not None:
            half = (earlier.high - earlier.low) / 2
            if half <= within:
                return earlier
            # two Laplace draws of scales b1, b2 averaged by inverse variance have variance 2/(1/b1^2 + 1/b2^2); be safe by its 95% width
            second = 1 / math.sqrt(max(1 / within**2 - 1 / half**2, 1e-300))
            fresh = self.release(epsilon=self.price(second), fresh=True, analyst=analyst)
            other = (fresh.high - fresh.low) / 2
            weight = (1 / half**2) / (1 / half**2 + 1 / other**2)
            value = weight * earlier.value + (1 - weight) * fresh.value
            reach = 1 / math.sqrt(1 / half**2 + 1 / other**2)
            name = fresh.names[0]
            answers = {name: [value], f"{name}_low": [value - reach], f"{name}_high": [value + reach]}
            return replace(fresh, answers=answers)
        return self.release(within=within, fresh=True, analyst=analyst)

    def __repr__(self) -> str:
        parts = [f"{label}" for label in self.asked.statistics]
        by = f" by {', '.join(self.asked.by)}" if self.asked.by else ""
        return f"Query({', '.join(parts)}{by} of {self.table.name!r}; nothing read, nothing spent)"
