"""The page of a dataset file: typed looks at what it says, and refusals that quote the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from sordino.errors import QueryError
from sordino.plan.location import line_of, to_text
from sordino.schema.value import is_text, nearest, shown

__all__ = ["Document"]

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
