"""A question with its price settled: what will be charged, what will be asked, and how the answer is recorded.

A table of no rows: what a conversation is rehearsed with before anything is charged.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.engines.port import Bounded, BoundsAgain
from sordino.errors import QueryError
from sordino.ledger import Asked, Balance, Entry
from sordino.plan.query_plan import Labels
from sordino.plan.query_plan import QueryPlan as Question
from sordino.plan.recall import context, frame
from sordino.privacy.certificate import Certificate, whole_cost
from sordino.privacy.cost import Cost, odds_sentence
from sordino.schema.column import shown
from sordino.schema.frame import Frame
from sordino.schema.spelling import spell
from sordino.schema.view import View, multiplying
from sordino.session.card import NOT_DEFENDED, NOT_LOCAL, SIDE_CHANNELS, TUNING, Card
from sordino.session.release import Paid, Release
from sordino.statistics import Answer, Context, Plan, Step, plan_steps
from sordino.statistics.budget_split import THRIFTY
from sordino.statistics.ends import IntervalStep
from sordino.statistics.grouping_sets import SetsStep
from sordino.statistics.port import Groups, Shape
from sordino.summaries import Draw
from sordino.summaries.array_table import ArrayColumn, ArrayTable
from sordino.summaries.moment import Gradient, Gram, Lengths, Outer
from sordino.summaries.records import Records
from sordino.summaries.totals import Clipped, Middles, Ranks, Rows

if TYPE_CHECKING:
    from sordino.session.table import Table

__all__ = ["Nobody", "Settled", "settle", "within"]


@dataclass(frozen=True)
class Nobody:
    """Answers every request as an engine would if nobody were there: no group occurs, and one window stands for all of them."""

    frame: Frame
    heard: list[Any] = field(default_factory=list, compare=False, repr=False)  # every request, in order

    def ask(self, request: Any) -> Any:
        self.heard.append(request)
        groups = 0 if self.frame.by else 1
        match request:
            case Middles():
                return self._table(len(request.kept), measured=request.column).ask(replace(request, keys=None))
            case Ranks() | Rows():
                return self._table(1, measured=request.column).ask(replace(request, keys=None))
            case Records():
                return self._table(1, len(request.columns)).ask(request)
            case Gram() | Gradient() | Lengths() | Outer():
                return self._table(groups, len(request.terms)).ask(request)
        return self._table(1 if isinstance(request, Clipped) else groups).ask(request)

    def _table(self, groups: int, terms: int = 0, measured: str = "") -> ArrayTable:
        nothing = (np.empty(0, np.int64),) * groups
        columns = {c.name: ArrayColumn(c.grid().width if c.name == measured else 0, nothing) for c in self.frame.columns}
        return ArrayTable(((),) * groups, columns, defaultdict(lambda: [0] * groups), (np.empty((0, terms + 1)),) * groups)


MOST_INSIDE = 100_000  # cells of the columns of named keys


def within(frame: Frame, groups: Groups) -> Frame | None:
    r"""The rows of named keys, to be bounded again: people with more groups than count spend theirs on keys that are shown.

    Theorem. What is drawn from these rows costs what it costs on the first bounded table.
    Proof. The named keys are released, so the filter is public; which rows of a person are kept depends on that person's rows, the salt
    and the filter, within the same limits. QED
    None where a row is a unit, which nothing is cut of, and where the columns of the keys have too many cells together.
    """
    if frame.unit.column is None or not groups:
        return None
    found = [tuple(dict.fromkeys(group[i] for group in groups)) for i in range(len(frame.by))]
    if math.prod(map(len, found)) > MOST_INSIDE:
        return None
    return replace(frame, by=tuple(replace(column, keys=keys) for column, keys in zip(frame.by, found, strict=True)))


Open = Callable[[Frame], AbstractContextManager[Bounded]]
Answers = dict[str, Sequence[Answer]]
POOL_SHARE = Fraction(1, 100)  # of the whole delta, for a release that needs one and was given none


@dataclass(frozen=True)
class Settled:
    """Everything public about a release before it happens."""

    asked: Asked
    frames: tuple[Frame, ...]  # the query's own rows first, then one frame per statistic that counts a column
    plan: Plan
    names: tuple[str, ...]
    by: tuple[str, ...]
    context: Context
    facts: dict[str, Any]  # for the card
    labels: dict[str, str]  # every name with the label its answers are sealed under, in the order of those
    shapes: dict[str, Shape]  # by those labels
    terms: tuple[Any, ...] = ()  # epsilon, delta, weights and way it was settled with
    own_profile: bool = False  # sold by rho: its own epsilon is that of the exact profile
    rehearsed: bool = field(default=False, init=False, compare=False, repr=False)
    scans: int = field(default=0, init=False, compare=False, repr=False)  # requests of the rehearsal: a public number

    @property
    def key(self) -> bytes:
        return self.asked.key

    @cached_property
    def cost(self) -> Cost:
        return self.plan.cost.at_its_delta() if self.own_profile else self.plan.cost

    @property
    def steps(self) -> dict[str, Step]:
        return self.plan.steps

    @cached_property
    def mechanism(self) -> str:
        first = [] if self.plan.keys is None else [self.plan.keys.name]
        return " + ".join(dict.fromkeys([*first, *(step.name for step in self.steps.values())]))

    def bar_of(self, name: str) -> str:
        """The kind of bar of one statistic; a count that is drawn together with its keys has an exact one."""
        return self.steps[name].bar if name in self.steps else "exact"

    @property
    def bar(self) -> str:
        bars = list(dict.fromkeys(self.bar_of(name) for name in self.names))
        return bars[0] if len(bars) == 1 else "mixed"

    @property
    def appears(self) -> str:
        """How large a private key, or the lead of the most frequent value, must be to be shown; empty where everything is."""
        said = [] if self.plan.keys is None else [self.plan.keys.least]
        least = (step.shown_from for step in self.steps.values())
        said += [f"{size:,}" for size in least if size is not None]
        return ", ".join(said)

    @cached_property
    def certificates(self) -> Sequence[Certificate]:
        return self.plan.certificates()

    def converse(self, open_frame: Open, draw: Draw) -> tuple[Groups, Answers]:
        """Talk to the bounded tables: name private keys first, then draw one answer per statistic and group."""
        groups = self.context.keys if self.by else None
        answers: Answers = dict.fromkeys(self.names, ())
        own, *counted = self.frames
        if self.plan.keys is not None or any(part.counted is None for part in self.plan.draws):
            parts = [part for part in self.plan.draws if part.counted is None]
            with open_frame(own) as rows:
                if self.plan.keys is not None:
                    named = self.plan.keys.release(rows.ask, draw)
                    groups = named.keys
                    answers |= named.answers
                inside = within(own, groups) if self.plan.keys is not None and parts and groups else None
                again = rows.again(inside) if inside is not None and isinstance(rows, BoundsAgain) else None
                held, inside = (rows, inside) if again is None else (again, None)
                for part in parts if inside is None and groups != () else ():  # no key named: nothing to ask
                    answers |= part.release(held.ask, draw, groups)
            if inside is not None:
                with open_frame(inside) as rows:
                    for part in parts:
                        answers |= part.release(rows.ask, draw, groups)
        cells = iter(counted)
        for part in self.plan.draws:
            if part.counted is not None:
                with open_frame(next(cells)) as rows:
                    answers |= part.release(rows.ask, draw, groups)
        return groups, answers

    def rehearse(self, draw: Draw) -> None:
        """The same conversation with nobody there, written down and thrown away; what passed once passes again."""
        if not self.rehearsed:
            self.__dict__["scans"] = len(self._rehearse(draw))
            self.__dict__["rehearsed"] = True

    def _rehearse(self, draw: Draw) -> list[Any]:
        """One group stands for all, named or not. What was asked is what the real conversation asks, group by group."""
        heard: list[Any] = []
        groups: Groups = (self.context.keys or ((None,) * len(self.by),)) if self.by else None
        own, *counted = self.frames
        if self.plan.keys is not None:
            self.plan.keys.release(Nobody(own, heard).ask, draw)
        one, cells = None if groups is None else groups[:1], iter(counted)
        answers: Answers = dict.fromkeys(self.names, ())
        for part in self.plan.draws:
            rows = Nobody(own if part.counted is None else next(cells), heard)
            answers |= part.release(rows.ask, draw, one if part.counted is None else groups)
        few = min(len(cells) for cells in answers.values())  # none where keys and counts are one draw
        kept = None if groups is None else groups[: min(few, 1)]
        self._release(kept, {name: cells[: min(few, 1)] for name, cells in answers.items()}, Paid(self.cost), "", Card()).to_bytes()
        if not self.certificates:  # building them checks every parameter
            raise QueryError("SRD-110", "this price cannot be certified.", "Ask with another epsilon.")
        return heard

    def record(self, groups: Groups, answers: Answers, entry: Entry, balance: Balance) -> bytes:
        """The bytes to seal, with the card as of this release's own charge."""
        paid = Paid(self.cost, (entry.charged.loss, entry.charged.delta))
        card = claim(self, entry.id, balance)
        steps = {self.labels[name]: (step, answers[name]) for name, step in self.steps.items()}
        facts: dict[str, dict[str, Any]] = {
            "drawn besides": {label: step.said(cells) for label, (step, cells) in steps.items()},
            "moved": {label: step.moved(cells) for label, (step, cells) in steps.items()},
            "noise of bins": {label: step.noise_of_bins(cells) for label, (step, cells) in steps.items()},
        }
        for fact, found in facts.items():
            said = {label: one for label, one in found.items() if one is not None}
            card |= {fact: said} if said else {}
        return replace(self._release(groups, answers, paid, entry.id, Card(card)), split=self.split).to_bytes()

    @property
    def split(self) -> dict[str, Any]:
        """What each of several statistics would have cost alone as it was drawn, by its sealed label; its keys, if private, included."""
        if len(self.labels) == 1:
            return {}
        keys, out = self.plan.keys, {}
        for part in self.plan.draws:
            cost = whole_cost((*(() if keys is None else keys.parts), *part.parts)).to_dict()
            for name, step in part.steps.items():
                drawn = {"cost": cost, "mechanism": step.name if keys is None else f"{keys.name} + {step.name}", "bar": step.bar}
                out[self.labels[name]] = {**drawn, "shared": len(part.steps) > 1}
        rest = {label: {"cost": keys.cost.to_dict(), "mechanism": keys.name, "bar": "exact", "shared": False} for name, label in
                self.labels.items() if keys is not None and name not in self.steps}  # fmt: skip
        return {**out, **rest}

    def _release(self, groups: Groups, answers: Answers, paid: Paid, id: str, card: Card) -> Release:
        """Under canonical labels. Which columns appear is public: it follows from the steps, not from the answers."""
        sets = next((step.groups for step in self.steps.values() if isinstance(step, SetsStep)), None)
        groups = groups if sets is None or groups is None else sets[: max(len(cells) for cells in answers.values())]
        columns: dict[str, list[Any]] = {}
        ranks, raw, drawn = {}, {}, {}
        for name, label in self.labels.items():
            cells = answers[name]
            columns[label] = [cell.value for cell in cells]
            if self.bar_of(name) != "none":
                columns |= {f"{label}_low": [cell.low for cell in cells], f"{label}_high": [cell.high for cell in cells]}
            if not self.by and self.bar_of(name) not in ("none", "rank"):  # only one answer has intervals at other levels
                raw[label] = [cell.raw for cell in cells]
            step = self.steps.get(name)
            if isinstance(step, IntervalStep):
                drawn[label] = step.drawn(cells)
            elif step is not None and (far := step.rank_width()) is not None:
                ranks[label] = (-far, far)
        keys = {column: [group[i] for group in groups or ()] for i, column in enumerate(self.by)}
        names = tuple(self.labels.values())
        return Release(columns, keys, names, paid, self.mechanism, self.bar, id, card, ranks, raw, self.shapes, drawn, canonical=True)


