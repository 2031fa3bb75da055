"""Who counts as a neighbour, and whose privacy it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sordino.errors import QueryError

__all__ = ["DRAWN", "Limits", "Narrowing", "PrivacyUnit", "Relation"]


class Relation(StrEnum):
    """Two tables are neighbours when one unit is added or removed, or when one unit's data are replaced.

    Theorem. An add_remove epsilon is a replace 2 epsilon (delta (1 + e^epsilon), rho 4 rho, mu 2 mu). A replace guarantee says
    nothing about add_remove.
    Proof. A replacement is a removal followed by an addition; compose the two steps by group privacy. A mechanism that prints n is
    perfectly private under replace and not private at all under add_remove. QED
    """

    ADD_REMOVE = "add_remove"
    REPLACE = "replace"

    @classmethod
    def of(cls, name: str | Relation) -> Relation:
        try:
            return cls(name)
        except ValueError:
            raise QueryError("SRD-107", f"relation {name!r} is unknown.", 'Use "add_remove" or "replace".') from None


@dataclass(frozen=True)
class Limits:
    r"""How one person's rows may fall on groups: at most `rows` in a group, in at most `groups` groups, at most `total` in all.

    Theorem. Rows (r_1, .., r_j) of a person satisfy j <= touched, r_i <= rows and sum r_i <= counted; a convex function of them that is 0
    at 0 is largest with `filled` groups full and one group of `rest`; the largest sum of squares is `squares`.
    Proof. The set is a polytope, and those are its vertices with the largest sum. QED
    """

    rows: int = 1
    groups: int = 1
    total: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", min(self.rows, self.total))

    @property
    def counted(self) -> int:
        """The rows of one person that can count at all."""
        return min(self.groups * self.rows, self.total)

    @property
    def touched(self) -> int:
        """The groups one person can be in."""
        return min(self.groups, self.total)

    @property
    def filled(self) -> int:
        return min(self.groups, self.total // self.rows)

    @property
    def rest(self) -> int:
        return self.counted - self.filled * self.rows

    @property
    def squares(self) -> int:
        return self.filled * self.rows**2 + self.rest**2


@dataclass(frozen=True)
class PrivacyUnit:
    """What one unit is: a row (column None), or a person of whom at most so much counts.

    `max_rows` are the rows of one person in all, `max_groups` the groups they may lie in, `max_rows_per_group` those of one group
    (None: as many as in all). A question without groups is limited by max_rows alone.
    """

    column: str | None = None
    relation: Relation = Relation.ADD_REMOVE
    max_rows: int = 1
    max_groups: int = 1
    max_rows_per_group: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        for name in ("max_rows", "max_groups", "max_rows_per_group"):
            value = getattr(self, name)
            if value is None and name == "max_rows_per_group":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise QueryError("SRD-103", f"{name} is {value!r}.", f"Give {name} as a whole number of at least 1.")

    @property
    def rows_per_group(self) -> int:
        """How many rows of one person count in one group."""
        return self.max_rows if self.max_rows_per_group is None else min(self.max_rows_per_group, self.max_rows)

    def limits(self, groups: int | None = None) -> Limits:
        """How a person's rows may fall on the groups of a question; `groups` is how many there are, None without groups."""
        if groups is None or self.column is None:
            return Limits(self.max_rows, 1, self.max_rows)
        return Limits(self.rows_per_group, min(self.max_groups, groups), self.max_rows)

    @property
    def words(self) -> str:
        """How much of one person counts, in words."""
        rows = "1 row" if self.max_rows == 1 else f"{self.max_rows} rows"
        groups = "1 group" if self.max_groups == 1 else f"{self.max_groups} groups"
        each = f", {self.rows_per_group} in each" if self.max_groups > 1 and self.rows_per_group < self.max_rows else ""
        return f"at most {rows} of one person, in at most {groups}{each}"


DRAWN = "private"  # a limit on rows that is drawn, and published, before the question is answered
LIMITS = {"rows": "max_rows", "groups": "max_groups", "rows_per_group": "max_rows_per_group"}


@dataclass(frozen=True)
class Narrowing:
    """How much of one person counts in one question, where that is less than the owner declared; None: as declared.

    Theorem. A question narrowed to n <= N rows of a person is answered at the price of n rows, whatever the declaration says.
    Proof. Bounding keeps rows of a person by that person's rows and a salt alone, so with n in place of N one person moves the kept rows
    by at most n, and nobody else's. QED
    """

    rows: int | str | None = None
    groups: int | None = None
    rows_per_group: int | None = None
    drawn: str = ""  # where a drawn limit is from; how the question came to be, and no part of it

    @property
    def given(self) -> dict[str, Any]:
        """The limits that were named, by the words of `limit`."""
        return {word: value for word in LIMITS if (value := getattr(self, word)) is not None}

    def checked(self, unit: PrivacyUnit) -> Narrowing:
        """The same if the declaration allows it: a question may count less of a person, never more."""
        if self.given and unit.column is None:
            raise QueryError(
                "SRD-204", "every row is a unit, so there is nothing to limit.", "Leave limit() out, or name unit= of the table."
            )
        for word, value in self.given.items():
            if word == "rows" and value == DRAWN:
                continue
            most = unit.rows_per_group if word == "rows_per_group" else getattr(unit, LIMITS[word])
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
                fix = f"The table declares {LIMITS[word]} {most}: give a whole number between 1 and that."
                raise QueryError("SRD-204", f"limit({word}={value!r}) is not narrower than the declaration.", fix)
        return self

    def of(self, unit: PrivacyUnit, *, grouped: bool) -> PrivacyUnit:
        """The unit as this question sees it. Without groups only the rows in all can be fewer."""
        rows = min(self.rows, unit.max_rows) if isinstance(self.rows, int) else unit.max_rows
        if not grouped:
            return unit if rows == unit.max_rows else replace(unit, max_rows=rows)
        groups = unit.max_groups if self.groups is None else min(self.groups, unit.max_groups)
        each = unit.max_rows_per_group if self.rows_per_group is None else min(self.rows_per_group, unit.rows_per_group)
        return replace(unit, max_rows=rows, max_groups=groups, max_rows_per_group=each)
