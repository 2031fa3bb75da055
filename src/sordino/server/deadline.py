"""When the answer to a paid question leaves: a deadline worked out from declared facts alone, before the charge.

How long the rows take depends on the rows, and an analyst chooses the work. So the time of an answer must not be the time of the work. The
deadline of a plan is a public price in seconds: what the plan would cost, by the model in `work.py`, on a table of `most_rows` rows with
texts of `max_length` characters, in units of a plain question (a count of that table), which the owner says takes at most `deadline_ms`.

An answer that is not ready at its deadline leaves at four times it, the only other time there is. What is not ready then is stopped,
its charge stands, and the dataset takes no new releases until its owner has raised the deadline. A late answer tells one bit, so they are
counted, and after LATE of them the dataset pauses too. Both are kept beside the dataset file: a restart forgets nothing.

A book as one release sees it: sealed at the deadline that counts from the durable charge, or at the fourth, and then never.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sordino.engines.port import Stop
from sordino.errors import ReleaseFailed
from sordino.ledger import Asked, Balance, Book, Entry
from sordino.plan.dataset import Dataset
from sordino.privacy.cost import Cost
from sordino.schema.view import multiplying
from sordino.server.clock import Clock
from sordino.server.problem import Refusal, record
from sordino.server.work import plain, share_work, work
from sordino.session.execute import AGAIN, LOST
from sordino.session.settled import Settled
from sordino.session.sharing import SharePlan

__all__ = ["FACTOR", "LATE", "LONGEST", "PLAIN", "ROWS", "Deadlines", "Pause", "Timed", "lost"]

PLAIN, LONGEST, ROWS = 2_000, 50_000, 1_000_000  # milliseconds of a plain question and at most, and rows, where the owner says nothing
FACTOR = 4  # an answer that missed its deadline leaves at this many
LATE = 4  # answers that may miss it before the dataset pauses
SHARES = 24  # a shared table is a job nobody waits for: it may take so many times the longest question


@dataclass(frozen=True)
class Pause:
    """What is remembered beside the dataset file: under which deadline, how many answers were late, and whether it pauses."""

    deadline_ms: int
    late: int = 0
    paused: bool = False
    at: str = ""
    why: str = ""


@dataclass
class Deadlines:
    """The deadlines of one dataset. `seconds` stands in for all of them, for tests and benches; at 0 an answer leaves when it is ready."""

    declared: Dataset
    seconds: float | None = None
    _kept: Pause | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def path(self) -> Path:
        """hospital.toml has its pauses in hospital.pause."""
        return Path(self.declared.path).with_suffix(".pause")

    @property
    def plain_ms(self) -> int:
        return self.declared.deadline_ms or PLAIN

    @property
    def longest_ms(self) -> int:
        return self.declared.longest_ms or max(LONGEST, self.plain_ms)

    def rows(self, table: str) -> int:
        return self.declared.tables[table].most_rows or ROWS

    def rows_of(self, table: Any) -> int:
        """The rows that a question about a table, or about a view of several, reads, and those that one person may add in its joins."""
        names = [table.name] if table.view is None else [part.name for part in table.view.tables]
        return sum(map(self.rows, names)) + sum(join.most**2 for join in multiplying(table.view))

    @property
    def undeclared(self) -> Iterator[str]:
        """What the owner has not said, in words for the start of the server."""
        if self.declared.deadline_ms is None:
            yield f"no deadline_ms is declared: answers leave after {PLAIN / 1000:g} s or more"
        for name, table in self.declared.tables.items():
            if not table.public and table.most_rows is None:
                yield f"table {name} declares no most_rows: deadlines are for {ROWS:,} rows"

    def of(self, plan: Settled | SharePlan, table: Any) -> float:
        """Seconds from the charge to the answer; a plan that is dearer than the owner allows is refused, for nothing."""
        if self.seconds is not None:
            return self.seconds
        largest = max(self.rows(name) for name, item in self.declared.tables.items() if not item.public)
        rows, job = self.rows_of(table), isinstance(plan, SharePlan)
        needed = share_work(plan, table.columns, rows) if isinstance(plan, SharePlan) else work(plan, table.columns, rows)
        found, longest = self.plain_ms * max(1.0, needed / plain(largest)), self.longest_ms * (SHARES if job else 1)
        if found > longest:
            why = "by its columns and marginals this table" if job else "by its columns, patterns, statistics and groups this question"
            what = f"{why} would take {found / 1000:,.1f} s on {rows:,} rows."
            fix = "share fewer columns, or by the tree" if job else "ask for less at once, with shorter patterns"
            raise Refusal(422, "SRD-510", what, f"The owner allows {longest / 1000:g} s: {fix}.")
        return found / 1000

    def admit(self) -> None:
        """Let a release pass to its charge, unless the dataset pauses. The text is always the same."""
        if self.pause.paused:
            what = "this dataset takes no new releases at present."
            raise Refusal(503, "SRD-511", what, "Recorded answers are still free; ask the owner.")

    @property
    def pause(self) -> Pause:
        """What is remembered. A deadline that was raised since forgets it."""
        kept = self._kept
        try:
            kept = Pause(**json.loads(self.path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError):  # a note nobody can read is a reason to look
            kept = Pause(self.plain_ms, paused=True, why=f"{self.path.name} cannot be read")
        return kept if kept is not None and kept.deadline_ms >= self.plain_ms else Pause(self.plain_ms)

    def missed(self, request: str, seconds: float, *, stopped: bool) -> None:
        """An answer was not ready at its deadline, or not at the fourth: remembered before anybody else may ask."""
        with self._lock:
            known = self.pause
            late = known.late + 1
            paused = known.paused or stopped or late >= LATE
            how = f"was stopped after {FACTOR} deadlines" if stopped else f"missed its deadline ({late} of {LATE})"
            why = f"release {request} {how} of {seconds:.3g} s"
            self._kept = Pause(self.plain_ms, late, paused, dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), why)
            try:
                self._write(self._kept)
            except OSError as error:
                record("failed", error=type(error).__name__, place=self.path.name)  # it pauses while this process lives
        fix = f"raise deadline_ms above {self.plain_ms} and start the server again; sordino check --time proposes one" if paused else ""
        record("paused" if paused else "late", dataset=self.declared.name, why=why, **({"fix": fix} if fix else {}))

    def _write(self, kept: Pause) -> None:
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w", encoding="utf-8") as file:
            json.dump(vars(kept), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)


CROWDED = 1.0  # seconds a release waits for a place to compute


@dataclass
class Timed:
    """A book as one release sees it: the seal happens at the deadline that counts from the charge, or at the fourth, and then never.

    As many releases compute at a time as there are processors; whoever waits for the disk, the deadline or the book steps aside. With
    64 at once everybody, a price list included, would get a 64th of the interpreter. `watch` is told when the work begins.
    """

    book: Book
    clock: Clock
    slots: threading.Semaphore
    watch: Callable[[], None] = lambda: None
    deadline: float = 0.0  # seconds; at 0 the answer leaves when it is ready
    start: float | None = None  # set by the charge: from then on the answer, and a failure too, is due at the deadline
    ready: bool = False  # the work is over
    late: bool = False  # it was not over at the deadline
    stopped: bool = False  # nor at the fourth: whatever it finds is not sealed any more
    computing: bool = False
    stop: Stop = field(default_factory=Stop)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def charge(self, request: str, asked: Asked | bytes, cost: Cost, analyst: str | None = None) -> Entry:
        with self.aside():
            entry = self.book.charge(request, asked, cost, analyst)
        if entry.state == "new":  # timed once there is a place to compute: who else computes is nobody's row
            self.start = self.clock.now()
            self.watch()
        return entry

    def find(self, request: str) -> Entry | None:
        return self.book.find(request)

    def balance(self, entry: Entry) -> Balance:
        return self.book.balance(entry)

    def seal(self, entry: Entry, answer: bytes) -> None:
        with self.aside():
            self.wait()
            if self.stopped:
                raise lost()
            self.book.seal(entry, answer)

    def wait(self) -> None:
        """Let the deadline pass, once, after a charge."""
        if self.start is None or self.ready or not self.deadline:
            return
        passed = self.clock.now() - self.start
        with self._lock:
            self.ready = True
            self.late = passed > self.deadline
            self.stopped = self.stopped or passed > FACTOR * self.deadline
        due = (FACTOR if self.late else 1) * self.deadline
        if not self.stopped and passed < due:
            self.clock.wait(due - passed)

    def give_up(self) -> bool:
        """After the fourth deadline: stop the work, if it is not over. What it would find now is never sealed."""
        with self._lock:
            if self.ready:
                return False
            self.stopped = True
        self.stop.now()
        return True

    @contextmanager
    def compute(self) -> Iterator[None]:
        """Hold a place; after a second go on without one, so that slow questions never lock quick ones out."""
        self.computing = self.slots.acquire(timeout=CROWDED)
        try:
            yield
        finally:
            if self.computing:
                self.slots.release()
            self.computing = False

    @contextmanager
    def aside(self) -> Iterator[None]:
        held, self.computing = self.computing, False
        if held:
            self.slots.release()
        try:
            yield
        finally:
            self.computing = held and self.slots.acquire(timeout=CROWDED)


def lost() -> ReleaseFailed:
    """What everybody hears whose charge stands without an answer, whatever went wrong."""
    return ReleaseFailed("SRD-401", LOST, AGAIN)
