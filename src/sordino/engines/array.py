"""Columns a caller holds in memory, made safe to scan: a typed array where the type is certain, text where a value could surprise.

The choice depends on values only in speed. What the engine sees after its declared casts is the same either way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["column_array", "text_array", "text_of"]

Array = NDArray[Any]
SECONDS = ("s", "ms", "us", "ns")
LARGEST = 9 * 10**18  # of a float that is written as an integer, as in the databases


def column_array(values: Any, *, number: bool, whole: bool = False) -> Array:
    """A one-dimensional array a database can scan without ever raising on a value.

    Where it becomes text, `number` writes flags as 0 and 1, and `whole` writes a whole number as its integer, as ids are compared.
    """
    if hasattr(values, "dtype") and hasattr(values, "isna"):
        return _series(values, number, whole)
    if hasattr(values, "to_list") and not isinstance(values, np.ndarray):
        values = values.to_list()
    elif hasattr(values, "to_pylist"):
        values = values.to_pylist()
    if isinstance(values, np.ndarray):
        return _numpy(values, number, whole)
    return _list(values if isinstance(values, Sequence) else list(values), number, whole)


def _numpy(values: Array, number: bool, whole: bool) -> Array:
    kind = values.dtype.kind
    if kind == "f":
        return np.ascontiguousarray(values, dtype=np.float32 if values.dtype.itemsize <= 4 else np.float64)
    if kind in "iub":
        return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
    if kind == "M":
        unit = np.datetime_data(values.dtype)
        if unit[1] == 1 and unit[0] in SECONDS:
            return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
        return text_array([None if np.isnat(value) else str(value) for value in values], number=number, whole=whole)
    return text_array(values.tolist(), number=number, whole=whole)


def _list(values: Sequence[Any], number: bool, whole: bool) -> Array:
    kinds = set(map(type, values))
    missing = type(None) in kinds
    known = kinds - {type(None)}
    try:
        if known == {float}:
            return np.array(values, dtype=np.float64)
        if known == {int} or known == {bool}:
            plain = [0 if value is None else value for value in values] if missing else values
            array: Array = np.array(plain, dtype=np.int64 if known == {int} else np.bool_)
            return np.ma.masked_array(array, mask=[value is None for value in values]) if missing else array
    except OverflowError:
        pass
    return text_array(values, number=number, whole=whole)


def _series(values: Any, number: bool, whole: bool) -> Array:
    """A pandas column: its typed array with a mask, never its guess at one common type."""
    dtype = values.dtype
    if isinstance(dtype, np.dtype):
        return _numpy(values.to_numpy(), number, whole)
    if getattr(dtype, "tz", None) is not None:
        return _numpy(values.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), number, whole)
    missing = values.isna().to_numpy()
    if hasattr(dtype, "categories"):
        codes = values.cat.codes.to_numpy()
        named: Array = text_array([*values.cat.categories.tolist(), None], number=number, whole=whole)[codes]
        return named
    base = getattr(dtype, "numpy_dtype", None)
    if base is not None and base.kind in "iub":
        return np.ma.masked_array(_numpy(values.to_numpy(dtype=base, na_value=base.type(0)), number, whole), mask=missing)
    if base is not None and base.kind == "f":
        return _numpy(values.to_numpy(dtype=base, na_value=base.type(math.nan)), number, whole)
    return text_array(values.tolist(), number=number, whole=whole)


def text_array(values: Iterable[Any], *, number: bool, whole: bool = False) -> Array:
    """Text or null for every value. The mask says null and the data are all text, so no scanner has a type to guess."""
    texts = [text_of(value, number=number, whole=whole) for value in values]
    array = np.empty(len(texts), dtype=object)
    array[:] = ["" if text is None else text for text in texts]
    return np.ma.masked_array(array, mask=np.fromiter((text is None for text in texts), dtype=bool, count=len(texts)))


def text_of(value: Any, *, number: bool = False, whole: bool = False) -> str | None:
    """The value as valid UTF-8 text, or None for null, NaN and whatever has no text at all; never raises."""
    if value is None:
        return None
    if type(value) is str and value.isascii():
        return value
    try:
        if isinstance(value, bytes):
            return value.decode("utf-8", "backslashreplace")
        if isinstance(value, (bool, np.bool_)):
            return str(int(value)) if number else str(bool(value)).lower()
        if isinstance(value, int) and abs(value) >= 10**40:  # Python refuses to print very long integers
            return "1e40" if value > 0 else "-1e40"
        if whole and isinstance(value, float | np.floating | Decimal) and -LARGEST < value < LARGEST and value == int(value):
            return str(int(value))
        text = str(value)
        if not isinstance(value, str) and text.lower() in ("nan", "snan", "nat", "<na>"):
            return None
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    except Exception:  # a value whose own methods fail has no text
        return None
