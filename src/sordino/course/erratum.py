"""One erratum: a passage of the notes, what is right, and the computations that judge it as printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sordino.course.textbook import TextbookVerdict

__all__ = ["ORDER", "Erratum", "figure"]

ORDER = ("leaks", "false", "holds")


@dataclass(frozen=True)
class Erratum:
    """A passage in our words, the right statement, and what the lab computes about it: sums and integrals, never samples."""

    note: str
    place: str
    printed: str
    right: str
    evidence: tuple[Callable[[], TextbookVerdict], ...]

    def verdicts(self) -> tuple[TextbookVerdict, ...]:
        return tuple(judge() for judge in self.evidence)

    def verdict(self) -> str:
        """The gravest word: private data leak, the statement is false, or it holds after all."""
        return min((_word(found) for found in self.verdicts()), key=ORDER.index)


def _word(found: TextbookVerdict) -> str:
    return "holds" if found.sound else "leaks" if found.leaks else "false"


def figure(found: TextbookVerdict) -> str:
    """The measured number in a line; a slip that is no claim about privacy speaks through its example alone."""
    if not any(found.claimed):
        return f"{_word(found)}: {found.evidence}"
    at = f" at epsilon {found.claimed[0]:.4g}" if found.claimed[0] else ""
    return f"{_word(found)}{at}: {found.compares} {found.says:.4g} printed, {found.holds:.4g} found; {found.evidence}"
