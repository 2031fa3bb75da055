"""The course: the lecture notes' formulas as printed and judged, their errata, their data sets, exhibits, and lessons one can play with.

For teaching and tests. Nothing here releases private data, and no room below may depend on it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino.course import errata, lecture, lessons, notes, textbook
    from sordino.course.exhibit import efficiency, influence, leverage, plug_in, plug_in_tables
    from sordino.course.textbook import TextbookVerdict, table, verdicts

__all__ = [
    "TextbookVerdict",
    "efficiency",
    "errata",
    "influence",
    "lecture",
    "lessons",
    "leverage",
    "notes",
    "plug_in",
    "plug_in_tables",
    "table",
    "textbook",
    "verdicts",
]

_SHELVES = ("errata", "lecture", "lessons", "notes", "textbook")
_HOMES = {
    "TextbookVerdict": "textbook",
    "efficiency": "exhibit",
    "influence": "exhibit",
    "leverage": "exhibit",
    "plug_in": "exhibit",
    "plug_in_tables": "exhibit",
    "table": "textbook",
    "verdicts": "textbook",
}


if not TYPE_CHECKING:  # a name that is not there is an error to a type checker too

    def __getattr__(name: str) -> Any:
        if name in _SHELVES:
            return import_module(f"sordino.course.{name}")
        if name in _HOMES:
            return getattr(import_module(f"sordino.course.{_HOMES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
