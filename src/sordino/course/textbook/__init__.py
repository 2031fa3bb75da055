"""Every formula of the lecture notes as printed, against what it really guarantees: for teaching and tests, never for a release."""

from __future__ import annotations

from functools import lru_cache

from sordino.course.textbook import additive, estimator, gaussian, smooth, stability
from sordino.course.textbook.verdict import TextbookVerdict, table

__all__ = ["TextbookVerdict", "table", "verdicts"]


def verdicts() -> list[TextbookVerdict]:
    """One row per printed formula, grouped by note; print `table(verdicts())`, or one row in full with `print(row)`."""
    return list(_verdicts())


@lru_cache(maxsize=1)
def _verdicts() -> tuple[TextbookVerdict, ...]:
    found = [row for part in (additive, estimator, gaussian, smooth, stability) for row in part.rows()]
    return tuple(sorted(found, key=lambda row: row.note))
