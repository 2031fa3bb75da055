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

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["CODES", "FIXES", "BudgetExceeded", "LedgerError", "QueryError", "ReleaseFailed", "SordinoError", "builds", "not_installed"]

P = ParamSpec("P")
T = TypeVar("T")

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
    "SRD-111": "an optional part of Sordino is not installed",
    "SRD-201": "unknown column or table",
    "SRD-202": "a number column has no public bounds",
    "SRD-203": "the column's declared type does not fit the question",
    "SRD-204": "the schema or dataset file is wrong",
    "SRD-205": "the source cannot be opened",
    "SRD-206": "the filter says something a filter may not say",
    "SRD-207": "the question has more groups than one release may have",
    "SRD-208": "the question is incomplete or names something twice",
    "SRD-209": "the SQL statement says something outside the subset",
    "SRD-301": "the budget does not allow this release",
    "SRD-302": "the analyst's purse does not allow this release",
    "SRD-303": "the release costs more than one release may",
    "SRD-304": "a new ledger needs a budget",
    "SRD-305": "the price is below the least the owner sells",
    "SRD-401": "charged, but the answer could not be computed or recorded",
    "SRD-402": "charged, answer not recorded",
    "SRD-501": "the token is missing, unknown or revoked",
    "SRD-502": "the token does not allow this",
    "SRD-503": "the request is not one this server understands",
    "SRD-504": "too many requests",
    "SRD-505": "there is nothing under this address",
    "SRD-506": "the answer takes longer than the server waits",
    "SRD-507": "the server failed",
    "SRD-508": "the release waits for the owner's approval",
    "SRD-509": "the owner refused this release",
    "SRD-510": "the question takes longer than the owner allows",
    "SRD-511": "the dataset takes no new releases at present",
    "SRD-512": "the price is above the most that was to be paid",
    "SRD-601": "the ledger's hash chain is broken",
    "SRD-602": "the ledger is behind its witness, moved, or its witness is missing",
    "SRD-603": "the ledger cannot be written durably",
    "SRD-604": "the ledger belongs to another dataset, relation, unit or format",
    "SRD-605": "the request id was used for another question or price",
    "SRD-606": "adopting this ledger needs a larger or a stated write-off",
}

