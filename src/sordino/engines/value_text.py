"""What a declared column means to the database: its typed value and its grid integer, as plain SQL.

Every cast is a TRY_CAST or cannot fail, and every null is tested before a clamp, because greatest(least(NULL, 100), 0) is 100 and NaN
is above every number.

Group keys and unit ids: how they are compared in the database, and how they come back.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from hashlib import md5
from typing import Any

from sordino.engines.array import text_of
from sordino.errors import QueryError
from sordino.privacy.number import exact
from sordino.schema.column import EPOCH, Column, Grid
from sordino.schema.interval import LENGTHS

__all__ = [
    "FINE",
    "HASHED",
    "MASK",
    "TYPED",
    "Field",
    "Ranking",
    "bin_text",
    "check_grid",
    "date_text",
    "decimal_text",
    "grid_of",
    "id_of",
    "id_text",
    "joined",
    "key_in",
    "key_out",
    "key_text",
    "moment_text",
    "quote",
    "quoted",
    "real",
    "text_value",
    "typed",
    "unit_text",
    "whole_text",
]

FINE = 18  # decimals an exact number is read with
SHORT = 64  # bytes; numbers, flags and moments of a source have fewer
LONG = ("text", "decimal", "other")  # what may be longer
TYPED = "typed"  # the typed value itself, as a view shows it
HASHED = "hashed"  # an id in the form it is compared in: neither folded nor hashed again
MASK = 2**64 - 1
LARGEST = 9 * 10**18  # where exact integers saturate; bounds lie inside


@dataclass(frozen=True)
class Field:
    """Where a column is in the scanned source, and how it is stored there.

    That is integer, float (a DOUBLE), decimal (also whole numbers that do not fit a BIGINT), bool, date, timestamp, text or other;
    hashed is an id of an imported file, typed a value that a view has typed already.
    """

    sql: str
    stored: str

    @property
    def text(self) -> str:
        return self.sql if self.stored == "text" else f"TRY_CAST({self.sql} AS VARCHAR)"


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def real(value: float | Fraction) -> str:
    """A double as a literal no dialect reads as a decimal."""
    try:
        number = float(value)
    except OverflowError:
        number = math.copysign(math.inf, value)
    if math.isinf(number):
        return f"CAST('{'-' * (number < 0)}inf' AS DOUBLE)"
    return repr(number) if "e" in repr(number) else f"{number!r}e0"


def date_text(day: dt.date) -> str:
    return f"DATE '{day.isoformat()}'"


def moment_text(moment: dt.datetime) -> str:
    plain = (moment.astimezone(dt.UTC) if moment.tzinfo else moment).replace(tzinfo=None)
    return f"TIMESTAMP '{plain.isoformat(sep=' ')}'"


def typed(column: Column, field: Field) -> str:
    """The value as BIGINT (int, and bool as 0 or 1), DECIMAL(38,18), DOUBLE, DATE, TIMESTAMP or VARCHAR; null where it has none."""
    if field.stored == TYPED:
        return field.sql
    value = _typed(column.type, field)
    if column.type == "cat" and (field.stored in LONG or column.max_length < SHORT):
        most = column.max_length  # whoever has no more bytes than that has no more characters, and bytes need no counting
        value = f"CASE WHEN bit_length({value}) <= {8 * most} THEN {value} ELSE substr({value}, 1, {most}) END"
    elif column.type == "id":
        value = id_text(value, field)
    if column.nulls == "drop" or column.nulls is None:
        return value
    return f"COALESCE({value}, {_constant(column)})"


def _typed(kind: str, field: Field) -> str:
    x, stored = field.sql, field.stored
    if kind in ("cat", "id"):
        return text_value(field)
    if kind in ("date", "timestamp") and stored in ("integer", "float", "decimal", "bool"):
        return f"CAST(NULL AS {kind.upper()})"  # a number is no moment, whatever a database would count from it
    if kind == "date":
        return {"date": x, "timestamp": f"TRY_CAST({x} AS DATE)"}.get(stored) or f"TRY_CAST({_typed('timestamp', field)} AS DATE)"
    if kind == "timestamp":
        if stored in ("timestamp", "date"):
            return f"TRY_CAST({x} AS TIMESTAMP)"
        # read as a zoned moment, because a plain TIMESTAMP cast ignores the offset in the text; the session's zone is UTC
        return f"TRY_CAST(TRY_CAST({field.text} AS TIMESTAMPTZ) AS TIMESTAMP)"
    if kind == "float":
        wide = f"TRY_CAST({field.text if stored not in ('integer', 'float', 'bool') else x} AS DOUBLE)"
        return wide if stored in ("integer", "bool") else f"CASE WHEN NOT isnan({wide}) THEN {wide} END"
    if kind == "never":
        raise QueryError("SRD-203", "a column with access never is not readable.", "Ask about another column.")
    if kind == "decimal":
        return _exact(field)
    if stored == "bool":
        whole = f"CAST({x} AS BIGINT)"
    elif stored == "integer":
        whole = f"CASE WHEN {x} IS NOT NULL THEN greatest(-{LARGEST}, least({LARGEST}, CAST({x} AS BIGINT))) END"
    elif stored == "float":
        clamped = f"greatest({real(-LARGEST)}, least({real(LARGEST)}, CAST({x} AS DOUBLE)))"
        whole = f"CASE WHEN NOT isnan({x}) THEN CAST(floor({clamped}) AS BIGINT) END"
    else:
        number = _exact(field)
        whole = f"CASE WHEN ({number}) IS NOT NULL THEN CAST(floor(greatest(-{LARGEST}, least({LARGEST}, {number}))) AS BIGINT) END"
    if kind == "int":
        return whole
    word = f"CAST(TRY_CAST({field.text} AS BOOLEAN) AS BIGINT)" if stored in ("text", "decimal", "other") else "NULL"
    return f"COALESCE({word}, CASE WHEN {whole} <= 0 THEN 0 WHEN {whole} > 0 THEN 1 END)"


def text_value(field: Field) -> str:
    """Text of any value: a number by its integer where it is whole, a flag as true or false, text as it is; NaN has none.

    So 7 is the same key and the same person whether a source stores it as 7, as 7.0 because some other row has none, or as 7.00. The
    text '7.0' is another: nobody said that it is a number. Floats of 9e18 and beyond, and what is not whole, are as the database writes
    them, decimals without zeros at the end.
    """
    if field.stored == "float":
        whole, other = whole_text(field.sql), f"CASE WHEN NOT isnan({field.sql}) THEN {field.text} END"
        return f"CASE WHEN {whole} IS NOT NULL THEN CAST({whole} AS VARCHAR) ELSE {other} END"
    if field.stored == "decimal":
        short = f"CASE WHEN {field.text} LIKE '%.%' THEN rtrim(rtrim({field.text}, '0'), '.') ELSE {field.text} END"
        return f"CASE WHEN {field.text} <> 'NaN' THEN {short} END"
    return field.text


def id_text(value: str, field: Field) -> str:
    """An id as it is compared: a text of more than 64 bytes by two MD5 sums of it, which are longer than that and so nobody else's.

    Equal ids stay equal, different ones stay different but for a collision of MD5, and one long id costs what a short one does.
    """
    if field.stored not in LONG:
        return value
    return f"CASE WHEN bit_length({value}) <= {8 * SHORT} THEN {value} ELSE '#' || md5({value}) || md5('#' || {value}) END"


def id_of(text: str) -> str:
    """A constant in the form `id_text` gives."""
    sums = [md5(part.encode(), usedforsecurity=False).hexdigest() for part in (text, f"#{text}")]
    return text if len(text.encode()) <= SHORT else f"#{''.join(sums)}"


def joined(parts: Sequence[tuple[str, int]]) -> str:
    """Texts of at most so many characters, one after the other, cut where a text may end.

    Nothing in between is more than twice as long: whatever is put together, a row costs what its declaration says. The cut of parts that
    were cut is the cut of the whole.
    """
    pieces = list(parts)
    while True:
        groups: list[list[tuple[str, int]]] = [[]]
        for piece in pieces:
            if groups[-1] and piece[1] + sum(length for _, length in groups[-1]) > 2 * LENGTHS:
                groups.append([])
            groups[-1].append(piece)
        pieces = [_cut(group) for group in groups]
        if len(pieces) == 1:
            return pieces[0][0]


def _cut(group: Sequence[tuple[str, int]]) -> tuple[str, int]:
    text, length = " || ".join(text for text, _ in group), sum(length for _, length in group)
    return (text, length) if length <= LENGTHS else (f"substr({text}, 1, {LENGTHS})", LENGTHS)


def whole_text(x: str) -> str:
    """A double as its BIGINT, null where it is not whole or of 9e18 and beyond."""
    return f"CASE WHEN abs({x}) < {real(LARGEST)} AND {x} = floor({x}) THEN TRY_CAST({x} AS BIGINT) END"


def _exact(field: Field) -> str:
    """DECIMAL(38,18) of the number as written, so 0.29 stored as a double is 0.29; what is too large saturates instead of vanishing."""
    source = {"integer": field.sql, "bool": f"CAST({field.sql} AS BIGINT)"}.get(field.stored) or field.text
    number, size = f"TRY_CAST({source} AS DECIMAL(38,{FINE}))", f"TRY_CAST({source} AS DOUBLE)"
    most = "9" * (38 - FINE)
    above, below = f"WHEN {size} > 0 AND NOT isnan({size}) THEN {most}", f"WHEN {size} < 0 THEN -{most}"
    return f"CASE WHEN {number} IS NOT NULL THEN {number} {above} {below} END"


def _constant(column: Column) -> str:
    """The constant that stands in for null, in the column's typed form."""
    value = column.nulls
    if column.type in ("cat", "id"):
        return quoted((text_of(value) or "")[: column.max_length])
    if column.type == "bool":
        return str(int(bool(value)))
    if column.type == "date":
        return date_text(value if isinstance(value, dt.date) else dt.date.fromisoformat(str(value)))
    if column.type == "timestamp":
        return moment_text(value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(str(value)))
    number = exact(value, "nulls", "SRD-204")
    if column.type == "float":
        return real(number)
    return str(math.floor(number)) if column.type == "int" else f"CAST('{decimal_text(number)}' AS DECIMAL(38,{FINE}))"


