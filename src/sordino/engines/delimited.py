"""Delimited text as rows: a line is a row, and nothing a line holds can change another one."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from sordino.engines.scan import Scan, written
from sordino.engines.value_text import Field, quoted
from sordino.schema.column import Column
from sordino.schema.declaration import Delimited

__all__ = ["Csv", "decoded"]

LONGEST = 64 * 2**20  # bytes of a line; a longer one is no row
NEVER = "\x01\x02\x01\x03"  # between fields of a file that is read as whole lines; who writes it into a line loses the rest of that line
PLAIN = Delimited()
NUMBERS = ("int", "float", "decimal")


@dataclass(frozen=True)
class Csv:
    """A CSV file with a declared dialect, double quotes and one header line. Nothing is sniffed; everything is text.

    A line ends at a line feed, a carriage return or both. Short lines are padded with nulls, extra fields ignored, blank lines skipped,
    and a line that is not UTF-8 is no row. A quote that is not closed in its line is a letter like others. With `multiline` the database
    reads the file, quoted line breaks are part of a field, and one open quote takes the lines after it: rows are not local.

    A file in another encoding is read from a copy in UTF-8, because the database stops at the first byte it cannot read there, and one
    person's byte would fail a release. In the copy such a byte is U+FFFD, so every line is a row and the others stay as they are. It is
    made when rows are first read, in the private folder of the engine, a megabyte of characters at a time.
    """

    paths: tuple[str, ...]
    names: tuple[str, ...]
    written: Delimited = PLAIN
    steady: bool = False

    @property
    def mark(self) -> str:
        return self.written.mark(self.paths[0])

    def records(self, path: str) -> str:
        """Every field of every record, as the database reads them."""
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.names)))
        # reading in parallel refuses padded lines next to quoted line breaks, and would do so depending on the data
        lenient = "quote = '\"', escape = '\"', null_padding = true, parallel = false"
        return _read(path, f"delim = {quoted(self.mark)}, {lenient}, columns = {{{columns}}}")

    def lines(self, path: str, places: Sequence[int]) -> str:
        """Some fields of every line."""
        whole = _read(path, f"delim = {quoted(NEVER)}, quote = '', escape = '', columns = {{'line': 'VARCHAR'}}")
        mark, any_mark = quoted(self.mark), _escaped(self.mark)
        other = f"[^{any_mark}]"
        field = f'{any_mark}("(?:[^"]|"")*"{other}*|{other}*)'
        split = f"regexp_extract_all({mark} || line, {quoted(field)}, 1)"
        parts = f"CASE WHEN contains(line, '\"') THEN {split} ELSE string_split(line, {mark}) END"
        reads = ", ".join(f"{_unquoted(f'parts[{place + 1}]')} AS c{place}" for place in places)
        return f"(SELECT {reads or '1 AS one'} FROM (SELECT {parts} AS parts FROM {whole} AS raw WHERE line <> '') AS split)"

    def prepare(self, connection: Any) -> None:
        return

    def header(self, cursor: Any) -> tuple[str, ...]:
        return self.names

    def scan(self, cursor: Any, columns: Sequence[Column]) -> Scan:
        places = {column.name: self.names.index(column.name) for column in columns}
        path = self.paths[0] if self.written.encoding == "utf-8" else self._copy(cursor)
        text = self.records(path) if self.written.multiline else self.lines(path, list(places.values()))
        return Scan(text, {column.name: Field(self._number(column, f"c{places[column.name]}"), "text") for column in columns})

    def _copy(self, cursor: Any) -> str:
        """The file in UTF-8, copied again only when it was written since."""
        folder = Path(cursor.execute("SELECT current_setting('temp_directory')").fetchall()[0][0])
        name = sha256(f"{self.paths[0]} {self.written.encoding}".encode()).hexdigest()[:16]
        stamp = "-".join(map(str, written(self.paths)[0]))
        copy = folder / f"{name}-{stamp}.utf8"
        if not copy.exists():
            for old in folder.glob(f"{name}-*.utf8"):
                old.unlink(missing_ok=True)
            number, draft = tempfile.mkstemp(dir=folder)
            try:
                with decoded(self.paths[0], self.written.encoding) as stream, open(number, "w", encoding="utf-8", newline="") as file:
                    shutil.copyfileobj(stream, file, 2**20)
                os.replace(draft, copy)
            finally:
                Path(draft).unlink(missing_ok=True)
        return str(copy)

    def _number(self, column: Column, x: str) -> str:
        """Text with a decimal comma as text with a point. A point in it means something else, so such a text is no number."""
        if self.written.decimal == "." or column.type not in NUMBERS:
            return x
        return f"CASE WHEN NOT contains({x}, '.') THEN replace({x}, ',', '.') END"


def decoded(path: str, encoding: str) -> contextlib.AbstractContextManager[IO[str]]:
    """The characters of a delimited file, packed or not. What is no character in its encoding is U+FFFD, line by line."""
    opened: Any = gzip.open if path.endswith(".gz") else open
    made: contextlib.AbstractContextManager[IO[str]] = opened(path, "rt", encoding=encoding, errors="replace", newline="")
    return made


def _read(path: str, how: str) -> str:
    common = f"header = true, new_line = '\\n', max_line_size = {LONGEST}, encoding = 'utf-8'"
    return f"read_csv({quoted(path)}, auto_detect = false, strict_mode = false, ignore_errors = true, {common}, {how})"


def _escaped(mark: str) -> str:
    """The mark inside and outside brackets of a pattern."""
    return "\\" + mark if mark in "^|" else mark


def _unquoted(part: str) -> str:
    """A field without its quotes, null where it is empty; what follows a closing quote is kept."""
    closed = '^"((?:[^"]|"")*)"'
    bare = f"replace(regexp_extract({part}, {quoted(closed)}, 1), '\"\"', '\"') || regexp_replace({part}, {quoted(closed)}, '')"
    return f"NULLIF(CASE WHEN regexp_matches({part}, {quoted(closed)}) THEN {bare} ELSE {part} END, '')"
