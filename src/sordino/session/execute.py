"""Charge, look, draw: the shortest list of lines that must be right. Data, noise and ledger meet here and nowhere else."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

from sordino.engines.port import Engine
from sordino.errors import LedgerError, ReleaseFailed
from sordino.ledger import Book, Entry
from sordino.noise import draw as exact_draw
from sordino.noise import fresh_id
from sordino.privacy.discrete import UniformInteger
from sordino.session.settled import Settled
from sordino.summaries import Draw

__all__ = ["execute"]

log = logging.getLogger("sordino")
LOST = "The charge stands and no answer was recorded."


def execute(
    plan: Settled,
    ledger: Book,
    engine: Engine,
    *,
    request: str | None = None,
    analyst: str | None = None,
    draw: Draw = exact_draw,
    owner_log: Callable[[str], None] | None = None,
) -> bytes:
    """The sealed bytes of one release: charged durably before any row is read, drawn once, recorded before anyone sees it.

    Only the call that inserted the charge may look at data. After the charge nothing but the released value depends on the data: every
    failure raises the same error with the same text, and what went wrong goes to the owner's log or nowhere.
    """
    entry = ledger.charge(request or fresh_id(), plan.key, plan.cost, analyst)
    if entry.state == "sealed" and entry.answer is not None:
        return entry.answer
    if entry.state != "new":
        raise ReleaseFailed("SRD-402", LOST, "Ask again as a new release.")
    log.info("charged %s for %s", plan.cost, plan.mechanism)
    code = None
    try:
        salt = draw(UniformInteger(0, 2**128 - 1))
        groups, answers = plan.converse(lambda frame: engine.bounded(frame, salt), draw)
        answer = plan.record(groups, answers, entry, plan.card(entry, so_far(ledger, entry)))
        ledger.seal(entry, answer)
    except BaseException as error:
        code = "SRD-402" if isinstance(error, LedgerError) else "SRD-401"
        if owner_log is not None:
            owner_log(traceback.format_exc())
    if code:  # raised outside the handler, so that no cause or context travels with it
        raise ReleaseFailed(code, LOST, "Ask again as a new release.")
    return answer


def so_far(ledger: Book, entry: Entry) -> dict[str, Any]:
    """The book right after this charge: the loss so far and the cap, by the ledger's own rule of addition."""
    balance = ledger.balance(entry)
    rule = ledger.terms.budget.accounting
    return {"epsilon": balance.spent, "delta": balance.spent_delta, "cap": balance.cap, "cap delta": balance.cap_delta, "accounting": rule}


def pinned(outcomes: Any) -> Draw:
    """A draw that returns given outcomes in order, for replay on neighbours in tests and the lab."""
    queue = iter(outcomes)
    return lambda law: next(queue)
