"""Arithmetic on released numbers: post-processing, so it is free. Values follow SQL, nulls included; intervals are carried through.

Theorem. If every input lies in its interval with probability at least 1 - (1 - level) / k, for k inputs, then all of them do with
probability at least `level`, and the value of the formula lies in its `span` over these intervals.
Proof. The union bound, and interval arithmetic: each operation's span contains its value at every point of its operands' spans. QED
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from sordino.errors import QueryError
from sordino.plan.literal import bare, constant_of
from sordino.plan.refusal import DEPTH, allow, refuse
from sordino.plan.window import window_of
from sordino.schema.column import nearest, shown

__all__ = ["Formula", "formula_of", "inputs", "parse_formula", "span", "value", "windows", "without"]

BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "//", exp.Mod: "%", exp.Pow: "**",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.And: "and", exp.Or: "or",
}  # fmt: skip
UNARY: dict[type[exp.Expr], str] = {
    exp.Neg: "neg", exp.Not: "not", exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil", exp.Sqrt: "sqrt", exp.Exp: "exp", exp.Ln: "ln",
}  # fmt: skip
SEVERAL: dict[type[exp.Expr], str] = {exp.Least: "least", exp.Greatest: "greatest", exp.Coalesce: "coalesce"}
KNOWN = "Use + - * /, ROUND, ABS, FLOOR, CEIL, SQRT, LN, EXP, POWER, LEAST, GREATEST, COALESCE, NULLIF, CASE, comparisons, AND, OR and NOT."
LARGEST = 1e300


@dataclass(frozen=True)
class Formula:
    """`word` is "name", "constant" or an operation on `items`; `detail` is the name, the constant, or the digits of ROUND."""

    word: str
    items: tuple[Formula, ...] = ()
    detail: Any = None


def parse_formula(text: str, names: list[str]) -> Formula:
    """The formula a text says about answers of these names."""
    if not isinstance(text, str) or not text.strip() or len(text) > 2_000:
        raise QueryError("SRD-208", f"a formula is {shown(text)}.", 'Write it as text: derive(rate="s / n").')
    dialect = Dialect.get_or_raise("duckdb")
    try:
        tokens = dialect.tokenize(text)
        if len(tokens) > 400 or sum(token.text == "(" for token in tokens) > DEPTH:
            raise QueryError("SRD-208", "a formula is too long.", "Derive it in steps.")
        trees = dialect.parser().parse(tokens, text)
    except (SqlglotError, RecursionError):
        raise QueryError("SRD-208", f"the formula {shown(text)} cannot be read.", f"{KNOWN} Odd names go in double quotes.") from None
    if len(trees) != 1 or trees[0] is None:
        raise QueryError("SRD-208", f"the formula {shown(text)} is not one expression.", "Write one, such as s / n.")

    def name_of(node: exp.Expr) -> str | None:
        if type(node) is not exp.Column:
            return None
        if node.name not in names:
            raise QueryError("SRD-201", f"nothing was released under the name {shown(node.name)}.", nearest(node.name, names, "answers"))
        return str(node.name)

    return formula_of(trees[0], name_of)


def formula_of(node: exp.Expr, name_of: Callable[[exp.Expr], str | None]) -> Formula:
    """From a tree, whose leaves `name_of` knows by the names of answers."""
    node = bare(node)

    def made(word: str, *parts: exp.Expr, detail: Any = None) -> Formula:
        return Formula(word, tuple(formula_of(part, name_of) for part in parts), detail)

    kind = type(node)
    if kind is exp.Window:
        return _outermost(window_of(node, made))
    name = name_of(node)
    if name is not None:
        return Formula("name", detail=name)
    if kind is exp.Null:
        return Formula("constant")
    constant = constant_of(node)
    if constant is not None:
        if not isinstance(constant, Fraction):
            return Formula("constant", detail=constant)
        return Formula("constant", detail=int(constant) if constant.denominator == 1 else float(constant))
    if kind in BINARY:
        return made(BINARY[kind], node.this, node.expression)
    if kind in UNARY:
        return made(UNARY[kind], node.this)
    if kind in SEVERAL:
        return made(SEVERAL[kind], node.this, *node.expressions)
    if kind is exp.Round:
        allow(node, "this", "decimals")
        digits = constant_of(node.args["decimals"]) if node.args.get("decimals") is not None else Fraction(0)
        if not isinstance(digits, Fraction) or digits.denominator != 1 or abs(digits) > 18:
            refuse("ROUND to an unusual number of digits", "Write ROUND(x, 2).")
        return made("round", node.this, detail=int(digits))
    if kind is exp.Nullif:
        return made("nullif", node.this, node.expression)
    if kind is exp.Between:
        low, high = exp.GTE(this=node.this, expression=node.args["low"]), exp.LTE(this=node.this, expression=node.args["high"])
        return made("and", low, high)
    if kind is exp.In and not node.args.get("query"):
        tests = [exp.EQ(this=node.this, expression=item) for item in node.expressions]
        return Formula("or", tuple(formula_of(test, name_of) for test in tests))
    if kind is exp.Is and type(bare(node.expression)) is exp.Null:
        return made("is null", node.this)
    if kind in (exp.Cast, exp.TryCast):
        words = {"int": "round", "double": "float", "float": "float", "decimal": "float"}
        word = next((words[name] for name in words if name in str(node.args["to"].this).lower()), None)
        if word is None:
            refuse("a cast of a released number to another type", "Cast to INT or DOUBLE.")
        return made(word, node.this, detail=0)
    if kind is exp.If:
        return made("case", node.this, node.args["true"], node.args.get("false") or exp.Null())
    if kind is not exp.Case:
        refuse("something that is not computed from released numbers", KNOWN)
    parts: list[exp.Expr] = []
    for branch in node.args["ifs"]:
        parts += [branch.this if node.this is None else exp.EQ(this=node.this, expression=branch.this), branch.args["true"]]
    return made("case", *parts, node.args.get("default") or exp.Null())


def _outermost(formula: Formula) -> Formula:
    if any(windows(item) for item in formula.items):
        refuse("a window of a window", 'Derive the inner one first: release.derive(share="n / SUM(n) OVER ()").')
    return formula


def windows(formula: Formula) -> list[Formula]:
    """The parts of a formula that look at several released rows at once."""
    own = [formula] if formula.word == "over" else [found for item in formula.items for found in windows(item)]
    return list(dict.fromkeys(own))


def without(formula: Formula, names: Mapping[Formula, str]) -> Formula:
    """The formula with these parts read from columns of these names."""
    if formula in names:
        return Formula("name", detail=names[formula])
    return Formula(formula.word, tuple(without(item, names) for item in formula.items), formula.detail)


def inputs(formula: Formula) -> list[str]:
    """The names a formula reads, each once."""
    own = [formula.detail] if formula.word == "name" else []
    return list(dict.fromkeys([*own, *(name for item in formula.items for name in inputs(item))]))


def value(formula: Formula, row: Mapping[str, Any]) -> Any:
    """The value of a formula; null where an operand is null or no number, or where a number has no such value."""
    if formula.word == "name":
        found = row.get(formula.detail)
        known = isinstance(found, bool | int | str | dt.date) or (isinstance(found, float) and not math.isnan(found))
        return found if known else None
    if formula.word == "constant":
        return formula.detail
    if formula.word == "case":
        *branches, last = formula.items
        for test, then in zip(branches[::2], branches[1::2], strict=True):
            if value(test, row) is True:
                return value(then, row)
        return value(last, row)
    parts = [value(item, row) for item in formula.items]
    if formula.word in ("and", "or"):
        decides = formula.word == "or"
        return decides if decides in parts else None if None in parts else not decides
    if formula.word == "coalesce":
        return next((part for part in parts if part is not None), None)
    if formula.word == "is null":
        return parts[0] is None
    if formula.word in ("least", "greatest"):
        there = [part for part in parts if part is not None]
        return (min if formula.word == "least" else max)(there) if there else None
    if formula.word == "nullif":
        return None if parts[0] == parts[1] else parts[0]
    try:
        return None if None in parts else _made(formula, parts)
    except (ArithmeticError, ValueError, TypeError):
        return None


def _made(formula: Formula, parts: list[Any]) -> Any:
    match formula.word, parts:
        case "+", (a, b):
            return a + b
        case "-", (a, b):
            return a - b
        case "*", (a, b):
            return a * b
        case "/", (a, b):
            return a / b
        case "//", (a, b):
            return math.trunc(a / b)
        case "%", (a, b):
            return math.fmod(a, b)
        case "**", (a, b):
            return _real(float(a) ** float(b))
        case "=", (a, b):
            return a == b
        case "<>", (a, b):
            return a != b
        case "<", (a, b):
            return a < b
        case "<=", (a, b):
            return a <= b
        case ">", (a, b):
            return a > b
        case ">=", (a, b):
            return a >= b
    (x,) = parts
    one: dict[str, Callable[[Any], Any]] = {
        "neg": lambda x: -x, "not": lambda x: not x, "abs": abs, "floor": math.floor, "ceil": math.ceil, "sqrt": math.sqrt,
        "exp": math.exp, "ln": math.log, "float": float, "round": lambda x: _rounded(x, formula.detail),
    }  # fmt: skip
    return one[formula.word](x)


def _real(x: Any) -> float:
    if isinstance(x, complex) or not math.isfinite(x):
        raise ValueError("no real number")
    return float(x)


def _rounded(x: Any, digits: int) -> Any:
    size = math.floor(abs(Fraction(x)) * Fraction(10) ** digits + Fraction(1, 2)) / Fraction(10) ** digits
    number = -size if x < 0 else size
    return int(number) if digits <= 0 else float(number)


Ends = tuple[Any, Any]
RISING = ("floor", "ceil", "sqrt", "exp", "ln", "float", "round")


def span(formula: Formula, row: Mapping[str, Ends | None]) -> Ends | None:
    """All values of a formula while its inputs move inside their ends; None where nothing can be said."""
    if formula.word == "name":
        return row.get(formula.detail)
    if formula.word == "constant":
        return None if formula.detail is None else (formula.detail, formula.detail)
    if formula.word == "case":
        return _cases(formula, row)
    parts = [span(item, row) for item in formula.items]
    if any(part is None for part in parts):
        return None
    known: list[Ends] = [part for part in parts if part is not None]
    try:
        return _spanned(formula, known)
    except (ArithmeticError, ValueError, TypeError, KeyError):
        return None


def _spanned(formula: Formula, known: list[Ends]) -> Ends | None:
    word = formula.word
    if word in ("least", "greatest"):
        choose = min if word == "least" else max
        return choose(low for low, _ in known), choose(high for _, high in known)
    if word == "coalesce":
        return known[0]
    if word in RISING:
        return _made(formula, [known[0][0]]), _made(formula, [known[0][1]])
    if word == "neg":
        return -known[0][1], -known[0][0]
    if word == "abs":
        low, high = known[0]
        return (0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
    if word not in ("+", "-", "*", "/") or len(known) != 2:
        return None
    (a, b), (c, d) = known
    if word == "/" and c <= 0 <= d:
        return None
    corners = [_made(formula, [x, y]) for x in (a, b) for y in (c, d)]
    return (min(corners), max(corners)) if all(abs(corner) < LARGEST for corner in corners) else None


def _cases(formula: Formula, row: Mapping[str, Ends | None]) -> Ends | None:
    """Whichever branch is taken: the ends of all together, unless its condition is about constants."""
    *branches, last = formula.items
    ends = [span(item, row) for item in (*branches[1::2], last)]
    if any(end is None or isinstance(end[0], str) for end in ends):
        return None
    known = [end for end in ends if end is not None]
    return min(low for low, _ in known), max(high for _, high in known)
