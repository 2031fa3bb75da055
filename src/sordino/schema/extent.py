"""Types and public ranges, and how each operation moves them: interval arithmetic, never a look at data.

Operations on single numbers, exactly as every engine performs them: whole steps of a power of ten, or one rounded double at a time.

Days and moments that are moved by an interval, and the clock of a time zone: how both move public ranges.

A declared timestamp is a moment in UTC. `AT TIME ZONE 'Europe/Zurich'` is what a clock there shows at that moment, whatever database is
asked: the hours at which its clocks change are looked up here, once, between the column's public bounds, and are constants from then on.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

__all__ = [
    "EXACT", "HUGE", "LEAST_POWER", "LOG_GRID", "STEPS", "TINY", "Extent", "Refuse", "arithmetic", "as_double", "cast", "changes",
    "half_away", "half_even", "hull", "later", "local", "logarithm", "moved", "number", "part", "power", "power_step", "product",
    "quotient", "root", "rounded", "rounded_steps", "sized", "start_of", "truncated", "unified", "zone_of", "zoned",
]  # fmt: skip

TINY, HUGE = 1e-150, 1e150  # between them no product and no quotient of two doubles overflows or underflows, which some engines refuse


def as_double(steps: int, scale: int) -> float:
    """steps / 10^scale, as a cast to double and one division; 10^18 is a double."""
    return float(steps) / 10.0**scale


def flushed(x: float) -> float:
    return 0.0 if abs(x) < TINY else x


def product(x: float, y: float) -> float:
    return flushed(x) * flushed(y)


def quotient(x: float, y: float) -> float | None:
    """None where the divisor is zero, or nothing but rounding."""
    return None if flushed(y) == 0 else flushed(x) / flushed(y)


def half_away(x: float, digits: int) -> int:
    """x in steps of 10^-digits, ties away from zero: what ROUND does, and a cast to a decimal."""
    size = abs(x * 10.0**digits)
    steps = math.floor(size) + (size - math.floor(size) >= 0.5)
    return -steps if x < 0 else steps


def half_even(x: float) -> int:
    """The nearest whole number, ties to even: what a cast of a double does."""
    return round(x)


def rounded_steps(steps: int, unit: int, word: str) -> int:
    """steps / unit as a whole number: floor, ceil, or round with ties away from zero. `unit` is a power of ten."""
    if word == "floor":
        return steps // unit
    if word == "ceil":
        return -(-steps // unit)
    nearest = (abs(steps) + unit // 2) // unit
    return -nearest if steps < 0 else nearest


Refuse = Callable[[str, str, str], NoReturn]  # code, what is wrong with the expression, what to do
EXACT = ("int", "decimal", "bool")
LOG_GRID = 2**30
CYCLES = {"quarter": (1, 4), "month": (1, 12), "day": (1, 31), "dow": (0, 6), "isodow": (1, 7)}
CLOCK = {"hour": (0, 23), "minute": (0, 59), "second": (0, 59)}


@dataclass(frozen=True)
class Extent:
    r"""A type and the least and largest value: whole steps of 10^-scale for int, decimal and bool, doubles for float, days, moments.

    Theorem. Every value an engine computes for an expression that is not null lies in its extent.
    Proof. Leaves are clamped into theirs. Sums, differences, products and quotients are monotone in each argument while the others stand
    still (a quotient on either side of zero, which gives null), rounding to doubles or to whole numbers is monotone, so the extremes are at
    corners; and the corners are computed here by the very operations of the engines, one rounding at a time. The rest chooses among
    values of its parts. QED
    What leaves an engine is clamped once more, so privacy does not rest on this theorem; only the size of the noise does.
    """

    type: str
    low: Any = None
    high: Any = None
    scale: int = 0

    @property
    def exact(self) -> bool:
        return self.type in EXACT

    def steps(self, scale: int) -> tuple[int, int]:
        """Both ends in steps of 10^-scale, finer than its own."""
        return self.low * 10 ** (scale - self.scale), self.high * 10 ** (scale - self.scale)

    def doubles(self) -> tuple[float, float]:
        return (as_double(self.low, self.scale), as_double(self.high, self.scale)) if self.exact else (self.low, self.high)

    def ends(self, kind: str, scale: int) -> tuple[Any, Any]:
        """Both ends as values of a type it can become."""
        if kind == "float":
            return self.doubles()
        return self.steps(scale) if kind in EXACT else (self.low, self.high)


def unified(found: Sequence[Extent], refuse: Refuse) -> tuple[str, int]:
    """The one type (and scale) that values of several kinds have in common; null fits every type."""
    kinds = {item.type for item in found} - {"null"}
    if not kinds:
        refuse("SRD-203", "is nothing but NULL.", "Give it a value.")
    if len(kinds) == 1 or kinds <= {"int", "decimal"}:
        return max(kinds, key=lambda kind: kind == "decimal"), max(item.scale for item in found)
    if not kinds <= {"int", "decimal", "float"}:
        refuse("SRD-203", f"mixes {' and '.join(sorted(kinds))}.", "Use values of one type, or CAST them to one.")
    return "float", 0


def hull(found: Sequence[Extent], refuse: Refuse) -> Extent:
    kind, scale = unified(found, refuse)
    if kind == "cat":
        return Extent("cat")
    ends = [item.ends(kind, scale) for item in found if item.type != "null"]
    return Extent(kind, min(low for low, _ in ends), max(high for _, high in ends), scale)


def number(item: Extent, refuse: Refuse) -> Extent:
    if item.type not in ("int", "decimal", "float"):
        word = {"null": "NULL", "cat": "text"}.get(item.type, f"a {item.type}")
        refuse(
            "SRD-203",
            f"computes with {word}.",
            "Use numbers; CAST a bool AS INT, subtract two dates, take a part of a date, or EXTRACT(EPOCH FROM a - b) of two moments.",
        )
    return item


def arithmetic(op: str, left: Extent, right: Extent, refuse: Refuse) -> Extent:
    if op == "-" and left.type == right.type == "date":
        return Extent("int", (left.low - right.high).days, (left.high - right.low).days)
    left, right = number(left, refuse), number(right, refuse)
    if op == "/":
        return _divided(left, right, refuse)
    both = left.exact and right.exact
    scale = left.scale + right.scale if op == "*" else max(left.scale, right.scale)
    kind = "float" if not both else "decimal" if "decimal" in (left.type, right.type) else "int"
    if op == "*":
        times: Callable[[Any, Any], Any] = (lambda a, b: a * b) if both else product
        ends = [(left.low, left.high), (right.low, right.high)] if both else [left.doubles(), right.doubles()]
        corners = [times(a, b) for a in ends[0] for b in ends[1]]
        return Extent(kind, min(corners), max(corners), scale if both else 0)
    (a, b), (c, d) = (left.steps(scale), right.steps(scale)) if both else (left.doubles(), right.doubles())
    return Extent(kind, *((a + c, b + d) if op == "+" else (a - d, b - c)), scale if both else 0)


def _divided(left: Extent, right: Extent, refuse: Refuse) -> Extent:
    """An exact divisor that is not zero is at least one step away from it; a float may come arbitrarily close."""
    ends = [right.low, right.high, *(step for step in (-1, 1) if right.exact and right.low <= step <= right.high)]
    divisors = [as_double(end, right.scale) if right.exact else end for end in ends if end != 0]
    if not divisors:
        refuse("SRD-202", "divides by zero.", "Divide by something else.")
    if not right.exact and (right.low <= 0 <= right.high or min(map(abs, divisors)) < TINY):
        fix = "Keep the divisor away from zero by a WHERE, or by GREATEST(divisor, 0.01)."
        refuse("SRD-202", "has no bounds: its divisor may come arbitrarily close to zero.", fix)
    corners = [q for a in left.doubles() for d in divisors if (q := quotient(a, d)) is not None]
    return Extent("float", min(corners), max(corners))


def sized(item: Extent) -> Extent:
    largest = max(abs(item.low), abs(item.high))
    smallest = type(item.low)(0) if item.low <= 0 <= item.high else min(abs(item.low), abs(item.high))
    return Extent(item.type, smallest, largest, item.scale)


def logarithm(item: Extent, refuse: Refuse) -> Extent:
    """On a grid of 2^-30: databases round their last bit differently, and that is far below it."""
    low, high = item.doubles()
    if low < TINY:
        refuse("SRD-202", "has no bounds: it may be the logarithm of zero.", "Add a constant, log(x + 1), or declare bounds above 0.")
    first, last = (math.floor(math.log(end) * LOG_GRID + 0.5) / LOG_GRID for end in (low, high))
    return Extent("float", first, last)


LEAST_POWER = -300.0  # of e; below, a result is nothing on any grid, and some databases would refuse it


def power_step(item: Extent) -> float:
    """The grid of powers of e: 2^-30 of the largest, far above the last bit, which databases round differently."""
    return float(2.0 ** (math.frexp(math.exp(max(LEAST_POWER, item.doubles()[1])))[1] - 30))


def power(item: Extent, refuse: Refuse) -> Extent:
    """e to the power of a number, on a grid."""
    low, high = (max(LEAST_POWER, end) for end in item.doubles())
    if high > math.log(HUGE):
        refuse("SRD-202", "has no useful bounds: it may exceed 1e150.", "Narrow them: EXP(LEAST(x, 20)), or filter: WHERE x < 20.")
    step = power_step(item)
    first, last = (math.floor(math.exp(end) / step + 0.5) * step for end in (low, high))
    return Extent("float", first, last)


def root(item: Extent, refuse: Refuse) -> Extent:
    """The square root of a double is rounded alike everywhere."""
    low, high = item.doubles()
    if low < 0:
        refuse("SRD-202", "may be the root of a negative number.", "Write SQRT(GREATEST(x, 0)), or filter: WHERE x >= 0.")
    return Extent("float", math.sqrt(low), math.sqrt(high))


def start_of(unit: str, day: dt.date) -> dt.date:
    """The first day of the year, quarter, month or week (from Monday) of a day."""
    plain = dt.date(day.year, day.month, day.day)
    if unit == "week":
        return plain - dt.timedelta(days=plain.weekday())
    if unit == "day":
        return plain
    return plain.replace(day=1, month={"year": 1, "quarter": 3 * ((plain.month - 1) // 3) + 1}.get(unit, plain.month))


def truncated(unit: str, item: Extent, refuse: Refuse) -> Extent:
    if item.type not in ("date", "timestamp"):
        refuse("SRD-203", "truncates something that is no date.", "Use a column declared as date or timestamp.")
    if item.low.year < 2 or item.high.year > 9998:
        refuse("SRD-202", "reaches beyond the days that can be named.", "Declare narrower bounds.")
    return Extent("date", start_of(unit, item.low), start_of(unit, item.high))


def rounded(word: str, item: Extent, digits: int) -> Extent:
    """floor, ceil and round give whole numbers, round with digits a decimal."""
    kind = "decimal" if digits else "int"
    if item.type == "float":
        made: Callable[[float], int] = {"floor": math.floor, "ceil": math.ceil}.get(word) or (lambda x: half_away(x, digits))
        return Extent(kind, made(item.low), made(item.high), digits)
    if item.scale <= digits:
        return item
    unit = 10 ** (item.scale - digits)
    return Extent(kind, rounded_steps(item.low, unit, word), rounded_steps(item.high, unit, word), digits)


def part(word: str, item: Extent, refuse: Refuse) -> Extent:
    if item.type not in ("date", "timestamp"):
        refuse("SRD-203", "takes a part of something that is no date.", "Take it of a column declared as date or timestamp.")
    if word in CLOCK:
        if item.type == "date":
            refuse("SRD-203", f"takes the {word} of a date.", "Only a timestamp has one.")
        return Extent("int", *CLOCK[word])
    if word == "year":
        return Extent("int", item.low.year, item.high.year)
    if word == "month" and item.low.year == item.high.year:
        return Extent("int", item.low.month, item.high.month)
    return Extent("int", *CYCLES[word])


def cast(item: Extent, kind: str, scale: int, refuse: Refuse) -> Extent:
    if item.type == kind and item.scale == scale:
        return item
    if {item.type, kind} == {"date", "timestamp"}:
        return _calendar(item)
    if item.type in ("cat", "null", "date", "timestamp") or kind in ("date", "timestamp"):
        word = {"cat": "text", "null": "NULL"}.get(item.type, f"a {item.type}")
        refuse("SRD-203", f"casts {word} to {kind}, which leaves no public bounds.", "Declare the column's type when the table is opened.")
    if kind == "bool":
        return Extent("bool", 0, 1)
    if kind == "float":
        return Extent("float", *item.doubles())
    if item.type == "float":
        made: Callable[[float], int] = half_even if kind == "int" else lambda x: half_away(x, scale)
        return Extent(kind, made(item.low), made(item.high), scale)
    if scale >= item.scale:
        return Extent(kind, *item.steps(scale), scale)
    unit = 10 ** (item.scale - scale)
    return Extent(kind, rounded_steps(item.low, unit, "round"), rounded_steps(item.high, unit, "round"), scale)


def _calendar(item: Extent) -> Extent:
    if item.type == "timestamp":
        return Extent("date", item.low.date(), item.high.date())
    low, high = (dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC) for day in (item.low, item.high))
    return Extent("timestamp", low, high)


STEPS = ("day", "month", "second")  # what every interval is counted in
MOST_CHANGES = 400  # of clocks: two hundred years of summer time
HOUR = dt.timedelta(hours=1)


def later(value: Any, count: int, step: str) -> Any:
    """A day or a moment so many steps further; the 31st of a month becomes the last day of a shorter one."""
    if step == "month":
        year, month = divmod(value.year * 12 + value.month - 1 + count, 12)
        return value.replace(year=year, month=month + 1, day=min(value.day, calendar.monthrange(year, month + 1)[1]))
    return value + dt.timedelta(**{f"{step}s": count})


def moved(item: Extent, count: int, step: str, refuse: Refuse) -> Extent:
    """Moving is monotone: a shorter month ends both days on its last one at worst."""
    if item.type not in ("date", "timestamp"):
        refuse("SRD-203", "moves something that is no date.", "Add an INTERVAL to a column declared as date or timestamp.")
    if step == "second" and item.type == "date":
        refuse("SRD-203", "moves a date by less than a day.", "CAST it AS TIMESTAMP first.")
    try:
        low, high = (later(end, count, step) for end in (item.low, item.high))
    except (ValueError, OverflowError):
        low = high = None
    if low is None or low.year < 2 or high.year > 9998:
        refuse("SRD-202", "reaches beyond the days that can be named.", "Declare narrower bounds, or move by less.")
    return Extent(item.type, low, high)


def zone_of(name: str) -> ZoneInfo | None:
    """The time zone of that name; None if there is none."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # also a name that is a path
        return None