def claim(plan: Settled, release: str, balance: Balance) -> Card:
    """The card of one release, as of its own charge: a repeat shows the same card, the present state is the table's budget."""
    rule = balance.filter.accounting
    spent = {"epsilon": balance.spent, "delta": balance.spent_delta}
    so_far = {**spent, "cap": balance.cap, "cap delta": balance.cap_delta, "accounting": rule}
    withheld = {} if plan.plan.keys is None else {"withheld": plan.plan.keys.withheld}
    said = {name: step for name, step in plan.steps.items() if step.bar != "none" or step.said_without_bar}
    about = {plan.labels[name]: step.covers for name, step in said.items() if step.covers}
    return Card(
        {
            **plan.facts,
            "release": release,
            "this release": {"epsilon": str(plan.cost.epsilon), "delta": str(plan.cost.delta), "family": plan.cost.family},
            "so far": so_far,
            "composition": "every release of this dataset, by everybody and for ever, is added up under one cap",
            "mechanism": plan.mechanism,
            "theorem": list(dict.fromkeys(certificate.theorem for certificate in plan.certificates)),
            "assumes": list(dict.fromkeys(c.assumptions for c in plan.certificates if c.assumptions)),
            "bar": plan.bar,
            **({"bar about": about} if about else {}),
            **withheld,
            "tuning": TUNING,
            "post-processing": [],
            "side channels": SIDE_CHANNELS,
            "not defended": NOT_DEFENDED,
            "odds": odds_sentence(float(plan.cost.epsilon), float(plan.cost.delta)),
        }
    )


