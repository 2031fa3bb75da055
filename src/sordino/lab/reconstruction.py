"""Reconstruction: secret bits from many nearly exact sums, random ones or those you plan to release. Simulated people only.

Two harmless answers whose difference is one person.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.lab.finding import lower, upper
from sordino.lab.report import as_html, as_json, say
from sordino.pictures import Picture, bars

__all__ = ["Differencing", "Reconstruction", "differencing", "reconstruct"]


METHODS = ("least squares", "linear program")
LAWS = ("normal", "laplace", "none")


@dataclass(frozen=True, repr=False)
class Reconstruction:
    """The share of bits told right, between `low` and `high` with 95%, and what a formula expects where there is one."""

    people: int
    questions: int
    noise: float
    right: float
    expected: float | None
    repeats: int
    low: float = 0.0
    high: float = 1.0
    method: str = "least squares"

    def __repr__(self) -> str:
        sure = "" if self.expected is not None else f" [{self.low:.1%}, {self.high:.1%}]"
        how = f"expected {self.expected:.1%}" if self.expected is not None else f"by {self.method}"
        return say(
            [
                f"reconstruction: {self.right:.1%} of {self.people} secret bits told right{sure}",
                f"  from {self.questions} sums with noise {self.noise:g}; {how}, a coin 50%",
            ]
        )

    def plot(self) -> Picture:
        shown = {"told right": self.right, **({} if self.expected is None else {"expected": self.expected}), "a coin": 0.5}
        return bars(list(shown), list(shown.values()), title="Secret bits", x="share")

    def to_json(self) -> str:
        return as_json(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def reconstruct(
    queries: Any = None, *, people: int = 64, questions: int = 256, noise: Any = 2.0, law: str = "normal",
    method: str = "least squares", repeats: int = 20, seed: Any = None,
) -> Reconstruction:  # fmt: skip
    r"""Ask for sums of secret bits over sets of people, each with noise, solve, and round. Bits are drawn anew every time.

    `queries` are the sums you plan to release: a matrix of a row for each, 1 where a person counts; without them random halves of the
    people are asked. `noise` is the standard deviation of every sum, or one for each: what the price list says; `law` its shape. Solved
    by least squares, or by the linear program with the least sum of deviations over bits between 0 and 1, which needs fewer questions.

    By least squares on random halves each bit is wrong by a normal number of variance about 4 noise^2/(Q - n), so it is told right with
    Phi(sqrt(Q - n)/(4 noise)). (Dinur and Nissim 2003; Dwork, McSherry and Talwar 2007 for the linear program.)
    """
    planned = None if queries is None else np.asarray(queries, float)
    if planned is not None:
        if planned.ndim != 2 or not planned.size or not np.isin(planned, (0, 1)).all():
            raise QueryError("SRD-105", "the queries are no matrix of 0 and 1.", "Give a row for each sum, 1 where a person counts.")
        questions, people = planned.shape
    least = people + 1 if planned is None and method == METHODS[0] else 1
    for name, value, fewest in (("people", people, 2), ("questions", questions, least), ("repeats", repeats, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < fewest:
            raise QueryError("SRD-103", f"{name} is {value!r}.", f"Give a whole number of at least {fewest}.")
    for word, given, known in (("method", method, METHODS), ("law", law, LAWS)):
        if given not in known:
            raise QueryError("SRD-106", f"{word} {given!r} is unknown.", f"Use one of {', '.join(known)}.")
    scale = _deviations(noise, questions)
    rng, right = np.random.default_rng(seed), 0
    for _ in range(repeats):
        secret = rng.integers(0, 2, people)
        asked = rng.integers(0, 2, (questions, people)).astype(float) if planned is None else planned
        told = asked @ secret + scale * _drawn(rng, law, questions)
        right += int(((_solved(asked, told, scale, method) > 0.5) == secret).sum())
    trials, alpha = repeats * people, 0.025
    formula = planned is None and method == METHODS[0] and law == "normal" and np.ndim(noise) == 0
    expected = math.erfc(-math.sqrt(questions - people) / (4 * float(noise)) / math.sqrt(2)) / 2 if formula else None
    ends = float(lower(right, trials, alpha)), float(upper(right, trials, alpha))
    return Reconstruction(people, questions, float(np.mean(scale)), right / trials, expected, repeats, *ends, method)


def _deviations(noise: Any, questions: int) -> Any:
    """One positive standard deviation for each sum."""
    try:
        scale = np.broadcast_to(np.asarray(noise, float), (questions,))
    except (TypeError, ValueError):
        scale = np.array([math.nan])
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise QueryError("SRD-103", f"noise is {noise!r}.", "Give a positive standard deviation, or one for each sum.")
    return scale


def _drawn(rng: np.random.Generator, law: str, size: int) -> Any:
    """Noise of standard deviation 1."""
    if law == "none":
        return np.zeros(size)
    return rng.normal(size=size) if law == "normal" else rng.laplace(scale=1 / math.sqrt(2), size=size)


def _solved(asked: Any, told: Any, scale: Any, method: str) -> Any:
    """Bits as numbers, every sum weighed by its noise."""
    if method == METHODS[0]:
        return np.linalg.lstsq(asked / scale[:, None], told / scale, rcond=None)[0]
    from scipy.optimize import linprog

    many, people = asked.shape
    weighed = asked / scale[:, None]
    goal = np.concatenate([np.zeros(people), np.ones(many)])
    apart = -np.eye(many)
    found = linprog(
        goal,
        A_ub=np.block([[weighed, apart], [-weighed, apart]]),
        b_ub=np.concatenate([told, -told]) / np.concatenate([scale, scale]),
        bounds=[(0, 1)] * people + [(0, None)] * many,
        method="highs",
    )
    return found.x[:people] if found.x is not None else np.full(people, 0.5)


@dataclass(frozen=True, repr=False)
class Differencing:
    """What each pair of answers said about the person, and how often the pairs agreed."""

    person: str
    values: tuple[float, ...]
    differences: tuple[float, ...]
    guesses: tuple[float, ...]
    truth: float | None

    @property
    def value(self) -> float:
        """The guess most pairs make."""
        return Counter(self.guesses).most_common(1)[0][0]

    @property
    def agreement(self) -> float:
        """The share of pairs that make it."""
        return self.guesses.count(self.value) / len(self.guesses)

    @property
    def right(self) -> float | None:
        """The share of pairs whose guess is the truth, when it was given."""
        return None if self.truth is None else self.guesses.count(self.truth) / len(self.guesses)

    def __repr__(self) -> str:
        out = [f"differencing {self.person}: {self.agreement:.1%} of {len(self.guesses):,} pairs say {self.value:g}"]
        if self.right is not None:
            out.append(f"  the truth is {self.truth:g}: {self.right:.1%} of the pairs are right, a blind guess {1 / len(self.values):.1%}")
        low, high = min(self.differences), max(self.differences)
        out.append(f"  differences from {low:,.6g} to {high:,.6g}")
        if len(self.differences) > 1 and low == high and low not in self.values:
            out.append("  the same noise every time: further pairs add nothing")
        return say(out)

    def plot(self) -> Picture:
        shares = [self.guesses.count(value) / len(self.guesses) for value in self.values]
        return bars([f"{value:g}" for value in self.values], shares, title=f"What the pairs say about {self.person}", x="share of pairs")

    def to_json(self) -> str:
        return as_json(self, value=self.value, agreement=self.agreement, right=self.right)

    def _repr_html_(self) -> str:
        return as_html(self)


def differencing(
    ask: Callable[[Any], Any], person: Any, *, values: Sequence[float] = (0, 1), pairs: int = 100, truth: float | None = None
) -> Differencing:
    r"""Ask about everyone, ask again about everyone but the person, subtract, and guess the nearest possible value.

    `ask(None)` answers for all, `ask(person)` for all but this person. Every pair should be answered afresh: an engine that repeats its
    answers is measured with pairs=1.

    Theorem. If one pair is epsilon-DP for the person and there are two values, one of them is guessed right with probability at most
    e^epsilon / (1 + e^epsilon).
    Proof. Let p and q be the chances of a right guess under either value. Then p <= e^epsilon (1 - q) and q <= e^epsilon (1 - p); the
    smaller of the two, r, has r <= e^epsilon (1 - r). QED
    """
    if isinstance(pairs, bool) or not isinstance(pairs, int) or pairs < 1 or not values:
        raise QueryError("SRD-103", f"pairs is {pairs!r}, values are {values!r}.", "Give at least one pair and one possible value.")
    if person is None:
        raise QueryError("SRD-103", "the person is None, which stands for nobody.", "Give what `ask` leaves out.")
    differences = [float(ask(None)) - float(ask(person)) for _ in range(pairs)]
    possible = [float(value) for value in values]
    guesses = [min(possible, key=lambda value: abs(value - difference)) for difference in differences]
    return Differencing(str(person), tuple(possible), tuple(differences), tuple(guesses), truth)
