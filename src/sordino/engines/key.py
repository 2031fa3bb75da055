"""Group keys and unit ids: how they are compared in the database, and how they come back."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

from sordino.engines.array import text_of
from sordino.engines.value import FINE, HASHED, Field, id_of, id_text, text_value, whole_text
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.value import EPOCH

__all__ = ["bin_text", "key_in", "key_out", "key_text", "unit_text"]

# days Python can say; a key outside is null, because a group nobody can name cannot be released
FIRST_DAY, LAST_DAY = "DATE '0001-01-01'", "DATE '9999-12-31'"


def key_text(column: Column, value: str) -> str:
    """A group key as BIGINT (numbers, days, seconds) or VARCHAR, of a typed value."""
    if column.type in ("int", "bool", "cat", "id"):
        return value
    if column.type == "date":
        return f"CASE WHEN {value} BETWEEN {FIRST_DAY} AND {LAST_DAY} THEN {value} - DATE '1970-01-01' END"
    if column.type == "timestamp":
        micros = f"epoch_us({value})"
        seconds = f"({micros} - (({micros} % 1000000) + 1000000) % 1000000) // 1000000"
        return f"CASE WHEN {value} >= {FIRST_DAY} AND {value} < {LAST_DAY} THEN {seconds} END"
    what = f"column {column.name!r} of type {column.type} cannot be a group."
    raise QueryError("SRD-203", what, "Group by an int, bool, date or cat column.")


def key_in(column: Column, key: Any) -> int | str | None:
    """A declared key in the form `key_text` has in the database."""
    if key is None:
        return None
    if column.type in ("cat", "id"):
        return id_of(text_of(key) or "") if column.type == "id" else text_of(key) or ""
    if column.type == "date":
        day = key if isinstance(key, dt.date) else dt.date.fromisoformat(str(key))
        return (day - EPOCH.date()).days
    if column.type == "timestamp":
        moment = key if isinstance(key, dt.datetime) else dt.datetime.fromisoformat(str(key))
        return math.floor(((moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)) - EPOCH).total_seconds())
    return int(key)


def key_out(column: Column, key: Any) -> Any:
    """A key from the database as the caller knows it."""
    if key is None or column.type in ("cat", "id"):
        return key
    if column.type == "bool":
        return bool(key)
    if column.type == "date":
        return EPOCH.date() + dt.timedelta(days=int(key))
    return EPOCH + dt.timedelta(seconds=int(key)) if column.type == "timestamp" else int(key)


def unit_text(column: Column, field: Field, fold: bool) -> str:
    """A unit id as `text_value` reads it, folded only if the owner said so; integers as BIGINT, which says the same and is faster.

    A column that is declared int is read as numbers whatever stores it, and what is not whole has no person.
    """
    if field.stored == "integer":
        return f"CAST({field.sql} AS BIGINT)"
    if field.stored == HASHED:
        return field.sql
    if column.type == "int":
        if field.stored in ("bool", "float"):
            return f"CAST({field.sql} AS BIGINT)" if field.stored == "bool" else whole_text(field.sql)
        number = f"TRY_CAST({field.text} AS DECIMAL(38,{FINE}))"
        return f"CASE WHEN {number} = floor({number}) THEN TRY_CAST(floor({number}) AS BIGINT) END"
    return id_text(f"lower(trim({text_value(field)}))" if fold else text_value(field), field)


def bin_text(value: str, edges: Sequence[int]) -> str:
    """The index i with edges[i] <= value < edges[i+1], the last bin closed on the right, null outside: comparisons in a balanced tree."""

    def within(first: int, last: int) -> str:
        if last - first == 1:
            return str(first)
        middle = (first + last) // 2
        return f"CASE WHEN {value} < {edges[middle]} THEN {within(first, middle)} ELSE {within(middle, last)} END"

    return f"CASE WHEN {value} BETWEEN {edges[0]} AND {edges[-1]} THEN {within(0, len(edges) - 1)} END"
