"""One row of the errata: what a formula of the notes promises, what it keeps, and the formula that keeps the promise.

One erratum: a passage of the notes, what is right, and the computations that judge it as printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import as_delta, as_epsilon

__all__ = ["WORDS", "Erratum", "TextbookVerdict", "as_count", "figure", "first_failure", "judge", "parameters", "table"]

MARGIN = 1e-8  # the closed forms carry an outward margin of 1e-9; a formula that is exactly tight must not look broken
ORDINARY = 3  # a formula that breaks only at larger prices is told apart from one that breaks where people use it
WORDS = ("leaks", "leaks beyond", "false", "conditional", "incomplete", "slip", "scan", "holds")  # gravest first
LARGEST = 100  # beyond this every promise of the notes is empty, and e^epsilon only loses digits
Pair = tuple[float, float]


@dataclass(frozen=True, repr=False)
class TextbookVerdict:
    """A printed formula against the computed truth.

    `claimed` and `true` are (epsilon, delta). `compares` names the number at stake, `says` and `holds` are its printed and computed
    values. A sound row shows an upper bound over all neighbours, a refuted row a value that one pair of neighbours attains.
    """

    note: str
    section: str
    printed: str
    claimed: Pair
    true: Pair
    sound: bool
    slack: float  # printed over computed promise: at least 1 where the row is sound
    corrected: str
    evidence: str
    leaks: bool  # private data leak if it is coded as printed, whatever the price
    compares: str = "delta"
    says: float = 0.0
    holds: float = 0.0
    reading: str = ""  # what a reader of the whole passage calls a row whose number alone would be unfair to it
    beyond: float = 0.0  # the epsilon from which on a formula without a range breaks, where that was searched for

    @property
    def word(self) -> str:
        """One of WORDS: what the number says, unless the passage has a condition, a slip its own proof corrects, or is garbled here."""
        if self.sound or not self.leaks:
            return "holds" if self.sound else self.reading or "false"
        return self.reading or ("leaks" if self.claimed[0] <= ORDINARY else "leaks beyond")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; an infinite number is written as text."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    def __repr__(self) -> str:
        where = f"{self.note} {self.section}"
        where = where if len(where) <= 24 else where[:23] + "…"
        return f"{where:<24} {self.compares:<11} {self.says:>9.4g} {self.holds:>9.4g} {self.slack:>9.4g}  {self.word}"

    def __str__(self) -> str:
        lines = [f"Note {self.note}, {self.section}: {self.word}"]
        for name, text in (("printed", self.printed), ("right", self.corrected), ("evidence", self.evidence)):
            lines.append(fill(f"{name}: {text}", 80, initial_indent="  ", subsequent_indent="    "))
        claimed, true = (f"({e:.4g}, {d:.3g})" for e, d in (self.claimed, self.true))
        return "\n".join([*lines, f"  claimed {claimed}, true {true}, slack {self.slack:.4g}"])


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def judge(
    where: tuple[str, str],
    printed: str,
    corrected: str,
    evidence: str,
    *,
    claimed: Pair,
    true: Pair,
    compares: str = "",
    says: float = 0.0,
    holds: float = 0.0,
    want: str = "below",
    reading: str = "",
    beyond: float = 0.0,
) -> TextbookVerdict:
    """Compare the printed with the computed number: delta, or epsilon for a pure claim, unless another number is named.

    `want` says which side keeps the promise: the truth "below" the printed number (privacy), "above" (success) or "equal" (a formula).
    """
    privacy = not compares
    if privacy:
        side = 0 if true[1] == 0 and claimed[1] == 0 else 1
        compares, says, holds = ("epsilon", "delta")[side], claimed[side], true[side]
    over, under = (holds, says) if want == "above" else (says, holds)
    slack = over / under if under else math.inf
    sound = abs(slack - 1) <= MARGIN if want == "equal" else slack >= 1 - MARGIN
    leaks = privacy and not sound and reading in ("", "leaks beyond")
    return TextbookVerdict(*where, printed, claimed, true, sound, slack, corrected, evidence, leaks, compares, says, holds, reading, beyond)


def table(rows: Iterable[TextbookVerdict]) -> str:
    """All rows in eighty columns."""
    head = f"{'note, section':<24} {'compares':<11} {'printed':>9} {'computed':>9} {'slack':>9}  verdict"
    return "\n".join([head, *(repr(row) for row in rows)])


def parameters(epsilon: Any, delta: Any = None) -> Pair:
    """Checked parameters as floats; delta is 0 for the formulas that have none."""
    e = float(as_epsilon(epsilon))
    if e > LARGEST:
        raise QueryError("SRD-101", f"epsilon is {epsilon!r}.", f"The printed formulas are judged up to epsilon {LARGEST}.")
    return e, 0.0 if delta is None else float(as_delta(delta))


def as_count(value: Any, name: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise QueryError("SRD-103", f"{name} is {value!r}.", f"Give a whole number of at least {least}.")
    return value


def first_failure(excess: Callable[[float], float], low: float, high: float) -> float:
    """The least epsilon of a scan at which a printed formula exceeds its promise, refined by bisection."""
    steps: list[float] = [low * math.exp(math.log(high / low) * i / 200) for i in range(201)]
    at = next((i for i, epsilon in enumerate(steps) if excess(epsilon) > 0), None)
    if at is None:
        return math.inf
    below, above = steps[max(at - 1, 0)], steps[at]
    for _ in range(40):
        middle = (below + above) / 2
        below, above = (below, middle) if excess(middle) > 0 else (middle, above)
    return above


Judge = Callable[[], TextbookVerdict]


@dataclass(frozen=True)
class Erratum:
    """A passage quoted in at most twelve words, the right statement, and what is computed about it: sums and integrals, never samples.

    `evidence` judges what the passage claims. `aside` shows what it does not claim and a reader might take from it; it never counts.
    """

    note: str
    place: str
    quote: str
    printed: str
    right: str
    evidence: tuple[Judge, ...]
    aside: tuple[Judge, ...] = ()

    def verdicts(self) -> tuple[TextbookVerdict, ...]:
        return tuple(judge() for judge in self.evidence)

    def asides(self) -> tuple[TextbookVerdict, ...]:
        return tuple(judge() for judge in self.aside)

    def verdict(self) -> str:
        """The gravest word of the evidence; one that leaks only beyond some epsilon says which."""
        gravest = min(self.verdicts(), key=lambda found: WORDS.index(found.word))
        return _said(gravest)


def _said(found: TextbookVerdict) -> str:
    return f"leaks beyond ε {found.beyond:.4g}" if found.word == "leaks beyond" else found.word


def figure(found: TextbookVerdict) -> str:
    """The measured number in a line; a slip that is no claim about privacy speaks through its example alone."""
    if not any(found.claimed):
        return f"{_said(found)}: {found.evidence}"
    at = f" at epsilon {found.claimed[0]:.4g}" if found.claimed[0] else ""
    return f"{_said(found)}{at}: {found.compares} {found.says:.4g} printed, {found.holds:.4g} found; {found.evidence}"
