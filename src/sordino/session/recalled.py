"""Which recorded answer a wish is given: what choosing compares is read from every answer once and kept; the answers stay in the book.

Theorem. `best` gives what `search` gives: of the answers that satisfy the wish the one with the largest epsilon, the oldest on ties.
Proof. A wish is a limit on each of some numbers of an answer. Among all answers in the order of that preference, one that is no better
than an earlier one in any of these numbers satisfies no wish that the earlier one does not, so it is never the first that does. What is
left after dropping such answers is a `Front`, whose first fitting answer is therefore the first of all; and as "no better" is
transitive, an answer that comes later need be compared with the front alone. QED
Of n answers whose one number came in any order about log(n) are in the front; where a dearer answer is the narrower one, one is.
"""

from __future__ import annotations

import contextlib
import math
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.privacy.cost import Cost
from sordino.session.price import Offer, Wish, half_width_of, meets, rank_width_of, widths
from sordino.session.recorded import Place, ReadAnswer, Reading, kept, own_answer, sealed
from sordino.session.release import Release, price_of
from sordino.statistics.column_quantile import Position
from sordino.statistics.port import LEVEL

if TYPE_CHECKING:
    from sordino.session.query import Query

__all__ = ["best", "search"]

SLACK = Fraction(10003, 10000)  # a price in rho was met to a hundredth of a percent
Rank = tuple[Fraction, tuple[int, int]]
Numbers = tuple[Any, ...]


@dataclass(frozen=True)
class RecordedAnswer:
    """What choosing compares of one recorded answer, and where the answer is."""

    rank: Rank  # the larger epsilon first, then the older one
    price: Cost
    shared: bool  # drawn together with other statistics
    sure: float  # the least level its ends were drawn for
    widths: Mapping[str, Any]  # by canonical label, at 95%
    ranks: Mapping[str, Any]
    request: str
    member: Place | None

    def sealed(self, query: Query) -> bytes | None:
        """The answer as the book has it now, its digest checked."""
        found = query.table.ledger.found([self.request]).get(self.request)
        return None if found is None or found.answer is None else own_answer(query, found.answer, self.rank[1][0], self.member)


class Front:
    """Of the answers seen so far those that some wish may be given, the preferred first. Smaller numbers are better."""

    def __init__(self) -> None:
        self.seen = 0
        self._kept: list[tuple[Rank, Numbers, RecordedAnswer]] = []

    def add(self, known: RecordedAnswer, numbers: Numbers) -> None:
        place = bisect_left(self._kept, known.rank, key=lambda kept: kept[0])
        if not any(_as_good(before, numbers) for _, before, _ in self._kept[:place]):
            rest = [kept for kept in self._kept[place:] if not _as_good(numbers, kept[1])]
            self._kept[place:] = [(known.rank, numbers, known), *rest]

    def first(self, fits: Callable[[RecordedAnswer], bool]) -> RecordedAnswer | None:
        return next((known for *_, known in self._kept if fits(known)), None)


def _as_good(numbers: Numbers, others: Numbers) -> bool:
    return all(number <= other for number, other in zip(numbers, others, strict=True))


class Answers(Reading):
    """What choosing compares of the recorded answers to one question."""

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        super().__init__(keys)
        self.known: list[RecordedAnswer] = []  # in the order they were read
        self.ranked: list[RecordedAnswer] = []
        self.fronts: dict[Any, Front] = {}
        self.elsewhere: dict[tuple[float, Rank], Mapping[str, Any] | None] = {}  # at other levels, until the next write

    def take(self, query: Query, found: list[ReadAnswer]) -> None:
        added = [_known(query, one) for one in found]
        self.elsewhere.clear()
        self.known += added
        for known in added:
            insort(self.ranked, known, key=lambda item: item.rank)

    def front(self, kind: Any, numbers: Callable[[RecordedAnswer], Numbers | None]) -> Front:
        """The front of the answers that have these numbers, brought up to date."""
        front = self.fronts.setdefault(kind, Front())
        for known in self.known[front.seen :]:
            if (found := numbers(known)) is not None:
                front.add(known, found)
        front.seen = len(self.known)
        return front

    def met(self, query: Query, wish: Wish, sure: float, *, ranks: bool) -> RecordedAnswer | None:
        """The first whose half-widths, or ranks, are no wider than wished."""
        limits = {query.labels.canonical[name]: most for name, most in wish.items()}

        def fits(found: Mapping[str, Any]) -> bool:
            return all(found[name] <= most for name, most in limits.items())

        if query.level == LEVEL:
            front = self.front((ranks, sure), lambda known: _limited(known, ranks=ranks) if known.sure >= sure else None)
            return front.first(lambda known: fits(known.ranks if ranks else known.widths))
        for known in self.ranked:
            found = self._at_level(query, known) if known.sure >= sure else None
            if found is not None and fits(known.ranks if ranks else found):
                return known
        return None

    def _at_level(self, query: Query, known: RecordedAnswer) -> Mapping[str, Any] | None:
        """At another level half-widths follow from public facts of the day as well: they are worked out anew after every write."""
        place = query.level, known.rank
        if place not in self.elsewhere:
            self.elsewhere[place] = None
            with contextlib.suppress(QueryError):  # known at another level only
                if (sealed := known.sealed(query)) is not None:
                    self.elsewhere[place] = _widths(query, Release.from_bytes(sealed, query=query).at(query.level))
        return self.elsewhere[place]

    def worth(self, query: Query, epsilon: Fraction, sure: float) -> RecordedAnswer | None:
        """The first that costs so much; of what shares its draw with others, that is also as narrow as a draw of its own."""
        alone = self.front(("alone", sure), lambda known: () if known.sure >= sure and not known.shared else None)
        shared = self.front(("shared", sure), lambda known: _limited(known) if known.sure >= sure and known.shared else None)
        found = [alone.first(lambda known: known.price.epsilon >= epsilon)]
        if shared.first(lambda known: known.price.epsilon >= epsilon) is not None:
            own = {query.labels.canonical[name]: most for name, most in widths(query, Offer(epsilon)).items() if most is not None}
            found.append(
                shared.first(lambda known: known.price.epsilon >= epsilon and all(known.widths[name] <= own[name] for name in own))
            )
        return min((known for known in found if known is not None), key=lambda known: known.rank, default=None)


