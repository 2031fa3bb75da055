"""A question with its price settled: what will be charged, what will be asked, and how the answer is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.engines.port import Bounded
from sordino.errors import QueryError
from sordino.ledger.port import Entry
from sordino.plan.binding import context, frame
from sordino.plan.query import Query as Question
from sordino.plan.recall import question, recall_key
from sordino.privacy.cost import Cost
from sordino.schema.frame import Frame
from sordino.session.card import NOT_DEFENDED, Card, odds_sentence
from sordino.session.release import Paid, Release
from sordino.statistics import Answer, Context, Plan, Step, plan_steps
from sordino.statistics.port import Groups
from sordino.summaries import Draw

if TYPE_CHECKING:
    from sordino.session.table import Table

__all__ = ["Settled", "settle"]

Open = Callable[[Frame], AbstractContextManager[Bounded]]
POOL_SHARE = Fraction(1, 100)  # of the whole delta, for a release that needs one and was given none


@dataclass(frozen=True)
class Settled:
    """Everything public about a release before it happens."""

    key: bytes
    frames: tuple[Frame, ...]  # the query's own rows first, then one frame per statistic that counts a column
    plan: Plan
    names: tuple[str, ...]
    by: tuple[str, ...]
    context: Context
    facts: dict[str, Any] = field(default_factory=dict)  # for the card

    @property
    def cost(self) -> Cost:
        return self.plan.cost

    @property
    def steps(self) -> dict[str, Step]:
        return self.plan.steps

    @property
    def mechanism(self) -> str:
        first = [] if self.plan.keys is None else [self.plan.keys.name]
        return " + ".join(dict.fromkeys([*first, *(step.name for step in self.steps.values())]))

    @property
    def bar(self) -> str:
        bars = list(dict.fromkeys(step.bar for step in self.steps.values())) or ["exact"]
        return bars[0] if len(bars) == 1 else "mixed"

    def converse(self, open_frame: Open, draw: Draw) -> tuple[Groups, dict[str, Sequence[Answer]]]:
        """Talk to the bounded tables: name private keys first, then draw one answer per statistic and group."""
        groups = self.context.keys if self.by else None
        answers: dict[str, Sequence[Answer]] = {}
        own, *counted = self.frames
        if self.plan.keys is not None or any(part.counted is None for part in self.plan.parts):
            with open_frame(own) as rows:
                if self.plan.keys is not None:
                    named = self.plan.keys.release(rows.ask, draw)
                    groups = named.keys
                    answers |= named.answers
                for part in self.plan.parts:
                    if part.counted is None:
                        answers |= part.release(rows.ask, draw, groups)
        cells = iter(counted)
        for part in self.plan.parts:
            if part.counted is not None:
                with open_frame(next(cells)) as rows:
                    answers |= part.release(rows.ask, draw, groups)
        return groups, answers

    def record(self, groups: Groups, answers: dict[str, Sequence[Answer]], entry: Entry, card: Card) -> bytes:
        """The bytes to seal. Which columns appear is public: it follows from the steps, not from the answers."""
        columns: dict[str, list[Any]] = {}
        for name in self.names:
            cells = answers[name]
            bar = self.steps[name].bar if name in self.steps else "exact"
            columns[name] = [cell.value for cell in cells]
            for part in ("low", "high") if bar not in ("rank", "none") else ("ranks",) if bar == "rank" else ():
                columns[f"{name}_{part}"] = [getattr(cell, part) for cell in cells]
        keys = {column: [group[i] for group in groups or ()] for i, column in enumerate(self.by)}
        paid = Paid(self.cost, (entry.charged.loss, entry.charged.delta))
        return Release(columns, keys, self.names, paid, self.mechanism, self.bar, entry.id, card).to_bytes()

    def card(self, entry: Entry, so_far: dict[str, Any]) -> Card:
        """The claim card, as of this release's own charge."""
        certificates = self.plan.certificates()
        price = {"epsilon": str(self.cost.epsilon), "delta": str(self.cost.delta), "family": self.cost.family}
        withheld = {} if self.plan.keys is None else {"withheld": self.plan.keys.withheld}
        return Card(
            {
                **self.facts,
                "release": entry.id,
                "this release": price,
                "so far": so_far,
                "mechanism": self.mechanism,
                "theorem": list(dict.fromkeys(certificate.theorem for certificate in certificates)),
                "assumes": list(dict.fromkeys(c.assumptions for c in certificates if c.assumptions)),
                "bar": self.bar,
                **withheld,
                "post-processing": [],
                "side channels": "answers on a public integer grid; exact sampling; no data-dependent error, shape or field",
                "not defended": NOT_DEFENDED,
                "odds": odds_sentence(float(self.cost.epsilon), float(self.cost.delta)),
            }
        )


def settle(table: Table, asked: Question, epsilon: Fraction, delta: Fraction | None) -> Settled:
    """Split the price, build the frames, collect the card's facts: all from public facts."""
    public = context(asked, table.unit, size=table.size)
    pool = table.ledger.terms.budget.delta
    needs = public.private_keys or any(statistic.needs_delta(public) for statistic in asked.statistics.values())
    if needs and not (delta if delta is not None else pool):
        what = "this question needs a delta and the budget has none."
        raise QueryError("SRD-102", what, "Declare the public keys with keys=, or give the budget a delta such as 1e-6.")
    plan = plan_steps(dict(asked.statistics), epsilon, pool * POOL_SHARE if delta is None else delta, public)
    own = frame(asked, table.unit, fold_ids=table.fold_ids)
    cells = (frame(asked, table.unit, fold_ids=table.fold_ids, counted=part.counted) for part in plan.parts if part.counted is not None)
    words = question(asked, table.unit, fold_ids=table.fold_ids)
    unit = table.unit
    who = {"unit": table.unit_word, "relation": unit.relation.value, "max_rows": unit.max_rows, "max_groups": unit.max_groups}
    facts = {"dataset": table.dataset, "version": table.version, "table": table.name, "privacy unit": who, "question": words}
    key = recall_key(table.dataset, table.version, words)
    return Settled(key, (own, *cells), plan, tuple(asked.statistics), asked.by, public, facts)
