"""One erratum: a passage of the notes, what is right, and the computations that judge it as printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sordino.course.textbook.verdict import WORDS, TextbookVerdict

__all__ = ["ORDER", "Erratum", "figure"]

ORDER = WORDS
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
        gravest = min(self.verdicts(), key=lambda found: ORDER.index(found.word))
        return _said(gravest)


def _said(found: TextbookVerdict) -> str:
    return f"leaks beyond ε {found.beyond:.4g}" if found.word == "leaks beyond" else found.word


def figure(found: TextbookVerdict) -> str:
    """The measured number in a line; a slip that is no claim about privacy speaks through its example alone."""
    if not any(found.claimed):
        return f"{_said(found)}: {found.evidence}"
    at = f" at epsilon {found.claimed[0]:.4g}" if found.claimed[0] else ""
    return f"{_said(found)}{at}: {found.compares} {found.says:.4g} printed, {found.holds:.4g} found; {found.evidence}"
