"""A question tied to a table: it can be priced, released, recalled and improved."""

from __future__ import annotations

import html
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError, builds
from sordino.ledger import Asked
from sordino.ledger.record import as_text
from sordino.pictures import Picture
from sordino.plan.query_plan import Labels, labels_of, unlisted
from sordino.plan.query_plan import QueryPlan as Question
from sordino.plan.recall import context, question, recall_key
from sordino.privacy.number import as_delta, as_epsilon, as_positive
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column, shown
from sordino.schema.expression import Predicate
from sordino.session import private_limit, recorded
from sordino.session.execute import execute
from sordino.session.improvement import improved
from sordino.session.people import per_person
from sordino.session.preview import EPSILONS, Explanation, Preview, explain, pictured, preview
from sordino.session.price import Wish, drawn_wish, settled_at, wish_of
from sordino.session.recalled import best
from sordino.session.release import Release, as_level
from sordino.session.settled import Settled, settle
from sordino.session.verbs import TableVerbs
from sordino.statistics import Statistic, Step
from sordino.statistics.column_quantile import Position, as_confidence, as_interval
from sordino.statistics.port import LEVEL, Shape
from sordino.statistics.row_count import PredicateCounts

if TYPE_CHECKING:
    from sordino.plan.arrangement import Arrangement
    from sordino.session.table import Table

__all__ = ["Query"]

log = logging.getLogger("sordino")
SETTLED = 64  # plans a question remembers; a search for a price looks at a dozen


