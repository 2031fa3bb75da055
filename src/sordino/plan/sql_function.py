"""Differences of days and moments, parts of a year, and days as text: said in parts of days that every database has.

Theorem (whole years). For two days with numbers K = 10000 year + 100 month + day, the whole years from the first to the last are
trunc((K_last - K_first) / 10000). Proof. If the last day's month and day are not before the first's, the rest of the division is that
difference, between 0 and 1130, and the quotient the difference of years; if they are, it is one year less plus 10000 minus at most
1130. A negative difference is the same with the days exchanged. QED With seconds of the day as further digits it holds for moments, and
with months of twelve to a year for whole months.

Functions of text and of time as SQL writes them, in the words of the algebra; other uses are refused with the rewrite.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from sordino.plan.dialect import UNITS, WRITTEN, dated_literal
from sordino.plan.literal import bare, chain, constant_of
from sordino.plan.refusal import allow, refuse
from sordino.schema.column import as_number, shown
from sordino.schema.expression import PARTS, Arithmetic, Call, Case, Cast, Constant, DatePart, Expression, Literal, Name
from sordino.schema.expression import Compare as Comparison
from sordino.schema.extent import zone_of
from sordino.schema.interval import derive, extent

__all__ = [
    "TEXT_TYPES",
    "TEXT_WORDS",
    "as_text",
    "at_zone",
    "dated_text",
    "difference",
    "is_dated_text",
    "moved_by",
    "part_of",
    "text_call",
    "whole_difference",
]

Read = Callable[[exp.Expr], Expression]
SECONDS = {"WEEK": 604_800, "DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
OTHER = {
    "dayofweek": "dow", "weekday": "dow", "dw": "dow", "dayofmonth": "day", "dayofyear": "doy", "isoweek": "week", "weekofyear": "week",
    "epoch_second": "epoch",
}  # fmt: skip
WORDS = {
    "FM": "", "HH24": "%H", "MONTH": "%B", "YYYY": "%Y", "MON": "%b", "DAY": "%A", "MM": "%m", "DD": "%d", "DY": "%a", "Q": "%q",
}  # fmt: skip
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NUMBERS = {
    "%Y": ("year", 4), "%m": ("month", 2), "%d": ("day", 2), "%H": ("hour", 2), "%q": ("quarter", 1), "%u": ("isodow", 1), "%w": ("dow", 1),
}  # fmt: skip
CALLED = {
    "%B": ("month", MONTHS), "%b": ("month", tuple(name[:3] for name in MONTHS)),
    "%A": ("isodow", WEEKDAYS), "%a": ("isodow", tuple(name[:3] for name in WEEKDAYS)),
}  # fmt: skip
FORMATS = "Use YYYY, MM, DD, Q, Mon, Month, Dy, Day, HH24 (or %Y %m %d %b %B %a %A %H), or GROUP BY DATE_TRUNC('month', day)."


def _plus(*items: Expression) -> Expression:
    made = items[0]
    for item in items[1:]:
        made = Arithmetic("+", made, item)
    return made


def _times(item: Expression, by: int) -> Expression:
    return Arithmetic("*", item, Constant(by))


def _minus(last: Expression, first: Expression) -> Expression:
    return Arithmetic("-", last, first)


def _is_moment(item: Expression) -> bool:
    return extent(item).type == "timestamp"


def _day(item: Expression) -> Expression:
    return Cast(item, "date") if _is_moment(item) else item


def _clock(item: Expression) -> Expression | None:
    """The seconds of the day; a day has none."""
    if not _is_moment(item):
        return None
    return _plus(_times(DatePart("hour", item), 3600), _times(DatePart("minute", item), 60), DatePart("second", item))


def _with_clock(whole: Callable[[Expression], Expression], size: int, last: Expression, first: Expression) -> Expression:
    """whole(last) - whole(first), in units of which `size` make one, and the difference of the clocks."""
    clocks = _clock(last), _clock(first)
    days = _minus(whole(last), whole(first))
    if clocks == (None, None):
        return days if size == 1 else _times(days, size)
    made = _times(days, size)
    made = made if clocks[0] is None else _plus(made, clocks[0])
    return made if clocks[1] is None else _minus(made, clocks[1])


def _seconds(last: Expression, first: Expression) -> Expression:
    """The seconds from a first moment to a last one, parts of a second left out."""
    return _with_clock(_day, 86_400, last, first)


def _toward_zero(item: Expression) -> Expression:
    floor, ceil = (Call(word, (item,)) for word in ("floor", "ceil"))
    return _plus(Call("greatest", (floor, Constant(0))), Call("least", (ceil, Constant(0))))


def _dated(item: Expression) -> Expression:
    """A day or a moment, and nothing else."""
    if extent(item).type not in ("date", "timestamp"):
        refuse("a difference of something that is no day", "Subtract columns of days or moments, or a constant: DATE '2025-12-31'.")
    return item


def difference(node: exp.Expr, read: Read) -> Expression:
    """DATEDIFF('day', a, b): in days b - a; in other units the ends of these that lie between."""
    unit, last, first = _unit(node), _dated(read(node.this)), _dated(read(node.expression))
    if unit == "DAY":
        return _minus(_day(last), _day(first))
    if unit == "WEEK":
        starts = [Call("trunc", (item, Constant("week"))) for item in (last, first)]
        return Call("round", (Arithmetic("/", _minus(*starts), Constant(7)),))
    if unit in SECONDS:
        words = ("hour", "minute", "second")[: {"HOUR": 1, "MINUTE": 2, "SECOND": 3}[unit]]
        made = _minus(_day(last), _day(first))
        for word, size in zip(words, (24, 60, 60), strict=False):
            made = _times(made, size)
            made = _plus(made, DatePart(word, last)) if _is_moment(last) else made
            made = _minus(made, DatePart(word, first)) if _is_moment(first) else made
        return made
    years = _minus(DatePart("year", last), DatePart("year", first))
    if unit == "YEAR":
        return years
    word = unit.lower()
    return _plus(_times(years, {"QUARTER": 4, "MONTH": 12}[unit]), _minus(DatePart(word, last), DatePart(word, first)))


def whole_difference(unit: str, last: Expression, first: Expression) -> Expression:
    """How many whole units lie between two days or moments, negative where the last is before the first."""
    last, first = _dated(last), _dated(first)
    if unit in SECONDS:
        seconds = _seconds(last, first)
        return seconds if unit == "SECOND" else _toward_zero(Arithmetic("/", seconds, Constant(SECONDS[unit])))
    moments = _is_moment(last) or _is_moment(first)

    def numbered(item: Expression) -> Expression:
        if unit == "YEAR":
            return _plus(_times(DatePart("year", item), 10_000), _times(DatePart("month", item), 100), DatePart("day", item))
        months = _plus(_times(DatePart("year", item), 12), DatePart("month", item))
        return _plus(_times(months, 100), DatePart("day", item))

    size = 86_400 if moments else 1
    per = {"YEAR": 10_000, "QUARTER": 300, "MONTH": 100}[unit] * size
    return _toward_zero(Arithmetic("/", _with_clock(numbered, size, last, first), Constant(per)))


def _unit(node: exp.Expr) -> str:
    said = node.args.get("unit")
    word = str(said.this if isinstance(said, exp.Expr) else said or "DAY").strip("'").upper()
    if word not in UNITS:
        refuse(f"a difference in {word.lower()}s", "Count days, DATEDIFF('day', a, b), and divide.")
    return UNITS[word]


def part_of(node: exp.Expr, read: Read) -> Expression:
    """EXTRACT of a day or a moment, of a difference of two, or of AGE."""
    word = str(node.this.this).lower() if isinstance(node.this, exp.Var) else ""
    word, inner = OTHER.get(word, word), bare(node.expression)
    if type(inner) is exp.Anonymous and str(inner.this).upper() == "AGE":
        return _aged(word, inner, read)
    if type(inner) is exp.Sub and type(bare(inner.expression)) is not exp.Interval:
        sides = read(inner.this), read(inner.expression)
        if any(extent(side).type in ("date", "timestamp") for side in sides) and word in ("epoch", "day", "days"):
            return whole_difference("SECOND" if word == "epoch" else "DAY", *sides)
    if word == "doy":
        return _day_of_year(read(inner))
    if word == "week":
        thursday = Call("move", (Call("trunc", (read(inner), Constant("week"))), Constant(3), Constant("day")))
        return _plus(Call("floor", (Arithmetic("/", _minus(_day_of_year(thursday), Constant(1)), Constant(7)),)), Constant(1))
    if word not in PARTS:
        fix = f"Use {', '.join(part.upper() for part in PARTS)}, WEEK, DOY, or EPOCH of a difference of two moments."
        refuse(f"{word.upper() or 'something'}, a part of a date outside the subset", fix)
    return DatePart(word, read(inner))


def _day_of_year(item: Expression) -> Expression:
    return _plus(_minus(_day(item), Call("trunc", (item, Constant("year")))), Constant(1))


def _aged(word: str, node: exp.Expr, read: Read) -> Expression:
    unit = word.upper().rstrip("S")
    if len(node.expressions) != 2 or unit != "YEAR":
        refuse("AGE of another kind", "Write EXTRACT(YEAR FROM AGE(day, born)), or DATEDIFF('month', born, day).")
    last, first = (read(dated_literal(item)) for item in node.expressions)
    return whole_difference("YEAR", last, first)


def is_dated_text(node: exp.Expr) -> bool:
    """Whether this is a function that writes a day as text."""
    return type(node) in (exp.ToChar, exp.TimeToStr) or (type(node) is exp.Anonymous and str(node.this).upper() in WRITTEN)


def dated_text(node: exp.Expr, read: Read) -> Expression:
    """A day as text, by a format of the usual pieces: each piece is a number with leading zeros or a name."""
    given = node.expressions if type(node) is exp.Anonymous else [node.this, node.args.get("format")]
    values = [constant_of(item) if isinstance(item, exp.Expr) else None for item in given]
    place = next((i for i, value in enumerate(values) if isinstance(value, str)), None)
    if len(given) != 2 or place is None:
        refuse("a date as text without a format", "Write strftime(day, '%Y-%m').")
    item, pieces = read(given[1 - place]), _pieces(str(values[place]))
    _dated(item)
    if pieces == ["%Y", "-", "%m", "-", "%d"]:
        return _day(item)
    made = [_piece(piece, item) if piece.startswith("%") else Constant(piece) for piece in pieces]
    return made[0] if len(made) == 1 else Call("concat", tuple(made))


def _pieces(form: str) -> list[str]:
    """A format piece by piece: the signs of strftime, or the words of TO_CHAR, which has no such signs."""
    found: list[str] = []
    signs, form = "%" in form, form.replace("%F", "%Y-%m-%d")
    while form:
        word = "" if signs else next((word for word in WORDS if form.upper().startswith(word)), "")
        if signs and form[0] == "%":
            piece, size = form[:2], 2
        elif not signs and form[0] == '"' and '"' in form[1:]:
            piece, size = form[1 : form.index('"', 1)], form.index('"', 1) + 1
        else:
            piece, size = WORDS[word] if word else form[0], len(word) or 1
        found += [piece] if piece else []
        form = form[size:]
    if not any(piece.startswith("%") for piece in found):
        refuse("a format without a part of a day", FORMATS)
    return found


def _piece(piece: str, item: Expression) -> Expression:
    if piece in NUMBERS:
        word, width = NUMBERS[piece]
        return Call("digits", (DatePart(word, item), Constant(width)))
    if piece not in CALLED:
        refuse(f"{piece}, a piece of a format outside the subset", FORMATS)
    part, called = CALLED[piece]
    number = derive(DatePart(part, item))
    branches = [(Comparison("=", Name(number.name, number.expression), Literal(i)), Constant(text)) for i, text in enumerate(called, 1)]
    return Case(tuple(branches))


TEXT_WORDS = (exp.Substring, exp.Right, exp.Trim, exp.DPipe, exp.Concat)
STEPS = {
    "DAY": (1, "day"), "WEEK": (7, "day"), "MONTH": (1, "month"), "QUARTER": (3, "month"), "YEAR": (12, "month"),
    "HOUR": (3600, "second"), "MINUTE": (60, "second"), "SECOND": (1, "second"),
}  # fmt: skip
MOST_STEPS = 10**9
TEXT_TYPES = (exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR, exp.DataType.Type.CHAR)


def as_text(item: Expression) -> Expression:
    """A whole number that is not negative, or text, as text."""
    found = extent(item)
    if found.type == "cat":
        return item
    if found.type != "int" or found.low < 0:
        refuse("a cast of this to text", "Cast whole numbers that are not negative; for days write strftime(day, '%Y-%m').")
    return Call("digits", (item, Constant(0)))


def text_call(node: exp.Expr, inner: Callable[[exp.Expr], Expression]) -> Expression:
    """SUBSTRING, RIGHT, TRIM, || or CONCAT."""
    match node:
        case exp.Substring():
            allow(node, "this", "start", "length")
            ends = [_place(node.args.get(word), default) for word, default in (("start", 1), ("length", 10_000))]
            return Call("substr", (inner(node.this), *map(Constant, ends)))
        case exp.Right():
            allow(node, "this", "expression")
            return Call("right", (inner(node.this), Constant(_place(node.expression, 1))))
        case exp.Trim():
            allow(node, "this", "position", "expression")
            if node.args.get("expression") is not None and constant_of(node.expression) != " ":
                refuse("TRIM of something other than spaces", "Write TRIM(x), or SUBSTRING(x, 2) for a fixed place.")
            position = str(node.args.get("position") or "").upper()
            return Call({"LEADING": "ltrim", "TRAILING": "rtrim"}.get(position, "trim"), (inner(node.this),))
        case exp.DPipe():
            return Call("concat", tuple(inner(part) for part in chain(_plain(node), exp.DPipe)))
    allow(node, "expressions", "safe", "coalesce")  # CONCAT takes null for nothing, || does not
    return Call("concat", tuple(Call("coalesce", (inner(part), Constant(""))) for part in node.expressions))


def _plain(node: exp.Expr) -> exp.Expr:
    """The same chain without the remark how safely it is put together."""
    made = node.copy()
    for part in [made, *made.find_all(exp.DPipe)]:
        part.set("safe", None)
    return made


def _place(node: exp.Expr | None, default: int) -> int:
    value = Fraction(default) if node is None else constant_of(node)
    if not isinstance(value, Fraction) or value.denominator != 1 or not 1 <= value <= 10_000:
        refuse("a part of a text from an unusual place", "Write SUBSTRING(x, 1, 3), LEFT(x, 3) or RIGHT(x, 3).")
    return int(value)


def moved_by(item: Expression, interval: exp.Expr, sign: int) -> Expression:
    """A day or moment and an interval of a constant length."""
    allow(interval, "this", "unit")
    number = as_number(str(interval.this.this)) if type(interval.this) is exp.Literal else None
    unit = str(interval.args.get("unit") or "").upper().rstrip("S")
    if number is None or number.denominator != 1 or unit not in STEPS or abs(number) * STEPS[unit][0] > MOST_STEPS:
        fix = "Write a whole number and a unit: day + INTERVAL '30 days', '2 weeks', '6 months', '1 year', or '12 hours' of a timestamp."
        refuse("an interval of another kind", fix)
    size, step = STEPS[unit]
    return Call("move", (item, Constant(sign * int(number) * size), Constant(step)))


def at_zone(item: Expression, zone: exp.Expr) -> Expression:
    """What a clock elsewhere shows. Timestamps are moments in UTC, so AT TIME ZONE 'UTC' changes nothing."""
    name = constant_of(zone)
    if not isinstance(name, str) or zone_of(name) is None:
        said = shown(name) if isinstance(name, str) else "something computed"
        refuse(f"the time zone {said}", "Name one by city, in single quotes: AT TIME ZONE 'Europe/Zurich'.")
    return item if name.upper() in ("UTC", "ETC/UTC", "Z") else Call("zone", (item, Constant(name)))
