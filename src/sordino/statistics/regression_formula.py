"""A formula such as "cost ~ age + C(sex) + age:C(sex) + I(age**2) + log(income)", read by a whitelist. Nothing is ever evaluated."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.multinomial_regression import MOST
from sordino.schema.column import Column, nearest, shown
from sordino.schema.expression import And, Arithmetic, Call, Case, Compare, Constant, Expression, In, Leaf, Literal, Name, Predicate, reads
from sordino.schema.interval import derive

__all__ = ["Coefficient", "RegressionFormula", "parse"]

LONGEST, PIECE = 10_000, 300
POWER = 8
NAME = re.compile(r"\s*(C\()?\s*(?:`([^`]+)`|(\w+))\s*(\))?\s*")
MADE = re.compile(r"\s*(I|log)\((.*)\)\s*", re.DOTALL)
QUOTED = re.compile(r"`([^`]+)`")
SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
FIX = (
    'Write "target ~ a + b + C(c)": columns joined by +, C(...) around a column of public keys, a:b for a product, I(a**2 + b) for '
    "arithmetic, log(a), `...` around an unusual name."
)


@dataclass(frozen=True)
class Coefficient:
    """One coefficient: of a number column, declared or derived, or of one key of a column against its first key."""

    name: str
    column: str
    key: Any = None
    predicate: Predicate | None = None
    classes: tuple[Any, ...] = ()  # of a target with more than two public keys

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The conditions it is made of: none for a number."""
        several = tuple(Compare("=", Name(self.column), Literal(key)) for key in self.classes)
        return several or (() if self.predicate is None else (self.predicate,))


@dataclass(frozen=True)
class RegressionFormula:
    """The target, the coefficients in order, the conditions a row must meet to count (its keys are public ones), and derived columns."""

    text: str
    target: Coefficient
    parts: tuple[Coefficient, ...]
    required: tuple[Predicate, ...]
    derived: tuple[Column, ...] = ()


@dataclass(frozen=True)
class Factor:
    """A number, or a key of a column as a condition: what a product is made of."""

    name: str
    expression: Expression | None = None
    column: Column | None = None
    key: Any = None

    @property
    def condition(self) -> Predicate:
        assert self.column is not None
        return Compare("=", Name(self.column.name), Literal(self.key))


def parse(text: Any, columns: Mapping[str, Column], *, binary: bool = False) -> RegressionFormula:
    """Read a formula about these declared columns; a binary target has two public classes."""
    if not isinstance(text, str) or len(text) > LONGEST or text.count("~") != 1:
        raise QueryError("SRD-208", f"{shown(text)} is not a formula.", FIX)
    left, right = text.split("~")
    reader = FormulaReader(columns)
    found = [part for piece in _split(right, "+") for part in reader.parts(piece)]
    target = reader.label(left) if binary else reader.target(left)
    names = [part.name for part in found]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None or target.name in names:
        raise QueryError("SRD-208", f"the formula names {shown(twice or target.name)} twice.", "Name every column once.")
    listed = tuple(dict.fromkeys(_known(column) for column in reader.keyed.values()))
    return RegressionFormula(" ".join(text.split()), target, tuple(found), listed, tuple(reader.derived.values()))


