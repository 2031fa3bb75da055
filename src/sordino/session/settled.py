"""A question with its price settled: what will be charged, what will be asked, and how the answer is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sordino.ledger.port import Entry
from sordino.privacy.cost import Cost
from sordino.schema.frame import Frame
from sordino.session.card import NOT_DEFENDED, Card, odds_sentence
from sordino.session.release import Paid, Release
from sordino.statistics.port import Answer, Step
from sordino.summaries import Ask, Draw

__all__ = ["Settled"]


@dataclass(frozen=True)
class Settled:
    """Everything public about a release before it happens."""

    key: bytes
    frame: Frame
    steps: Mapping[tuple[str, ...], Step]  # names of the answers each step gives -> the step
    names: tuple[str, ...]
    cost: Cost
    keys_step: Any = None  # names private group keys first
    facts: Mapping[str, Any] = field(default_factory=dict)  # for the card

    @property
    def mechanism(self) -> str:
        return " + ".join(dict.fromkeys(step.name for step in self.steps.values()))

    @property
    def bar(self) -> str:
        bars = list(dict.fromkeys(step.bar for step in self.steps.values()))
        return bars[0] if len(bars) == 1 else "mixed"

    def converse(self, ask: Ask, draw: Draw) -> tuple[Sequence[tuple[Any, ...]], dict[str, Sequence[Answer]]]:
        """Talk to the bounded table: name private keys first, then one answer per statistic and group."""
        groups = self.frame.public_groups if self.keys_step is None else self.keys_step.release(ask, draw)
        answers: dict[str, Sequence[Answer]] = {}
        for names, step in self.steps.items():
            answers.update(zip(names, step.release(ask, draw, groups), strict=True))
        return groups, answers

    def record(self, outcome: tuple[Sequence[tuple[Any, ...]], dict[str, Sequence[Answer]]], entry: Entry) -> bytes:
        """The bytes to seal."""
        groups, answers = outcome
        columns: dict[str, list[Any]] = {}
        for name in self.names:
            cells = answers[name]
            columns[name] = [cell.value for cell in cells]
            for part in ("low", "high", "ranks"):
                values = [getattr(cell, part) for cell in cells]
                if any(value is not None for value in values) or (part != "ranks" and self.bar == "exact"):
                    columns[f"{name}_{part}"] = values
        keys = {column.name: [group[i] for group in groups] for i, column in enumerate(self.frame.by)}
        paid = Paid(self.cost, (entry.charged.loss, entry.charged.delta))
        return Release(columns, keys, self.names, paid, self.mechanism, self.bar, entry.id, self.card(entry)).to_bytes()

    def card(self, entry: Entry) -> Card:
        """The claim card, as of this release's own charge."""
        certificates = [certificate for step in self.steps.values() for certificate in step.certificates()]
        theorems = list(dict.fromkeys(certificate.theorem for certificate in certificates))
        price = {"epsilon": str(self.cost.epsilon), "delta": str(self.cost.delta), "family": self.cost.family}
        return Card(
            {
                **self.facts,
                "release": entry.id,
                "price": price,
                "mechanism": self.mechanism,
                "theorem": theorems,
                "assumes": list(dict.fromkeys(c.assumptions for c in certificates if c.assumptions)),
                "bar": self.bar,
                "post-processing": [],
                "side channels": "answers on a public integer grid; fixed-work exact sampling; no data-dependent error, shape or field",
                "not defended": NOT_DEFENDED,
                "odds": odds_sentence(float(self.cost.epsilon), float(self.cost.delta)),
            }
        )
