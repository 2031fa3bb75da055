"""Functions of text and of time as SQL writes them, in the words of the algebra; other uses are refused with the rewrite."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from sordino.plan.literal import chain, constant_of
from sordino.plan.rewrite import allow, refuse
from sordino.schema.calendar import zone_of
from sordino.schema.expression import Call, Constant, Expression
from sordino.schema.interval import extent
from sordino.schema.value import as_number, shown

__all__ = ["TEXT_TYPES", "TEXT_WORDS", "as_text", "at_zone", "moved_by", "text_call"]

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
