"""Several questions to the same person: one budget, divided."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import as_epsilon, as_positive
from sordino.session.card import Card, odds_sentence
from sordino.survey.page import page
from sordino.survey.response import RandomizedResponse
from sordino.survey.share import Shares

__all__ = ["Questionnaire"]


@dataclass(frozen=True)
class Questionnaire:
    """Questions by name. With `of` one person's whole epsilon is divided among them by weight.

    Theorem. Answering all of them multiplies the odds between any two people's answers by at most e^(sum of the epsilons).
    Proof. Each report depends on its own answer and on chance of its own, so the ratios multiply. QED
    """

    questions: Mapping[str, RandomizedResponse]

    def __post_init__(self) -> None:
        if not self.questions or not all(isinstance(item, RandomizedResponse) for item in self.questions.values()):
            raise QueryError("SRD-103", "a questionnaire needs questions.", "Give {name: RandomizedResponse(...)}.")

    @classmethod
    def of(cls, options: Mapping[str, Any], *, epsilon: Any, weights: Mapping[str, Any] | None = None) -> Questionnaire:
        """Questions that share one epsilon: equally, or in proportion to their weights."""
        total = as_epsilon(epsilon)
        shares = {name: as_positive((weights or {}).get(name, 1), "weight") for name in options}
        unknown = sorted(set(weights or {}) - set(options))
        if unknown:
            raise QueryError("SRD-103", f"weights name {unknown[0]!r}, which is not asked.", f"Name one of {', '.join(options)}.")
        whole = sum(shares.values(), Fraction(0))
        return cls({name: RandomizedResponse(list(given), total * shares[name] / whole, name) for name, given in options.items()})

    @property
    def epsilon(self) -> Fraction:
        """What answering everything costs one person."""
        return sum((item.mechanism.epsilon for item in self.questions.values()), Fraction(0))

    def randomize(self, answers: Mapping[str, str]) -> dict[str, Any]:
        """What is sent instead of a person's answers: every question is reported, so that skipping one is not a channel."""
        if set(answers) != set(self.questions):
            raise QueryError("SRD-105", "every question needs an answer.", f"Answer {', '.join(self.questions)}.")
        return {name: item.randomize(answers[name]) for name, item in self.questions.items()}

    def estimate(self, reports: Iterable[Mapping[str, Any]], *, level: float = 0.95) -> dict[str, Shares]:
        """The shares of every question, from the reports of many people."""
        sent = list(reports)
        for report in sent:
            if not isinstance(report, Mapping) or set(report) != set(self.questions):
                raise QueryError("SRD-105", f"{report!r} is not a report of this questionnaire.", "Give what `randomize` returned.")
        return {name: item.estimate([report[name] for report in sent], level=level) for name, item in self.questions.items()}

    @property
    def card(self) -> Card:
        """The respondent's card: the whole price, then each question's."""
        odds = {**next(iter(self.questions.values())).card, "odds": odds_sentence(float(self.epsilon), 0.0)}
        parts = {name: f"epsilon {item.mechanism.epsilon}" for name, item in self.questions.items()}
        whole = {"epsilon": str(self.epsilon), "delta": "0"}
        return Card({**odds, "question": f"{len(self.questions)} questions", "options": parts, "this answer": whole})

    def html(self, path: str | os.PathLike[str], *, send_to: str | None = None, title: str = "Survey") -> None:
        """Write one page that asks, randomises in the browser and only then sends (or shows the report to copy)."""
        Path(path).write_text(page(self.questions, send_to=send_to, title=title), encoding="utf-8")
