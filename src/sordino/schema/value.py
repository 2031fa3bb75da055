"""Constants at the door: what an owner or analyst writes becomes an exact number, a day or a moment, or nothing.

The name somebody probably meant.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from numbers import Rational
from typing import Any

__all__ = ["EPOCH", "LARGEST", "as_day", "as_moment", "as_number", "is_text", "nearest", "shown"]

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
    close = get_close_matches(str(name)[:200].casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {shown(folded[close[0]])}?"
    if not names:
        return f"There are no {kind}."
    listed = ", ".join(shown(item) for item in names[:12])
    return f"Known {kind}: {listed}{', ...' if len(names) > 12 else ''}."
