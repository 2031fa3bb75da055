"""A declared column: its type, public bounds and keys, and the grid its numbers live on. Nothing here is ever read from the data.

Bounds, keys and stand-ins for null: constants that belong to a column's type.

Constants at the door: what an owner or analyst writes becomes an exact number, a day or a moment, or nothing.

The name somebody probably meant.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any, NoReturn

from sordino.errors import QueryError

if TYPE_CHECKING:
    from sordino.schema.expression import Expression

__all__ = [
    "EPOCH", "LARGEST", "LENGTH", "MOST_KEYS", "NUMBERS", "SHAPES", "TYPES", "Column", "Grid", "as_constant", "as_day", "as_keys",
    "as_moment", "as_number", "check_bounds", "coarse_shift", "is_text", "listed_keys", "nearest", "shown",
]  # fmt: skip

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
LARGEST = 10**300  # beyond it a double is about to overflow, and nobody's income is there
NUMBER = re.compile(r"[+-]?(\d{1,320}(\.\d{0,320})?|\.\d{1,320})([eE][+-]?\d{1,3})?", re.ASCII)
DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?( ?(Z|[+-]\d\d(:?\d\d)?))?)?", re.ASCII)


def shown(value: Any) -> str:
    """A value for an error message: short, on one line, and safe for integers too long to print."""
    try:
        text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    except Exception:  # a number of thousands of digits, or something of the caller's that cannot be printed
        return "a number too long to print" if isinstance(value, int) else f"a {type(value).__name__} that cannot be printed"
    return text if len(text) <= 80 else text[:77] + "..."


def is_text(value: Any) -> bool:
    """Text that every engine can hold and every key can hash: no NUL, no half of a surrogate pair."""
    return isinstance(value, str) and "\x00" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)


def as_number(value: Any) -> Fraction | None:
    """The exact number somebody wrote (0.1 is one tenth), or None if it is not a number of at most 1e300 in size.

    Nothing is expanded before its size is known: Fraction("1e999999999") alone would fill the memory.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Rational):
        number = Fraction(int(value.numerator), int(value.denominator))
    elif isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > 400 or len(value.as_tuple().digits) > 700:
            return None
        number = Fraction(value)
    else:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        text = str(value).strip() if isinstance(value, float | str) or hasattr(value, "dtype") else ""
        if not NUMBER.fullmatch(text):
            return None
        number = Fraction(text)
    return number if abs(number) <= LARGEST else None


def as_day(value: Any) -> dt.date | None:
    """A calendar day from a date or from YYYY-MM-DD, or None."""
    if isinstance(value, dt.datetime):
        return None
    if isinstance(value, dt.date):
        return value
    try:
        return dt.date.fromisoformat(value) if isinstance(value, str) and DAY.fullmatch(value) else None
    except ValueError:
        return None


def as_moment(value: Any) -> dt.datetime | None:
    """A moment in UTC from a datetime, a date (its midnight) or ISO text, or None. Without a zone it is UTC already."""
    try:
        if isinstance(value, str) and MOMENT.fullmatch(value):
            value = dt.datetime.fromisoformat(value.replace(" +", "+").replace(" -", "-").replace(" Z", "Z"))
        elif isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            value = dt.datetime(value.year, value.month, value.day)
        if not isinstance(value, dt.datetime):
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None


