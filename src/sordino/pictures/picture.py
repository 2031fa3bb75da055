"""A finished picture, ready for a page, a notebook, a terminal or a file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path

from sordino.errors import QueryError

__all__ = ["Picture", "safe"]

# XML 1.0 has no way to write these characters, not even escaped; one of them makes the whole file unreadable.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def safe(text: object) -> str:
    """Text that may stand anywhere in SVG or HTML, between tags and inside quotes."""
    return escape(_UNWRITABLE.sub("\ufffd", str(text)), quote=True)


@dataclass(frozen=True, repr=False)
class Picture:
    """The same numbers twice: drawn, and written out for eighty columns."""

    svg: str
    text: str
    title: str = ""

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | PathLike[str]) -> Path:
        """Write .svg, .html (one page, no script) or .txt, and say where it went."""
        file = Path(path)
        kind = file.suffix.lower()
        if kind == ".svg":
            content = self.svg
        elif kind == ".txt":
            content = self.text + "\n"
        elif kind == ".html":
            head = '<meta charset="utf-8"><meta name="color-scheme" content="light dark">'
            content = f'<!doctype html>\n<html lang="en">{head}<title>{safe(self.title)}</title>\n<body>{self.svg}</body></html>\n'
        else:
            raise QueryError("SRD-103", f"a picture cannot be saved as {kind or 'a file without an ending'!r}.", "Use .svg, .html or .txt.")
        file.write_text(content, encoding="utf-8", errors="replace")
        return file
