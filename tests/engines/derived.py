"""Expressions at random over the awkward tables, legal or not, and their values by the book."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.lab.awkward_frames import AGES, DAYS, FINES, FLAGS, MOMENTS, OLD, PRICES, WARDS, WEIGHTS
from sordino.lab.awkward_tables import COLUMNS
from sordino.lab.reference_value import evaluate, typed
from sordino.schema.column import Column
from sordino.schema.expression import (
    PARTS,
    Arithmetic,
    Call,
    Case,
    Cast,
    Compare,
    Constant,
    DatePart,
    Expression,
    IsNull,
    Leaf,
    Literal,
    Name,
    Truth,
)
from sordino.schema.interval import derive


def made(expression: Expression, row: dict[str, Any]) -> Any:
    """The value of an expression on one row of raw values."""

    def value(name: str, expression: Any = None) -> tuple[Column, Any]:
        if expression is not None:
            return derive(expression), evaluate(expression, value)
        known = next(item for item in COLUMNS if item.name == name)
        return known, typed(known, row[name])

    return evaluate(expression, value)


LEAVES = (AGES, PRICES, WARDS, WEIGHTS, FINES, DAYS, MOMENTS, FLAGS)


def grow(dice: random.Random, depth: int = 3, leaves: tuple[Leaf, ...] = LEAVES) -> Expression:
    """Any expression, legal or not."""
    if depth == 0 or dice.random() < 0.15:
        return dice.choice([*leaves, Constant(dice.choice([0, 1, -7, Fraction(5, 4), None]))])

    def part() -> Expression:
        return grow(dice, depth - 1, leaves)

    last = leaves[-1].column.name if leaves is not LEAVES else "price"
    conditions = [OLD, Compare("<", Name("weight"), Literal(Fraction(2)))] if leaves is LEAVES else []
    condition = dice.choice([IsNull(Name(last)), *conditions])
    return dice.choice(
        [
            lambda: Arithmetic(dice.choice("+-*/"), part(), part()),
            lambda: Call(dice.choice(["abs", "floor", "ceil"]), (part(),)),
            lambda: Call("round", (part(),), dice.choice([0, 1, 3])),
            lambda: Call(dice.choice(["least", "greatest", "coalesce"]), (part(), part())),
            lambda: DatePart(dice.choice(PARTS), part()),
            lambda: Cast(part(), *dice.choice([("int",), ("float",), ("decimal", 2), ("bool",), ("date",), ("timestamp",)])),
            lambda: Case(((condition, part()),), dice.choice([None, part()])),
            lambda: Truth(condition),
        ]
    )()


def legal(expression: Expression) -> bool:
    """Whether it makes a column whose integers fit; a plain column makes none."""
    try:
        return not isinstance(expression, Leaf) and derive(expression).grid().width < 2**60
    except QueryError:
        return False