def decimal_text(number: Fraction) -> str:
    """A fraction rounded down to 18 decimals, as text."""
    with localcontext() as context:
        context.prec = 60
        return format(Decimal(math.floor(number * 10**FINE)).scaleb(-FINE), "f")


def check_grid(column: Column) -> Grid:
    """The grid, if its integers fit what engines compute with."""
    grid = column.grid()
    limit = 2**120 if column.type == "float" else 2**62
    reach = max(abs(grid.low), abs(grid.high))
    far = column.type != "float" and reach * grid.step >= 2**62
    if grid.width >= 2**62 or reach >= limit or far or column.scale > FINE:
        what = f"the bounds of column {column.name!r} span more than an exact integer can hold."
        raise QueryError("SRD-202", what, "Declare narrower bounds, a coarser resolution or fewer decimals.")
    return grid


def grid_of(column: Column, value: str) -> str:
    """The grid integer floor(clamp(x) / step) - low of a typed value, a BIGINT from 0 to the width, null for null."""
    grid = check_grid(column)
    low, high = grid.low, grid.high
    if column.type == "bool":
        return value
    if column.type == "int" or (column.type == "decimal" and column.expression is not None):  # computed in whole steps
        integer = f"greatest({low}, least({high}, {value})) - ({low})"
    elif column.type == "date":
        first, last = (date_text(grid.value(steps)) for steps in (0, grid.width))
        integer = f"greatest({first}, least({last}, {value})) - {first}"
    elif column.type == "timestamp":
        first, last = (moment_text(EPOCH + dt.timedelta(seconds=steps)) for steps in (low, high))
        integer = f"(epoch_us(greatest({first}, least({last}, {value}))) - ({low * 10**6})) // 1000000"
    elif column.type == "decimal":
        integer = _decimal_steps(column, grid, value)
    else:
        integer = _float_steps(column, grid, value)
    return f"CASE WHEN {value} IS NOT NULL THEN {integer} END"


