"""Several questions to the same person: one budget, divided.

The respondent's page: one HTML file that draws in the browser, shows what will leave the device, and sends only that.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sordino.errors import QueryError
from sordino.privacy.number import as_epsilon, as_positive
from sordino.session.card import Card, odds_sentence
from sordino.survey.response import RandomizedResponse, Shares

__all__ = ["Questionnaire", "page"]

STYLE = """
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.5 }
body { max-width: 40rem; margin: 2rem auto; padding: 0 1rem }
fieldset { border: 1px solid GrayText; border-radius: .5rem; margin: 1rem 0; padding: .75rem 1rem }
label { display: block; padding: .35rem 0 }
button { font: inherit; padding: .5rem 1.25rem }
output { display: block; white-space: pre-wrap; padding: .75rem; border: 1px dashed GrayText; margin: 1rem 0 }
"""

SCRIPT = """
"use strict";
const survey = JSON.parse(document.getElementById("survey").textContent);
const words = n => { const b = new BigUint64Array(n); crypto.getRandomValues(b); return b };
const coin = keep => words(1)[0] < BigInt(keep);                     // true with probability keep / 2^64, exactly
const below = n => {                                                 // 0..n-1, each equally likely: reject the uneven rest
  const size = BigInt(n), top = (1n << 64n) / size * size;
  for (;;) { const word = words(1)[0]; if (word < top) return Number(word % size) }
};
const report = (question, truth) => {
  if (question.encoding === "unary") return question.options.map((_, i) => coin(i === truth ? question.keep : question.lie) ? 1 : 0);
  if (coin(question.keep)) return question.options[truth];
  const other = below(question.options.length - 1);
  return question.options[other < truth ? other : other + 1];
};
const form = document.getElementById("form"), said = document.getElementById("said");
form.addEventListener("submit", async event => {
  event.preventDefault();
  const sent = {};
  for (const [i, question] of survey.questions.entries()) {
    const chosen = form.querySelector(`input[name="q${i}"]:checked`);
    sent[question.name] = report(question, Number(chosen.value));
  }
  form.reset();                                                      // the true answers are gone before anything is sent
  form.hidden = true;
  const text = JSON.stringify(sent);
  said.textContent = "This leaves your device, and nothing else:\\n" + text;
  if (!survey.send_to) { said.textContent += "\\nCopy it and hand it in."; return }
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: text, credentials: "omit" };
  try {
    const answer = await fetch(survey.send_to, options);
    said.textContent += answer.ok ? "\\nSent. Thank you." : "\\nIt could not be delivered. Copy it and hand it in; do not answer again.";
  } catch { said.textContent += "\\nIt could not be delivered. Copy it and hand it in; do not answer again." }
});
"""


def _pin(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page(questions: Mapping[str, RandomizedResponse], *, send_to: str | None, title: str) -> str:
    """The page as text. Its policy allows this script, this style, and the one address it may send to."""
    if send_to is not None:
        parts = urlsplit(send_to)
        if parts.scheme not in ("https", "http") or not parts.netloc or any(c in send_to for c in " ;,'\"<>"):
            raise QueryError("SRD-103", f"send_to is {send_to!r}.", "Give a web address, https://... .")
    data = {
        "send_to": send_to,
        "questions": [
            {
                "name": name,
                "options": list(item.options),
                "encoding": item.encoding,
                "keep": str(int(item.mechanism.keep * 2**64)),
                "lie": str(int(item.mechanism.lie * 2**64)) if item.encoding == "unary" else None,
            }
            for name, item in questions.items()
        ],
    }
    held = json.dumps(data).replace("<", "\\u003c")
    asked = "".join(_fieldset(i, name, item) for i, (name, item) in enumerate(questions.items()))
    goes = f"connect-src {urlsplit(send_to).scheme}://{urlsplit(send_to).netloc}" if send_to else "connect-src 'none'"
    policy = f"default-src 'none'; script-src {_pin(SCRIPT)}; style-src {_pin(STYLE)}; form-action 'none'; base-uri 'none'; {goes}"
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        '<meta name="referrer" content="no-referrer"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy, quote=True)}">'
        f"<style>{STYLE}</style></head><body><main><h1>{html.escape(title)}</h1>"
        "<p>Before anything leaves this device, chance may replace your answer. You can never be held to what is sent.</p>"
        f'<form id="form">{asked}<button type="submit">Randomise and send</button></form>'
        '<output id="said" role="status"></output></main>'
        f'<script type="application/json" id="survey">{held}</script><script>{SCRIPT}</script></body></html>\n'
    )


def _fieldset(place: int, name: str, item: RandomizedResponse) -> str:
    choices = "".join(
        f'<label><input type="radio" name="q{place}" value="{i}" required> {html.escape(option)}</label>'
        for i, option in enumerate(item.options)
    )
    price = f"epsilon {float(item.mechanism.epsilon):.4g}; what chance does: {item.card['what happens']}"
    return f"<fieldset><legend>{html.escape(item.question or name)}</legend>{choices}<small>{html.escape(price)}</small></fieldset>"


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