def assumption(view: View | None, checked: str) -> dict[str, Any]:
    """What a card says of the keys a view takes for unique, and of rows that its joins leave out; nothing where there are neither."""
    if view is None:
        return {}
    paths = [f"{table.on} in {table.via.name}" for table in view.tables if table.via is not None]
    cut = {join.most for join in multiplying(view)}
    found = {"joins": f"each side of a join keeps at most {max(cut):,} rows of one person"} if cut else {}
    if not paths:
        return found
    when = f"checked by the owner on {checked}" if checked else "declared by the owner, not checked"
    words = f"{', '.join(dict.fromkeys(paths))} ({when})"
    return {**found, "unique keys": f"{words}; if two people shared one, the guarantee would not hold for them"}


def settle(
    table: Table,
    labels: Labels,
    epsilon: Fraction,
    delta: Fraction | None,
    *,
    charged: Asked,
    words: dict[str, Any],
    rows: int | None = None,
    weights: Any = None,
    way: str | None = None,
) -> Settled:
    """Split the price, build the frames, collect the card's facts: all from public facts. What no engine could read is refused here."""
    asked = labels.drawn
    unit = asked.unit_of(table.unit)
    public = replace(context(asked, unit, size=table.size, rows=rows), adds_rho=table.ledger.terms.filter.accounting == "zcdp")
    pool = table.ledger.terms.filter.cap.delta
    thrifty = asked.mechanism in THRIFTY
    needs = thrifty or public.private_keys or any(statistic.needs_delta(public) for statistic in asked.statistics.values())
    if needs and not (delta if delta is not None else pool):
        if thrifty:
            raise QueryError("SRD-102", f"mechanism {asked.mechanism!r} takes a delta, and the budget has none.", "Name another one.")
        for statistic in asked.statistics.values() if not public.private_keys else ():
            if statistic.needs_delta(public) and statistic.without_delta is not None:
                raise QueryError("SRD-102", *statistic.without_delta)
        what = "the keys of this question are private, which takes a delta, and the budget has none."
        raise QueryError("SRD-102", what, _listed(table, asked))
    offered = pool * POOL_SHARE if delta is None else delta
    plan = plan_steps(_placed(asked), epsilon, offered, public, way=asked.mechanism or way, weights=weights)
    own = frame(asked, unit, fold_ids=table.fold_ids)
    cells = (frame(asked, unit, fold_ids=table.fold_ids, counted=part.counted) for part in plan.draws if part.counted is not None)
    frames = (own, *cells)
    for wanted in frames:
        table.engine.check(wanted)
    limits = {"max_rows": unit.max_rows, "max_groups": unit.max_groups, "max_rows_per_group": unit.rows_per_group}
    who = {"unit": table.unit_word, "relation": unit.relation.value, **limits}
    who |= {"limit drawn": asked.narrowing.drawn} if asked.narrowing.drawn else {}
    said = {**words, "statistics": {name: asked.statistics[label].question() for label, name in labels.sealed.items()}}
    facts = {"dataset": table.dataset, "version": table.version, "table": table.name, "privacy unit": who, "question": said}
    shapes = {name: found for label, name in labels.sealed.items() if (found := asked.statistics[label].shape(name))}
    names = tuple(label for label in labels.canonical if label in asked.statistics)
    if not table.local:
        facts["rows"] = NOT_LOCAL
    facts |= assumption(asked.view, table.checked)
    return Settled(charged, frames, plan, names, asked.by, public, facts, labels.sealed, shapes)


def _listed(table: Table, asked: Question) -> str:
    """How to make private keys public, in the words the table was declared in."""
    read = [name for statistic in asked.statistics.values() for name in statistic.columns]
    name = next((name for name in (*asked.by, *read) if asked.columns[name].keys is None), "ward")
    if table.in_file:
        line = f'{spell(name)} = {{ type = "cat", values = ["...", "..."] }}'
        return f"Without a delta: list the public keys, [tables.{table.name}.columns] {line}. Or write delta = 1e-6 under [budget]."
    return f"Without a delta: declare the public keys with keys={{{shown(name)}: [...]}}. Or give the budget a delta such as 1e-6."


def _placed(asked: Question) -> dict[str, Any]:
    """The statistics, each counting its conditions from its own place in the frame's list."""
    place, out = 0, {}
    for label, statistic in asked.statistics.items():
        out[label] = replace(statistic, first=place) if statistic.predicates else statistic  # type: ignore[type-var]
        place += len(statistic.predicates)
    return out
