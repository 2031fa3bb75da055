"""Reconstruction: secret bits from many nearly exact sums over random subsets. Simulated people only.

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
from sordino.lab.report import as_html, as_json, say
from sordino.pictures import Picture, bars

__all__ = ["Differencing", "Reconstruction", "differencing", "reconstruct"]


@dataclass(frozen=True, repr=False)
class Reconstruction:
    """The share of bits told right by least squares, its expected value, and how many people were told entirely right."""

    people: int
    questions: int
    noise: float
    right: float
    expected: float
    repeats: int

    def __repr__(self) -> str:
        return say(
            [
                f"reconstruction: {self.right:.1%} of {self.people} secret bits told right",
                f"  from {self.questions} sums with noise {self.noise:g}; expected {self.expected:.1%}, a coin 50%",
            ]
        )

    def plot(self) -> Picture:
        return bars(["told right", "expected", "a coin"], [self.right, self.expected, 0.5], title="Secret bits", x="share")

    def to_json(self) -> str:
        return as_json(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def reconstruct(*, people: int = 64, questions: int = 256, noise: float = 2.0, repeats: int = 20, seed: Any = None) -> Reconstruction:
    r"""Ask for sums of secret bits over random halves of the people, each with normal noise; solve by least squares and round.

    Each bit is then wrong by a normal number of variance about 4 noise^2/(Q - n), so it is told right with Phi(sqrt(Q - n)/(4 noise)).
    (Dinur and Nissim 2003 for the attack.)
    """
    for name, value, least in (("people", people, 2), ("questions", questions, people + 1), ("repeats", repeats, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise QueryError("SRD-103", f"{name} is {value!r}.", f"Give a whole number of at least {least}.")
    if not (isinstance(noise, int | float) and math.isfinite(noise) and noise > 0):
        raise QueryError("SRD-103", f"noise is {noise!r}.", "Give a positive standard deviation.")
    rng, right = np.random.default_rng(seed), []
    for _ in range(repeats):
        secret, asked = rng.integers(0, 2, people), rng.integers(0, 2, (questions, people))
        told = asked @ secret + rng.normal(0, noise, questions)
        guess, *_ = np.linalg.lstsq(asked.astype(float), told, rcond=None)
        right.append(np.mean((guess > 0.5) == secret))
    expected = math.erfc(-math.sqrt(questions - people) / (4 * noise) / math.sqrt(2)) / 2
    return Reconstruction(people, questions, float(noise), float(np.mean(right)), expected, repeats)


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
