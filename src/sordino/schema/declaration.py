"""What the owner says about columns becomes Columns, or an error with the fix. Nothing is read and nothing is inferred from values.

A type is declared, or follows from the rest of the declaration: numeric bounds mean "float" (also when both bounds are whole: the fine grid
of a float loses nothing on whole numbers, while the grid of an int would cut fractions off), bounds that are dates or datetimes mean "date"
or "timestamp", keys mean "cat", or "int" or "bool" when every key is one.

How a CSV file is written, as its owner declares it. Nothing of it is guessed from the lines.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

from sordino.errors import QueryError
from sordino.schema.column import (
    LENGTH,
    SHAPES,
    Column,
    as_constant,
    as_keys,
    as_number,
    check_bounds,
    is_text,
    listed_keys,
    nearest,
    shown,
)

__all__ = ["CSV_KEYS", "KEYS", "Delimited", "complete", "declare", "delimited"]

KEYS = ("type", "bounds", "values", "keys", "resolution", "nulls", "shape", "access", "max_length")
WORDS = ("int", "float", "decimal(p,s)", "bool", "date", "timestamp", "cat", "string", "id")
LONGEST = 10_000  # characters of a text that may be declared: what a pattern costs grows with it
DECIMAL = re.compile(r"decimal\s*\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)", re.ASCII)


def declare(
    columns: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
    keys: Mapping[str, Any] | None = None,
    unit: str | None = None,
) -> dict[str, Column]:
    """The declared columns by name, in the order of first mention; the unit's column is an id."""
    said: dict[str, dict[str, Any]] = {}
    for name, facts in _items(columns, "columns"):
        said[name] = dict(_facts(name, facts))
    for word, extra in (("bounds", bounds), ("keys", keys)):
        for name, value in _items(extra, word):
            facts = said.setdefault(name, {})
            if word in facts or (word == "keys" and "values" in facts):
                _refuse(name, f"declares its {word} twice.", f"Say it in columns= or in {word}=, not in both.")
            facts[word] = value
    if unit is not None:
        facts = said.setdefault(_name(unit), {"type": "id"})
        if facts != {"type": "id"}:
            _refuse(unit, "is the privacy unit and also something else.", 'Declare it as "id" and no more, or leave it out.')
    return {name: _column(name, facts) for name, facts in said.items()}


def complete(columns: Mapping[str, Column], header: Iterable[str]) -> dict[str, Column]:
    """The columns of a source whose header is known: what nobody declared is text with private keys; what is declared must be there."""
    names = list(header)
    known = set(names)
    for name in columns:
        if name not in known:
            raise QueryError("SRD-201", f"the source has no column {shown(name)}.", nearest(name, names, "columns"), column=name)
    if len(known) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise QueryError("SRD-204", f"the source has two columns {shown(name)}.", "Give every column a name of its own.", column=name)
    return {name: columns.get(name) or Column(_name(name), "cat") for name in names}


def _items(given: Any, word: str) -> Iterable[tuple[str, Any]]:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise QueryError("SRD-204", f"{word} is {shown(given)}.", f"Give {word} as a dict from column name to declaration.")
    return [(_name(name), value) for name, value in given.items()]


def _name(name: Any) -> str:
    if not is_text(name) or not name or len(name) > 1000:
        raise QueryError("SRD-204", f"{shown(name)} is not a column name.", "Name columns by text of 1 to 1000 characters.")
    return str(name)


def _facts(name: str, given: Any) -> Mapping[str, Any]:
    if isinstance(given, str):
        return {"type": given}
    if not isinstance(given, Mapping):
        _refuse(name, f"is declared as {shown(given)}.", 'Give a type, "int", or a dict, {"type": "int", "bounds": (0, 120)}.')
    for key in given:
        if key not in KEYS:
            _refuse(name, f"has the unknown key {shown(key)}.", nearest(key, KEYS, "keys"))
    return {key: value for key, value in given.items() if value is not None}


