"""The terms of a formula on a grid, and the way back from coordinates to the columns' own units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.schema.column import Column
from sordino.statistics.regression_formula import Formula, Part
from sordino.summaries.moment import Term

__all__ = ["INTERCEPT", "Setting", "placement"]

INTERCEPT = "intercept"
Floats = NDArray[np.float64]


def placement(column: Column, bits: int) -> tuple[float, float]:
    """Middle and half width of a coordinate in the column's unit: what -1 to 1 means.

    Cutting low bits moves a value down by half a coarse step on average, and the middle with it.
    """
    grid = column.grid()
    shift = max(0, grid.width.bit_length() - bits)
    half = Fraction((grid.width >> shift) << shift) * grid.step / 2
    return float(grid.low * grid.step + half + ((1 << shift) - 1) * grid.step / 2), float(half)


def _placed(part: Part, columns: Mapping[str, Column], bits: int) -> tuple[float, float]:
    """The same for one coefficient; an indicator means itself."""
    return (0.0, 1.0) if part.predicates else placement(columns[part.column], bits)


@dataclass(frozen=True)
class Setting:
    """The terms of a formula, and the way back from coordinates in [-1, 1] to the columns' units."""

    formula: Formula
    columns: Mapping[str, Column]
    first: int = 0
    bits: int = 20  # of a coordinate: COARSE in products

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coefficients; with several classes those of each class against the first."""
        alone = (INTERCEPT, *(part.name for part in self.formula.parts))
        return tuple(f"{key}: {name}" for key in self.formula.target.classes[1:] for name in alone) or alone

    @property
    def constants(self) -> tuple[bool, ...]:
        """Which of them are intercepts."""
        return tuple(i % (len(self.formula.parts) + 1) == 0 for i in range(len(self.names)))

    @cached_property
    def predicates(self) -> tuple[Any, ...]:
        """One per indicator, then the conditions a row must meet."""
        parts = (predicate for part in (*self.formula.parts, self.formula.target) for predicate in part.predicates)
        return (*parts, *self.formula.required)

    @property
    def required(self) -> tuple[int, ...]:
        held = len(self.predicates) - len(self.formula.required)
        return tuple(self.first + held + i for i in range(len(self.formula.required)))

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The constant, the coefficients' terms, the target."""
        places, terms = iter(range(self.first, self.first + len(self.predicates))), [Term()]
        for part in (*self.formula.parts, self.formula.target):
            if part.classes:
                terms.append(Term(cells=tuple(next(places) for _ in part.classes)))
            else:
                terms.append(Term(part.column) if part.predicate is None else Term(index=next(places)))
        return tuple(terms)

    @cached_property
    def back(self) -> tuple[Floats, float]:
        """A matrix and an offset of the intercept: coefficients in units of the columns from those of coordinates."""
        placed = [_placed(part, self.columns, self.bits) for part in self.formula.parts]
        middles, halves = (np.array(ends) for ends in zip(*placed, strict=True))
        level, height = _placed(self.formula.target, self.columns, self.bits)
        matrix = np.diag([height, *(height / halves)])
        matrix[0, 1:] = -height * middles / halves
        return np.asarray(np.kron(np.eye(max(len(self.formula.target.classes) - 1, 1)), matrix), np.float64), level

    @property
    def height(self) -> float:
        """What 1 means among coordinates of the target."""
        return _placed(self.formula.target, self.columns, self.bits)[1]

    def named(self, values: Floats) -> dict[str, float]:
        return dict(zip(self.names, values.tolist(), strict=True))

    def placed(self, theta: Sequence[float]) -> Floats:
        """Coefficients in the columns' units."""
        matrix, level = self.back
        value = matrix @ np.array(theta)
        value[0] += level
        return np.asarray(value)
