"""What every check of a claim has in common: a verdict, how sure it is, a picture, and an exit code for scripts."""

from __future__ import annotations

import math
from typing import Any, Protocol

from sordino.errors import QueryError
from sordino.pictures import Picture

__all__ = ["CONSISTENT", "REFUTED", "Finding", "as_claim", "as_confidence", "as_level", "exit_code"]

CONSISTENT, REFUTED = "consistent", "refuted"


class Finding(Protocol):
    """ "refuted" is a proof, up to 1 - confidence. "consistent" is none: it says that nothing was found."""

    @property
    def verdict(self) -> str: ...
    @property
    def confidence(self) -> float: ...
    @property
    def exit_code(self) -> int: ...
    def plot(self) -> Picture: ...
    def to_json(self) -> str: ...


def exit_code(verdict: str) -> int:
    """0 for a claim that stands, 1 for one that fell: what a script returns to its caller."""
    return int(verdict == REFUTED)


def as_claim(claimed: Any) -> tuple[float, float]:
    """epsilon, or (epsilon, delta)."""
    try:
        epsilon, delta = map(float, claimed if isinstance(claimed, tuple | list) else (claimed, 0.0))
    except (TypeError, ValueError, OverflowError):
        raise QueryError("SRD-103", f"claimed is {claimed!r}.", "Give epsilon, or (epsilon, delta).") from None
    if not 0 <= epsilon <= 1e6:
        raise QueryError("SRD-101", f"the claimed epsilon is {epsilon!r}.", "Give a number from 0 to 1e6.")
    if not 0 <= delta < 1:
        raise QueryError("SRD-102", f"the claimed delta is {delta!r}.", "Give a number from 0 to below 1.")
    return epsilon, delta


def as_confidence(confidence: Any) -> float:
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise QueryError("SRD-103", f"confidence is {confidence!r}.", "Give a number between 0 and 1, for example 0.99999.")
    return float(confidence)


def as_level(confidence: float) -> str:
    """How sure, in words that stay readable close to one."""
    return "certain" if confidence == 1 else f"confidence 1 - {1 - confidence:.2g}"


def grown(epsilon: float) -> float:
    """e^epsilon, kept finite."""
    return math.exp(min(epsilon, 700.0))


def plain(value: Any) -> Any:
    """JSON knows no infinity, no fractions and no tuples."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
