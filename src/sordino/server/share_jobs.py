"""Shared tables on their way: a promise at once, the work when the promise has left, and the outcome at its deadline.

A shared table takes longer than a program waits. So it is promised first, with the seconds it takes by its public deadline, and nothing
has been charged or read when the promise leaves. Whoever asks about it while the work goes on is answered when it has left, like
everything else its analyst asks meanwhile: an answer beside the work would tell by its lateness how busy the machine is. How far it is
follows from the clock and the deadline alone, so a caller who was told the deadline knows it without asking.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

from sordino.errors import SordinoError
from sordino.server.auth import Person
from sordino.server.clock import Clock
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.problem import Refusal
from sordino.server.release_request import PaidAnswer, ReleaseQueue, ReleaseRequest, Wish
from sordino.server.shared_question import ShareWords
from sordino.session.execute import rehearse

__all__ = ["ShareJob", "ShareJobs", "Standing"]

KEPT = 1_000  # jobs that are remembered beside the book; it knows what was charged and sealed for ever
ALMOST = 0.99


@dataclass(frozen=True)
class ShareJob:
    """One shared table at one price under one request id; equal jobs have equal addresses."""

    dataset: str
    words: str  # the question
    wish: Wish
    key: str

    @property
    def id(self) -> str:
        price = [None if said is None else str(said) for said in (self.wish.epsilon, self.wish.delta, self.wish.at_most)]
        return PlannedQuestion(self.dataset, json.dumps([self.words, *price, self.wish.fresh, self.key])).id

    @staticmethod
    def made(dataset: str, words: ShareWords, wish: Wish, key: str) -> ShareJob:
        return ShareJob.of(ShareJob(dataset, words.text, wish, key).id)

    @staticmethod
    def of(id: str) -> ShareJob:
        """The job of an id, if the id is one this server could have given."""
        found = PlannedQuestion.of(id)
        try:
            words, epsilon, delta, at_most, fresh, key = json.loads(found.sql)
            job = ShareJob(found.dataset, str(words), Wish(str(epsilon), delta, fresh=bool(fresh), at_most=at_most), str(key))
            if job.id != id:
                raise ValueError
        except (ValueError, TypeError):
            raise Refusal(404, "SRD-505", "there is no such job.", "POST /v1/shares gives the id of a job.") from None
        return job

    @property
    def plan(self) -> PlannedQuestion:
        return PlannedQuestion(self.dataset, self.words)


class Standing(NamedTuple):
    """How far a job is: the part of its public seconds that has passed."""

    progress: float
    seconds: float


@dataclass
class _Underway:
    task: asyncio.Task[Any]
    began: float
    seconds: float


class ShareJobs:
    """Every shared table that this process has promised."""

    def __init__(self, house: House, queue: ReleaseQueue, clock: Clock, patience: float) -> None:
        self._house, self._queue, self._clock, self._patience = house, queue, clock, patience
        self._jobs: OrderedDict[str, _Underway] = OrderedDict()
        self._heard: OrderedDict[str, float] = OrderedDict()  # when jobs of other processes were first asked about here
        self._held: dict[AsyncExitStack, asyncio.TimerHandle] = {}  # promises that other processes know of
        self._closing: set[asyncio.Future[None]] = set()

    def request(self, person: Person, job: ShareJob, reason: str = "") -> ReleaseRequest:
        """The job as the queue of releases pays it. Reads nothing."""
        question = self._house.shared(person, job.plan.id)
        rules = self._house.rules(person, job.plan)
        return ReleaseRequest(question, job.wish, person.name, f"{person.name}:{job.key}", rules, reason)

    def promised(self, requested: ReleaseRequest) -> float:
        """The seconds a job will take, or a refusal: price, floor, purse, threshold and deadline come before the charge."""
        if requested.known(requested.query.table.ledger.find(requested.request)) is not None:
            return 0.0
        plan, seconds = requested.admitted()
        requested.query.table.budget.admit(plan.cost, analyst=requested.analyst)
        return seconds

    async def hold(self, requested: ReleaseRequest) -> AsyncExitStack:
        """Before a promise leaves, every process of this server knows of it; until its work is over, or never began."""
        held = AsyncExitStack()
        await held.enter_async_context(self._queue.promised(requested.analyst))
        self._held[held] = asyncio.get_running_loop().call_later(self._patience, self._let_go, held)
        return held

    def _let_go(self, held: AsyncExitStack) -> None:
        if (late := self._held.pop(held, None)) is not None:
            late.cancel()
        done = asyncio.ensure_future(held.aclose())
        self._closing.add(done)
        done.add_done_callback(self._closing.discard)

    def start(self, requested: ReleaseRequest, seconds: float, held: AsyncExitStack) -> None:
        """Set out. A job that is on its way is not begun again."""
        known = self._jobs.get(requested.place)
        if known is not None and not known.task.done():
            self._let_go(held)
            return
        if (late := self._held.get(held)) is not None:
            late.cancel()
        task = self._queue.begin(requested)
        self._jobs[requested.place] = _Underway(task, self._clock.now(), seconds)
        task.add_done_callback(lambda done: self._settled(requested.place, done))
        task.add_done_callback(lambda _: self._let_go(held))
        while len(self._jobs) > KEPT and next(iter(self._jobs.values())).task.done():
            self._jobs.popitem(last=False)

    def _settled(self, place: str, done: asyncio.Task[Any]) -> None:
        """What is sealed is in the book; only a refusal has to be remembered here."""
        if not done.cancelled() and done.exception() is None and isinstance(done.result(), PaidAnswer):
            self._jobs.pop(place, None)

    async def outcome(self, requested: ReleaseRequest) -> PaidAnswer | Standing:
        """What came of it; or, where that takes longer than anybody waits for an answer, how far it is by the public schedule."""
        job = self._jobs.get(requested.place)
        if job is not None:
            done, _ = await asyncio.wait({job.task}, timeout=self._patience)
            if not done:
                return Standing(
                    round(min(ALMOST, (self._clock.now() - job.began) / job.seconds), 3) if job.seconds else ALMOST, job.seconds
                )
            found = job.task.result()
            if isinstance(found, SordinoError):
                raise found
            assert isinstance(found, PaidAnswer)
            return found
        began, known = self._clock.now(), None
        try:
            async with asyncio.timeout(self._patience if self._queue.several else None):
                for wait in (
                    self._queue.elsewhere,
                    self._queue.kept,
                ):  # another process may be at it, or about to begin what it has promised
                    if known is None:
                        await wait(requested.analyst)
                        known = await asyncio.get_running_loop().run_in_executor(None, self._in_the_book, requested)
        except TimeoutError:
            seconds = await asyncio.get_running_loop().run_in_executor(None, self._seconds, requested)
            begun = self._heard.setdefault(requested.place, began)
            while len(self._heard) > KEPT:
                self._heard.popitem(last=False)
            return Standing(round(min(ALMOST, (self._clock.now() - begun) / seconds), 3) if seconds else ALMOST, seconds)
        if known is None:
            what = "this job was not begun, or the server was stopped before its charge; nothing was spent."
            raise Refusal(404, "SRD-505", what, "Send it again with the same Idempotency-Key.")
        return known

    @staticmethod
    def _seconds(requested: ReleaseRequest) -> float:
        """What a promise of it says, from public facts."""
        plan = requested.rules.priced(requested.query, requested.wish)
        rehearse(plan)
        return requested.rules.deadlines.of(plan, requested.query.table)

    @staticmethod
    def _in_the_book(requested: ReleaseRequest) -> PaidAnswer | None:
        return requested.known(requested.query.table.ledger.find(requested.request))
