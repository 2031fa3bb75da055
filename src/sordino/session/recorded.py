"""What the book has to say about a question: recorded answers, which of them satisfy a wish, and what they tell of the number of rows.

Answers recorded in format 1: which of them still answer today's question, and one line in the log about those that do not.

Format 1 had labels in its key, and limited the rows of a person in each group where there now is a limit in all. A question under the
same labels is answered by an old answer where the old limit cut the same rows as today's limits do.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from sordino.errors import QueryError, SordinoError
from sordino.ledger import Asked, AskedLimits, Book, Membership
from sordino.plan.recall import context, question, question_format_1, recall_key
from sordino.privacy.number import as_delta, as_epsilon, as_positive
from sordino.session.encoding import split
from sordino.session.release import Release, member_of
from sordino.statistics import Answer, Step, count, count_units, std
from sordino.statistics import sum as total
from sordino.statistics.column_mean import Mean
from sordino.statistics.column_quantile import Position
from sordino.statistics.port import LEVEL
from sordino.statistics.row_count import Present

if TYPE_CHECKING:
    from sordino.session.query import Query

__all__ = [
    "Pool", "ReadAnswer", "Reading", "charged", "countings", "ends", "intervals", "kept", "member",
    "older_answers", "older_key", "own_answer", "point", "public_rows", "said", "same_limits", "sealed", "steps_of",
]  # fmt: skip

log = logging.getLogger("sordino")
_told: set[bytes] = set()  # questions whose old answers were mentioned in this process

CLEAR, TWICE = 4, 2  # half-widths of a count whose kind was not chosen by its price: see `public_rows`


def older_key(query: Query) -> bytes | None:
    """The key of this question in format 1; None in a book that never was of that format, and for what it did not know.

    Format 1 knew no intervals of quantiles: a repeated request finds its point, and nobody else is given it for an interval.
    """
    table = query.table
    if table.ledger.terms.format != 1 or query.words["text"] or query.asked.narrowing.given:
        return None
    asked = question_format_1(query.pointed.asked, table.unit, fold_ids=table.fold_ids)
    return recall_key(table.dataset, table.version, asked, format=1)


def same_limits(query: Query) -> bool:
    """Whether today's limits cut what r rows in each of g groups cut: without groups r rows in all, with them no less than r times g."""
    unit = query.table.unit
    if unit.column is None:
        return True
    public = context(query.asked, unit)
    counted = [statistic.counted(public) is not None for statistic in query.asked.statistics.values()]
    in_groups = bool(query.asked.by) or any(counted)
    alone = not query.asked.by and not all(counted)
    if alone and unit.rows_per_group != unit.max_rows:
        return False
    return not in_groups or unit.max_groups == 1 or unit.rows_per_group * unit.max_groups <= unit.max_rows


def _moved(answer: bytes) -> bool:
    """Whether a mean of format 1 was that of moved or trimmed values: then a planner had chosen another number than the mean."""
    mechanism = Release.from_bytes(answer).mechanism
    return "two stages" in mechanism or "trimmed mean" in mechanism


def older_answers(query: Query, *, quiet: bool = False) -> Sequence[bytes]:
    """The sealed answers of format 1 to this question, oldest first. Under other limits they are left alone, and the log says so once."""
    key = query.older
    found = () if key is None or query.pointed.key() != query.key() else query.table.ledger.recall(key)
    if any(isinstance(statistic, Mean) and statistic.method == "auto" for statistic in query.asked.statistics.values()):
        found = [answer for answer in found if not _moved(answer)]
    if not found or same_limits(query):
        return found
    if not quiet and key is not None and key not in _told:
        _told.add(key)
        asked, unit = ", ".join(query.asked.statistics), query.table.unit
        log.warning(
            "sordino: %s: %d answers recorded under the limits of format 1 (%d rows of a person in each group) are not used again; now %s",
            asked, len(found), unit.rows_per_group, unit.words,
        )  # fmt: skip
    return ()


def sealed(query: Query, *, older: bool = True, quiet: bool = False) -> list[bytes]:
    """Every answer to this question, as the book has it; those of format 1 first, points of intervals and members of several last."""
    own = [*(older_answers(query, quiet=quiet) if older else ()), *query.table.ledger.recall(query.key()), *_points(query)]
    return [*own, *(found for item in query.table.ledger.recall_members(query.key()) if (found := member(query, item)) is not None)]


def _points(query: Query) -> list[bytes]:
    """The points of recorded intervals, where this is the question about the point alone."""
    recorded = (item for ends in query.intervals for item in query.table.ledger.recall(ends.key()))
    return [found for item in recorded if (found := point(item)) is not None]


