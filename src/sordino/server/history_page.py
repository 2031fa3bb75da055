"""The history as an audit log, and the answers worth another look: everything recorded, searched, filtered, in pages and as a file.

Saved questions, each with the best answer that is recorded: opening the page again refreshes them for nothing.

Questions an analyst keeps: a name and a plan, in a small file beside the dataset file. It holds questions, never an answer.
"""

from __future__ import annotations

import csv
import io
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from sordino.errors import LedgerError, QueryError, SordinoError
from sordino.ledger import Entry
from sordino.pictures import Picture
from sordino.server.auth import Person
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.login import Visits
from sordino.server.result_page import statement_of
from sordino.server.templates import page
from sordino.server.worker import Worker
from sordino.session.release import Release
from sordino.session.view import plottable, shown

__all__ = ["AuditLine", "SavedQuestion", "SavedQuestions", "audit_lines", "history_pages"]

MOST = 200  # of one analyst
TABLE = """CREATE TABLE IF NOT EXISTS saved (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, analyst TEXT NOT NULL, plan TEXT NOT NULL,
name TEXT NOT NULL, UNIQUE (dataset, analyst, plan))"""


@dataclass(frozen=True)
class SavedQuestion:
    """One question under a name of its analyst's own."""

    number: int
    plan: str
    name: str


