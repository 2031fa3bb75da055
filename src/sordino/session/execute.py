"""Charge, look, draw: the shortest list of lines that must be right. Data, noise and ledger meet here and nowhere else."""

from __future__ import annotations

import contextlib
import logging
import traceback
from collections.abc import Callable

import numpy as np

from sordino.engines.port import Engine
from sordino.errors import QueryError, ReleaseFailed, SordinoError
from sordino.ledger import Book, Entry
from sordino.noise import draw as exact_draw
from sordino.noise import fresh_id
from sordino.privacy.discrete import UniformInteger
from sordino.session.settled import Settled
from sordino.summaries import Draw

__all__ = ["execute", "rehearse"]

log = logging.getLogger("sordino")
LOST = "The charge stands and no answer was recorded."
AGAIN = "Ask again as a new release."


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
    rehearse(plan)
    entry = ledger.charge(request or fresh_id(), plan.key, plan.cost, analyst)
    if entry.state == "sealed" and entry.answer is not None:
        return entry.answer
    if entry.state != "new":
        raise ReleaseFailed("SRD-402", LOST, AGAIN)
    answer = None
    try:
        answer = _look(plan, ledger, engine, entry, draw)
    except BaseException:
        with contextlib.suppress(BaseException):  # a log that cannot be written must not say why it was needed
            if owner_log is not None:
                owner_log(traceback.format_exc())
    if answer is None:  # raised outside the handler, so that no cause or context travels with it
        raise ReleaseFailed("SRD-401", LOST, AGAIN)
    return answer


def _look(plan: Settled, ledger: Book, engine: Engine, entry: Entry, draw: Draw) -> bytes:
    """In a function of its own, so that salt and summaries are gone from every frame a traceback of the caller could show."""
    log.info("charged %s for %s", plan.cost, plan.mechanism)
    with np.errstate(all="ignore"):  # numpy warns about values, and a warning is something visible
        salt = draw(UniformInteger(0, 2**128 - 1))
        groups, answers = plan.converse(lambda frame: engine.bounded(frame, salt), draw)
        answer = plan.record(groups, answers, entry, ledger.balance(entry))
    ledger.seal(entry, answer)
    return answer


def rehearse(plan: Settled) -> None:
    """Hold the whole conversation with a table of no rows: what cannot be asked, drawn or recorded is refused here, for nothing."""
    try:
        plan.rehearse(exact_draw)
    except SordinoError:
        raise
    except Exception as error:
        what = f"this question cannot be released at {plan.cost} ({type(error).__name__}: {error})."
        raise QueryError("SRD-110", what, "Ask with a price between 0.001 and 20, or narrower limits.") from error