def nearest(name: object, known: Iterable[str], kind: str = "names") -> str:
    """A hint for an unknown name: the closest known one, or the known ones, or that there are none."""
    names = [item for item in known if len(item) <= 200][:1000]
    folded = {item.casefold(): item for item in reversed(names)}
    try:
        said = str(name)[:200].casefold()
    except Exception:  # something of the caller's that cannot be printed
        said = ""
    close = get_close_matches(said, folded, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {shown(folded[close[0]])}?"
    if not names:
        return f"There are no {kind}."
    listed = ", ".join(shown(item) for item in names[:12])
    return f"Known {kind}: {listed}{', ...' if len(names) > 12 else ''}."


NUMBERS = ("int", "float", "decimal", "bool", "date", "timestamp")
TYPES = (*NUMBERS, "cat", "id", "never")
LENGTH = 256  # characters of a text, where nobody says otherwise
SHAPES = ("symmetric", "skewed", "uniform")  # what an owner may say about a distribution without looking


@dataclass(frozen=True)
class Grid:
    """How a number becomes an integer: floor(clamp(x)/step) - low, from 0 to width. `low` and `high` are the bounds in steps."""

    kind: str
    step: Fraction
    low: int
    high: int

    @property
    def width(self) -> int:
        return self.high - self.low

    def value(self, steps: int | float | Fraction) -> Any:
        """What an integer (or a fraction between integers) above the lower bound means in the column's own unit."""
        exact_value = (Fraction(steps) + self.low) * self.step
        if self.kind == "date":
            return (EPOCH + dt.timedelta(days=math.floor(exact_value))).date()
        if self.kind == "timestamp":
            return EPOCH + dt.timedelta(seconds=math.floor(exact_value))
        if self.kind in ("int", "bool") and exact_value.denominator == 1:
            return int(exact_value)
        return float(exact_value)

    def length(self, steps: int | float | Fraction) -> float:
        """A distance in steps as a number in the column's unit (days for dates, seconds for timestamps)."""
        return float(Fraction(steps) * self.step)


def coarse_shift(grid: Grid) -> int:
    """How many low bits are dropped before squaring: coarse integers x >> shift have at most 20 bits, so a square has at most 40."""
    return max(0, grid.width.bit_length() - 20)


@dataclass(frozen=True)
class Column:
    """One column of a table, as its owner declares it.

    type: int, float, decimal, bool, date, timestamp, cat, id, never. `bounds` are public and required before a number is used; `keys`
    are the public values of a group column, or None when they are private. `nulls` is "drop" or a constant that stands in for null.
    `max_length` is how many characters of a text are read; what follows is as if it were not there.
    A derived column has an `expression`; its type and bounds follow from those of the columns it is made of.
    """

    name: str
    type: str
    bounds: tuple[Any, Any] | None = None
    keys: tuple[Any, ...] | None = None
    scale: int = 0  # decimals of a decimal(p, s)
    resolution: Fraction | None = None
    nulls: Any = "drop"
    shape: str | None = None
    expression: Expression | None = None
    max_length: int = LENGTH
    hint: str = field(default="", compare=False, repr=False)  # what to write where bounds are missing, if not a declaration
    home: str = field(default="", compare=False, repr=False)  # the table of a dataset file that declares it
    reach: tuple[Any, Any] | None = field(default=None, compare=False, repr=False)  # bounds under two guesses at how many rows a person has

    @property
    def listing(self) -> str:
        """How its public keys are listed, in the words it was declared in."""
        if not self.home:
            return f"list its public values, keys={{{shown(self.name)}: [...]}}"
        kind = self.type if self.number else "cat"
        return f'list its public values, [tables.{self.home}.columns] {self.name} = {{ type = "{kind}", values = [...] }}'

    @property
    def number(self) -> bool:
        return self.type in NUMBERS

    def grid(self) -> Grid:
        """The public grid of this column; an error with the fix if it has no bounds."""
        if not self.number:
            what = f"column {shown(self.name)} is of type {self.type}, not a number."
            said = self.hint or f"Declare bounds={{{shown(self.name)}: (low, high)}}."
            declare = f" If it holds numbers: {said}" if self.type == "cat" else ""
            raise QueryError("SRD-203", what, f"Ask for counts, or group by it.{declare}", column=self.name)
        if self.type == "bool":
            return Grid("bool", Fraction(1), 0, 1)
        if self.bounds is None:
            what = f"column {shown(self.name)} has no public bounds."
            fix = self.hint or f"Declare bounds={{{shown(self.name)}: (low, high)}} from public knowledge, never from the data."
            raise QueryError("SRD-202", what, fix, column=self.name)
        low, high = (self._steps(bound) for bound in self.bounds)
        if self.type in ("date", "timestamp"):
            return Grid(self.type, Fraction(1), math.floor(low), math.floor(high))
        step = {"int": Fraction(1), "decimal": Fraction(1, 10**self.scale)}.get(self.type) or self.resolution or _fine(high - low)
        return Grid(self.type, step, math.floor(low / step), math.floor(high / step))

    def _steps(self, bound: Any) -> Fraction:
        """A bound as a number: days or seconds since 1970 for dates and timestamps."""
        if self.type == "date":
            day = as_moment(bound)
            return Fraction((day.date() - EPOCH.date()).days) if day else self._refuse(bound)
        if self.type == "timestamp":
            moment = as_moment(bound)
            return Fraction((moment - EPOCH) // dt.timedelta(seconds=1)) if moment else self._refuse(bound)
        number = as_number(bound)
        return self._refuse(bound) if number is None else number

    def _refuse(self, bound: Any) -> Fraction:
        what = f"column {shown(self.name)} is of type {self.type} and has the bound {shown(bound)}."
        raise QueryError("SRD-202", what, "Give two finite bounds of that type, such as (0, 120).", column=self.name)


def _fine(span: Fraction) -> Fraction:
    """2^floor(log2(span 2^-48)) by whole numbers alone, so that the grid is the same on every machine."""
    if span <= 0:
        raise QueryError("SRD-202", "the bounds of a column leave no room between them.", "The lower bound must be below the upper bound.")
    power = span.numerator.bit_length() - span.denominator.bit_length()
    return Fraction(2) ** (power - (span < Fraction(2) ** power) - 48)


MOST_KEYS = 1_000_000
SMALLEST = Fraction(1, 10**280)
SAY = {
    "int": "whole numbers below 2^62 in size, such as (0, 120)",
    "float": "finite numbers of at most 1e300, such as (0, 300)",
    "decimal": "finite numbers with the declared number of digits, such as (0, 99.99)",
    "date": "days such as ('2020-01-01', '2025-12-31')",
    "timestamp": "moments such as ('2020-01-01 00:00', '2025-12-31 23:59:59')",
}


def check_bounds(name: str, kind: str, given: Any, digits: int, scale: int) -> tuple[Any, Any]:
    """Two public constants of the column's type, the lower one first."""
    if kind not in SAY:
        _refuse(name, f"is of type {kind} and has bounds.", "Leave the bounds out.")
    if given == "private":
        fix = 'Ask for them where they are paid for, on a query: median(column, bounds="private").'
        _refuse(name, 'has bounds "private".', fix)
    if isinstance(given, str) or not hasattr(given, "__len__") or not hasattr(given, "__getitem__") or len(given) != 2:
        _refuse(name, f"has bounds {shown(given)}.", "Give two bounds, (low, high), from public knowledge.")
    low, high = (_plain(kind, given[place], digits, scale) for place in (0, 1))
    if low is None or high is None:
        _refuse(name, f"is of type {kind} and has the bounds {shown(given)}.", f"Give {SAY[kind]}.")
    if _order(low) >= _order(high):
        _refuse(name, f"has the bounds {shown(given)}.", "The lower bound must be below the upper bound.")
    if kind == "float" and (float(low) >= float(high) or Fraction(high) - Fraction(low) < SMALLEST):
        _refuse(name, f"has the bounds {shown(given)}, which a double cannot tell apart.", "Give bounds further apart.")
    return low, high


def listed_keys(given: Any) -> Any:
    """Ranges, sets and arrays as lists; a set in its own order if it has one, otherwise by text. Anything else is left as it is."""
    if isinstance(given, range):
        return list(given[: MOST_KEYS + 1])
    if isinstance(given, set | frozenset):
        null = [None] if None in given else []
        try:
            return [*sorted(given - {None}), *null]
        except TypeError:
            return [*sorted(given - {None}, key=str), *null]
    if not isinstance(given, list | tuple | str | bytes) and hasattr(given, "tolist"):
        return given.tolist()
    return given


def as_keys(name: str, kind: str, given: Any, limits: tuple[Any, Any] | None) -> tuple[Any, ...]:
    """The public keys in the order declared. None stands for null, which drops out unless it is listed."""
    given = listed_keys(given)
    if not isinstance(given, list | tuple) or not given:
        _refuse(name, f"has the keys {shown(given)}.", 'Give a non-empty list of public keys, or "private".')
    if len(given) > MOST_KEYS:
        _refuse(name, f"has {len(given):,} keys.", f"List at most {MOST_KEYS:,}.")
    for key in given:
        if key is not None and not _fits(kind, key):
            say = {"cat": "text (declare the column as int for whole numbers)", "int": "whole numbers"}.get(kind, "true and false")
            _refuse(name, f"is of type {kind} and has the key {shown(key)}.", f"Its keys must be {say}.")
        if key is not None and limits is not None and not limits[0] <= key <= limits[1]:
            _refuse(name, f"has the key {shown(key)} outside its bounds.", "Widen the bounds, or leave the key out.")
    seen: set[Any] = set()
    for key in given:
        if key in seen:
            _refuse(name, f"lists the key {shown(key)} twice.", "List every key once.")
        seen.add(key)
    return tuple(given)


def as_constant(column: Column, given: Any) -> Any:
    """The constant that stands in for null, of the column's type and inside its bounds or keys."""
    value: Any
    if column.type == "bool":
        value = given if isinstance(given, bool) else None
    elif column.type == "cat":
        value = given if is_text(given) else None
    else:
        value = _plain(column.type, given, 38, column.scale)
    if value is None:
        fix = f'Give "drop", or a constant of type {column.type}.'
        _refuse(column.name, f"is of type {column.type} and replaces null by {shown(given)}.", fix)
    if column.bounds is not None and not _order(column.bounds[0]) <= _order(value) <= _order(column.bounds[1]):
        _refuse(column.name, f"replaces null by {shown(given)}, outside its bounds.", 'Give a constant inside the bounds, or "drop".')
    if column.type == "cat" and column.keys is not None and value not in column.keys:
        _refuse(column.name, f"replaces null by {shown(given)}, which is none of its values.", 'List it among the values, or "drop" nulls.')
    return value


def _fits(kind: str, key: Any) -> bool:
    if kind == "cat":
        return is_text(key)
    return isinstance(key, bool) if kind == "bool" else isinstance(key, int) and not isinstance(key, bool) and abs(key) < 2**62


def _plain(kind: str, value: Any, digits: int, scale: int) -> Any:
    """A constant in the plainest type that is exact, or None if it does not belong to the column's type."""
    if kind == "date":
        return as_day(value)
    if kind == "timestamp":
        return as_moment(value)
    number = as_number(value)
    if number is None:
        return None
    if kind == "int":
        return int(number) if number.denominator == 1 and abs(number) < 2**62 else None
    if kind == "decimal" and abs(number) >= 10 ** (digits - scale):
        return None
    if number.denominator == 1 and abs(number) < 2**53:
        return int(number)
    return float(value) if isinstance(value, float) else number


def _order(value: Any) -> Any:
    """What constants of one type are compared by: the number that was written, not the nearest double."""
    number = as_number(value)
    return value if number is None else number


def _refuse(name: str, what: str, fix: str) -> NoReturn:
    raise QueryError("SRD-204", f"column {shown(name)} {what}", fix, column=name)
