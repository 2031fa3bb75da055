"""The datasets a server serves, and who may see what of them.

A plan's address is the plan: dataset and statement packed into the id, so the server keeps nothing that a restart could lose.
"""

from __future__ import annotations

import binascii
import json
import math
import os
import threading
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sordino.errors import QueryError
from sordino.ledger import Check, Entry
from sordino.ledger.budget import of_grains
from sordino.plan.dataset import read_dataset
from sordino.server.approval import Approvals
from sordino.server.auth import Person
from sordino.server.clock import Clock
from sordino.server.deadline import Deadlines
from sordino.server.problem import Refusal
from sordino.server.quote import Quotes
from sordino.server.rules import Floor, Gate, Rules, Shown, shown
from sordino.server.shared_question import SharedQuestion, is_share, shared_question
from sordino.server.wire import asked, is_call
from sordino.session.encoding import split
from sordino.session.open_dataset import Opened
from sordino.session.query import Query
from sordino.session.release import Release

__all__ = ["House", "PlannedQuestion"]

LONGEST = 16_000  # characters of an id
UNPACKED = 64_000  # bytes it may unpack to: a short id must not become a long text


@dataclass(frozen=True)
class PlannedQuestion:
    """One statement about one dataset. Equal plans have equal ids."""

    dataset: str
    sql: str

    @property
    def id(self) -> str:
        packed = zlib.compress(json.dumps([self.dataset, self.sql]).encode("ascii"), 9)
        return urlsafe_b64encode(packed).rstrip(b"=").decode("ascii")

    @staticmethod
    @lru_cache(1024)
    def of(id: str) -> PlannedQuestion:
        """The plan of an id, if the id is one this server could have given."""
        try:
            if len(id) > LONGEST:
                raise ValueError
            unpacker = zlib.decompressobj()
            text = unpacker.decompress(urlsafe_b64decode(id.encode("ascii") + b"=" * (-len(id) % 4)), UNPACKED)
            dataset, sql = json.loads(text)
            plan = PlannedQuestion(str(dataset), str(sql))
            if not unpacker.eof or plan.id != id:
                raise ValueError
        except (ValueError, TypeError, binascii.Error, zlib.error, RecursionError):
            raise Refusal(404, "SRD-505", "there is no such plan.", "POST /v1/plans gives the id of a plan.") from None
        return plan


FRESH = 60.0  # seconds a walk along the chain is believed
SOON = 1.0  # seconds after which a charge without an answer is looked at again: another process may be at it
KEPT = 512  # parsed statements; a plan that fell out is parsed again


