"""Structural zeros: which cells a declared rule forbids. Rules come from the declaration alone; one mined from rows would leak."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.schema.column import shown
from sordino.schema.expression import And, Between, Compare, In, IsNull, Like, Literal, Name, Not, Or, Predicate, names
from sordino.share.cells import FineCells
from sordino.share.junction_tree import Clique

__all__ = ["forbidden"]

MOST = 200_000
OPERATIONS = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def forbidden(rules: Sequence[Predicate], cells: tuple[FineCells, ...], place: Mapping[str, int]) -> dict[Clique, NDArray[np.bool_]]:
    """For every rule the columns it is about, and which combinations of their fine cells it is true of."""
    out: dict[Clique, NDArray[np.bool_]] = {}
    for rule in rules:
        mentioned = [name.column for name in names(rule)]
        for name in names(rule):
            known = place.get(name.column)
            if known is None or name.expression is not None or not cells[known].single:
                what = f"a rule about {shown(name.column)} cannot be told cell by cell."
                raise QueryError("SRD-208", what, "Forbid values of shared columns that are listed, truth values or short ranges.")
        clique = tuple(sorted({place[name] for name in mentioned}))
        shape = tuple(cells[i].places for i in clique)
        if math.prod(shape) > MOST:
            raise QueryError("SRD-208", f"a rule is about {math.prod(shape):,} cells.", "Forbid combinations of fewer columns.")
        never, held_by = np.zeros(shape, bool), [[_value(cells[i], code) for code in range(cells[i].places)] for i in clique]
        for at in product(*map(range, shape)):
            values = {cells[i].column.name: held[code] for i, held, code in zip(clique, held_by, at, strict=True)}
            never[at] = _truth(rule, values) is True
        out[clique] = out[clique] | never if clique in out else never
    return out


class _Other:
    """A value that equals no listed one."""


_OTHER = _Other()


def _value(cells: FineCells, code: int) -> Any:
    if code == cells.places - 1:
        return None
    if cells.other and code == len(cells.values):
        return _OTHER
    return cells.values[code] if cells.values else cells.column.grid().value(code)


def _side(side: Name | Literal, row: Mapping[str, Any]) -> Any:
    return side.value if isinstance(side, Literal) else row[side.column]


def _truth(rule: Predicate, row: Mapping[str, Any]) -> bool | None:
    """Three-valued, as SQL is."""
    match rule:
        case Compare(op, left, right):
            a, b = _side(left, row), _side(right, row)
            if a is None or b is None:
                return None
            if isinstance(a, _Other) or isinstance(b, _Other):
                return op == "<>"
            return bool(OPERATIONS[op](a, b))
        case Between(item, low, high):
            return _truth(And((Compare(">=", item, low), Compare("<=", item, high))), row)
        case In(item, values):
            return _truth(Or(tuple(Compare("=", item, value) for value in values)), row)
        case IsNull(item):
            return row[item.column] is None
        case Like(item, pattern):
            text = row[item.column]
            if text is None or isinstance(text, _Other):
                return None if text is None else False
            parts = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern)
            return re.fullmatch(parts, str(text), re.DOTALL) is not None
        case Not(part):
            inner = _truth(part, row)
            return None if inner is None else not inner
        case And(parts):
            found = [_truth(part, row) for part in parts]
            return False if False in found else None if None in found else True
        case Or(parts):
            found = [_truth(part, row) for part in parts]
            return True if True in found else None if None in found else False
