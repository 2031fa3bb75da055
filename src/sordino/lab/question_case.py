"""Cases about tables: every question, asked of neighbouring tables of people, through the conversation a release would hold."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial

from sordino.errors import QueryError
from sordino.lab.case import AuditCase, Effort, Found, certified, listed, powered, replayed, sampled, traced, unaudited, until
from sordino.lab.conformance import World
from sordino.lab.finding import CONSISTENT, REFUTED
from sordino.lab.pathwise import pathwise
from sordino.lab.question import PAIRS, TABLE_KINDS, Kind, Question, TablePair, questions
from sordino.lab.recording import Conversation
from sordino.mechanisms.stable_histogram import StableHistogram
from sordino.noise import draw
from sordino.session.query import Query
from sordino.session.settled import Settled
from sordino.session.table import Table
from sordino.statistics.column_mode import StableStep
from sordino.statistics.histograms import BinsStep

__all__ = ["DELTA", "question_cases"]

DELTA = Fraction(1, 50)  # offered to every question, and large enough to be seen by sampling
PRICE = Fraction(1)
LISTED = 3  # pairs that are listed and replayed, too, and the first of them sampled; all are traced


def question_cases(effort: Effort) -> Iterator[AuditCase]:
    """Every question this package can answer, people and rows, both relations, hostile neighbours."""
    for kind in TABLE_KINDS[: effort.kinds]:
        for question in questions(_tables(PAIRS[0], kind)[0], PRICE, DELTA):
            make = partial(AuditCase, "statistic", str(question), f"{float(PRICE):.4g}")
            if question.problem:
                yield make(f"{kind.name}: cannot be asked", "sampled", partial(unaudited, question.problem))
                continue
            yield make(f"{kind.name}: all neighbours", "certificate", partial(_certify, question, kind))
            yield make(f"{kind.name}: every pair", "pathwise", partial(_trace_all, question, kind))
            for i, (place, pair) in enumerate(item for item in enumerate(PAIRS[: min(effort.pairs, LISTED)]) if item[1].fits(kind)):
                for method, run in (("replay", _replay), ("exact", _list), ("sampled", _sample))[: 3 if i == 0 else 2]:
                    yield make(f"{kind.name}: {pair.name}", method, partial(run, question, kind, place))


@cache
def _world() -> World:
    world = World()  # of this process, and for all of its cases: every table is opened and bounded once
    atexit.register(world.stack.close)
    return world


def _tables(pair: TablePair, kind: Kind) -> tuple[Table, Table]:
    (one, _), (other, _) = _world().both(kind, pair)
    return one, other


_known: dict[str, Found] = {}


def _certify(question: Question, kind: Kind, effort: Effort) -> Found:
    """Many questions share a mechanism, and integrals are slow: each is computed once."""
    query = question.ask(_tables(PAIRS[0], kind)[0])
    plan = _settled(query)
    if plan is None:
        return None
    name = repr(plan.certificates)
    if name not in _known:
        _known[name] = powered(certified(query, epsilon=PRICE, delta=DELTA), lambda: _louder_certificates(query, plan))
    return _known[name]


def _louder_certificates(query: Query, plan: Settled) -> Found:
    """What is drawn at twice the price, each part sold as the part of the old one it takes the place of."""
    twin = _settled(query, 2 * PRICE)
    if twin is None or len(twin.certificates) != len(plan.certificates):
        return None
    sold = [replace(drawn, cost=old.cost) for drawn, old in zip(twin.certificates, plan.certificates, strict=True)]
    return {"verdict": CONSISTENT if all(one.check().sound for one in sold) else REFUTED}


def _settled(query: Query, epsilon: Fraction = PRICE) -> Settled | None:
    """The plan; None where the mechanism is out of reach at this price. The planner's own choice never is."""
    try:
        return query.settle(epsilon, DELTA)
    except QueryError:
        if query.asked.mechanism is None and epsilon == PRICE:
            raise
        return None


def _secret(plan: Settled) -> bool:
    """Whether how many outcomes are drawn is private: then pinned outcomes do not fit the neighbour, and must not."""
    stable = (isinstance(s, BinsStep) and isinstance(s.mechanism, StableHistogram) for s in plan.steps.values())
    return plan.plan.keys is not None or any(stable) or any(isinstance(s, StableStep) for s in plan.steps.values())


def _replay(question: Question, kind: Kind, place: int, effort: Effort) -> Found:
    tables = _tables(PAIRS[place], kind)
    plan = _settled(question.ask(tables[0]))
    return None if plan is None or _secret(plan) else replayed(question.ask, *tables, epsilon=PRICE, delta=DELTA)


def _trace_all(question: Question, kind: Kind, effort: Effort) -> Found:
    """Every pair; where one kind is audited rows come next: a person in several groups pays for all, and few bounds bind in each."""
    kinds = dict.fromkeys([kind, TABLE_KINDS[1]] if effort.kinds == 1 else [kind])
    chosen = [(held, place) for held in kinds for place, pair in enumerate(PAIRS) if pair.fits(held)]
    if question.place.startswith(", by"):
        chosen.sort(key=lambda item: item[0] is kind)
    walks = [(f"{held.name}: {PAIRS[place].name}", partial(_asked, question, held, place, held is kind)) for held, place in chosen]
    return until(walks, effort)


def _asked(question: Question, kind: Kind, place: int, must: bool, twin: bool) -> Found:
    try:
        return _trace(question, kind, place, twin=twin)
    except QueryError:
        if must:
            raise
        return None  # a question about people


def _trace(question: Question, kind: Kind, place: int, *, twin: bool = True) -> Found:
    tables = _world().both(kind, PAIRS[place])
    queries = [question.ask(side) for side, _ in tables]
    plan = _settled(queries[0])
    if plan is None:
        return None

    def walked(epsilon: Fraction) -> Found:
        plans = [_settled(query, epsilon) for query in queries]
        talks = [(Conversation(drawn), ask) for drawn, (_, ask) in zip(plans, tables, strict=True) if drawn is not None]
        return traced(pathwise(talks[0], talks[1], plan.cost), _claim(plan)) if len(talks) == 2 else None

    found = walked(PRICE)
    return powered(found, lambda: walked(2 * PRICE)) if twin else found


def _claim(plan: Settled) -> tuple[float, float]:
    return float(plan.cost.epsilon), float(plan.cost.delta)


def _list(question: Question, kind: Kind, place: int, effort: Effort) -> Found:
    tables = _tables(PAIRS[place], kind)
    plan = _settled(question.ask(tables[0]))
    if plan is None:
        return None
    options = {"span": 300, "delta": DELTA, "claimed": _claim(plan)}
    found = listed(question.ask, *tables, effort, epsilon=PRICE, **options)
    twin = _settled(question.ask(tables[0]), 2 * PRICE)
    return powered(found, lambda: None if twin is None else listed(question.ask, *tables, effort, epsilon=2 * PRICE, **options))


def _sample(question: Question, kind: Kind, place: int, effort: Effort) -> Found:
    tables = _world().both(kind, PAIRS[place])
    queries = [question.ask(side) for side, _ in tables]
    plan = _settled(queries[0])
    if plan is None:
        return None

    def seen(epsilon: Fraction) -> Found:
        talks = [Conversation(drawn) for query in queries if (drawn := _settled(query, epsilon)) is not None]
        if len(talks) < 2:
            return None
        return sampled(lambda side, n: talks[side].many(tables[side][1], draw, n), 0, 1, _claim(plan), effort)

    return powered(seen(PRICE), lambda: seen(2 * PRICE))
