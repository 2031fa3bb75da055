"""The builder's first step, where one is wanted: one number for each person, computed inside that person; statistics are then about people.

In SQL it is a subquery grouped by the person. Counts and sums of one person have no bounds that follow from the columns, so the builder
says how much of them counts: what was typed, or what ten rows could make.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sordino.errors import QueryError
from sordino.remote.wording import quoted

__all__ = ["NOBODY", "TOTALS", "BuiltPerson", "read_person"]

TOTALS = {
    "count": "number of rows", "sum": "sum", "mean": "mean", "min": "minimum", "max": "maximum", "distinct": "number of different values",
}  # fmt: skip
_SQL = {
    "count": "COUNT(*)", "sum": "SUM({})", "mean": "AVG({})", "min": "MIN({})", "max": "MAX({})", "distinct": "COUNT(DISTINCT {})",
}  # fmt: skip
_KINDS: dict[type[exp.Expression], str] = {exp.Sum: "sum", exp.Avg: "mean", exp.Min: "min", exp.Max: "max"}
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
ROWS = 10  # of one person, where nobody says how many count


@dataclass(frozen=True)
class BuiltPerson:
    """One number of each person: which, of which column, and between which bounds it counts. Nothing where rows are asked about."""

    total: str = ""
    of: str = ""
    low: str = ""
    high: str = ""

    def __bool__(self) -> bool:
        return bool(self.total)

    @property
    def label(self) -> str:
        """What the number is called in the statement."""
        said = "_".join(re.findall(r"[a-z0-9]+", f"{self.total} {self.of}".lower()))
        return f"{said or 'number'}_each"

    def sql(self, columns: Sequence[Mapping[str, Any]]) -> str:
        """The number, between its bounds."""
        if self.total not in _SQL:
            raise QueryError("SRD-208", "the builder does not know this number of one person.", f"Choose one of {', '.join(TOTALS)}.")
        if self.total != "count" and not self.of:
            raise QueryError("SRD-208", f"{TOTALS[self.total]} of which column of one person?", "Choose a column.")
        low, high = self._bounds(next((column for column in columns if column["name"] == self.of), {}))
        made = _SQL[self.total].format(quoted(self.of))
        made = f"GREATEST({made}, {low})" if low else made
        return f"LEAST({made}, {high})" if high else made

    def _bounds(self, column: Mapping[str, Any]) -> tuple[str, str]:
        ends = self.low.strip(), self.high.strip()
        if any(end and not _NUMBER.fullmatch(end) for end in ends) or (all(ends) and float(ends[0]) >= float(ends[1])):
            raise QueryError("SRD-208", "between which bounds does the number of one person count?", "Give two numbers, such as 0 and 50.")
        if any(ends) and not (self.total == "sum" and not all(ends)):
            return ends
        if self.total in ("count", "distinct"):
            return "", str(ROWS if self.total == "count" else len(column.get("values") or ()) or ROWS)
        if self.total != "sum":
            return "", ""
        try:
            first, last = (float(end) for end in column.get("bounds") or ("0", "1"))
        except ValueError:
            raise QueryError("SRD-208", f"{self.of} cannot be added.", "Choose a column of numbers.") from None
        return ends[0] or f"{min(first, ROWS * first):g}", ends[1] or f"{max(last, ROWS * last):.17g}"

    def source(self, table: str, unit: str | None, conditions: Sequence[str], columns: Sequence[Mapping[str, Any]]) -> str:
        """The subquery with a row for each person."""
        if unit is None:
            raise QueryError("SRD-208", "every row is a person here.", "Ask about the rows.")
        where = f" WHERE {' AND '.join(f'({condition})' for condition in conditions)}" if conditions else ""
        number = f"{self.sql(columns)} AS {self.label}"
        return f"(SELECT {quoted(unit)}, {number} FROM {quoted(table)}{where} GROUP BY {quoted(unit)}) AS each_person"


NOBODY = BuiltPerson()  # rows are asked about


def read_person(select: exp.Expression, unit: str | None) -> tuple[BuiltPerson, str] | None:
    """The number a subquery computes for each person, and its name; None where it says more."""
    shown, group = select.expressions, select.args.get("group")
    keys = [] if group is None else group.expressions
    if len(shown) != 2 or len(keys) != 1 or type(keys[0]) is not exp.Column or keys[0].name != unit or shown[0].unalias() != keys[0]:
        return None
    low = high = ""
    number = shown[1].unalias()
    for kind in (exp.Least, exp.Greatest):
        if type(number) is kind:
            others = number.expressions
            end = _end(others[0]) if len(others) == 1 else None
            if end is None:
                return None
            low, high = (low, end) if kind is exp.Least else (end, high)
            number = number.this
    found = _total(number)
    return None if found is None else (BuiltPerson(*found, low, high), shown[1].alias_or_name)


def _total(number: exp.Expression) -> tuple[str, str] | None:
    if type(number) is exp.Count:
        if type(number.this) is exp.Star:
            return "count", ""
        alone = type(number.this) is exp.Distinct and len(number.this.expressions) == 1 and type(number.this.expressions[0]) is exp.Column
        return ("distinct", number.this.expressions[0].name) if alone else None
    kind = _KINDS.get(type(number))
    return (kind, number.this.name) if kind is not None and type(number.this) is exp.Column and not number.expressions else None


def _end(item: exp.Expression) -> str | None:
    match item:
        case exp.Literal() if not item.is_string:
            return str(item.this)
        case exp.Neg(this=exp.Literal() as inner) if not inner.is_string:
            return f"-{inner.this}"
    return None