def _column(name: str, facts: dict[str, Any]) -> Column:
    if "access" in facts:
        if facts["access"] != "never":
            _refuse(name, f"has access {shown(facts['access'])}.", 'The only access to declare is "never"; leave it out otherwise.')
        return Column(name, "never")
    private, listed = _listed(name, facts)
    kind, digits, scale = _type(name, facts, listed)
    if kind == "id" and set(facts) - {"type"}:
        _refuse(name, "is an id and declares more than that.", 'An id serves as the privacy unit only; declare "id" and no more.')
    if kind == "bool" and "bounds" in facts:
        _refuse(name, "is a bool with bounds.", "Leave the bounds out: they are false and true.")
    if kind == "cat" and ("bounds" in facts or "resolution" in facts):
        _refuse(name, "is text with bounds or a resolution.", "Declare a number type, or leave them out.")
    if listed is not None and kind not in ("cat", "int", "bool"):
        _refuse(name, f"is of type {kind} and lists keys.", "Only cat, int and bool columns have keys; bin other numbers with histogram.")
    if private and kind not in ("cat", "bool"):
        _refuse(name, f'is of type {kind} with keys = "private".', 'Declare it as "cat" to group by private keys.')
    limits = check_bounds(name, kind, facts["bounds"], digits, scale) if "bounds" in facts else None
    keys = as_keys(name, kind, listed, limits) if listed is not None else None
    if kind == "bool" and keys is None and not private:
        keys = (False, True)  # the domain of a bool is public
    shape = facts.get("shape")
    if shape is not None and shape not in SHAPES:
        _refuse(name, f"has the shape {shown(shape)}.", nearest(shape, SHAPES, "shapes"))
    column = Column(name, kind, limits, keys, scale, _resolution(name, kind, facts.get("resolution"), limits), shape=shape)
    column = replace(column, max_length=_length(name, kind, facts.get("max_length")))
    nulls = facts.get("nulls", "drop")
    if nulls != "drop":
        column = replace(column, nulls=as_constant(column, nulls))
    return _fitting(_wide(column))


def _listed(name: str, facts: dict[str, Any]) -> tuple[bool, Any]:
    keys, values = facts.get("keys"), facts.get("values")
    if keys is not None and values is not None:
        _refuse(name, "has both values and keys.", 'Public keys are values = [...]; private ones are keys = "private".')
    listed = listed_keys(values if keys is None else keys)
    if isinstance(listed, str):
        if listed == "private" and values is None:
            return True, None
        _refuse(name, f"has the keys {shown(listed)}.", 'Give a list of public keys, or "private".')
    return False, listed


def _type(name: str, facts: dict[str, Any], listed: Any) -> tuple[str, int, int]:
    word = facts.get("type")
    if word is None:
        return _derived(name, facts, listed), 38, 0
    text = word.strip().lower() if isinstance(word, str) else ""
    match = DECIMAL.fullmatch(text)
    if match:
        digits, scale = int(match[1]), int(match[2])
        if not (1 <= digits <= 38 and scale <= digits):
            _refuse(name, f"is of type {shown(word)}.", "decimal(p,s) has 1 to 38 digits, of which at most p follow the point.")
        return "decimal", digits, scale
    if text not in WORDS or text == "decimal(p,s)":
        fix = "Say how many digits: decimal(10,2)." if text.startswith("decimal") else nearest(word, WORDS, "types")
        _refuse(name, f"has the unknown type {shown(word)}.", fix)
    return ("cat" if text == "string" else text), 38, 0