def intervals(query: Query) -> tuple[Query, ...]:
    """Where this is the question about the point of a quantile alone: those about its ends, whose answers have a point."""
    asked = list(query.labels.drawn.statistics.values())
    if query.asked.mechanism is not None or len(asked) != 1 or not isinstance(asked[0], Position) or asked[0].interval is not None:
        return ()
    return query.with_interval("noise"), query.with_interval("total")


def member(query: Query, found: Membership) -> bytes | None:
    """The answer to this question out of several that were sealed together, as the book would have it alone."""
    answer, path = (split(found.answer)[found.path[0]], found.path[1:]) if found.batch else (found.answer, found.path)
    return member_of(answer, path[0], next(iter(query.labels.sealed.values()))) if path else answer


Place = tuple[tuple[int, ...], bool]  # of a member among others: see `Membership`


@dataclass(frozen=True)
class ReadAnswer:
    """An answer to a question as the book would have it alone, in which order it was recorded, and where it is."""

    answer: bytes
    order: tuple[int, int]
    request: str
    member: Place | None


class Reading:
    """The answers recorded to one question, under all keys that have some. Each is read once, as the book grows, and handed to `take`."""

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self.keys = keys
        self.lock = threading.Lock()
        self._since = [0] * len(keys)  # per key: seals before this one were read
        self._stamp: int | None = None
        self._listed = 0  # memberships that were listed
        self._waiting: list[tuple[int, str, Place]] = []  # those of them without an answer as yet

    def take(self, query: Query, found: list[ReadAnswer]) -> None:
        raise NotImplementedError

    def read_on(self, query: Query) -> None:
        """What was sealed since the last look, by whichever process; nothing where the book says that nothing was written."""
        book = query.table.ledger
        stamp = book.stamp
        stamp = book.head.count if stamp is None else stamp  # first: what is written meanwhile may be read now, and is looked for again
        if stamp == self._stamp:
            return
        found, since, waiting = list[ReadAnswer](), list(self._since), list(self._waiting)
        for place, key in enumerate(self.keys):
            for request, charge in book.sealed_since(key, since[place]):
                since[place] = max(since[place], (charge.sealed or 0) + 1)
                found += _found(query, charge.answer, (place, charge.number), request)
        listed = book.memberships(self.keys[0])
        waiting += [(turn, request, (path, batch)) for turn, (request, path, batch) in enumerate(listed[self._listed :], self._listed)]
        answered = book.found([request for _, request, _ in waiting]) if waiting else {}
        for turn, request, where in waiting:
            if request in answered:
                found += _found(query, answered[request].answer, (len(self.keys), turn), request, where)
        self.take(query, found)
        self._waiting = [item for item in waiting if item[1] not in answered or answered[item[1]].answer is None]
        self._since, self._listed, self._stamp = since, len(listed), stamp


def _found(query: Query, answer: bytes | None, order: tuple[int, int], request: str, where: Place | None = None) -> list[ReadAnswer]:
    own = None if answer is None else own_answer(query, answer, order[0], where)
    return [] if own is None else [ReadAnswer(own, order, request, where)]


def own_answer(query: Query, answer: bytes, place: int, where: Place | None) -> bytes | None:
    """The bytes of this question's answer out of those that were sealed: a member's, an interval's point, or all of them."""
    if where is not None:
        return member(query, Membership(answer, *where))
    return point(answer) if place else answer


KEPT = 1_024  # questions of one book whose answers are known, and whose counts are pooled
_BOOKS: WeakKeyDictionary[Book, OrderedDict[Any, Any]] = WeakKeyDictionary()
_LOCK = threading.Lock()
R = TypeVar("R", bound=Reading)


def kept(query: Query, kind: type[R]) -> R:
    """What is known already of the answers to a question, in this process."""
    keys = (query.key(), *(other.key() for other in query.intervals))
    with _LOCK:
        book = _BOOKS.setdefault(query.table.ledger, OrderedDict())
        found: R = book.setdefault((kind, keys), kind(keys))
        book.move_to_end((kind, keys))
        while len(book) > KEPT:
            book.popitem(last=False)
    return found


@lru_cache(4096)
def point(answer: bytes) -> bytes | None:
    """The point of a recorded interval, or a record that is a point as a whole because too few rows were known for ends."""
    found = Release.from_bytes(answer)
    if not found.drawn:
        return answer if found.bar == "rank" else None
    alone = found.point()
    return None if alone is None else alone.to_bytes()


