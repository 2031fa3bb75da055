"""Delimited text as rows: a line is a row, and nothing a line holds can change another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sordino.engines.scan import Scan
from sordino.engines.value import Field, quoted
from sordino.schema.column import Column
from sordino.schema.declaration import Delimited

__all__ = ["Csv"]

LONGEST = 64 * 2**20  # bytes of a line; a longer one is no row
NEVER = "\x01\x02\x01\x03"  # between fields of a file that is read as whole lines; who writes it into a line loses the rest of that line
PLAIN = Delimited()
NUMBERS = ("int", "float", "decimal")


@dataclass(frozen=True)
class Csv:
    """A CSV file with a declared dialect, double quotes and one header line. Nothing is sniffed; everything is text.

    A line ends at a line feed, a carriage return or both. Short lines are padded with nulls, extra fields ignored, blank lines skipped,
    and a line that is not text in the declared encoding is no row. A quote that is not closed in its line is a letter like others. With
    `multiline` the database reads the file, quoted line breaks are part of a field, and one open quote takes the lines after it: rows
    are not local.
    """

    paths: tuple[str, ...]
    names: tuple[str, ...]
    written: Delimited = PLAIN
    steady: bool = False

    @property
    def mark(self) -> str:
        return self.written.mark(self.paths[0])

    @property
    def relation(self) -> str:
        columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.names)))
        # reading in parallel refuses padded lines next to quoted line breaks, and would do so depending on the data
        lenient = "quote = '\"', escape = '\"', null_padding = true, parallel = false"
        return self._read(f"delim = {quoted(self.mark)}, {lenient}, columns = {{{columns}}}")

    def _read(self, how: str) -> str:
        common = f"header = true, new_line = '\\n', max_line_size = {LONGEST}, encoding = {quoted(self.written.encoding)}"
        return f"read_csv({quoted(self.paths[0])}, auto_detect = false, strict_mode = false, ignore_errors = true, {common}, {how})"

    def lines(self, places: Sequence[int]) -> str:
        """Some fields of every line."""
        whole = self._read(f"delim = {quoted(NEVER)}, quote = '', escape = '', columns = {{'line': 'VARCHAR'}}")
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
        text = self.relation if self.written.multiline else self.lines(list(places.values()))
        return Scan(text, {column.name: Field(self._number(column, f"c{places[column.name]}"), "text") for column in columns})

    def _number(self, column: Column, x: str) -> str:
        """Text with a decimal comma as text with a point. A point in it means something else, so such a text is no number."""
        if self.written.decimal == "." or column.type not in NUMBERS:
            return x
        return f"CASE WHEN NOT contains({x}, '.') THEN replace({x}, ',', '.') END"


def _escaped(mark: str) -> str:
    """The mark inside and outside brackets of a pattern."""
    return "\\" + mark if mark in "^|" else mark


def _unquoted(part: str) -> str:
    """A field without its quotes, null where it is empty; what follows a closing quote is kept."""
    closed = '^"((?:[^"]|"")*)"'
    bare = f"replace(regexp_extract({part}, {quoted(closed)}, 1), '\"\"', '\"') || regexp_replace({part}, {quoted(closed)}, '')"
    return f"NULLIF(CASE WHEN regexp_matches({part}, {quoted(closed)}) THEN {bare} ELSE {part} END, '')"
