"""The sixteen lessons, in the order of the course."""

from __future__ import annotations

from sordino.course.lesson import Lesson
from sordino.course.lessons import bounds, medians, noise, promise, robust

__all__ = ["LESSONS", "lesson"]

ORDER = (
    "loss", "response", "laplace", "dimension", "delta", "composition", "median", "which", "admissible", "propose", "mode", "histogram",
    "hat", "outlier", "descent", "attacks",
)  # fmt: skip
_ALL: dict[str, Lesson] = {found.slug: found for part in (promise, noise, medians, bounds, robust) for found in part.LESSONS}
LESSONS: tuple[Lesson, ...] = tuple(_ALL[slug] for slug in ORDER)


def lesson(slug: str) -> Lesson:
    """The lesson of this name."""
    return _ALL[slug]
