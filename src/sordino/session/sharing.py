"""The question behind a shared table, tied to a table: its cells, its schedule at a price, and the one draw it is."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.engines.port import stoppable
from sordino.errors import QueryError, builds
from sordino.ledger import Asked, AskedLimits, Balance, Entry
from sordino.plan.recall import frame as rows_frame
from sordino.plan.recall import question, recall_key
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_delta, as_epsilon, as_positive, shown
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import And, IsNull, Not, Or, Predicate, canonical, names
from sordino.schema.frame import Frame, fit_predicate
from sordino.session.card import NOT_DEFENDED, NOT_LOCAL, SIDE_CHANNELS, Card, odds_sentence
from sordino.session.execute import as_fresh, execute, sealed_first
from sordino.session.recorded import public_rows
from sordino.session.release import Paid, Release, price_of
from sordino.session.settled import POOL_SHARE, Nobody
from sordino.session.shared import Shared
from sordino.share.cells import FineCells
from sordino.share.junction_tree import Clique
from sordino.share.rounds import CAP, FitSteps, ShareOutcome, Talk, check_cap
from sordino.share.rules import forbidden
from sordino.share.schedule import METHODS, Schedule, affordable, median_cells
from sordino.statistics import count
from sordino.statistics.port import Context
from sordino.statistics.private_keys import Keys
from sordino.summaries import Draw
from sordino.summaries.marginal import MOST_ROWS, person_unit

if TYPE_CHECKING:
    from sordino.session.query import Query

__all__ = ["SharePlan", "Sharing", "sharing"]

MOST_COLUMNS = 60
REPORTED = 600  # sets whose error is paid for; triples are left out where there would be more
JOINED = 16  # cells a column is expected to have in the end
TARGET, HEAVY = 2, 64  # the weight of sets with the target, and the largest weight
NAMING = Fraction(1, 10)  # of epsilon, and half of delta, for private categories
WORD = "rows of the shared table"
TUNING = "cells, schedule, shares of the price and what may be chosen follow from public facts and from values drawn before"


@dataclass(frozen=True, eq=False)
class Sharing:
    """A shared table before it is paid for. Building it reads nothing and spends nothing."""

    query: Query
    columns: tuple[Column, ...]
    method: str = "adaptive"
    workload: Mapping[Clique, int] = field(default_factory=dict)
    bins: Mapping[str, Any] = field(default_factory=dict)
    weight: str = "row"
    target: str | None = None
    rows: int | None = None
    rules: tuple[Predicate, ...] = ()
    fixed: int | None = None  # how many marginals are chosen, where somebody says so

    @cached_property
    def cells(self) -> tuple[FineCells | None, ...]:
        """The public fine cells of every column; None where its values are private."""
        return tuple(None if _private(c) else FineCells.of(c, self.bins.get(c.name)) for c in self.columns)

    @cached_property
    def reported(self) -> tuple[Clique, ...]:
        """The sets whose error is paid for: columns, pairs, and triples where there are not too many."""
        every = [c for k in (1, 2, 3) for c in combinations(range(len(self.columns)), k)]
        return tuple(every if len(every) <= REPORTED else [c for c in every if len(c) < 3])

    @cached_property
    def words(self) -> dict[str, Any]:
        """The question without its price."""
        cells = {
            column.name: {"private": True, "text": column.max_length} if known is None else known.words()
            for column, known in zip(self.columns, self.cells, strict=True)
        }
        rows = self.query.alone(n=count())
        return {
            "share": self.method, "rows of": question(rows.asked, rows.table.unit, fold_ids=rows.table.fold_ids), "columns": cells,
            "bins": {name: str(b) for name, b in self.bins.items()}, "nulls": {column.name: str(column.nulls) for column in self.columns},
            "workload": [[list(c), w] for c, w in sorted(self.workload.items())], "weight": self.weight, "target": self.target,
            "rows": self.rows, "forbid": [canonical(rule) for rule in self.rules], "rounds": self.fixed,
        }  # fmt: skip

    @cached_property
    def base(self) -> Frame:
        """The rows of the question, as a count of them would look at them."""
        table = self.query.table
        return rows_frame(self.query.alone(n=count()).asked, table.unit, fold_ids=table.fold_ids)

    @property
    def unit(self) -> PrivacyUnit:
        return self.base.unit

    @cached_property
    def asked(self) -> Asked:
        table = self.query.table
        return Asked(recall_key(table.dataset, table.version, self.words), limits=AskedLimits.of(self.unit))

    def frame(self, columns: tuple[Column, ...], by: tuple[Column, ...] = ()) -> Frame:
        """The rows of the question with these columns; rows that break a rule are dropped like those a filter drops."""
        where = self.query.asked.where
        kept = [Or((Not(rule), *(IsNull(name) for name in names(rule)))) for rule in self.rules]
        if not kept:
            return replace(self.base, by=by, columns=columns)
        whole = And((*([where] if where is not None else []), *kept))
        return replace(self.base, by=by, columns=columns, where=fit_predicate(whole, where))

    def plan(self, epsilon: Any = None, delta: Any = None, *, rho: Any = None) -> SharePlan:
        """What would be charged and asked at a price: public facts only."""
        table = self.query.table
        if (epsilon is None) == (rho is None):
            raise QueryError("SRD-101", "a shared table needs one price.", "Give epsilon= and delta=, or rho= on a ledger that adds rho.")
        if rho is not None and table.budget.filter.accounting != "zcdp":
            raise QueryError("SRD-101", "this ledger does not add rho.", 'Give epsilon=; rho= is for budgets with accounting="zcdp".')
        price = as_epsilon(epsilon) if rho is None else as_positive(rho, "rho")
        pool = table.ledger.terms.filter.cap.delta
        offered = pool * POOL_SHARE if delta is None else as_delta(delta, zero=True)
        if not offered:
            what = "a shared table is drawn with Gaussian noise, which takes a delta, and the budget has none."
            raise QueryError("SRD-102", what, "Give the budget a delta such as 1e-6.")
        named = self._naming(price, offered)
        unit = self.unit
        person = self.weight == "person"
        parts = person_unit(min(unit.max_rows, MOST_ROWS)) if person else 1
        sizes = [min(max(c.places - 1 - c.other, 1), JOINED) if c is not None else JOINED for c in self.cells]
        rounds = {"tree": max(len(self.columns) - 1, 0), "given": len(self.workload)}.get(self.method, self.fixed)
        schedule = affordable(
            price, offered, method=self.method, columns=len(self.columns), reported=len(self.reported),
            reach=parts if person else unit.max_rows, heaviest=max(self.workload.values(), default=1), relation=unit.relation,
            cells=median_cells(sizes), rows=self._known_rows, fixed=rounds,
            named=tuple(part for keys in named.values() for part in keys.parts), by_rho=rho is not None,
        )  # fmt: skip
        plan = SharePlan(self, schedule, parts, named)
        for wanted in plan.frames:
            table.engine.check(wanted)
        return plan

    @cached_property
    def _known_rows(self) -> int | None:
        """How many rows the public knows there are, or people where each counts once."""
        table = self.query.table
        if self.weight == "person" and table.size is not None and self.query.asked.where is None:
            return table.size
        return public_rows(self.query.alone(n=count()))

    def _naming(self, epsilon: Fraction, delta: Fraction) -> dict[int, Keys]:
        """How the values of columns without public ones are named, column by column."""
        private = [i for i, cells in enumerate(self.cells) if cells is None]
        if not private:
            return {}
        each = len(private)
        context = Context(unit=self.unit, columns=dict(self.query.asked.columns), grouped=True, filtered=True, keys=None)
        return {i: Keys(min(epsilon, Fraction(1)) * NAMING / each, delta / 2 / each, context) for i in private}

    @builds
    def preview(self, epsilons: Any = ("0.1", "0.5", "1", "2", "5"), *, delta: Any = None, twin: bool = True) -> Any:
        """What each price buys: measurements, the noise of each, and with known rows the error to expect. Free; reads nothing private.

        Where a public twin is declared, a table is made from its rows at each price and its mean errors are told; twin=False leaves it out.
        """
        from sordino.session.share_preview import preview

        return preview(self, epsilons, delta, twin=twin)

    def release(
        self, *, epsilon: Any = None, delta: Any = None, rho: Any = None, fresh: bool = False, analyst: str | None = None,
        request: str | None = None, progress: Callable[[float], None] | None = None,
    ) -> Shared:  # fmt: skip
        """Pay once, look, draw. A table that was shared before at this price or more is returned at no price."""
        table = self.query.table
        if progress is not None and not callable(progress):  # after the charge it would be too late to say so
            raise QueryError("SRD-106", f"progress is {shown(progress)}.", "Give a function that is told which part is done.")
        if not as_fresh(fresh) and (found := self.recorded(epsilon, rho)) is not None:
            return found
        plan = replace(self.plan(epsilon, delta, rho=rho), progress=progress)
        words = {"epsilon": epsilon, "delta": delta, "rho": rho}
        wish = {word: str(as_positive(said, word)) for word, said in words.items() if said is not None}
        with sealed_first():
            sealed = execute(plan, table.ledger, table.engine, request=request, analyst=analyst, owner_log=table.log_failure, wish=wish)
        return Shared.of(Release.from_bytes(sealed), self.columns)

    def recorded(self, epsilon: Any = None, rho: Any = None) -> Shared | None:
        """The dearest table shared under this question that costs at least so much."""
        found = self.query.table.ledger.recall(self.asked.key)
        if rho is not None:
            found = [item for item in found if price_of(item).rho * Fraction(10003, 10000) >= as_positive(rho, "rho")]
        elif epsilon is not None:
            found = [item for item in found if price_of(item).epsilon * Fraction(1001, 1000) >= as_epsilon(epsilon)]
        best = max(found, key=lambda item: price_of(item).epsilon, default=None)
        return None if best is None else Shared.of(Release.from_bytes(best, recalled=True), self.columns)

    def __repr__(self) -> str:
        return f"Sharing({', '.join(c.name for c in self.columns)} of {self.query.table.name!r}; nothing read, nothing spent)"


@dataclass(frozen=True, eq=False)
class SharePlan:
    """A shared table with its price settled: what is charged, asked and recorded."""

    question: Sharing
    schedule: Schedule
    parts: int
    named: Mapping[int, Keys]
    progress: Callable[[float], None] | None = None

    @property
    def asked(self) -> Asked:
        return self.question.asked

    @property
    def cost(self) -> Cost:
        return self.schedule.cost

    @property
    def mechanism(self) -> str:
        first = ["PartitionSelection"] if self.named else []
        return " + ".join([*first, "Gaussian", *(["Exponential"] if self.schedule.choice else [])])

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """What is read: the coded columns, and before that the values of private categories."""
        keys = (self.question.frame((), by=(self.question.columns[i],)) for i in self.named)
        known = [cells or FineCells.of(column, keys=()) for cells, column in zip(self.question.cells, self.question.columns, strict=True)]
        return (self.question.frame(tuple(cells.coded() for cells in known)), *keys)

    def converse(self, open_frame: Any, draw: Draw, effort: FitSteps = FitSteps()) -> tuple[Any, Any]:  # noqa: B008
        cells = list(self.question.cells)
        for i, keys in self.named.items():
            column = self.question.columns[i]
            with open_frame(self.question.frame((), by=(column,))) as rows:
                found = [key for (key,) in keys.release(rows.ask, draw).keys if key is not None]
            cells[i] = FineCells.of(column, keys=sorted(found))
        known = tuple(c for c in cells if c is not None)
        talk, stopped = self.talk(known), threading.Event()

        def step(done: float) -> None:
            if stopped.is_set():
                raise TimeoutError
            if self.progress is not None:
                self.progress(done)

        with open_frame(self.question.frame(tuple(c.coded() for c in known))) as rows, stoppable(stopped.set):
            return known, talk.run(rows.ask, draw, effort, step)

    def talk(self, cells: tuple[FineCells, ...]) -> Talk:
        ask, place = self.question, {c.column.name: i for i, c in enumerate(cells)}
        return Talk(cells, self.schedule, ask.workload, ask.reported, self.parts, ask.rows, CAP, forbidden(ask.rules, cells, place))

    def rehearse(self, draw: Draw) -> None:
        """The same conversation with nobody there and next to no fitting, recorded and thrown away."""
        heard: list[Any] = []

        @contextlib.contextmanager
        def nobody(frame: Frame) -> Iterator[Any]:
            yield Nobody(frame, heard)

        quiet = replace(self, progress=None)
        known, outcome = quiet.converse(nobody, draw, FitSteps(0, 0))
        quiet._release(known, outcome, Paid(self.cost), "", Card()).to_bytes()

    def record(self, groups: Any, answers: Any, entry: Entry, balance: Balance) -> bytes:
        card = self._card(groups, answers, entry.id, balance)
        return self._release(groups, answers, Paid(self.cost, (entry.charged.loss, entry.charged.delta)), entry.id, card).to_bytes()

    def _release(self, cells: tuple[FineCells, ...], outcome: ShareOutcome, paid: Paid, id: str, card: Card) -> Release:
        schedule, ask = self.schedule, self.question
        scales = {"first": schedule.first, "measured": schedule.measured, "report": schedule.report}
        values = {i: list(c.values) for i, c in enumerate(cells) if i in self.named}
        record = {
            "format": 1, "method": ask.method, "weight": ask.weight, "parts": self.parts, "rows": outcome.rows,
            "columns": [c.column.name for c in cells], "named": [[i, v] for i, v in values.items()], "bins": dict(ask.bins),
            "cells": [list(joined.cells) for joined in outcome.columns], "first": [y.tolist() for y in outcome.first],
            "chosen": [[list(c), y.ravel().tolist()] for c, y in outcome.chosen],
            "scales": {name: float(scale) for name, scale in scales.items()},
            "tree": outcome.law.to_record(), "seed": outcome.seed, "sampled": len(outcome.codes),
            "digest": digest(outcome.codes), "distances": [[list(c), d] for c, d in outcome.distances.items()],
        }  # fmt: skip
        return Release({WORD: [len(outcome.codes)]}, {}, (WORD,), paid, self.mechanism, "none", id, card, raw={WORD: [record]})

    def _card(self, cells: tuple[FineCells, ...], outcome: ShareOutcome, id: str, balance: Balance) -> Card:
        table, schedule, ask = self.question.query.table, self.schedule, self.question
        unit = ask.unit
        limits = {"max_rows": unit.max_rows, "counted": "each person once" if ask.weight == "person" else "each row"}
        spent = {"epsilon": balance.spent, "delta": balance.spent_delta, "cap": balance.cap, "cap delta": balance.cap_delta}
        told = {c: ", ".join(cells[i].column.name for i in c) for c, _ in outcome.chosen}
        left = [words for clique, words in told.items() if outcome.law.tree.home(clique) is None]
        certificates = [part.certificate for part in schedule.parts]
        return Card({
            "dataset": table.dataset, "version": table.version, "table": table.name,
            "privacy unit": {"unit": table.unit_word, "relation": unit.relation.value, **limits},
            "question": self.question.words, "release": id,
            "this release": {"epsilon": str(self.cost.epsilon), "delta": str(self.cost.delta), "family": self.cost.family},
            "so far": {**spent, "accounting": balance.filter.accounting},
            "composition": "every release of this dataset, by everybody and for ever, is added up under one cap",
            "mechanism": self.mechanism, "theorem": [theorem(schedule), *dict.fromkeys(c.theorem for c in certificates)],
            "assumes": list(dict.fromkeys(c.assumptions for c in certificates if c.assumptions)),
            "a table of nobody": "rows are sampled from a model of drawn counts; what was not measured together is as the model has it",
            "measured": [told[c] for c, _ in outcome.chosen], **({"measured, too large for the model": left} if left else {}),
            "seed of the sampling": outcome.seed, "rows": len(outcome.codes),
            "tuning": TUNING, "post-processing": ["fit", "sampling"], "side channels": SIDE_CHANNELS, "not defended": NOT_DEFENDED,
            "odds": odds_sentence(float(self.cost.epsilon), float(self.cost.delta)),
            **({} if table.local else {"source": NOT_LOCAL}),
        })  # fmt: skip


def theorem(schedule: Schedule) -> str:
    return " ".join((type(schedule).__doc__ or "").split("Theorem. ")[1].split("Proof.")[0].split())


def digest(codes: Any) -> str:
    """What tells a table that was made again from the one the error report is about."""
    return sha256(np.ascontiguousarray(codes, "<i8").tobytes()).hexdigest()


def _private(column: Column) -> bool:
    return column.type == "cat" and column.keys is None


def _shareable(column: Column) -> bool:
    return column.type not in ("id", "never") and (not column.number or column.type == "bool" or column.bounds is not None)


def sharing(
    query: Query, *, columns: Sequence[str] | None = None, method: str = "adaptive", workload: Any = None,
    bins: Mapping[str, Any] | None = None, weight: str | None = None, target: str | None = None, rows: int | None = None,
    forbid: Sequence[str] = (), rounds: int | None = None,
) -> Sharing:  # fmt: skip
    """The question from the caller's words, with a fix for whatever does not fit."""
    asked = query.asked
    unit = rows_frame(query.alone(n=count()).asked, query.table.unit).unit if not asked.by else query.table.unit
    if asked.by or asked.statistics:
        raise QueryError("SRD-208", "a shared table has no groups and no statistics.", "Share a table, or the rows a where() keeps.")
    known = {name: c for name, c in asked.narrowed.items() if name != unit.column}
    bins = dict(bins or {})
    wanted = list(columns) if columns is not None else [name for name, c in known.items() if _shareable(c)]
    for name in [*wanted, *bins, *([target] if target is not None else [])]:
        if name not in known or known[name].type in ("id", "never"):
            raise QueryError("SRD-201", f"there is no column {shown(name)} to share.", f"Name some of {', '.join(known)}.")
    if not 1 <= len(wanted) <= MOST_COLUMNS or len(set(wanted)) != len(wanted):
        raise QueryError("SRD-208", f"{len(wanted)} columns are to be shared.", f"Name 1 to {MOST_COLUMNS} columns, each once.")
    if method not in METHODS:
        raise QueryError("SRD-106", f"method {shown(method)} is unknown.", f"Use one of {', '.join(METHODS)}.")
    if weight not in (None, "row", "person"):
        raise QueryError("SRD-106", f"weight {shown(weight)} is unknown.", 'Use "person" or "row".')
    for word, value in (("rows", rows), ("rounds", rounds)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10_000_000):
            raise QueryError("SRD-103", f"{word} is {shown(value)}.", "Give a whole number from 1 to 10,000,000, or leave it out.")
    if target is not None and target not in wanted:
        raise QueryError("SRD-208", f"the target {shown(target)} is not shared.", "Name it among the columns.")
    if isinstance(forbid, str):
        raise QueryError("SRD-208", "forbid is one text.", "Give a list of conditions, such as [\"sex = 'm' AND pregnant\"].")
    many = weight or ("person" if unit.max_rows > 1 else "row")
    rules = tuple(query.table._condition(text) for text in forbid)
    sets = _workload(workload, wanted, target, method)
    found = Sharing(query, tuple(known[name] for name in wanted), method, sets, bins, many, target, rows, rules, rounds)
    public = tuple(cells for cells in found.cells if cells is not None)
    forbidden(rules, public, {cells.column.name: i for i, cells in enumerate(public)})
    ruled = (tuple(sorted({wanted.index(name.column) for name in names(rule)})) for rule in rules)
    check_cap(found.cells, sets if method == "given" else (), ruled)
    return found


