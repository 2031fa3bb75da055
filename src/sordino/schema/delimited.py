"""How a CSV file is written, as its owner declares it. Nothing of it is guessed from the lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sordino.errors import QueryError
from sordino.schema.nearest import nearest
from sordino.schema.value import shown

__all__ = ["KEYS", "Delimited", "delimited"]

ENCODINGS = ("utf-8", "latin-1", "utf-16")
MARKS = ",;\t|:^~"


@dataclass(frozen=True)
class Delimited:
    """A line is a row, so that no line can change another, unless `multiline` says that a quoted field may hold line breaks.

    `delimiter` None is a comma, and a tab for .tsv. With the decimal mark "," the text 1,5 is a number and 1.5 is not.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    multiline: bool = False

    def mark(self, path: str) -> str:
        """What is between two fields of this file."""
        name = path.lower().removesuffix(".gz")
        return self.delimiter or ("\t" if name.endswith(".tsv") else ",")


KEYS = tuple(Delimited.__dataclass_fields__)


def delimited(said: Mapping[str, Any]) -> Delimited:
    """The declaration from its words, or an error with the fix."""
    if not isinstance(said, Mapping):
        raise QueryError("SRD-204", f"csv is {shown(said)}.", 'Give a dict: csv={"delimiter": ";", "decimal": ","}.')
    for word in said:
        if word not in KEYS:
            raise QueryError("SRD-204", f"csv has the unknown key {shown(word)}.", nearest(word, KEYS, "keys"), key=str(word))
    found = Delimited(**said)
    mark = found.delimiter
    if mark is not None and (not isinstance(mark, str) or len(mark) != 1 or mark not in MARKS):
        raise QueryError("SRD-204", f"the delimiter is {shown(mark)}.", "Use one of , ; | : ^ ~ or a tab.", key="delimiter")
    if found.encoding not in ENCODINGS:
        raise QueryError("SRD-204", f"the encoding is {shown(found.encoding)}.", f"Use one of {', '.join(ENCODINGS)}.", key="encoding")
    if found.decimal not in (".", ","):
        raise QueryError("SRD-204", f"the decimal mark is {shown(found.decimal)}.", 'Use "." or ",".', key="decimal")
    if not isinstance(found.multiline, bool):
        raise QueryError("SRD-204", f"multiline is {shown(found.multiline)}.", "Write true or false.", key="multiline")
    return found
