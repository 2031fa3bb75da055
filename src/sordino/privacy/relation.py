"""Who counts as a neighbour, and whose privacy it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sordino.errors import QueryError

__all__ = ["PrivacyUnit", "Relation"]


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
class PrivacyUnit:
    """What one unit is: a row (column None), or a person with at most max_rows rows in each of at most max_groups groups."""

    column: str | None = None
    relation: Relation = Relation.ADD_REMOVE
    max_rows: int = 1
    max_groups: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.of(self.relation))
        for name in ("max_rows", "max_groups"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise QueryError("SRD-103", f"{name} is {value!r}.", f"Give {name} as a whole number of at least 1.")

    @property
    def stability(self) -> int:
        """How many rows of one group a single step of the relation can touch."""
        return self.max_rows