class FormulaReader:
    """Reads the pieces of one formula, and remembers which columns they derive and whose keys they name."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self.columns = columns
        self.derived: dict[str, Column] = {}
        self.keyed: dict[str, Column] = {}

    def target(self, piece: str) -> Coefficient:
        (factor, *more) = self._factors(piece)
        if more or factor.expression is None:
            fix = "Predict a number, or a bool by logistic regression."
            raise QueryError("SRD-208", f"{shown(piece.strip())} cannot be predicted.", fix)
        return self._number(factor.name, factor.expression)

    def label(self, piece: str) -> Coefficient:
        """A target of two public classes: whether it is the second one; or of several."""
        match = NAME.fullmatch(piece)
        if match is None or match[1] or match[4]:
            raise QueryError("SRD-208", f"{shown(piece.strip())} cannot be predicted.", "Name a bool, or a column with public keys.")
        column = self._column(match[2] or match[3])
        keys = _classes(column)
        if len(keys) < 2:
            fix = 'Declare it as "bool" (0 and 1 are read so), as "int" within (0, 1), or with two public keys or more.'
            raise QueryError("SRD-203", f"column {shown(column.name)} has no two public classes.", fix)
        if len(keys) > MOST:
            raise QueryError("SRD-203", f"column {shown(column.name)} has {len(keys)} public classes.", f"Declare at most {MOST} of them.")
        self.keyed[column.name] = column
        if len(keys) > 2:
            return Coefficient(column.name, column.name, classes=keys)
        return Coefficient(column.name, column.name, keys[1], Compare("=", Name(column.name), Literal(keys[1])))

    def parts(self, piece: str) -> list[Coefficient]:
        """The coefficients of one piece: products of its factors, one for every combination of keys."""
        made: list[tuple[Factor, ...]] = [()]
        for factor in _split(piece, ":"):
            made = [(*before, one) for before in made for one in self._factors(factor)]
        return [self._product(factors) for factors in made]

    def _product(self, factors: tuple[Factor, ...]) -> Coefficient:
        name = ":".join(factor.name for factor in factors)
        numbers = [factor.expression for factor in factors if factor.expression is not None]
        keys = [factor for factor in factors if factor.column is not None]
        if keys and not numbers:
            parts = tuple(factor.condition for factor in keys)
            return Coefficient(
                name, keys[0].column.name if keys[0].column else "", keys[0].key, parts[0] if len(parts) == 1 else And(parts)
            )
        if len(factors) > 1:
            numbers = [self._operand(item.column.name) if isinstance(item, Leaf) else item for item in numbers]
        whole = reduce(lambda a, b: Arithmetic("*", a, b), numbers)
        if keys:
            inside = tuple(factor.condition for factor in keys)
            whole = Case(((inside[0] if len(inside) == 1 else And(inside), whole),), Constant(0))
        return self._number(name, whole)

    def _number(self, name: str, expression: Expression) -> Coefficient:
        if not any(True for _ in reads(expression)):
            raise QueryError("SRD-208", f"{shown(name)} names no column.", "The constant is always there.")
        column = derive(expression, self.columns)
        if column.type in ("date", "timestamp", "cat"):
            what = "text" if column.type == "cat" else f"of type {column.type}"
            raise QueryError("SRD-203", f"{shown(name)} is {what}.", "Use a number, or C(...) of public keys.")
        if column.grid().width < 1:  # grid refuses text, and numbers without public bounds
            raise QueryError("SRD-202", f"the bounds of {shown(name)} leave one value.", "Declare low < high.")
        if column.expression is not None:
            self.derived[column.name] = column
        return Coefficient(name, column.name)

    def _factors(self, piece: str) -> list[Factor]:
        if len(piece) <= PIECE and (made := MADE.fullmatch(piece)) is not None:
            expression = self._expression(made[2])
            label = f"{made[1]}({' '.join(made[2].split())})"
            return [Factor(label, Call("ln", (expression,)) if made[1] == "log" else expression)]
        match = NAME.fullmatch(piece)
        if match is None or bool(match[1]) != bool(match[4]):
            raise QueryError("SRD-208", f"{shown(piece.strip())} has no place in a formula.", FIX)
        column = self._column(match[2] or match[3])
        if not match[1]:
            return [Factor(column.name, Leaf(column))]
        keys = [key for key in column.keys or () if key is not None]
        if len(keys) < 2:
            fix = f"Declare them: {column.listing}."
            raise QueryError("SRD-203", f"C({column.name}) needs at least two public keys.", fix)
        self.keyed[column.name] = column
        return [Factor(f"{column.name}={key}", None, column, key) for key in keys[1:]]

    def _column(self, name: str) -> Column:
        column = self.columns.get(name)
        if column is None or column.type in ("id", "never"):
            known = [item for item, held in self.columns.items() if held.type not in ("id", "never")]
            raise QueryError("SRD-201", f"there is no column {shown(name)}.", nearest(name, known, "columns"))
        return column

    def _expression(self, text: str) -> Expression:
        """Arithmetic of columns and numbers; the tree is walked, never run."""
        quoted = QUOTED.findall(text)
        plain = QUOTED.sub(lambda match: f"_quoted_{quoted.index(match[1])}_", text)
        try:
            tree = ast.parse(plain.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise QueryError("SRD-208", f"{shown(text.strip())} is no arithmetic.", FIX) from None
        return self._walked(tree, quoted)

    def _walked(self, node: ast.AST, quoted: list[str]) -> Expression:
        match node:
            case ast.Name(id=name):
                held = re.fullmatch(r"_quoted_(\d+)_", name)
                return self._operand(quoted[int(held[1])] if held and int(held[1]) < len(quoted) else name)
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                number = Fraction(str(value))
                return Constant(int(number) if number.denominator == 1 else number)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return Arithmetic("-", Constant(0), self._walked(inner, quoted))
            case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)) if 2 <= power <= POWER:
                base = self._walked(left, quoted)
                return reduce(lambda a, b: Arithmetic("*", a, b), [base] * power)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SIGNS:
                return Arithmetic(SIGNS[type(op)], self._walked(left, quoted), self._walked(right, quoted))
            case ast.Call(func=ast.Name(id="log"), args=[inner], keywords=[]):
                return Call("ln", (self._walked(inner, quoted),))
        fix = f"Use + - * /, powers from 2 to {POWER}, log, names and numbers."
        raise QueryError("SRD-208", "I(...) holds something that is no arithmetic.", fix)

    def _operand(self, name: str) -> Expression:
        column = self._column(name)
        if column.type == "bool":
            return Case(((Compare("=", Name(name), Literal(True)), Constant(1)), (Compare("=", Name(name), Literal(False)), Constant(0))))
        return Leaf(column) if column.expression is None else column.expression


def _split(text: str, sign: str) -> list[str]:
    """At signs that are not inside a quoted name or parentheses."""
    pieces, quoted, depth, start = [], False, 0, 0
    for place, letter in enumerate(text):
        quoted ^= letter == "`"
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if letter == sign and not quoted and depth == 0:
            pieces.append(text[start:place])
            start = place + 1
    return [*pieces, text[start:]]


def _known(column: Column) -> Predicate:
    """The column holds one of its public keys, so a row without one drops out instead of counting as the first."""
    return In(Name(column.name), tuple(Literal(key) for key in _classes(column)))


def _classes(column: Column) -> tuple[Any, ...]:
    """The public values of a column: its keys, or the two of a bool, or of whole numbers within (0, 1)."""
    if column.keys is None and column.type == "bool":
        return (False, True)
    if column.keys is None and column.type == "int" and column.bounds == (0, 1):
        return (0, 1)
    return tuple(key for key in column.keys or () if key is not None)
