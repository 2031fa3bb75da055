"""Conformance as a product: whether a mechanism or a statistic, ours or anybody's, draws what it is charged for.

The exact half (`sampled=False`) has no chance in it: certificates are integrated, whole releases are traced on hostile neighbours, small
worlds are listed. A refuted row is a proof and names the file, the neighbours and the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.lab.auditing import audit
from sordino.lab.enumeration import exact
from sordino.lab.finding import CONSISTENT, REFUTED, Checked, CheckedRow, joined, number, where_from
from sordino.lab.pathwise import PathTrace, pathwise
from sordino.lab.question import BOTTOM, EVERY_KIND, PAIRS, PLACES, UNDER_TOP, Kind, Question, TablePair, declared, sides
from sordino.lab.recording import Conversation, bounded
from sordino.lab.replaying import replay
from sordino.lab.simulation import outcomes
from sordino.lab.specimen import Specimen, specimens
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.session.owned import owned
from sordino.session.query import Query
from sordino.session.settled import Settled
from sordino.session.table import Table, table
from sordino.statistics.custom import Custom
from sordino.summaries import Ask

__all__ = ["World", "check_mechanism", "check_statistic", "covered", "traced"]

LISTED = 1_000  # outcomes of a small world
TRIALS = 20_000
USUAL, ROTATED = 9, 17  # pairs of tables of thirty people, or of nobody; up to which tables of other sizes take turns
TIGHT = 1.05  # slack beyond this has a reason, or is a mistake
DELTA = Fraction(1, 50)
FILTERED = ", where"
# where draws are seen best: one row more, or one moved, across the middle of two heaps; for noise of a person in three groups, all of them
FURTHER = (
    *(
        (kind, pair)
        for pair in PAIRS
        if pair.values == (BOTTOM, UNDER_TOP)
        for kind in (*EVERY_KIND[-2:], *EVERY_KIND[:2])
        if pair.fits(kind)
    ),
    *((EVERY_KIND[4], pair) for pair in PAIRS if pair.everywhere),
)
PLACE_NAMES = ("", FILTERED, ", by public keys", ", by private keys")


def check_mechanism(mechanism: Any, *, sampled: bool = True, trials: int = TRIALS, confidence: float = 1 - 1e-9) -> Checked:
    """Is the certificate sound, and does the mechanism draw no more than it claims?

    `mechanism` is an instance, or a class with `examples()`; it may come from outside this package. Its neighbours are its own, if it has
    `neighbours()`, otherwise those known for what it asks. One that draws more than it tells says `tells_less = True`.
    """
    if isinstance(mechanism, type):
        made: Any = mechanism
        if not callable(getattr(made, "examples", None)):
            raise QueryError("SRD-103", f"{made.__name__} has no examples().", "Give an instance, or a class whose examples() are checked.")
        how: dict[str, Any] = {"sampled": sampled, "trials": trials, "confidence": confidence}
        return joined(mechanism.__name__, (check_mechanism(example, **how) for example in made.examples()))
    if not (callable(getattr(mechanism, "certificate", None)) and callable(getattr(mechanism, "release", None))):
        what = f"{type(mechanism).__name__} is no mechanism: it has no certificate() or no release()."
        raise QueryError("SRD-103", what, "Give a mechanism, or its class with examples(); statistics go to check_statistic.")
    subject = where_from(mechanism)
    certificate = mechanism.certificate()
    rows = [_certificate(certificate, subject)]
    for pair in specimens(mechanism):
        rows += [
            _traced(mechanism, certificate.cost, pair, subject),
            *_shown(mechanism, pair, subject),
            *_small_world(mechanism, pair, subject),
        ]
        if sampled:
            rows.append(_sampled(mechanism, pair, subject, trials, confidence))
    return Checked(repr(mechanism), tuple(rows), confidence if sampled else 1.0)


def _certificate(certificate: Certificate, subject: str) -> CheckedRow:
    found, verdict, why = certificate.check(), CONSISTENT, ""
    if not found.sound:
        verdict, why = REFUTED, f"{found}: {subject}"
    elif found.slack > TIGHT and not certificate.loose:
        verdict, why = "loose", f"the certificate has a slack of {found.slack:.3f} and gives no reason: {subject}"
    claimed = str(certificate.cost)
    return CheckedRow(subject, "certificate", "all neighbours", claimed, number(found.epsilon), verdict, why, 1 / max(found.slack, 1e-9))


def _traced(mechanism: Any, cost: Cost, pair: Specimen, subject: str) -> CheckedRow:
    one, other = ((mechanism, owned(mechanism, data, **pair.options)) for data in (pair.d0, pair.d1))
    return traced(pathwise(one, other, cost), subject, pair.name)


def traced(found: PathTrace, subject: str, pair: str) -> CheckedRow:
    """A path as a row."""
    amounts = found.amounts
    claimed = ", ".join(f"{kind} {number(paid)}" for kind, (_, paid) in amounts.items())
    seen = ", ".join(f"{kind} {number(amount)}" for kind, (amount, _) in amounts.items())
    said = found.said() if found.wrong else ""
    return CheckedRow(subject, "pathwise", pair, claimed, seen, REFUTED if said else CONSISTENT, said, found.reached)


def _shown(mechanism: Any, pair: Specimen, subject: str) -> Iterator[CheckedRow]:
    """Everything visible is the same with the same outcomes. Where keys are private, tracing has matched them already."""
    if pair.new_key:
        return
    found = replay(mechanism, pair.d0, pair.d1, priced=False, **pair.options)
    why = f"{'; '.join(found.differences)}: {subject}" if found.differences else ""
    yield CheckedRow(subject, "replay", pair.name, "nothing differs", f"{len(found.differences)} differences", found.verdict, why)


def _small_world(mechanism: Any, pair: Specimen, subject: str) -> Iterator[CheckedRow]:
    try:
        found = exact(mechanism, pair.d0, pair.d1, span=100, largest=LISTED, **pair.options)
    except QueryError as refused:
        if refused.code not in ("SRD-103", "SRD-108"):  # too large to list
            raise
        return
    if found.cut > 0.01:
        return
    reached = found.delta_lower / found.claimed[1] if found.claimed[1] else found.epsilon_lower / max(found.claimed[0], 1e-9)
    why = f"found epsilon {found.epsilon_lower:.4g}, delta {found.delta_lower:.4g} for {found.claimed}: {subject}"
    ok = found.verdict == CONSISTENT
    yield CheckedRow(
        subject, "listed", pair.name, str(found.claimed), number(found.epsilon_lower), found.verdict, "" if ok else why, reached
    )


def _sampled(mechanism: Any, pair: Specimen, subject: str, trials: int, confidence: float) -> CheckedRow:
    cost = mechanism.certificate().cost
    claim = (float(cost.epsilon), float(cost.delta))

    def release(data: Any, n: int) -> Any:
        return outcomes(mechanism, data, repeats=n, **pair.options)

    found = audit(release, pair.d0, pair.d1, claimed=claim, trials=trials, confidence=confidence, vectorised=True, early=True)
    why = "" if found.verdict == CONSISTENT else f"{found.event}: {subject}"
    reached = found.epsilon_lower / max(claim[0], 1e-9)
    return CheckedRow(subject, "sampled", pair.name, str(cost), number(found.epsilon_lower), found.verdict, why, reached)


class World:
    """The neighbouring tables of one kind, opened once, with everything that was ever asked of them."""

    def __init__(self, extra: Sequence[str] = ()) -> None:
        self.extra, self.stack = tuple(extra), ExitStack()
        self.tables: dict[tuple[Kind, str], tuple[tuple[Table, Ask], tuple[Table, Ask]]] = {}

    def __enter__(self) -> World:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stack.close()

    def both(self, kind: Kind, pair: TablePair) -> tuple[tuple[Table, Ask], tuple[Table, Ask]]:
        key = (kind, pair.name)
        if key not in self.tables:
            one, other = (self._opened(rows, kind) for rows in sides(pair, kind))
            self.tables[key] = one, other
        return self.tables[key]

    def _opened(self, rows: dict[str, list[Any]], kind: Kind) -> tuple[Table, Ask]:
        facts = declared(kind)
        for name in self.extra:  # a column of one's own holds what incomes hold
            rows = {**rows, name: rows["income"]}
            facts["bounds"] = {**facts["bounds"], name: facts["bounds"]["income"]}
        opened = self.stack.enter_context(table(rows, **facts))
        return opened, self.stack.enter_context(bounded(opened))

    def trace(
        self, asked: Callable[[Table], Query], kind: Kind, pair: TablePair, price: tuple[Any, Any], drawn: Any = None
    ) -> PathTrace | None:
        """One question between two tables; None where it cannot be asked at this price. `drawn` is the epsilon it is really drawn at."""
        plans = []
        (one, ask), (other, beside) = self.both(kind, pair)
        try:
            charged = asked(one).settle(*price)
            for side in (one, other):
                plans.append(asked(side).settle(price[0] if drawn is None else drawn, price[1]))
        except QueryError:
            return None
        whole = drawn is None and not asked(one).asked.by
        return pathwise((Conversation(plans[0]), ask), (Conversation(plans[1]), beside), charged.cost, whole=whole)


def covered(turn: int, *, thorough: bool = False, stride: int = 1) -> Iterator[tuple[Kind, TablePair]]:
    """Kinds with pairs: all of them, or a few, so that every kind and every pair come up and over many questions every combination."""
    every = [(kind, pair) for kind in EVERY_KIND for pair in PAIRS if pair.fits(kind)]
    if thorough:
        yield from every
        return
    for i, kind in enumerate(EVERY_KIND):
        ends = kind.rows == kind.groups == kind.each  # the least and the most that limits allow
        if (i + i // 2 * (stride == 2) + turn) % stride and not (stride == 2 and ends):  # of every second kind both relations come up
            continue
        fitting = [pair for pair in PAIRS[:USUAL] if pair.fits(kind)]
        yield kind, fitting[(i + turn) % len(fitting)]
        if kind.groups * kind.each < kind.rows and stride <= 2:  # what is asked without groups counts more rows than fit in groups
            yield kind, PAIRS[0]
        if kind.relation == "add_remove" and kind.rows == kind.groups:  # tables of other sizes, for somebody with a row in each group
            yield kind, PAIRS[USUAL:ROTATED][(i + turn) % (ROTATED - USUAL)]


def check_statistic(
    statistic: Any,
    *,
    epsilon: Any = 1,
    delta: Any = DELTA,
    propose: Any = None,
    thorough: bool = False,
    sparse: bool = False,
    places: Sequence[str] = PLACE_NAMES,
    world: World | None = None,
    power: bool = False,
) -> Checked:
    """Does every release of a statistic draw no more than it is charged for, whoever comes, goes or changes?

    `statistic` is one (`statistics.median("income")`), a function of a table that asks (`lambda t: t.median("income")`), or a statistic
    of your own; columns it reads are made up, with incomes of up to a million. Every way it can be answered is traced alone, after a
    condition, by public and by private keys, between people of 1 or 3 rows in 1 to 3 groups and between rows, under both relations, on
    tables with ties, with everything at the bounds, with strange values and with nobody. `thorough` takes all combinations, `sparse` half
    of the kinds of tables, and a third where there are groups. With `power` more tables are taken, in every place and way, until whoever
    draws would be seen to draw twice for one price; whom no table shows is named in `blind`.
    """
    asked, extra, label = _asking(statistic)
    propose = statistic.propose if isinstance(statistic, Question) and propose is None else propose
    rows: list[CheckedRow] = []
    blind: list[str] = []
    with ExitStack() as stack:
        opened = world or stack.enter_context(World(extra))
        for place in places:
            for turn, way in enumerate(_ways(asked, place, opened, (epsilon, delta), propose)):
                stride = 7 if turn else 5 if place == FILTERED else (3 if place else 2) if sparse else 1
                subject = f"{label}{place}{f', {way}' if way else ''}"
                seen: dict[str, bool] = {}
                walks = list(covered(turn + len(label), thorough=thorough, stride=stride))
                for walked, (kind, pair) in enumerate([*walks, *(FURTHER if power else ())]):
                    if walked >= len(walks) and all(seen.values()):
                        break
                    found = opened.trace(_placed(asked, place, way, propose), kind, pair, (epsilon, delta))
                    if found is not None:
                        rows.append(traced(found, subject, f"{kind.name}: {pair.name}"))
                        seen |= {name: noticed or seen.get(name, False) for name, noticed in found.noticed.items()} if power else {}
                blind += [f"{subject}: {name}" for name, noticed in seen.items() if not noticed]
    if not rows:
        raise QueryError("SRD-105", f"{label} cannot be asked of the tables of people.", "Give a function of a table that asks a question.")
    return Checked(label, tuple(rows), blind=tuple(blind))


Asked = Callable[[Any], Query]


def _asking(statistic: Any) -> tuple[Asked, tuple[str, ...], str]:
    if isinstance(statistic, Custom):
        label = getattr(statistic.function, "__name__", "a statistic of one's own")
        return lambda place: place.apply(statistic, statistic.columns or "income"), statistic.columns, label
    if hasattr(statistic, "ways") and hasattr(statistic, "question"):
        known = {"income", "age", "ok", "born", "job", "sex", "zip", "person"}
        extra = tuple(name for name in statistic.columns if name not in known)
        return lambda place: place.agg(answer=statistic), extra, statistic.label
    if isinstance(statistic, Question):
        return statistic.inside, (), statistic.name
    if callable(statistic):
        return statistic, (), getattr(statistic, "__name__", "a question").replace("<lambda>", "a question")
    what = f"{type(statistic).__name__} is no statistic and asks no question."
    raise QueryError("SRD-103", what, "Give a statistic, or a function such as lambda table: table.median('income').")


def _placed(asked: Asked, place: str, way: str | None, propose: Any) -> Asked:
    def ask(of: Any) -> Query:
        query = asked(PLACES[place](of))
        return query if way is None else query.by_mechanism(way, propose if way == "ptr" else None)

    return ask


def _ways(asked: Asked, place: str, world: World, price: tuple[Any, Any], propose: Any) -> list[str | None]:
    """None for the planner's choice, and every other mechanism that can answer, whoever is protected."""
    ways: dict[str | None, None] = {}
    for kind in (EVERY_KIND[0], EVERY_KIND[1]):
        (one, _), _ = world.both(kind, PAIRS[0])
        try:
            query = _placed(asked, place, None, propose)(one)
            plan: Settled = query.settle(*price)
        except QueryError:
            ways |= dict.fromkeys(["ptr"] if propose is not None else [])  # what has no other way, with a bound to try
            continue
        ways.setdefault(None)
        if len(query.asked.statistics) == 1 and "private" not in place:
            label = next(iter(query.asked.statistics))
            ways |= dict.fromkeys(query.ways(label, Fraction(price[0]), plan)[1:])
    return list(ways)
