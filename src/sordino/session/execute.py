"""Charge, look, draw: the shortest list of lines that must be right. Data, noise and ledger meet here and nowhere else."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from sordino.engines.port import Engine
from sordino.errors import QueryError, ReleaseFailed, SordinoError
from sordino.ledger import Asked, Book, Entry
from sordino.ledger.record import as_text
from sordino.noise import draw as exact_draw
from sordino.noise import fresh_id
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import UniformInteger
from sordino.schema.column import shown
from sordino.session.encoding import join
from sordino.summaries import Draw

__all__ = ["Payable", "as_fresh", "execute", "execute_batch", "measure", "rehearse", "sealed_first"]

log = logging.getLogger("sordino")
LOST = "The charge stands and no answer was recorded."
AGAIN = "Ask again as a new release."


class Payable(Protocol):
    """A release before it happens: what is charged, what is asked, how it is rehearsed and recorded."""

    @property
    def asked(self) -> Asked: ...
    @property
    def cost(self) -> Cost: ...
    @property
    def mechanism(self) -> str: ...
    def converse(self, open_frame: Any, draw: Draw) -> tuple[Any, Any]: ...
    def record(self, groups: Any, answers: Any, entry: Entry, balance: Any) -> bytes: ...
    def rehearse(self, draw: Draw) -> None: ...


def execute(
    plan: Payable,
    ledger: Book,
    engine: Engine,
    *,
    request: str | None = None,
    analyst: str | None = None,
    draw: Draw = exact_draw,
    owner_log: Callable[[str], None] | None = None,
    wish: Mapping[str, str] | None = None,
) -> bytes:
    """The sealed bytes of one release: charged durably before any row is read, drawn once, recorded before anyone sees it.

    Only the call that inserted the charge may look at data. After the charge nothing but the released value depends on the data: every
    failure raises the same error with the same text, and what went wrong goes to the owner's log or nowhere. `wish` is the price in the
    caller's words, by which a repeat of the request is known although the price may have changed meanwhile.
    """
    rehearse(plan)
    asked = plan.asked if wish is None else replace(plan.asked, wish=wish)
    entry = ledger.charge(_request(request), asked, plan.cost, analyst)
    return _paid(entry, lambda: _look(plan, ledger, engine, entry, draw), ledger, owner_log)


def execute_batch(
    plans: Sequence[tuple[Payable, Engine]],
    asked: Asked,
    ledger: Book,
    *,
    request: str | None = None,
    analyst: str | None = None,
    draw: Draw = exact_draw,
    owner_log: Callable[[str], None] | None = None,
) -> bytes:
    """Several releases under one charge, all or nothing. Their prices are fixed before the first is drawn, so they compose as one event."""
    for plan, _ in plans:
        rehearse(plan)
    entry = ledger.charge_batch(_request(request), asked, [plan.cost for plan, _ in plans], analyst)
    members = [entry._replace(id=f"{entry.id}.{i}") for i in range(1, len(plans) + 1)]
    answers = (_look(plan, ledger, engine, member, draw) for (plan, engine), member in zip(plans, members, strict=True))
    return _paid(entry, lambda: join(list(answers)), ledger, owner_log)


def as_fresh(fresh: Any) -> bool:
    """Whether a recorded answer is to be paid for again; nothing but True means yes, as it costs something."""
    if not isinstance(fresh, bool):
        raise QueryError("SRD-106", f"fresh is {shown(fresh)}.", "Use fresh=True or False.")
    return fresh


def _request(request: Any) -> str:
    """The id of a request: the caller's, or a fresh one."""
    return fresh_id() if request is None else as_text(request, "the request id")


def _paid(entry: Entry, look: Callable[[], bytes], ledger: Book, owner_log: Callable[[str], None] | None) -> bytes:
    """The answer of a charge: the recorded one, or the one that `look` computes, sealed before anyone sees it."""
    if entry.state == "sealed" and entry.answer is not None:
        return entry.answer
    if entry.state != "new":
        raise ReleaseFailed("SRD-402", LOST, AGAIN)
    answer = None
    try:
        answer = look()
        ledger.seal(entry, answer)
    except BaseException:
        answer = None
        with contextlib.suppress(BaseException):  # a log that cannot be written must not say why it was needed
            if owner_log is not None:
                owner_log(traceback.format_exc())
    if answer is None:  # raised outside the handler, so that no cause or context travels with it
        raise ReleaseFailed("SRD-401", LOST, AGAIN)
    return answer


def _look(plan: Payable, ledger: Book, engine: Engine, entry: Entry, draw: Draw) -> bytes:
    """In a function of its own, so that salt and summaries are gone from every frame a traceback of the caller could show."""
    log.info("charged %s for %s", plan.cost, plan.mechanism)
    with np.errstate(all="ignore"):  # numpy warns about values, and a warning is something visible
        salt = draw(UniformInteger(0, 2**128 - 1))
        groups, answers = plan.converse(lambda frame: engine.bounded(frame, salt), draw)
        return plan.record(groups, answers, entry, ledger.balance(entry))


def measure(plan: Payable, engine: Engine) -> float:
    """Seconds of one look and its draws, thrown away unseen: for the owner, who sees the rows anyway. NOT PRIVATE: time depends on rows."""
    start = time.perf_counter()
    with np.errstate(all="ignore"):
        plan.converse(lambda frame: engine.bounded(frame, exact_draw(UniformInteger(0, 2**128 - 1))), exact_draw)
    return time.perf_counter() - start


def rehearse(plan: Payable) -> None:
    """Hold the whole conversation with a table of no rows: what cannot be asked, drawn or recorded is refused here, for nothing."""
    try:
        plan.rehearse(exact_draw)
    except SordinoError:
        raise
    except Exception as error:
        what = f"this question cannot be released at {plan.cost} ({type(error).__name__}: {error})."
        raise QueryError("SRD-110", what, "Ask with a price between 0.001 and 20, or narrower limits.") from error


@contextlib.contextmanager
def sealed_first() -> Iterator[None]:
    """The first Ctrl-C waits until the answer is sealed, the second one stops at once: the charge stands either way."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    asked: list[int] = []

    def first(number: int, stack: Any) -> None:
        asked.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked:
        raise KeyboardInterrupt