def _decimal_steps(column: Column, grid: Grid, value: str) -> str:
    first, last = (f"CAST('{decimal_text(bound * grid.step)}' AS DECIMAL(38,{FINE}))" for bound in (grid.low, grid.high))
    inside = f"greatest({first}, least({last}, {value}))"
    # whole part and fraction apart, because a DECIMAL(38,18) times 10^s would not fit
    part = f"CAST(floor(({inside} - floor({inside})) * {10**column.scale}) AS BIGINT)"
    return f"CAST(floor({inside}) AS BIGINT) * {10**column.scale} + {part} - ({grid.low})"


def _float_steps(column: Column, grid: Grid, value: str) -> str:
    first, last = (float(exact(bound)) for bound in column.bounds or (0, 0))
    step = float(grid.step)
    whole = "BIGINT" if max(abs(grid.low), abs(grid.high)) < 2**62 else "HUGEINT"
    steps = f"CAST(floor(greatest({real(first)}, least({real(last)}, {value})) / {real(step)}) AS {whole}) - ({grid.low})"
    if (math.floor(first / step), math.floor(last / step)) != (grid.low, grid.high):  # a bound that is no double may land one step outside
        steps = f"greatest(0, least({grid.width}, {steps}))"
    return steps if whole == "BIGINT" else f"CAST({steps} AS BIGINT)"


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
    if field.stored in (HASHED, TYPED):
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


@dataclass(frozen=True)
class Ranking:
    """H(salt, person, parts), by which rows of a person are chosen: 32 bits of the database's hash, or the MD5 of length-prefixed text."""

    salt: int
    portable: bool

    def of(self, *parts: str) -> str:
        if self.portable:
            pieces = [f"COALESCE(CAST(length(CAST({p} AS VARCHAR)) AS VARCHAR) || ':' || CAST({p} AS VARCHAR), 'N')" for p in ("u", *parts)]
            return f"md5({' || '.join([quoted(f'{len(str(self.salt))}:{self.salt}'), *pieces])})"
        salts = [f"CAST({(self.salt >> shift) & MASK} AS UBIGINT)" for shift in (0, 64)]
        # hashed twice: the inner hash only xors its parts, and an xor would favour the same groups under every salt
        # and the id as text: which rows stay may not depend on whether the source stores all ids as numbers
        return f"CAST(hash(hash({', '.join((*salts, 'CAST(u AS VARCHAR)', *parts))})) >> 32 AS UINTEGER)"
