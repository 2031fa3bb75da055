"""Where in a dataset file something is said, so that an error can quote the line."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["line_of", "to_text"]

KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
DOTTED = rf"{KEY}(?:\s*\.\s*{KEY})*"
HEADER = re.compile(rf"\s*\[\[?\s*({DOTTED})\s*\]\]?\s*(?:#.*)?")
ENTRY = re.compile(rf"\s*({DOTTED})\s*=")


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The number of the line that says most of this path: a key, its enclosing table, or None."""
    best, line = 0, None
    here: list[str] = []
    for number, content in enumerate(text.splitlines(), 1):
        header, entry = HEADER.fullmatch(content), ENTRY.match(content)
        if header:
            here = _parts(header[1])
        said = here if header else [*here, *_parts(entry[1])] if entry else []
        if said and len(said) > best and list(path[: len(said)]) == said:
            best, line = len(said), number
    return line


def to_text(text: str, line: int | None) -> str:
    """The quoted line for an error message: `line 12: cost = { ... }`; empty if there is none."""
    lines = text.splitlines()
    if line is None or not 1 <= line <= len(lines):
        return ""
    content = "".join(letter if letter.isprintable() else " " for letter in lines[line - 1]).strip()
    return f"line {line}: {content if len(content) <= 100 else content[:97] + '...'}"


def _parts(dotted: str) -> list[str]:
    return [part[1:-1] if part[0] in "\"'" else part for part in re.findall(KEY, dotted)]