def _drew(step: Step, answer: Answer) -> bool:
    """Whether a step, given what was drawn, says what the answer says: the table's declarations may have changed since."""
    try:
        return step.interval(answer, 0.95) == (answer.low, answer.high)
    except (ValueError, IndexError, TypeError):  # numbers of another draw
        return False


def ends(query: Query, release: Release, name: str, place: int, level: float, *, population: bool = False) -> tuple[Any, Any] | None:
    """The interval of one statistic in one group at a level. Of groups only what needs no more than the shown number is known at others."""
    cells, raw = (release.answers.get(name + end, []) for end in ("", "_low", "_high")), release.raw.get(name)
    value, low, high = ([*column, None][min(place, len(column))] for column in cells)
    for step in steps_of(query, release, name):
        answer = Answer(value, low, high, raw=tuple(raw[place]) if raw else ())
        if low is None or not _drew(step, answer):
            continue
        if not population:
            return step.interval(answer, level)
        if (wide := step.population(answer, level)) is not None:
            return wide
    raise QueryError("SRD-103", "this interval is known at 95% only.", "Ask for interval(0.95).")


def steps_of(query: Query, release: Release, name: str) -> Iterator[Step]:
    """The steps that may have drawn an answer: its own, or one it shared with a sum or a spread of a column of the same release."""
    own = release.cost.exact
    for way in (None, *(["gaussian"] if "Gaussian" in release.mechanism else [])):  # which may have been chosen for the ledger's sake
        with contextlib.suppress(SordinoError):
            if (step := query.settle(own.epsilon, own.delta, way=way).steps.get(query.labels.first(name))) is not None:
                yield step
    if release.card.get("part of", {}).get("draw") != "shared":
        return
    for column in release.card["question"]["columns"]:
        for mate in (total(column), std(column)):
            with contextlib.suppress(SordinoError):
                both = query.alone(**{name: query.asked.statistics[name], f"{name} and another": mate})
                yield both.settle(own.epsilon, own.delta).steps[name]


def countings(query: Query) -> tuple[Query, ...]:
    """Every question whose recorded answers tell the public how many of these rows count: all rows, those with a value, people."""
    if query.asked.by and any(query.asked.column(name).keys is None for name in query.asked.by):
        return ()  # which groups there are is private, and so is the smallest
    present = [query.alone(n=Present(name)).by_mechanism(None) for name in query.asked.read[:1] if len(query.asked.read) == 1]
    units = [query.alone(n=count_units()).by_mechanism(None)] if query.table.unit.column is None else []
    return (query.alone(count=count()).by_mechanism(None), *present, *units)


def public_rows(query: Query) -> int | None:
    """How many rows the question is about, in its smallest group if it has some, as far as the public knows: never more than there are.

    Where every row is a unit the declared size says it; elsewhere the size, and a count of people, are about people, of whom each has at
    least one row. A recorded count of the same rows says more: alone or in a bundle, of rows or of those that have a value in the one
    column that is read.

    Counts of one kind are averaged by inverse variance, so that many poor ones cannot drown what a good one says. Of several kinds the
    one that was paid most for, whose half-width is smallest beside what one person moves, gives its low end: that follows from prices and
    from no value. Another kind says more only where it is clear, that is where its mean is CLEAR half-widths or more, and is then taken at
    TWICE its half-width below. So a poor kind needs noise of about CLEAR half-widths to be believed at all (Laplace: 1 in 320,000).
    Whoever buys n counts of one kind at prices fixed beforehand and stops at the luckiest is above the truth with probability at most
    1/20: the n-th mean is taken at a half-width that is missed on one side with probability 1/(40 n(n-1)), the first at 1/40, and these
    add up to 1/20. For counts all fixed beforehand it is at most 1/40, and 1/800 for each other kind.
    """
    table, asked = query.table, query.asked
    alone = table.unit.column is None
    size = table.size if asked.where is None and not asked.by and not asked.joins else None
    if size is not None and alone:
        return size
    people = [] if asked.by or alone else [query.alone(n=count_units()).by_mechanism(None)]
    moved = [*((question, 1) for question in query.countings), *((question, query.unit.max_rows) for question in people)]
    kinds = [(means, often) for question, often in moved if (means := _pooled(question))]
    # ends are whole numbers, so of two kinds at one price the rougher one may seem narrower by up to one
    best = min(kinds, key=lambda kind: (max(half for _, half in kind[0]) + 1) * kind[1], default=None)
    lows = [_low_end(kind[0], clear=kind is not best) for kind in kinds]
    known: list[int] = [low for low in (*lows, None if asked.by else size) if low is not None and low > 0]
    return max(known, default=None)