class SavedQuestions:
    """Those of one dataset file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @classmethod
    def beside(cls, dataset: str | os.PathLike[str]) -> SavedQuestions:
        """hospital.toml has them in hospital.saved."""
        return cls(Path(dataset).absolute().with_suffix(".saved"))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))  # questions are the analysts' own business
            with closing(sqlite3.connect(self.path, timeout=10, isolation_level=None)) as file:
                file.execute("BEGIN IMMEDIATE")
                file.execute(TABLE)
                yield file
                file.execute("COMMIT")
        except (sqlite3.Error, OSError):
            raise LedgerError("SRD-603", "saved questions cannot be written.", "Ask again; the owner looks at the disk.") from None

    def listed(self, dataset: str, analyst: str) -> list[SavedQuestion]:
        if not self.path.exists():
            return []
        with self._open() as file:
            given = "SELECT number, plan, name FROM saved WHERE dataset = ? AND analyst = ? ORDER BY number"
            return [SavedQuestion(*row) for row in file.execute(given, (dataset, analyst))]

    def keep(self, dataset: str, analyst: str, plan: str, name: str) -> None:
        """Save a question, or give one that is saved another name."""
        with self._open() as file:
            count = file.execute("SELECT COUNT(*) FROM saved WHERE dataset = ? AND analyst = ?", (dataset, analyst)).fetchone()[0]
            if count >= MOST:
                raise QueryError("SRD-503", f"{MOST} questions are saved.", "Forget one of them first.")
            words = "INSERT INTO saved (dataset, analyst, plan, name) VALUES (?, ?, ?, ?)"
            again = "ON CONFLICT (dataset, analyst, plan) DO UPDATE SET name = excluded.name"
            file.execute(f"{words} {again}", (dataset, analyst, plan, name[:120]))

    def forget(self, dataset: str, analyst: str, number: int) -> None:
        with self._open() as file:
            file.execute("DELETE FROM saved WHERE dataset = ? AND analyst = ? AND number = ?", (dataset, analyst, number))


EACH = 50  # lines of a page
STATES = {"sealed": "answered", "open": "charged, no answer recorded"}


@dataclass(frozen=True)
class AuditLine:
    """One charge as this reader may see it: whose it was is shown to its payer and to owners."""

    id: str
    at: str
    who: str
    statement: str
    table: str
    epsilon: float | None
    state: str
    opened: bool  # whether there is an answer to look at

    @property
    def words(self) -> str:
        return " ".join((self.id, self.at, self.who, self.statement, self.table, self.state)).lower()

    def met(self, wanted: Mapping[str, str]) -> bool:
        """Whether it is among those looked for."""
        texts = {"who": self.who, "state": self.state, "table": self.table}
        exact = all(not wanted.get(name) or wanted[name] == text for name, text in texts.items())
        return exact and all(word in self.words for word in wanted.get("q", "").lower().split())


def audit_lines(entries: list[Entry], person: Person) -> list[AuditLine]:
    """The newest first."""
    return [_line(entry, person) for entry in reversed(entries)]


def _line(entry: Entry, person: Person) -> AuditLine:
    statement, table = ("", "")
    if entry.answer is not None and not entry.members:
        statement, table, _ = statement_of(entry.answer)
    elif entry.members:
        statement = f"{len(entry.members)} questions together"
    who = entry.analyst if person.owner or entry.analyst == person.name else "another analyst"
    cost = None if entry.cost is None else float(entry.cost.epsilon)
    state = "written off" if entry.cost is None else STATES.get(entry.state, entry.state)
    return AuditLine(
        entry.id, entry.at or "", who or "", statement, table, cost, state, entry.answer is not None and entry.cost is not None
    )


def history_pages(house: House, worker: Worker, visits: Visits) -> APIRouter:
    """Pages about what was asked before."""
    web = APIRouter(include_in_schema=False)

    async def lines(request: Request) -> tuple[str, Any, Person, list[AuditLine], dict[str, str]]:
        person, said = visits.of(request).person, dict(request.query_params)
        name, opened = house.dataset(person, said.get("dataset") or next(iter(house.seen_by(person)), None))
        found = await worker.free(lambda: audit_lines(house.entries(name), person))
        return name, opened, person, found, said

    @web.get("/history.csv")
    async def as_csv(request: Request) -> Response:
        """The lines that are looked for, as a file."""
        _, _, _, found, said = await lines(request)
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(["id", "time", "who", "asked", "table", "epsilon", "state"])
        kept = (line for line in found if line.met(said))
        writer.writerows([_cell(c) for c in (v.id, v.at, v.who, v.statement, v.table, v.epsilon, v.state)] for v in kept)
        headers = {"content-disposition": 'attachment; filename="history.csv"'}
        return Response(text.getvalue().encode("utf-8", "replace"), headers=headers, media_type="text/csv")

    @web.get("/history")
    async def history(request: Request) -> Response:
        """Every charge: when, who, what, at which price; what the filter adds up beside the plain sum; whether the chain holds."""
        name, opened, person, found, said = await lines(request)
        check = await worker.free(house.check, name)
        kept = [line for line in found if line.met(said)]
        start = int(said["cursor"]) if said.get("cursor", "").isdecimal() and len(said["cursor"]) < 10 else 0
        words = {word: said[word] for word in ("q", "who", "state", "table") if said.get(word)}
        at = {"start": start, "each": EACH, "total": len(kept), "words": words}
        choices = {word: sorted({getattr(line, word) for line in found} - {""}) for word in ("who", "state", "table")}
        facts: dict[str, Any] = {"lines": kept[start : start + EACH], "all": len(found), "check": check, "at": at, "choices": choices}
        facts["picture"] = await worker.free(opened.ledger.plot) if found else None
        return page("history.html", request, dataset=name, names=list(house.seen_by(person)), budget=opened.budget, **facts)

    @web.get("/answers")
    async def answers(request: Request, dataset: str | None = None) -> Response:
        """Saved questions with their best recorded answers, and what else was answered lately; all of it free."""
        person = visits.of(request).person
        name, opened = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        store = SavedQuestions.beside(opened.declared.path)
        kept = await worker.free(lambda: list(_kept(house, store, name, person)))
        lately = [line for line in await worker.free(lambda: audit_lines(house.entries(name), person)) if line.opened][:20]
        return page("answers.html", request, dataset=name, names=list(house.seen_by(person)), kept=kept, lately=lately)

    @web.post("/answers")
    async def keep(request: Request) -> Response:
        """Save a question under a name, or forget one."""
        visit, fields = await visits.posted(request)
        plan = fields.get("plan", "")
        name = PlannedQuestion.of(plan).dataset if plan else fields.get("dataset", "")
        name, opened = house.dataset(visit.person, name)
        store = SavedQuestions.beside(opened.declared.path)
        if plan:
            await worker.free(house.query, visit.person, plan)
            await worker.free(store.keep, name, visit.person.name, plan, fields.get("name", "").strip() or "a question")
        elif fields.get("forget", "").isdecimal():
            await worker.free(store.forget, name, visit.person.name, int(fields["forget"][:9]))
        return RedirectResponse(f"/answers?{urlencode({'dataset': name})}", 303)

    return web


def _kept(house: House, store: SavedQuestions, name: str, person: Person) -> Iterator[dict[str, Any]]:
    """Each saved question with the best answer in the book: looked up anew, for nothing, and never paid for."""
    for item in store.listed(name, person.name):
        shows: dict[str, Any] = {"item": item, "sql": PlannedQuestion.of(item.plan).sql, "release": None, "problem": None}
        try:
            query = house.parsed(PlannedQuestion.of(item.plan))
            found: list[Release] = query.recorded()
            best = max(found, key=lambda release: release.cost.epsilon, default=None)
            if best is not None:
                shows |= {"release": best, "picture": _picture(best), "value": _value(best)}
        except SordinoError as error:  # the declaration has changed since
            shows["problem"] = error.what
        yield shows


def _picture(release: Release) -> Picture | None:
    one = replace(release, names=release.names[:1])
    return one.plot() if plottable(one) else None


def _value(release: Release) -> str:
    """The number itself, where there is one."""
    return "" if release.grouped or len(release.names) != 1 else shown(release.value)


def _cell(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