@dataclass(frozen=True, eq=False)
class Query(TableVerbs):
    """An immutable question. Building it reads nothing and spends nothing; `release` pays first and looks afterwards."""

    table: Table = field(repr=False)
    asked: Question
    arrangement: Arrangement | None = None  # how released rows are shown; no part of the question
    level: float = LEVEL  # of intervals, price lists and wishes; no part of the question either

    def _ask(self, statistic: Statistic) -> Query:
        made = {column.name: column for column in statistic.derived}
        asked = replace(self.asked, columns={**self.asked.columns, **made}) if made else self.asked
        return replace(self, asked=asked.agg(**{statistic.label: statistic}))

    def _rows(self) -> Query:
        return self

    def _condition(self, text: str) -> Predicate:
        return self.table._condition(text)

    def _declared(self) -> Mapping[str, Column]:
        return self.asked.columns

    @builds
    def where(self, condition: str) -> Query:
        """Keep only rows that also fulfil this condition."""
        return replace(self, asked=self.asked.with_where(condition))

    @builds
    def per_person(self, *, bounds: Mapping[str, Any] | None = None, **made: Statistic) -> Table:
        """One row for each person who has a row left, computed from those: `visits.where("cost > 20").per_person(n=sd.count())`."""
        if self.asked.by or self.asked.statistics:
            fix = "Filter first, then per_person, then ask: group and count the rows it makes."
            raise QueryError("SRD-208", "per_person comes before groups and statistics.", fix)
        return per_person(self.table, self.asked, made, bounds)

    @builds
    def group_by(self, *columns: str) -> Query:
        """One answer per value of these columns."""
        return replace(self, asked=self.asked.group_by(*columns))

    @builds
    def agg(self, **asked: Statistic) -> Query:
        """Several statistics in one release, under names of your choice."""
        return replace(self, asked=self.asked.agg(**{name: self._read(statistic) for name, statistic in asked.items()}))

    def _read(self, statistic: Statistic) -> Statistic:
        """A statistic whose conditions are still text, as `sd.counts(["age > 17"])`, with conditions about this table's columns."""
        if not isinstance(statistic, PredicateCounts):
            return statistic
        return replace(statistic, predicates=tuple(self._condition(p) if isinstance(p, str) else p for p in statistic.predicates))

    def alone(self, **asked: Statistic) -> Query:
        """The same rows, with these statistics in place of those asked."""
        return replace(self, asked=replace(self.asked, statistics={}, sets=()).agg(**asked))

    @builds
    def by_mechanism(self, name: str | None, propose: Any = None, otherwise: str = "refuse") -> Query:
        """Answer by a named mechanism instead of the planner's choice."""
        named = replace(self, asked=self.asked.by_mechanism(name, propose, otherwise))
        return named if named.asked.mechanism in (None, "interval") else named.pointed  # every other mechanism answers by one draw

    @builds
    def with_interval(self, interval: Any = None, level: Any = None) -> Query:
        """The same question with other ends for its quantiles: none, about these rows, or about their population, at a level."""
        changed = self.asked.with_interval(interval, level)
        return self if changed is self.asked else replace(self, asked=changed)

    @cached_property
    def unit(self) -> PrivacyUnit:
        """The privacy unit as this question sees it: as declared, or narrower by `limit`."""
        return self.asked.unit_of(self.table.unit)

    @cached_property
    def pointed(self) -> Query:
        """The same question with a single draw for each quantile."""
        return self.with_interval(False)

    def settle(
        self, epsilon: Any, delta: Any = None, *, rows: int | EllipsisType | None = ..., weights: Any = None, way: str | None = None
    ) -> Settled:
        """The plan at a price: what would be charged, asked and recorded. Uses public facts only.

        `rows` is what the public knows of their number, if the caller has looked already. `way` is the planner's choice when another than
        the first is wanted; a mechanism the caller named comes before it.
        """
        if self.asked.limit_is_drawn:
            raise QueryError("SRD-204", "its limit is drawn first, which takes a release of its own.", "Release the question by itself.")
        price, share = as_epsilon(epsilon), None if delta is None else as_delta(delta, zero=True)
        known = recorded.public_rows(self) if rows is ... else rows
        divided = None if weights is None else tuple(weights.items())
        return self._settled(price, share, known, divided, way)

    @cached_property
    def _settled(self) -> Callable[..., Settled]:
        """The plans of this question that were settled last: each follows from its price and from facts that stay as they are.

        Not so with a statistic of somebody's own: its author may still claim more, and an attempt to refute it belongs on the card.
        """

        def made(price: Fraction, share: Fraction | None, rows: int | None, weights: Any, way: str | None) -> Settled:
            divided = None if weights is None else dict(weights)
            facts: dict[str, Any] = {"charged": self.charged, "words": self.words, "rows": rows, "weights": divided, "way": way}
            return replace(settle(self.table, self.labels, price, share, **facts), terms=(price, share, weights, way))

        own = any(statistic.unsettled for statistic in self.asked.statistics.values())
        return made if own else lru_cache(SETTLED)(made)

    @cached_property
    def by_laplace(self) -> Query:
        """The same question for whoever computes with the law of its noise: Laplace noise by name, where another might be chosen."""
        rule, limits = self.table.ledger.terms.filter, context(self.asked, self.unit).limits
        other = rule.cap.delta and (rule.accounting == "zcdp" or limits.counted**2 > limits.squares)
        return self.by_mechanism("laplace") if other else self

    @cached_property
    def countings(self) -> tuple[Query, ...]:
        """Every question whose recorded answers tell the public how many of these rows count: all rows, those with a value, people."""
        return recorded.countings(self)

    def ways(self, name: str, epsilon: Fraction, plan: Settled) -> tuple[str, ...]:
        """The short names of the mechanisms that can answer one statistic, the planner's choice first."""
        offered = plan.cost.delta or self.table.ledger.terms.filter.cap.delta
        return tuple(self.asked.statistics[name].ways(epsilon, offered, plan.context))

    @builds
    def preview(
        self, *, epsilons: Any = EPSILONS, within: Any = None, within_rank: Any = None, delta: Any = None, interval: Any = None,
        level: Any = None,
    ) -> Preview:  # fmt: skip
        """The price list of this question: epsilon, error, share of the budget. Free; never opens the private source.

        With `within` or `within_rank` the first line is the price of that wish. `interval` and `level` are those of `release`.
        """
        other = self.ended(interval, level, within_rank)
        if other.asked.limit_is_drawn:
            return private_limit.listed(other, epsilons=epsilons, within=within, delta=delta)
        if other is not self:
            return other.preview(epsilons=epsilons, within=within, within_rank=within_rank, delta=delta)
        wish = self._wish(within, within_rank)
        return preview(self, epsilons=epsilons, wish=wish, ranks=within_rank is not None, delta=delta)

    def at_level(self, level: float | None) -> Query:
        """The same question with intervals, errors and wishes at another level."""
        return self if level is None or as_level(level) == self.level else replace(self, level=as_level(level))

    @builds
    def explain(
        self, epsilon: Any, *, delta: Any = None, mechanism: str | None = None, propose: Any = None, otherwise: str = "refuse",
        interval: Any = None, level: Any = None,
    ) -> Explanation:  # fmt: skip
        """The mechanism chosen at this price, why, what was rejected and by how much, the theorem and the cost. Free."""
        ended = self.ended(interval, level)
        query = ended if mechanism is None and propose is None else ended.by_mechanism(mechanism, propose, otherwise)
        if query.asked.limit_is_drawn:
            return private_limit.explained(query, epsilon, delta=delta)
        return explain(query, as_epsilon(epsilon), delta)

    def ended(self, interval: Any = None, level: Any = None, within_rank: Any = None) -> Query:
        """The question as `interval` and `level` want it. A wish about ranks is about the point: it takes the single draw."""
        if within_rank is not None:
            if interval is not None and as_interval(interval) is not None:
                raise QueryError("SRD-101", "within_rank is about the single draw.", "Leave interval= out, or give epsilon=.")
            interval = False if any(isinstance(item, Position) and item.interval for item in self.asked.statistics.values()) else None
        query = self.at_level(level)
        sure = level if any(isinstance(item, Position) for item in self.asked.statistics.values()) else None
        if interval is None and sure is None:
            return query
        return query._ended(None if interval is None else as_interval(interval) or False, None if sure is None else as_confidence(sure))

    @cached_property
    def _ended(self) -> Callable[..., Query]:
        """Its other forms, each made once: what is known of a question is kept with it."""
        return lru_cache(8)(self.with_interval)

    def _wish(self, within: Any, within_rank: Any) -> Wish | None:
        return None if within is None and within_rank is None else wish_of(self, within, within_rank)

    def wished(self, within: Any) -> Wish:
        """The half-width wished for each draw; of two wishes for the same the narrower one."""
        return drawn_wish(self, within)

    def said(self, **price: Any) -> dict[str, str]:
        """The price in the caller's words (those of `priced`), for the book: by it a repeated request is known, whatever it costs today."""
        return recorded.said(self, **price)

    @cached_property
    def labels(self) -> Labels:
        """How the caller calls the answers, what the book calls them, and which of them are one draw."""
        return labels_of(self.asked)

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The columns of every answer, as the caller calls it."""
        return {label: found for label, statistic in self.asked.statistics.items() if (found := statistic.shape(label))}

    @cached_property
    def charged(self) -> Asked:
        """What a charge for this question says it is for."""
        return recorded.charged(self)

    @cached_property
    def older(self) -> bytes | None:
        """The key this question had in format 1, if its book may hold answers under it."""
        return recorded.older_key(self)

    @cached_property
    def intervals(self) -> tuple[Query, ...]:
        """Where this is about the point of a quantile alone: the questions about its ends, whose answers have a point."""
        return recorded.intervals(self)

    def key(self) -> bytes:
        """What makes a repeat of this question free."""
        return self._key

    @cached_property
    def _key(self) -> bytes:
        return recall_key(self.table.dataset, self.table.version, self.words)

    @cached_property
    def words(self) -> dict[str, Any]:
        """The question without its price, in the words its key is made of."""
        return question(self.asked, self.table.unit, fold_ids=self.table.fold_ids)

    def _one_price(self, epsilon: Any, rho: Any, within: Any, within_rank: Any) -> None:
        wish = within if within is not None else within_rank
        if sum(price is not None for price in (epsilon, rho, wish)) != 1:
            raise QueryError("SRD-101", "a release needs one price.", "Give epsilon=, or within= for a half-width at 95%.")

    def priced(self, *, epsilon: Any = None, rho: Any = None, delta: Any = None, within: Any = None, within_rank: Any = None) -> Settled:
        """The plan at a price, or at the least price of a wish: what `release` would charge if nothing is recorded. Free."""
        self._one_price(epsilon, rho, within, within_rank)
        if epsilon is not None:
            return self.settle(epsilon, delta)
        return settled_at(self, rho, self._wish(within, within_rank) or {}, delta, ranks=within_rank is not None)

    def release(
        self,
        *,
        epsilon: Any = None,
        rho: Any = None,
        delta: Any = None,
        within: Any = None,
        within_rank: Any = None,
        mechanism: str | None = None,
        propose: Any = None,
        otherwise: str = "refuse",
        fresh: bool = False,
        analyst: str | None = None,
        request: str | None = None,
        interval: Any = None,
        level: Any = None,
    ) -> Release:
        """Pay, look, draw. A recorded answer at this price or more, or as accurate as wished, is returned at no price.

        For quantiles `interval` is True (low and high in the column's unit, covering with probability `level`), "total" (about the
        population) or False (one draw with a rank bar, and so with `within_rank`); left out, it is as the question says: True.

        `within` is a half-width at 95%, or at `level`, in the statistic's unit (a dict by name for several); `within_rank` a share of the
        rows, for quantiles. `rho` is a price in the unit of a ledger that adds rho. `mechanism` names one instead of the planner's choice:
        "ptr" tests the bound `propose` on the local sensitivity and answers `otherwise` ("refuse" or "global") when it fails. fresh=True
        pays again.
        """
        if not (isinstance(otherwise, str) and otherwise in ("refuse", "global") and isinstance(fresh, bool)):
            what = f"otherwise is {shown(otherwise)}, fresh is {shown(fresh)}."
            raise QueryError("SRD-106", what, 'Use otherwise="refuse" or "global", and fresh=True or False.')
        if request is not None:
            as_text(request, "the request id")
        terms: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "delta": delta, "within": within, "within_rank": within_rank}
        who: dict[str, Any] = {"fresh": fresh, "analyst": analyst, "request": request}
        ends = self.ended(interval, level, within_rank)
        if ends is not self:
            return ends.release(**terms, mechanism=mechanism, propose=propose, otherwise=otherwise, **who)
        if mechanism is not None or propose is not None:
            return self.by_mechanism(mechanism, propose, otherwise).release(**terms, **who)
        self._one_price(epsilon, rho, within, within_rank)
        if self.asked.limit_is_drawn:
            return private_limit.released(
                self, epsilon=epsilon, rho=rho, delta=delta, within=within, fresh=fresh, analyst=analyst, request=request
            )
        wish, ranks = self._wish(within, within_rank), within_rank is not None
        least = None if epsilon is None else as_epsilon(epsilon)
        found = None if fresh else self.recall(least, wish, ranks=ranks, rho=None if rho is None else as_positive(rho, "rho"))
        if found is not None:
            return found.at(self.level).presented()
        plan = self.priced(**terms)
        for said in unlisted(self.asked):
            log.warning("sordino: %s", said)
        book, engine, log_failure = self.table.ledger, self.table.engine, self.table.log_failure
        sealed = execute(plan, book, engine, request=request, analyst=analyst, owner_log=log_failure, wish=self.said(**terms))
        return replace(Release.from_bytes(sealed, query=self), more=self.table.budget.more(plan.cost)).at(self.level).presented()

    @builds
    def recorded(self, *, older: bool = True) -> list[Release]:
        """Every recorded answer to this question, oldest first; open to every analyst of the dataset. `older` are those of format 1."""
        return [Release.from_bytes(item, recalled=True, query=self) for item in self.sealed(older=older)]

    def sealed(self, *, older: bool = True, quiet: bool = False) -> list[bytes]:
        """The same as the book has them; those of format 1 came first, points of intervals and members of bundles and batches come last."""
        return recorded.sealed(self, older=older, quiet=quiet)

    def drawn_alike(self) -> list[Release]:
        """Recorded answers that have the noise which today's plan has at their price, and so may be averaged."""
        return [item for item in self.recorded(older=False) if item.card.get("part of", {}).get("draw", "own") == "own"]

    def recall(
        self, epsilon: Fraction | None, wish: Wish | None = None, *, ranks: bool = False, rho: Fraction | None = None
    ) -> Release | None:
        """The recorded answer of the largest epsilon that satisfies the wish, the oldest on ties; rho is compared to a hundredth of 1%."""
        found = self.recall_sealed(epsilon, wish, ranks=ranks, rho=rho)
        return None if found is None else Release.from_bytes(found, recalled=True, query=self)

    def recall_sealed(
        self, epsilon: Fraction | None, wish: Wish | None = None, *, ranks: bool = False, rho: Fraction | None = None
    ) -> bytes | None:
        """The same as the book has it."""
        return best(self, epsilon, wish, ranks=ranks, rho=rho)

    @builds
    def interval(self, release: Release, level: float, *, population: bool = False) -> tuple[Any, Any] | None:
        """The interval of one of this question's answers at another level, from its recorded draws; or that about the population."""
        return self.ends(release, release.names[0], 0, level, population=population)

    def ends(self, release: Release, name: str, place: int, level: float, *, population: bool = False) -> tuple[Any, Any] | None:
        """The same for one statistic in one group. Of groups only what needs no more than the shown number is known at other levels."""
        return recorded.ends(self, release, name, place, level, population=population)

    def steps_of(self, release: Release, name: str) -> Iterator[Step]:
        """The steps that may have drawn an answer: its own, or one it shared with a sum or a spread of a column of the same release."""
        return recorded.steps_of(self, release, name)

    def improve(self, *, within: Any, analyst: str | None = None) -> Release:
        """A better answer, at the price of what it still lacks.

        Counts and sums have additive noise: every recorded answer is averaged by inverse variance with, if need be, one more draw priced
        so that the mean meets `within`. Where that is impossible or dearer, it is a fresh release at full price, and the log says so
        before it is charged.
        """
        return improved(self, within, analyst)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>{self.plot().svg}"

    def plot(self) -> Picture:
        """The question, step by step; nothing is read."""
        return pictured(self)

    def __repr__(self) -> str:
        by = f" by {', '.join(self.asked.by)}" if self.asked.by else ""
        return f"Query({', '.join(self.asked.statistics)}{by} of {self.table.name!r}; nothing read, nothing spent)"