def _derived(name: str, facts: dict[str, Any], listed: Any) -> str:
    bounds = facts.get("bounds")
    if bounds is None and listed is None and facts.get("keys") != "private":
        _refuse(name, "has no type.", f"Give it one of {', '.join(WORDS)}.")
    if bounds is not None:
        ends = list(bounds) if isinstance(bounds, tuple | list) else []
        if ends and all(isinstance(end, dt.datetime) for end in ends):
            return "timestamp"
        if ends and all(isinstance(end, dt.date) and not isinstance(end, dt.datetime) for end in ends):
            return "date"
        if any(isinstance(end, str) for end in ends):
            _refuse(name, f"has bounds {shown(bounds)} and no type.", f'Say what they are: columns={{{shown(name)}: "date"}}, for example.')
        return "float"
    kinds = {type(key) for key in listed if key is not None} if isinstance(listed, list | tuple) else set()
    return {frozenset({int}): "int", frozenset({bool}): "bool"}.get(frozenset(kinds), "cat")


def _resolution(name: str, kind: str, given: Any, limits: tuple[Any, Any] | None) -> Fraction | None:
    if given is None:
        return None
    if kind != "float":
        _refuse(name, f"is of type {kind} with a resolution.", "Only float columns have one; the grid of every other type is fixed.")
    step = as_number(given)
    if step is None or step <= 0:
        _refuse(name, f"has the resolution {shown(given)}.", "Give a positive number, such as 0.1.")
    low, high = (as_number(end) for end in limits or (None, None))
    if low is not None and high is not None and step > high - low:
        _refuse(name, f"has a resolution of {shown(given)}, wider than its bounds.", "Give a resolution below their distance.")
    return step


def _length(name: str, kind: str, given: Any) -> int:
    if given is None:
        return LENGTH
    if kind != "cat":
        _refuse(name, f"is of type {kind} with a max_length.", "Only text has one.")
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= LONGEST:
        _refuse(name, f"has the max_length {shown(given)}.", f"Give a whole number of characters from 1 to {LONGEST}.")
    return given


def _fitting(column: Column) -> Column:
    """Refuse a key or a stand-in for null that no value could be equal to, because values are cut before."""
    said = [*(column.keys or ()), *([] if column.nulls == "drop" else [column.nulls])] if column.type == "cat" else []
    for value in said:
        if isinstance(value, str) and len(value) > column.max_length:
            what = f"declares the value {shown(value)} of {len(value)} characters."
            _refuse(column.name, what, f"Text is read up to max_length = {column.max_length} characters; declare a larger max_length.")
    return column


def _wide(column: Column) -> Column:
    """Refuse a grid whose integers would not fit 62 bits: sums and ranks must stay exact on every engine."""
    if column.number and column.bounds is not None and column.grid().width > 2**62:
        _refuse(column.name, "has bounds too wide for its grid.", "Give narrower bounds, fewer decimals or a coarser resolution.")
    return column


def _refuse(name: str, what: str, fix: str) -> NoReturn:
    raise QueryError("SRD-204", f"column {shown(name)} {what}", fix, column=name)


ENCODINGS = ("utf-8", "latin-1", "windows-1252", "utf-16")
MARKS = ",;\t|:^~"


@dataclass(frozen=True)
class Delimited:
    """A line is a row, so that no line can change another, unless `multiline` says that a quoted field may hold line breaks.

    `delimiter` None is a comma, and a tab for .tsv. With the decimal mark "," the text 1,5 is a number and 1.5 is not. In "latin-1" every
    byte is a character, 0x80 to 0x9f are control characters; "windows-1252" has quotes and the euro sign there.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    multiline: bool = False

    def mark(self, path: str) -> str:
        """What is between two fields of this file."""
        name = path.lower().removesuffix(".gz")
        return self.delimiter or ("\t" if name.endswith(".tsv") else ",")


CSV_KEYS = tuple(Delimited.__dataclass_fields__)


def delimited(said: Mapping[str, Any]) -> Delimited:
    """The declaration from its words, or an error with the fix."""
    if not isinstance(said, Mapping):
        raise QueryError("SRD-204", f"csv is {shown(said)}.", 'Give a dict: csv={"delimiter": ";", "decimal": ","}.')
    for word in said:
        if word not in CSV_KEYS:
            raise QueryError("SRD-204", f"csv has the unknown key {shown(word)}.", nearest(word, CSV_KEYS, "keys"), key=str(word))
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
