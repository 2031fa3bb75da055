"""The audit ladder: what several releases claimed beside what was measured, one rung each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sordino.errors import QueryError
from sordino.pictures import Picture
from sordino.pictures import ladder as drawn

__all__ = ["ladder"]


def ladder(findings: Mapping[str, Any], *, title: str = "Claimed, and found by the auditor") -> Picture:
    """One rung per name for what `audit`, `one_run` or `certify` found: the claimed epsilon is a tick, the measured one a bar."""
    rungs = {str(name): _rung(name, found) for name, found in findings.items()}
    claimed, measured = ([pair[k] for pair in rungs.values()] for k in (0, 1))
    return drawn(list(rungs), claimed, measured, title=title)


def _rung(name: object, found: Any) -> tuple[float, float]:
    """The claim, and the epsilon that is needed: at least, where it was sampled; exactly, where it was integrated."""
    measured = getattr(found, "epsilon_lower", None)
    measured = getattr(found, "epsilon", None) if measured is None else measured
    try:
        return float(found.claimed[0]), float(measured)  # type: ignore[arg-type]
    except (AttributeError, TypeError, IndexError):
        raise QueryError("SRD-105", f"{name!r} is not the result of an audit.", "Give what audit or certify returned.") from None
