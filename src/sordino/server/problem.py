"""Errors as the network sees them: problem+json with a code, a fix and whether anything was spent.

The owner's log of what happened on the server: one JSON object a line, public facts only.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
from typing import Any

from starlette.responses import Response

from sordino.errors import CODES, BudgetExceeded, LedgerError, QueryError, ReleaseFailed, SordinoError

__all__ = ["MEDIA", "Refusal", "Unfinished", "facts_of", "problem", "record", "status_of", "unexpected"]

MEDIA = "application/problem+json"


class Refusal(SordinoError):
    """The server turns a request away before anything is asked of a dataset."""

    def __init__(self, status: int, code: str, what: str, fix: str = "", **headers: str) -> None:
        super().__init__(code, what, fix)
        self.status, self.headers = status, {name.replace("_", "-"): value for name, value in headers.items()}


class Unfinished(Refusal):
    """Nobody can say yet whether the charge stands."""

    spent = None


def status_of(error: SordinoError) -> int:
    """402 the purse, 409 a request id used twice, 422 the question, 500 charged and lost, 503 the ledger."""
    match error:
        case Refusal():
            return error.status
        case BudgetExceeded():
            return 402
        case ReleaseFailed():
            return 500
        case LedgerError():
            return 503
        case QueryError(code="SRD-605"):
            return 409
    return 422


def facts_of(error: SordinoError) -> dict[str, Any]:
    return {
        "type": f"urn:sordino:error:{error.code}",
        "title": CODES.get(error.code, ""),
        "status": status_of(error),
        "detail": error.what,
        "code": error.code,
        "fix": error.fix,
        "spent": error.spent,
    }


def problem(error: SordinoError) -> Response:
    """ASCII only: a column or key may have half a surrogate pair in its name."""
    headers = error.headers if isinstance(error, Refusal) else {}
    return Response(json.dumps(facts_of(error)), status_of(error), headers, MEDIA)


def unexpected() -> Refusal:
    """What anybody hears when the server itself fails: one constant text."""
    return Unfinished(500, "SRD-507", "the server failed.", "Ask again with the same Idempotency-Key; the owner's log names the place.")


log = logging.getLogger("sordino.server")


def record(event: str, **facts: Any) -> None:
    """Write one line. Who, which route, which status, which charge; never a question's constants and never a value."""
    if log.isEnabledFor(logging.INFO):
        when = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        log.info("%s", json.dumps({"time": when, "event": event, **facts}, default=str))
