"""Days and moments that are moved by an interval, and the clock of a time zone: how both move public ranges.

A declared timestamp is a moment in UTC. `AT TIME ZONE 'Europe/Zurich'` is what a clock there shows at that moment, whatever database is
asked: the hours at which its clocks change are looked up here, once, between the column's public bounds, and are constants from then on.
"""

from __future__ import annotations

import calendar
import datetime as dt
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from sordino.schema.extent import Extent, Refuse

__all__ = ["STEPS", "changes", "later", "local", "moved", "zone_of", "zoned"]

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