class House:
    """Opened datasets by name."""

    def __init__(self, datasets: Mapping[str, Opened], clock: Clock, deadline: float | None = None) -> None:
        self.datasets, self._clock = datasets, clock
        self.deadlines = {name: Deadlines(opened.declared, deadline) for name, opened in datasets.items()}
        self.floors = {name: Floor(opened.declared.budget.least_epsilon) for name, opened in datasets.items()}
        self._checks: dict[str, tuple[float, Check]] = {}
        self._entries: dict[str, tuple[tuple[int, int], float, list[Entry]]] = {}
        self._thresholds: dict[str, tuple[int, Fraction | None]] = {}  # as the file said at that moment
        self._seals = 0
        self._reading = threading.Lock()
        self._parsed: OrderedDict[PlannedQuestion, Query] = OrderedDict()
        self.quotes = Quotes(clock, {name: Rules(self.floors[name], self.deadlines[name]) for name in datasets})

    def seen_by(self, person: Person) -> dict[str, Opened]:
        return {name: opened for name, opened in self.datasets.items() if person.sees(name)}

    def dataset(self, person: Person, name: str | None) -> tuple[str, Opened]:
        """The dataset named, or the only one this person may see. One that may not be seen and one that is not there look the same."""
        seen = self.seen_by(person)
        if name is None and len(seen) != 1:
            raise Refusal(422, "SRD-503", f"there are {len(seen)} datasets for this token.", "Name one: dataset=.")
        chosen = next(iter(seen)) if name is None else name
        if chosen not in seen:
            if person.scope:
                raise Refusal(403, "SRD-502", "this token is not for that dataset.", "Ask the owner for a token with its scope.")
            raise Refusal(404, "SRD-505", "there is no such dataset.", "GET /v1/datasets lists them.")
        return chosen, seen[chosen]

    def query(self, person: Person, id: str) -> tuple[PlannedQuestion, Opened, Query]:
        """The question behind a plan's id. Building it reads nothing."""
        plan = PlannedQuestion.of(id)
        _, opened = self.dataset(person, plan.dataset)
        return plan, opened, self.parsed(plan)

    def known(self, person: Person, id: str) -> Query | None:
        """The question behind a plan's id if somebody asked it before; takes no time."""
        plan = PlannedQuestion.of(id)
        self.dataset(person, plan.dataset)
        return self._parsed.get(plan)

    def parsed(self, plan: PlannedQuestion) -> Query:
        """Parsed before or now; a Query is immutable and shared by everybody."""
        found = self._parsed.get(plan) or self._read(plan)
        with self._reading:
            found = self._parsed.setdefault(plan, found)
            while len(self._parsed) > KEPT:
                self._parsed.popitem(last=False)
        return found

    def _read(self, plan: PlannedQuestion) -> Query:
        opened = self.datasets[plan.dataset]
        if is_share(plan.sql):
            raise QueryError("SRD-503", "a shared table is no plan of a release.", "POST /v1/shares, or open /share.")
        return asked(opened, plan.sql) if is_call(plan.sql) else opened.sql(plan.sql)

    def gate(self, person: Person, plan: PlannedQuestion) -> Gate | None:
        """Where this person's dear releases wait; an owner's own do not."""
        declared, above = self.datasets[plan.dataset].declared, self.threshold(plan.dataset)
        return None if above is None or person.owner else Gate(Approvals.beside(declared.path), above, plan.id)

    def threshold(self, name: str) -> Fraction | None:
        """Above which price a release waits, as the dataset file says now: the owner may have changed it, here or in another process."""
        declared = self.datasets[name].declared
        try:
            stamp = os.stat(declared.path).st_mtime_ns
            if self._thresholds.get(name, (0, None))[0] != stamp:
                self._thresholds[name] = (stamp, read_dataset(declared.path).approve_above)
        except (OSError, QueryError):  # a file that is gone or being edited: as it was last read
            return self._thresholds.get(name, (0, declared.approve_above))[1]
        return self._thresholds[name][1]

    def rules(self, person: Person, plan: PlannedQuestion) -> Rules:
        """What stands between this person's question and its charge."""
        return Rules(self.floors[plan.dataset], self.deadlines[plan.dataset], self.gate(person, plan))

    def purse_left(self, person: Person, name: str) -> Fraction | None:
        """What this person may still spend; None where the whole budget is open to everybody."""
        tally = self.datasets[name].budget.tally
        purses = tally.policy["analysts"]
        return Fraction(purses.get(person.name, 0)) - of_grains(tally.purses.get(person.name, 0)) if purses else None

    def person_column(self, name: str, table: str) -> str | None:
        """The column that says whose a row is; None where every row is a person, or there is no such table."""
        found = self.datasets[name].tables.get(table)
        return None if found is None else found.unit.column

    def approvals(self, person: Person, name: str) -> list[Shown]:
        """Asks above the threshold: an owner sees everybody's, an analyst their own."""
        opened = self.datasets[name]
        listed = Approvals.beside(opened.declared.path).listed(name, None if person.owner else person.name)
        return [shown(item, opened.ledger) for item in listed]

    def waiting(self, person: Person) -> int:
        """How many asks wait for this owner."""
        if not person.owner:
            return 0
        return sum(Approvals.beside(opened.declared.path).waiting(name) for name, opened in self.seen_by(person).items())

    def entries(self, name: str) -> list[Entry]:
        """Every charge of a dataset. Read again only when the book has grown, or an answer may have appeared in it."""
        with self._reading:
            now, stamp = self._clock.now(), self._stamp(name)
            seen, when, found = self._entries.get(name, (None, 0.0, []))
            if seen != stamp or (now - when > SOON and any(entry.state == "open" for entry in found)):
                found = self.datasets[name].ledger.entries()
                self._entries[name] = (stamp, now, found)
            return found

    def shared(self, person: Person, id: str) -> SharedQuestion:
        """The shared table behind a plan's id. Building it reads nothing."""
        plan = PlannedQuestion.of(id)
        _, opened = self.dataset(person, plan.dataset)
        return shared_question(opened, plan.sql)

    def sealed(self, query: Query | SharedQuestion) -> None:
        """An answer has appeared in a book, which a count of its charges does not show."""
        self._seals += 1
        self.quotes.forget(query)

    def _stamp(self, name: str) -> tuple[int, int]:
        return self.datasets[name].ledger.head.count, self._seals

    def check(self, name: str) -> Check:
        """Whether the chain holds, walked at most once a minute: it is as long as the book."""
        now = self._clock.now()
        with self._reading:
            when, found = self._checks.get(name, (-math.inf, None))
            if found is None or now - when > FRESH:
                found = self.datasets[name].ledger.verify()
                self._checks[name] = (now, found)
            return found

    def release(self, person: Person, id: str, plan: str | None = None) -> tuple[Release, Entry]:
        """A recorded answer by its id; open to every analyst of its dataset. Shown in the words of a plan that asks the same question."""
        charge, query = id.partition(".")[0], self.query(person, plan)[2] if plan else None
        for name, opened in self.seen_by(person).items():
            if not charge.startswith(f"{opened.ledger.id[:8]}-"):
                continue
            for entry in self.entries(name):
                if entry.id == charge and entry.answer is not None:
                    members = split(entry.answer) if entry.members else [entry.answer]
                    same = query is not None and entry.key in (query.key(), query.pointed.key(), query.older)
                    if query is not None and not same:  # a member of a bundle or a batch
                        alone = next((item for item in query.recorded() if id in (item.id, entry.id)), None)
                        if alone is not None:
                            return alone, entry
                    for found in (Release.from_bytes(answer, query=query if same else None) for answer in members):
                        if id in (found.id, entry.id):
                            return found, entry
        raise Refusal(404, "SRD-505", "there is no such release.", "An id is part of the answer to POST /v1/plans/{id}/release.")

    def close(self) -> None:
        for opened in self.datasets.values():
            opened.close()

    def facts(self, person: Person) -> list[dict[str, Any]]:
        """What the owner declared about each dataset: public, and no row of it was read."""
        seen = self.seen_by(person).items()
        return [_facts(opened, self.deadlines[name], self.floors[name], self.threshold(name)) for name, opened in seen]


def _facts(opened: Opened, deadlines: Deadlines, floor: Floor, above: Fraction | None) -> dict[str, Any]:
    declared, tables = opened.declared, []
    for name, table in declared.tables.items():
        known = opened.tables[name].columns if name in opened.tables else table.columns
        columns = [
            {"name": column.name, "type": column.type, "bounds": None if column.bounds is None else [str(end) for end in column.bounds],
             "values": None if column.keys is None else [str(key) for key in column.keys]}
            for column in known.values()
        ]  # fmt: skip
        rows = None if table.public else deadlines.rows(name)
        tables.append({"name": name, "public": table.public, "size": table.size, "most_rows": rows, "columns": columns})
    unit = declared.unit
    return {
        "name": declared.name, "version": declared.version, "unit": declared.unit_word, "relation": unit.relation.value,
        "max_rows": unit.max_rows, "max_groups": unit.max_groups, "deadline_ms": deadlines.plain_ms, "longest_ms": deadlines.longest_ms,
        "least_epsilon": floor.said(opened.ledger), "paused": deadlines.pause.paused,
        "approve_above": None if above is None else str(above), "tables": tables,
    }  # fmt: skip
