"""Bounds, keys and stand-ins for null: constants that belong to a column's type."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn

from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.value import as_day, as_moment, as_number, is_text, shown

__all__ = ["MOST_KEYS", "as_constant", "as_keys", "check_bounds"]

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


def as_keys(name: str, kind: str, given: Any, limits: tuple[Any, Any] | None) -> tuple[Any, ...]:
    """The public keys in the order declared. None stands for null, which drops out unless it is listed."""
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