class Pool(Reading):
    """The mean of recorded counts by inverse variance, in every group. Sums are exact, so that the order of reading does not matter."""

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        super().__init__(keys)
        self.answers, self.sums, self.alike = 0, list[tuple[Fraction, Fraction]](), True

    def take(self, query: Query, found: list[ReadAnswer]) -> None:
        for counts in [_counts(one.answer) for one in found]:
            if counts:
                self.add(counts)

    def add(self, counts: Sequence[tuple[float, float]]) -> None:
        """One more answer: its value and its half-width in every group."""
        self.sums = self.sums or [(Fraction(0), Fraction(0))] * len(counts)
        self.alike &= len(counts) == len(self.sums)
        terms = ((Fraction(half**-2), Fraction(value * half**-2)) for value, half in counts)
        self.sums = [(w + weight, v + term) for (w, v), (weight, term) in zip(self.sums, terms, strict=False)]
        self.answers += 1

    def means(self) -> list[tuple[float, float]]:
        """The mean with its half-width in every group, which grows with how often somebody could have looked."""
        looks = self.answers * (self.answers - 1)
        # a mean of Laplace or Gaussian noises is beyond m half-widths on one side with probability at most 20**-m / 2
        wider = 1 + math.log(max(looks, 1)) / math.log(20)
        return [(float(total) / float(weight), wider * float(weight) ** -0.5) for weight, total in self.sums]


def _pooled(question: Query) -> list[tuple[float, float]]:
    """The mean of all recorded answers to a question about a number with its half-width, in every group; nothing if there are none."""
    pool = _pool(question)
    with pool.lock:
        return pool.means() if pool.alike or not question.asked.by else []


def _pool(question: Query) -> Pool:
    if question.older is None:
        pool = kept(question, Pool)
        with pool.lock:
            pool.read_on(question)
        return pool
    pool = Pool((question.key(),))  # whether a format's first answers still answer the question is looked at anew
    pool.take(question, [ReadAnswer(answer, (0, turn), "", None) for turn, answer in enumerate(question.sealed(quiet=True))])
    return pool


def _low_end(means: list[tuple[float, float]], *, clear: bool = False) -> int | None:
    """The low end in the group where it is lowest; of what has to be clear None where some group is not."""
    if clear and any(mean < CLEAR * half for mean, half in means):
        return None
    return min(math.floor(mean - (TWICE * half if clear else half)) for mean, half in means)


@lru_cache(4096)
def _counts(answer: bytes) -> tuple[tuple[float, float], ...]:
    """A recorded count with its half-width, in every group; a book's answers stay as they are."""
    found = Release.from_bytes(answer)
    pairs = zip(*(found.answers.get(found.names[0] + end, []) for end in ("_low", "_high")), strict=False)
    return tuple(((low + high) / 2, max((high - low) / 2, 0.5)) for low, high in pairs if low is not None and high is not None)


def said(
    query: Query, *, epsilon: Any = None, rho: Any = None, delta: Any = None, within: Any = None, within_rank: Any = None
) -> dict[str, str]:
    """The price in the caller's words, for the book: by it a repeated request is known, whatever it would cost today."""
    words = {} if epsilon is None else {"epsilon": str(as_epsilon(epsilon))}
    words |= {} if rho is None else {"rho": str(as_positive(rho, "rho"))}
    words |= {} if delta is None else {"delta": str(as_delta(delta, zero=True))}
    wish = {} if within is None else {query.labels.canonical[name]: width for name, width in query.wished(within).items()}
    words |= {"level": f"{query.level:.17g}"} if query.level != LEVEL and (within is not None or within_rank is not None) else {}
    words |= {"within": ", ".join(f"{name}: {wish[name]:.17g}" for name in sorted(wish))} if wish else {}
    points = [item.interval is None for item in query.asked.statistics.values() if isinstance(item, Position)]
    words |= {"interval": "false"} if points and all(points) else {}
    return words if within_rank is None else words | {"within_rank": f"{float(within_rank):.17g}"}


def charged(query: Query) -> Asked:
    """What a charge for this question says it is for."""
    table, drawn = query.table, query.labels.drawn
    alone = [replace(drawn, statistics={label: statistic}) for label, statistic in drawn.statistics.items()]
    words = [question(item, table.unit, fold_ids=table.fold_ids) for item in (alone if len(alone) > 1 else ())]
    members = tuple(Asked(recall_key(table.dataset, table.version, said)) for said in words)
    if not members and query.pointed.key() != query.key():  # the point of an interval is a question of its own
        members = (Asked(query.pointed.key()),)
    return Asked(query.key(), members, AskedLimits.of(query.unit), query.words["text"], older=query.older, point=query.pointed.key())