def _limited(known: RecordedAnswer, *, ranks: bool = False) -> Numbers:
    found = known.ranks if ranks else known.widths
    return tuple(found[name] for name in sorted(found))


def _widths(query: Query, found: Release) -> dict[str, Any]:
    return {name: half_width_of(found, label) for label, name in query.labels.canonical.items()}


def _known(query: Query, one: ReadAnswer) -> RecordedAnswer:
    found = Release.from_bytes(one.answer, query=query)
    ranks = {name: rank_width_of(found, label) for label, name in query.labels.canonical.items()}
    sure = min((ends["level"] for ends in found.drawn.values()), default=math.inf)
    price, shared = found.cost.exact, found.card.get("part of", {}).get("draw") == "shared"
    return RecordedAnswer((-price.epsilon, one.order), price, shared, sure, _widths(query, found), ranks, one.request, one.member)


def best(query: Query, epsilon: Fraction | None, wish: Wish | None, *, ranks: bool, rho: Fraction | None) -> bytes | None:
    """The recorded answer that is given for a price or a wish, as the book has it."""
    if query.older is not None:  # whether a format's first answers still answer the question is looked at anew
        return search(query, epsilon, wish, ranks=ranks, rho=rho)
    sure, answers = _sure(query), kept(query, Answers)
    with answers.lock:
        answers.read_on(query)
        if wish is not None:
            found = answers.met(query, wish, sure, ranks=ranks)
        elif rho is not None:
            front = answers.front(("rho", sure), lambda known: (-known.price.rho,) if known.sure >= sure else None)
            found = front.first(lambda known: known.price.rho * SLACK >= rho)
        else:
            found = None if epsilon is None else answers.worth(query, epsilon, sure)
    return None if found is None else found.sealed(query)


def _sure(query: Query) -> float:
    """The level that ends of quantiles have to be drawn for."""
    return max((float(item.level) for item in query.asked.statistics.values() if isinstance(item, Position)), default=0.0)


def search(query: Query, epsilon: Fraction | None, wish: Wish | None, *, ranks: bool, rho: Fraction | None) -> bytes | None:
    """The same by looking at every answer: what `best` is compared with, and where format 1 was written."""
    sure = _sure(query)

    def enough(answer: bytes) -> bool:
        if sure and any(ends["level"] < sure for ends in Release.from_bytes(answer).drawn.values()):
            return False
        if wish is not None:
            return _met(query, answer, wish, ranks=ranks)
        paid = price_of(answer)
        if rho is not None:
            return paid.rho * SLACK >= rho
        return epsilon is not None and paid.epsilon >= epsilon and _as_narrow(query, answer, epsilon)

    return max(filter(enough, sealed(query)), key=lambda answer: price_of(answer).epsilon, default=None)


def _met(query: Query, answer: bytes, wish: Wish, *, ranks: bool) -> bool:
    """Whether a recorded answer is as accurate as wished, at this question's level."""
    try:
        return meets(Release.from_bytes(answer, query=query).at(query.level), wish, ranks=ranks)
    except QueryError:  # known at another level only
        return False


def _as_narrow(query: Query, answer: bytes, epsilon: Fraction) -> bool:
    """Whether a member of a bundle that shares its draw with others is as accurate as a draw of its own at this price."""
    if not _shared(answer):
        return True
    known = {name: width for name, width in widths(query, Offer(epsilon)).items() if width is not None}
    return meets(Release.from_bytes(answer, query=query), known)


@lru_cache(4096)
def _shared(answer: bytes) -> bool:
    """Whether an answer was drawn together with others; a book's answers stay as they are."""
    return bool(Release.from_bytes(answer).card.get("part of", {}).get("draw") == "shared")