@lru_cache(maxsize=64)
def changes(name: str, low: dt.datetime, high: dt.datetime) -> tuple[tuple[dt.datetime, int], ...] | None:
    """From which moment a clock is how many seconds ahead of UTC, between two moments; None if it changes too often to list."""
    zone = ZoneInfo(name)

    def ahead(moment: dt.datetime) -> int:
        offset = moment.astimezone(zone).utcoffset()
        return 0 if offset is None else int(offset.total_seconds())

    found, at = [(low, ahead(low))], low
    while at < high:
        after = min(at + 6 * HOUR, high)
        if ahead(after) != found[-1][1]:
            first, last = at, after
            while last - first > dt.timedelta(seconds=1):
                middle = first + dt.timedelta(seconds=int((last - first).total_seconds()) // 2)
                first, last = (first, middle) if ahead(middle) != found[-1][1] else (middle, last)
            found.append((last, ahead(last)))
            if len(found) > MOST_CHANGES:
                return None
            after = last
        at = after
    return tuple(found)


def local(moment: dt.datetime, found: tuple[tuple[dt.datetime, int], ...]) -> dt.datetime:
    """What the clock shows at a moment."""
    return moment + dt.timedelta(seconds=next(ahead for start, ahead in reversed(found) if start <= moment))


def zoned(item: Extent, name: str, refuse: Refuse) -> Extent:
    """What the clock can show: it runs evenly between two changes, so the ends of these stretches are its extremes."""
    if item.type != "timestamp":
        fix = "Only a timestamp has a time zone; a date is the same day everywhere."
        refuse("SRD-203", "looks up the clock of something that is no timestamp.", fix)
    if item.low.year < 2 or item.high.year > 9998:
        refuse("SRD-202", "reaches beyond the days that can be named.", "Declare narrower bounds.")
    found = changes(name, item.low, item.high)
    if found is None:
        refuse("SRD-202", "has more changes of clocks than can be listed.", "Declare narrower bounds, or filter by time.")
    ends = [item.low, item.high, *(start for start, _ in found)]
    shown = [local(end, found) for end in ends] + [
        start + dt.timedelta(seconds=ahead) for (start, _), (_, ahead) in zip(found[1:], found, strict=False)
    ]
    return Extent("timestamp", min(shown), max(shown))
