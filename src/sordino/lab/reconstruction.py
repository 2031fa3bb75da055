"""Reconstruction: secret bits from many nearly exact sums over random subsets. Simulated people only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.lab.report import as_html, as_json, say
from sordino.pictures import Picture, bars

__all__ = ["Reconstruction", "reconstruct"]


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
