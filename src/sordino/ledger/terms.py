"""What a ledger was made for: its dataset, relation, unit, budget and filter, written once in its first entry."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sordino.errors import LedgerError, QueryError
from sordino.ledger.budget import Budget
from sordino.ledger.filter import Filter, open_filter, read_filter
from sordino.ledger.record import FORMAT, as_text
from sordino.privacy.relation import PrivacyUnit, Relation

__all__ = ["Terms", "unit_of"]


def unit_of(unit: PrivacyUnit | Mapping[str, str] | str | None, dataset: str) -> dict[str, str]:
    """Whose privacy it is, in words that can be compared: a row of a named table, or a person known by a column of a declared type.

    How many rows a person may bring is a parameter of each release, not part of who is protected, so it is not kept here.
    """
    if isinstance(unit, Mapping):
        found = {str(name): str(value) for name, value in sorted(unit.items())}
        if set(found) not in ({"row_of"}, {"person"}, {"person", "type"}):
            raise QueryError("SRD-106", f"unit {found} is unknown.", 'Give {"row_of": table} or {"person": column, "type": type}.')
        return found if "row_of" in found else {"type": "id", **found}
    column = unit.column if isinstance(unit, PrivacyUnit) else unit
    return {"row_of": dataset} if column is None else {"person": column, "type": "id"}


@dataclass(frozen=True)
class Terms:
    """The first entry of a ledger. Everything but the budget's ceilings and purses is fixed for ever."""

    ledger: str
    dataset: str
    relation: Relation
    unit: Mapping[str, str]
    budget: Budget
    filter: Filter
    format: int = FORMAT  # that of the first entry: in a book begun in format 2 nothing older can be

    @classmethod
    def new(cls, budget: Budget, relation: str | Relation, unit: Any, dataset: str) -> Terms:
        name = as_text(dataset, "dataset")
        # an id only has to be unlike other ids; it protects nothing, so it is not drawn from the noise room
        return cls(uuid.uuid4().hex, name, Relation.of(relation), unit_of(unit, name), budget, open_filter(budget))

    def to_record(self, version: str) -> dict[str, Any]:
        return {
            "budget": self.budget.to_dict(), "dataset": self.dataset, "filter": self.filter.to_dict(), "format": self.format,
            "kind": "genesis", "ledger": self.ledger, "number": 0, "relation": str(self.relation), "unit": dict(self.unit),
            "version": version,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Terms:
        if record["kind"] != "genesis":
            raise LedgerError("SRD-601", "the ledger does not begin with its terms.", "Restore it from a backup and adopt it.")
        return cls(
            record["ledger"], record["dataset"], Relation.of(record["relation"]), record["unit"],
            Budget.from_dict(record["budget"]), read_filter(record["filter"]), record["format"],
        )  # fmt: skip

    def check(self, *, budget: Budget | None, relation: str | Relation, unit: Any, dataset: str) -> None:
        """Refuse an opening under other terms: the sums in this book mean nothing under another relation, unit or cap."""
        declared = [
            ("dataset", self.dataset, dataset),
            ("relation", str(self.relation), str(Relation.of(relation))),
            ("unit", dict(self.unit), unit_of(unit, dataset)),
        ]
        if budget is not None:
            declared += [(name, getattr(self.budget, name), getattr(budget, name)) for name in ("epsilon", "delta", "accounting")]
        for name, kept, given in declared:
            if kept != given:
                raise LedgerError(
                    "SRD-604", f"the ledger was made for {name} {kept!s}, not {given!s}.",
                    f"Open it with {name} {kept!s}, or give the other data a ledger of their own.", name=name, kept=kept, given=given,
                )  # fmt: skip