FIXES: dict[str, str] = {
    "SRD-101": "Give a price above 0 and at most 1e6, as a number or a decimal text: epsilon=0.5. Or ask with within=.",
    "SRD-102": "Give a delta between 1e-100 and 1, far below one over the number of people: delta=1e-6. Or ask in a way that needs none.",
    "SRD-103": "The message names the parameter and its legal range.",
    "SRD-104": "Give bounds=(low, high) from public knowledge, never from the data.",
    "SRD-105": "The message says what about the data cannot be used; drop or convert such values first.",
    "SRD-106": "Check the spelling; the message lists what is known.",
    "SRD-107": 'Use relation="add_remove", or "replace" together with the public size=.',
    "SRD-108": "Use a law whose quantile function is known: Laplace, Gaussian, Student t with 1, 2 or 4 degrees, the power law.",
    "SRD-109": "Give the statistic's distance to instability, or use a mechanism that does not need one.",
    "SRD-110": "Ask with a price between 0.001 and 20, or narrower limits per person.",
    "SRD-111": 'Install the extra the message names, such as pip install "sordino[server]".',
    "SRD-201": "Check the spelling; the message names the nearest column or table.",
    "SRD-202": "Declare public bounds for the column: bounds={'income': (0, 1_000_000)}.",
    "SRD-203": "Declare the column with a type that fits, or ask about another one.",
    "SRD-204": "The message quotes the line of the dataset file, or the argument, that is wrong.",
    "SRD-205": "Check that the file exists and can be read, and name a table inside a database: 'file.duckdb::table'.",
    "SRD-206": "Compare declared columns with constants: =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT.",
    "SRD-207": "Group by fewer columns or list fewer keys: a release has at most 1,000,000 groups.",
    "SRD-208": "Ask at least one statistic and give every answer a name of its own.",
    "SRD-209": "Rewrite the statement; the message names a way. The SQL page lists the whole subset.",
    "SRD-301": "Ask for less accuracy, or ask the owner. There is no refund and no silent refresh.",
    "SRD-302": "Ask the owner for a larger purse, or recall an answer that is recorded already.",
    "SRD-303": "Ask for less accuracy: one release may not cost more than the owner's ceiling.",
    "SRD-304": "Give budget=sd.Budget(epsilon=3) when the ledger is made.",
    "SRD-305": "Ask with the floor or more, which the message names, or for a recorded answer, which is free.",
    "SRD-401": "Ask again as a new release. The owner's log, if there is one, says what went wrong.",
    "SRD-402": "Ask again under a new request id; that is a new charge.",
    "SRD-501": "Send the token the owner gave you: Authorization: Bearer srd_... The owner makes one with sordino token add NAME.",
    "SRD-502": "Ask the owner for a token with the role or the scope that this takes.",
    "SRD-503": "The message names the part of the request that is wrong; /v1/openapi.json says what is expected.",
    "SRD-504": "Wait as long as the Retry-After header says.",
    "SRD-505": "Check the address; plans come from POST /v1/plans, releases from their answer.",
    "SRD-506": "Ask again with the same Idempotency-Key: it is charged once at most, and the answer is kept.",
    "SRD-507": "Ask again with the same Idempotency-Key: it is charged once at most. The owner's log names the place.",
    "SRD-508": "Ask again with the same Idempotency-Key once it is approved; cheaper releases need no approval.",
    "SRD-509": "Ask for less accuracy under a new Idempotency-Key, or talk to the owner.",
    "SRD-510": "Ask for less at once: fewer statistics, groups and columns, shorter LIKE patterns. The message says what is allowed.",
    "SRD-512": "What is publicly known has changed since the price was shown: look at the new price, then pay it or ask for less.",
    "SRD-511": "Recorded answers are still free. The owner raises deadline_ms and restarts the server; sordino check --time proposes one.",
    "SRD-601": "Restore a whole copy of the ledger and adopt it: sordino ledger adopt.",
    "SRD-602": "If this ledger is the right one, the owner adopts it and writes off what may be missing: sordino ledger adopt.",
    "SRD-603": "Free the disk, fix the permissions or the connection, and ask again.",
    "SRD-604": "Open the ledger with the dataset, relation and unit it was made for.",
    "SRD-605": "Use a new request id for another question or price.",
    "SRD-606": "State what may have been spent elsewhere: sordino ledger adopt --epsilon 0.5.",
}


class SordinoError(Exception):
    """What happened, what to do about it, and whether anything was spent."""

    spent: bool | None = False  # None: nobody can say

    def __init__(self, code: str, what: str, fix: str = "", **facts: Any) -> None:
        self.code, self.what, self.fix, self.facts = code, what, fix, facts
        tail = {True: "The charge stands.", False: "Nothing was spent.", None: "Whether it was charged is not known."}[self.spent]
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


def builds(function: Callable[P, T]) -> Callable[P, T]:
    """A step of building a question: whatever goes wrong in it is a QueryError, for nothing was read and nothing was spent.

    For what only writes a question down; never around anything that looks at data or pays.
    """

    @wraps(function)
    def built(*given: P.args, **named: P.kwargs) -> T:
        try:
            return function(*given, **named)
        except SordinoError:
            raise
        except Exception as error:
            name = function.__name__
            try:
                said = f"{type(error).__name__}: {str(error)[:200]}"
            except Exception:  # it quotes something of the caller's that cannot be printed
                said = type(error).__name__
            what = f"{name} cannot be asked with these arguments ({said})."
            raise QueryError("SRD-208", what, f"See help({name}) for what it takes.") from error

    return built


EXTRAS = {
    "server": ("fastapi", "httptools", "jinja2", "pydantic", "starlette", "uvicorn", "uvloop"),
    "postgres": ("psycopg",),
    "spark": ("pyspark",),
    "frames": ("pandas", "pyarrow"),
    "models": ("joblib", "sklearn"),
}


def not_installed(error: ImportError) -> QueryError | None:
    """The extra that brings the missing package, in one line; None if no extra does."""
    package = (error.name or "").partition(".")[0]
    extra = next((name for name, packages in EXTRAS.items() if package in packages), None)
    if extra is None and package != "polars":
        return None
    place = "polars" if extra is None else f'"sordino[{extra}]"'
    return QueryError("SRD-111", f"this needs {package}, which is not installed.", f"Install it: pip install {place}.", package=package)


def _rebuilt(kind: type[SordinoError], code: str, what: str, fix: str, facts: dict[str, Any]) -> SordinoError:
    return kind(code, what, fix, **facts)
