"""The page of a dataset file: typed looks at what it says, and refusals that quote the line.

Where in a dataset file something is said, so that an error can quote the line.

Dataset files of format 1, brought forward: the same limits in the words of format 2, and not a letter more.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from sordino.errors import QueryError
from sordino.schema.column import is_text, nearest, shown

__all__ = ["Document", "format_of", "line_of", "new_lines", "to_text", "upgraded"]

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


T = TypeVar("T")
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


@dataclass(frozen=True)
class Document:
    """A file and its text. Every look names the path of keys it looks at."""

    file: Path
    text: str

    def table(self, said: dict[str, Any], path: tuple[str, ...], known: Sequence[str] | None, needed: Sequence[str] = ()) -> dict[str, Any]:
        inner: Any = said
        for word in path:
            inner = inner[word]
        if not isinstance(inner, dict):
            self.refuse(path, f"{'.'.join(path)} is {shown(inner)}.", f"Write it as a table: [{'.'.join(path)}].")
        if known is not None:
            self.known(inner, path, known, needed)
        return inner

    def known(self, inner: dict[str, Any], path: tuple[str, ...], known: Sequence[str], needed: Sequence[str]) -> None:
        title = f"[{'.'.join(path)}]" if path else "the file"
        for key in inner:
            if key not in known:
                self.refuse((*path, key), f"{title} has the unknown key {shown(key)}.", nearest(key, known, "keys"))
        for key in needed:
            if key not in inner:
                self.refuse(path, f"{title} lacks {shown(key)}.", f"Add {'[' + key + ']' if not path else key + ' = ...'}.")

    def word(self, path: tuple[str, ...], value: Any) -> str:
        if not is_text(value) or not value.strip() or len(value) > 500 or not value.isprintable():
            self.refuse(path, f"{path[-1]} is {shown(value)}.", "Give printable text of 1 to 500 characters.")
        return str(value)

    def flag(self, path: tuple[str, ...], value: Any) -> bool:
        if not isinstance(value, bool):
            self.refuse(path, f"{path[-1]} is {shown(value)}.", "Write true or false.")
        return value

    def whole(self, path: tuple[str, ...], value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**53:
            self.refuse(path, f"{path[-1]} is {shown(value)}.", "Give a whole number of at least 1.")
        return value

    def place(self, path: tuple[str, ...], value: Any, schemes: Sequence[str]) -> str:
        """A path made absolute against this file's folder, or an address of a database left as it is."""
        text = self.word(path, value)
        scheme = SCHEME.match(text)
        if scheme and scheme[1].lower() in schemes:
            return text
        if scheme and "://" in text:
            self.refuse(path, f"{path[-1]} is {shown(text)}.", f"Give a path{', or ' + '://, '.join(schemes) + '://' if schemes else ''}.")
        return str(self.file.parent / Path(text).expanduser())

    def at(self, path: tuple[str, ...], rule: Callable[[Any], T], value: Any) -> T:
        """Apply a rule of another room and say in this file's terms what it refused."""
        try:
            return rule(value)
        except QueryError as error:
            self.refuse(path, error.what, error.fix, code=error.code)

    def refuse(self, path: tuple[str, ...], what: str, fix: str, *, code: str = "SRD-204") -> NoReturn:
        line = line_of(self.text, path)
        quoted = to_text(self.text, line)
        place = f" [{quoted}]" if quoted else ""
        raise QueryError(code, f"{self.file.name}: {what}{place}", fix, path=path, line=line)


NUMBER_ENTRY = re.compile(r"^(\s*[^=]+?\s*=\s*)[0-9_]+(\s*(?:#.*)?)$")


def format_of(said: dict[str, Any]) -> Any:
    """What a file says its format is; before there was a format it said nothing."""
    head = said.get("dataset")
    return head.get("format", 1) if isinstance(head, dict) else 1


def new_limits(said: dict[str, Any]) -> dict[str, int]:
    """What `max_rows` in each of `max_groups` groups is called now; nothing where one group or one row is all there is.

    Theorem. At most m rows of a person in each of at most g groups are at most m g rows in all, at most m of them in a group.
    Proof. A person of g groups with m rows each keeps every row under either limit, and one more row is cut by both. QED
    Without groups m was the limit in all, and is m g now: such a question keeps more rows of a person and costs more.
    """
    people = said.get("privacy")
    words = people if isinstance(people, dict) else {}
    rows, groups = words.get("max_rows"), words.get("max_groups")
    counted = all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in (rows, groups))
    if not counted or groups == 1 or "max_rows_per_group" in words:
        return {}
    return {"max_rows": rows * groups, "max_rows_per_group": rows}  # type: ignore[operator,dict-item]


def new_lines(said: dict[str, Any]) -> dict[str, list[str]]:
    """The lines to write, by the table they belong to."""
    limits = [f"{word} = {number}" for word, number in new_limits(said).items()]
    return {"dataset": ["format = 2"], **({"privacy": limits} if limits else {})}


def upgraded(text: str, name: str) -> str:
    """The text of a file of format 1 with the lines of format 2 in it; comments and everything else stay.

    What was written is read again and compared: a file whose layout this does not understand is refused, with the lines to write.
    """
    said = tomllib.loads(text)
    limits = new_limits(said)
    lines = text.splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    changes: dict[int, list[str]] = {}
    for word in limits:
        at = line_of(text, ("privacy", "max_rows"))
        if at is None:
            continue
        old = lines[at - 1].rstrip("\r\n")
        entry = NUMBER_ENTRY.match(old)
        if entry is not None and word == "max_rows":
            changes[at] = [f"{entry[1]}{limits[word]}{entry[2]}{end}"]
        elif entry is not None:
            changes[at].append(f"{entry[1].replace('max_rows', word, 1)}{limits[word]}{end}")
    if (head := line_of(text, ("dataset",))) is not None:
        changes[head] = [lines[head - 1].rstrip("\r\n") + end, f"format = 2{end}"]
    made = "".join("".join(changes.get(number, [line])) for number, line in enumerate(lines, 1))
    meant = {**said, "dataset": {**said["dataset"], "format": 2}}
    meant |= {"privacy": {**said["privacy"], **limits}} if limits else {}
    try:
        if tomllib.loads(made) == meant:
            return made
    except tomllib.TOMLDecodeError:
        pass
    steps = "; ".join(f"in [{table}] {', '.join(words)}" for table, words in new_lines(said).items())
    raise QueryError("SRD-204", f"{name} is laid out in a way that cannot be changed line by line.", f"Write {steps}.")
