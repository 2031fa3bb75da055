"""Columns a caller holds in memory, made safe to scan: a typed array where the type is certain, text where a value could surprise.

Which of the two depends on the neighbours of a value, so it must not matter: `text_of` writes a value so that the text is read as the
typed value would be. The tests compare the two for every type.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["column_array", "text_array", "text_of"]

Array = NDArray[Any]
LARGEST = 9 * 10**18  # where whole numbers saturate, as in the databases
LONG = 40  # digits of a number that is only written as large
NOTHING = ("nan", "snan", "nat", "<na>")


def column_array(values: Any, *, kind: str = "cat") -> Array:
    """A one-dimensional array a database can scan without ever raising on a value. `kind` is the declared type of the column."""
    if hasattr(values, "dtype") and hasattr(values, "isna"):
        return _series(values, kind)
    if hasattr(values, "to_list") and not isinstance(values, np.ndarray):
        values = values.to_list()
    elif hasattr(values, "to_pylist"):
        values = values.to_pylist()
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.masked_array(_numpy(values.data, kind), mask=np.ma.getmaskarray(values))
    if isinstance(values, np.ndarray):
        return _numpy(values, kind)
    return _list(values if isinstance(values, Sequence) else list(values), kind)


def _numpy(values: Array, kind: str) -> Array:
    letter = values.dtype.kind
    if letter == "f":
        return np.ascontiguousarray(values, dtype=np.float64)
    if letter in "iub":
        return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
    if letter == "M" and np.datetime_data(values.dtype) in (("s", 1), ("ms", 1), ("us", 1), ("ns", 1)):
        exact = "datetime64[us]" if np.datetime_data(values.dtype)[0] == "ns" else values.dtype.newbyteorder("=")
        return np.ascontiguousarray(values, dtype=exact)  # nanoseconds are cut here, as text is; the database would round them
    return text_array(list(values) if letter == "M" else values.tolist(), kind=kind)


def _list(values: Sequence[Any], kind: str) -> Array:
    types = set(map(type, values))
    missing = type(None) in types
    known = types - {type(None)}
    try:
        if known == {float}:
            return np.array(values, dtype=np.float64)
        if known == {int} or known == {bool}:
            plain = [0 if value is None else value for value in values] if missing else values
            array: Array = np.array(plain, dtype=np.int64 if known == {int} else np.bool_)
            return np.ma.masked_array(array, mask=[value is None for value in values]) if missing else array
    except OverflowError:
        pass
    return text_array(values, kind=kind)


def _series(values: Any, kind: str) -> Array:
    """A pandas column: its typed array with a mask, never its guess at one common type."""
    dtype = values.dtype
    if isinstance(dtype, np.dtype):
        return _numpy(values.to_numpy(), kind)
    if getattr(dtype, "tz", None) is not None:
        return _numpy(values.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), kind)
    missing = values.isna().to_numpy()
    if hasattr(dtype, "categories"):
        codes = values.cat.codes.to_numpy()
        named: Array = text_array([*values.cat.categories.tolist(), None], kind=kind)[codes]
        return named
    base = getattr(dtype, "numpy_dtype", None)
    if base is not None and base.kind in "iub":
        return np.ma.masked_array(_numpy(values.to_numpy(dtype=base, na_value=base.type(0)), kind), mask=missing)
    if base is not None and base.kind == "f":
        return _numpy(values.to_numpy(dtype=base, na_value=base.type(math.nan)), kind)
    return text_array(values.tolist(), kind=kind)


def text_array(values: Iterable[Any], *, kind: str = "cat") -> Array:
    """Text or null for every value. The mask says null and the data are all text, so no scanner has a type to guess."""
    texts = [text_of(value, kind) for value in values]
    array = np.empty(len(texts), dtype=object)
    array[:] = ["" if text is None else text for text in texts]
    return np.ma.masked_array(array, mask=np.fromiter((text is None for text in texts), dtype=bool, count=len(texts)))


def text_of(value: Any, kind: str = "cat") -> str | None:
    """The value as valid UTF-8 text, or None for null, NaN and whatever has no text at all; never raises.

    A column of a declared type reads this text as it reads the value itself from a typed column: a whole number is its integer, a flag
    is true or false (1 or 0 to numbers), a moment is its time in UTC.
    """
    if value is None:
        return None
    if type(value) is str and value.isascii():
        return value
    try:
        if isinstance(value, str):
            return str.__str__(value).encode("utf-8", "backslashreplace").decode("utf-8")
        if isinstance(value, bytes):
            return value.decode("utf-8", "backslashreplace")
        if isinstance(value, (bool, np.bool_)):
            return str(bool(value)).lower() if kind in ("cat", "id") else str(int(value))
        if isinstance(value, int | np.integer):
            return _large(int(value) > 0) if abs(int(value)) >= 10**LONG else str(int(value))  # longer ones cannot be printed
        if isinstance(value, float | np.floating):
            return _float(float(value), kind)
        if isinstance(value, complex | np.complexfloating) and value.imag == 0:  # pandas makes a column complex by one value
            return _float(float(value.real), kind)
        if isinstance(value, Decimal):
            return _decimal(value)
        if isinstance(value, np.datetime64):
            return _moment(value.astype("datetime64[us]").item()) if value.dtype >= np.dtype("M8[h]") else text_of(value.item(), kind)
        if isinstance(value, dt.datetime):
            return _moment(value)
        text = str(value)
        return None if text.lower() in NOTHING else text.encode("utf-8", "backslashreplace").decode("utf-8")
    except Exception:  # a value whose own methods fail has no text
        return None


def _large(positive: bool) -> str:
    return f"{'' if positive else '-'}1e{LONG}"


def _float(value: float, kind: str) -> str | None:
    if math.isnan(value) or kind in ("date", "timestamp"):
        return None
    if kind in ("float", "decimal"):
        return repr(value)
    if abs(value) < LARGEST and value == int(value):
        return str(int(value))
    if kind in ("int", "bool"):  # half above its floor: the number itself, if it is tiny, would be rounded to a whole one
        return f"{Decimal(math.floor(max(-LARGEST, min(LARGEST, value)))) + Decimal('0.5')}"
    return repr(value)


def _decimal(value: Decimal) -> str | None:
    if value.is_nan():
        return None
    if value.is_infinite() or value.adjusted() >= LONG:
        return _large(value > 0)
    text = format(value, "f") if value.adjusted() > -10 * LONG else "0"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _moment(value: Any) -> str | None:
    """The time in UTC as the databases write it: no zone, and no zeros at the end of a fraction."""
    if value is None or str(value).lower() in NOTHING:
        return None
    plain = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    text = dt.datetime.isoformat(plain, sep=" ", timespec="microseconds")
    return text.rstrip("0").rstrip(".") if not text.endswith(".000000") else text[:19]
