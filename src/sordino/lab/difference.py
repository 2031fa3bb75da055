"""Two harmless answers whose difference is one person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sordino.errors import QueryError
from sordino.lab.report import as_html, as_json, say
from sordino.pictures import Picture, bars

__all__ = ["Differencing", "differencing"]


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
