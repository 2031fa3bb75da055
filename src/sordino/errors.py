"""Every error Sordino raises. Three families answer the question "was I charged?".

    SordinoError
    ├── QueryError          no:  the question or its parameters are wrong
    ├── BudgetExceeded      no:  the question is fine, the purse is not deep enough
    ├── ReleaseFailed       yes: the charge stands, the answer could not be recorded or computed
    └── LedgerError         no:  the book itself cannot be trusted or reached; nothing is answered

Before the charge a message may explain everything. After it the text is constant, because a text that depends on data is
a release nobody paid for.
"""

from __future__ import annotations

from typing import Any

__all__ = ["CODES", "BudgetExceeded", "LedgerError", "QueryError", "ReleaseFailed", "SordinoError"]

CODES: dict[str, str] = {
    "SRD-101": "epsilon is not a legal privacy price",
    "SRD-102": "delta is not a legal failure probability",
    "SRD-103": "a mechanism's parameter is out of range",
    "SRD-104": "bounds are missing or reversed",
    "SRD-105": "the data given cannot be used",
    "SRD-106": "unknown name",
    "SRD-107": "neighbour relation is unknown or does not fit",
    "SRD-108": "this law has no exact sampler and cannot be released",
    "SRD-109": "the distance to instability is not computable for this statistic",
    "SRD-110": "this price cannot be certified",
    "SRD-201": "unknown column or table",
    "SRD-202": "a number column has no public bounds",
    "SRD-203": "the column's declared type does not fit the question",
    "SRD-204": "the schema or dataset file is wrong",
    "SRD-205": "the source cannot be opened",
    "SRD-206": "the filter says something a filter may not say",
    "SRD-207": "the question has more groups than one release may have",
    "SRD-208": "the question is incomplete or names something twice",
    "SRD-301": "the budget does not allow this release",
    "SRD-302": "the analyst's purse does not allow this release",
    "SRD-303": "the release costs more than one release may",
    "SRD-304": "a new ledger needs a budget",
    "SRD-401": "charged, but the answer could not be computed or recorded",
    "SRD-402": "charged, answer not recorded",
    "SRD-601": "the ledger's hash chain is broken",
    "SRD-602": "the ledger is behind its witness, moved, or its witness is missing",
    "SRD-603": "the ledger cannot be written durably",
    "SRD-604": "the ledger belongs to another dataset, relation, unit or format",
    "SRD-605": "the request id was used for another question or price",
    "SRD-606": "adopting this ledger needs a larger or a stated write-off",
}


class SordinoError(Exception):
    """What happened, what to do about it, and whether anything was spent."""

    spent = False

    def __init__(self, code: str, what: str, fix: str = "", **facts: Any) -> None:
        self.code, self.what, self.fix, self.facts = code, what, fix, facts
        tail = "The charge stands." if self.spent else "Nothing was spent."
        super().__init__(" ".join(part for part in (f"{code}: {what}", fix, tail) if part))

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes whole: Exception's own way would hand the finished text to `__init__`."""
        return _rebuilt, (type(self), self.code, self.what, self.fix, self.facts)


class QueryError(SordinoError, ValueError):
    """The question, its parameters or its declarations are wrong; nothing was spent."""


class BudgetExceeded(SordinoError):
    """The question is legal but the budget does not cover it; nothing was spent."""


class ReleaseFailed(SordinoError):
    """The charge is durable and the answer is lost. The text never depends on the data."""

    spent = True


class LedgerError(SordinoError):
    """The ledger is broken, moved or unreachable, so nothing is answered."""


def _rebuilt(kind: type[SordinoError], code: str, what: str, fix: str, facts: dict[str, Any]) -> SordinoError:
    return kind(code, what, fix, **facts)
