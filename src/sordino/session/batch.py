"""Several questions, one purse: priced by weights and targets, charged once, all or nothing.

One question of a batch, and after the release its answer: every part of a Release under the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.ledger import Asked, batch_cost
from sordino.pictures import Picture
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_epsilon, as_positive
from sordino.session.card import Card
from sordino.session.encoding import split
from sordino.session.execute import as_fresh, execute_batch
from sordino.session.price import Offer, Wish, meets, price
from sordino.session.ranges import RangeCount
from sordino.session.recorded import same_limits
from sordino.session.release import Paid, Release
from sordino.statistics.port import LEVEL, Shape

if TYPE_CHECKING:
    from sordino.plan.arrangement import Arrangement
    from sordino.session.query import Query
    from sordino.session.settled import Settled
    from sordino.session.table import Table

__all__ = ["Batch", "Member"]


@dataclass(eq=False)
class Member:
    """One question of a batch. Once the batch has been released it stands for its answer: `member.value`, `float(member)`."""

    query: Query
    weight: Fraction
    wish: Wish | None
    release: Release | None = None

    @property
    def answer(self) -> Release:
        """The release this question became part of."""
        if self.release is None:
            raise QueryError("SRD-208", "this batch has not been released yet.", "Leave the `with` block, or call batch.release().")
        return self.release

    @property
    def value(self) -> Any:
        return self.answer.value

    @property
    def low(self) -> Any:
        return self.answer.low

    @property
    def high(self) -> Any:
        return self.answer.high

    @property
    def ranks(self) -> Any:
        return self.answer.ranks

    @property
    def refused(self) -> bool:
        return self.answer.refused

    @property
    def grouped(self) -> bool:
        return self.answer.grouped

    @property
    def recalled(self) -> bool:
        return self.answer.recalled

    @property
    def cost(self) -> Paid:
        return self.answer.cost

    @property
    def mechanism(self) -> str:
        return self.answer.mechanism

    @property
    def bar(self) -> str:
        return self.answer.bar

    @property
    def id(self) -> str:
        return self.answer.id

    @property
    def about(self) -> str:
        return self.answer.about

    def about_interval(self, kind: str = "noise") -> str:
        return self.answer.about_interval(kind)

    @property
    def level(self) -> float:
        return self.answer.level

    def at(self, level: float) -> Release:
        return self.answer.at(level)

    @property
    def split(self) -> dict[str, Any]:
        return self.answer.split

    @property
    def moved(self) -> Any:
        return self.answer.moved

    @property
    def card(self) -> Card:
        return self.answer.card

    @property
    def names(self) -> tuple[str, ...]:
        return self.answer.names

    @property
    def keys(self) -> dict[str, list[Any]]:
        return self.answer.keys

    @property
    def answers(self) -> dict[str, list[Any]]:
        return self.answer.answers

    @property
    def rank_bars(self) -> dict[str, tuple[float, float]]:
        return self.answer.rank_bars

    @property
    def raw(self) -> dict[str, list[Any]]:
        return self.answer.raw

    @property
    def shapes(self) -> dict[str, Shape]:
        return self.answer.shapes

    @property
    def drawn(self) -> dict[str, dict[str, Any]]:
        return self.answer.drawn

    @property
    def sealed(self) -> bytes | None:
        return self.answer.sealed

    @property
    def canonical(self) -> bool:
        return self.answer.canonical

    @property
    def more(self) -> int | None:
        return self.answer.more

    @property
    def arrangement(self) -> Arrangement | None:
        return self.answer.arrangement

    @property
    def errors(self) -> Any:
        return self.answer.errors

    def interval(self, level: float = 0.95, *, kind: str = "noise") -> tuple[Any, Any] | None:
        return self.answer.interval(level, kind=kind)

    def point(self) -> Release | None:
        return self.answer.point()

    def map(self, function: Callable[[Any], Any]) -> Release:
        return self.answer.map(function)

    @property
    def base(self) -> Release | None:
        return self.answer.base

    @property
    def formulas(self) -> tuple[Any, ...]:
        return self.answer.formulas

    def between(self, low: Any = None, high: Any = None, *, level: float = LEVEL) -> RangeCount:
        return self.answer.between(low, high, level=level)

    def nonnegative(self) -> Release:
        return self.answer.nonnegative()

    def derive(self, **formulas: str) -> Release:
        return self.answer.derive(**formulas)

    def presented(self) -> Release:
        return self.answer.presented()

    def improve(self, within: Any = None, **options: Any) -> Release:
        return self.answer.improve(within, **options)

    def under(self, labels: Mapping[str, str], shapes: Mapping[str, Shape]) -> Release:
        return self.answer.under(labels, shapes)

    def arranged(self) -> Release:
        return self.answer.arranged()

    def to_dict(self) -> dict[str, list[Any]]:
        return self.answer.to_dict()

    def to_plain(self) -> dict[str, Any]:
        return self.answer.to_plain()

    def to_json(self) -> str:
        return self.answer.to_json()

    def to_bytes(self) -> bytes:
        return self.answer.to_bytes()

    def to_arrow(self) -> Any:
        return self.answer.to_arrow()

    def to_pandas(self) -> Any:
        return self.answer.to_pandas()

    def to_polars(self) -> Any:
        return self.answer.to_polars()

    def to_parquet(self, path: Any) -> None:
        self.answer.to_parquet(path)

    def to_csv(self, path: Any) -> None:
        self.answer.to_csv(path)

    def plot(self) -> Picture:
        return self.answer.plot()

    def __float__(self) -> float:
        return float(self.answer)

    def __repr__(self) -> str:
        return repr(self.release) if self.release is not None else f"Member({self.query!r})"

    def __str__(self) -> str:
        return str(self.release) if self.release is not None else repr(self)

    def _repr_html_(self) -> str:
        return self.answer._repr_html_()


NEAR = Fraction(95, 100)


@dataclass(eq=False)
class Batch:
    """Questions that are priced together and charged as one event.

    `ask` adds a question. One with `within=` gets the least price that meets it; the others share what is left of `epsilon` in proportion
    to their weights. Leaving the `with` block releases everything; an exception inside it releases and charges nothing.
    """

    table: Table
    epsilon: Fraction | None = None
    delta: Any = None
    analyst: str | None = None
    members: list[Member] = field(default_factory=list)
    done: bool = False

    def ask(self, question: Query | str, *, weight: Any = 1, within: Any = None) -> Member:
        """Add a question, or an SQL text, with its share of the purse or its own target."""
        if self.done:
            raise QueryError("SRD-208", "this batch has been released.", "Start another one.")
        query = self.table.sql(question) if isinstance(question, str) else question
        if getattr(getattr(query, "table", None), "ledger", None) is not self.table.ledger:
            raise QueryError("SRD-208", "a batch takes questions about tables of one ledger.", "Build them from the same table or dataset.")
        wish = None if within is None else query.wished(within)
        member = Member(query, as_positive(weight, "weight"), wish)
        self.members.append(member)
        return member

    @property
    def drawn(self) -> list[Member]:
        """One member for each distinct question: who asks the same shares one draw, with the weights together or the narrower target."""
        found: dict[bytes, Member] = {}
        for member in self.members:
            first = found.get(member.query.key())
            found[member.query.key()] = member if first is None else _together(first, member)
        return list(found.values())

    def settle(self) -> list[Settled]:
        """Every distinct question with its price: targets first, the rest by weight. Public facts only."""
        if not self.members:
            raise QueryError("SRD-208", "the batch asks nothing.", "Add questions with batch.ask(...).")
        drawn = self.drawn
        offers = {id(m): price(m.query, m.wish, self.delta) for m in drawn if m.wish is not None}
        promised = sum((offer.epsilon for offer in offers.values()), Fraction(0))
        others = [member for member in drawn if member.wish is None]
        if others and self.epsilon is None:
            raise QueryError("SRD-101", "a batch needs a price.", "Give epsilon=, or within= for every question.")
        left = (self.epsilon or promised) - promised
        if left < 0 or (others and left <= 0):
            what = f"the targets alone cost epsilon {float(promised):.4g} of {float(self.epsilon or 0):.4g}."
            raise QueryError("SRD-101", what, "Ask for less accuracy, or give the batch a larger epsilon.")
        total = sum((member.weight for member in others), Fraction(0))
        plans = []
        for member in drawn:
            offer = offers.get(id(member)) or Offer(left * member.weight / total)
            plans.append(member.query.settle(offer.epsilon, self.delta, weights=offer.weights, way=offer.way))
        return plans

    @property
    def key(self) -> bytes:
        """What makes a repeat of the whole batch free."""
        return _key([member.query.key() for member in self.drawn])

    @property
    def charged(self) -> Asked:
        """What the charge says it is for: each member's question, and the purse in the caller's words."""
        drawn = self.drawn
        shares = (f"within {m.query.said(within=m.wish)['within']}" if m.wish else str(m.weight) for m in drawn)
        wish = {**({} if self.epsilon is None else {"epsilon": str(self.epsilon)}), "shares": "; ".join(shares)}
        old = [asked for member in self.members if (asked := member.query.older) is not None]  # format 1 drew for each of them
        older = _key(old) if len(old) == len(self.members) == len(drawn) else None
        point = _key([member.query.pointed.key() for member in drawn])
        return Asked(self.key, tuple(member.query.charged for member in drawn), wish=wish, older=older, point=point)

    @property
    def cost(self) -> Cost:
        """What the batch would be charged now: the cheaper of the sum of its members and one composed event."""
        return batch_cost([plan.cost for plan in self.settle()], self.table.budget)

    def release(self, *, fresh: bool = False, request: str | None = None) -> list[Release]:
        """Charge once, then answer everything. A recorded batch of the same questions that is as good is returned at no price."""
        plans = self.settle()
        found = None if as_fresh(fresh) else self._recall(plans)
        recalled = found is not None
        if found is None:
            together = f"one of {len(plans)} releases charged as one event"
            marked = [replace(plan, facts={**plan.facts, "batch": together}) for plan in plans]
            pairs = [(plan, member.query.table.engine) for plan, member in zip(marked, self.drawn, strict=True)]
            log = self.table.log_failure
            sealed = execute_batch(pairs, self.charged, self.table.ledger, request=request, analyst=self.analyst, owner_log=log)
            found = split(sealed)
        answers = dict(zip((member.query.key() for member in self.drawn), found, strict=True))
        for member in self.members:
            member.release = Release.from_bytes(answers[member.query.key()], recalled=recalled, query=member.query)
        self.done = True
        return self.releases

    def _recall(self, plans: list[Settled]) -> list[bytes] | None:
        """The newest recorded batch in which every answer cost at least as much, or is as accurate as wished."""
        drawn = self.drawn
        near = NEAR if any(member.wish for member in drawn) else 1  # what targets leave for the others is known to a few percent
        older = self.charged.older
        same = older is not None and all(same_limits(m.query) and m.query.pointed.key() == m.query.key() for m in drawn)
        found = [*self.table.ledger.recall(older)] if same and older is not None else []
        for sealed in reversed([*found, *self.table.ledger.recall(self.key)]):
            answers = split(sealed)
            shown = (Release.from_bytes(data, query=m.query) for m, data in zip(drawn, answers, strict=True))
            parts = zip(drawn, plans, shown, strict=True)
            if all(meets(r, m.wish) if m.wish else r.cost.exact.epsilon >= near * plan.cost.epsilon for m, plan, r in parts):
                return answers
        return None

    @property
    def releases(self) -> list[Release]:
        return [member.release for member in self.members if member.release is not None]

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None and self.members and not self.done:
            self.release()

    def __repr__(self) -> str:
        state = "released" if self.done else "nothing read, nothing spent"
        return f"Batch of {len(self.members)} questions about {self.table.name!r}; {state}"


def _together(first: Member, other: Member) -> Member:
    """Two members who ask the same, as one: the narrower of two targets, a target rather than a share, or both shares."""
    if first.wish is None and other.wish is None:
        return Member(first.query, first.weight + other.weight, None)
    mine = {label: name for name, label in first.query.labels.sealed.items()}  # by the book's names, which they have in common
    wish = dict(first.wish or {})
    for name, width in (other.wish or {}).items():
        here = mine[other.query.labels.canonical[name]]
        wish[here] = min(width, wish.get(here, width))
    return Member(first.query, first.weight, wish)


def _key(keys: list[bytes]) -> bytes:
    return sha256(b"batch" + b"".join(keys)).digest()


def as_batch(table: Table, epsilon: Any, delta: Any, analyst: str | None) -> Batch:
    return Batch(table, None if epsilon is None else as_epsilon(epsilon), delta, analyst)