def _workload(given: Any, wanted: list[str], target: str | None, method: str) -> dict[Clique, int]:
    """Sets of columns by number with their weights: all pairs, all sets of so many columns, or those that are named."""
    if given is None or (isinstance(given, int) and not isinstance(given, bool)):
        size = 2 if given is None else given
        if not 2 <= size <= 4 or (given is None and method == "given"):
            what = "method 'given' measures what the workload names." if given is None else f"workload is {given!r}."
            raise QueryError("SRD-208", what, 'Give 2 or 3 for all pairs or triples, or sets such as [("age", "sex")].')
        size = min(size, len(wanted))
        out = dict.fromkeys(combinations(range(len(wanted)), size), 1) if size > 1 else {}
    else:
        said = dict(given) if isinstance(given, Mapping) else {tuple(names): 1 for names in given}
        out = {}
        for names_, weight in said.items():
            if len(set(names_)) != len(names_) or not 2 <= len(names_) <= 4 or any(name not in wanted for name in names_):
                raise QueryError("SRD-208", f"{shown(names_)} is no set of shared columns.", "Name 2 to 4 shared columns, each once.")
            if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= HEAVY:
                raise QueryError("SRD-208", f"the weight of {shown(names_)} is {shown(weight)}.", f"Give a whole number from 1 to {HEAVY}.")
            out[tuple(sorted(wanted.index(name) for name in names_))] = weight
    if target is not None:
        aim = wanted.index(target)
        out = {c: min(w * TARGET, HEAVY) if aim in c else w for c, w in out.items()}
    return out
