"""The owner's console: approvals and their threshold, analysts and purses, ledger and witness, cards to publish.

How unique people are: the owner's own look at raw columns, and at one person of a place. NOT PRIVATE, and not for analysts.

Nothing of it is kept: the answer is computed anew for every request, leaves with `no-store`, and no analyst's route reads from here.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import duckdb
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from sordino.engines.duckdb import DuckDB
from sordino.errors import QueryError, SordinoError
from sordino.lab import how_unique, uniqueness
from sordino.ledger import Book
from sordino.server.approval import Approvals
from sordino.server.archive import archive
from sordino.server.auth import Person, Tokens, owner_only
from sordino.server.dataset_file import allowed, beside, set_cap, set_purse, set_threshold
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.deadline import LATE
from sordino.server.login import Visits
from sordino.server.owner_pictures import pairs_picture, recorded_shares, schema_picture
from sordino.server.rules import verdict
from sordino.server.templates import page
from sordino.server.worker import Worker
from sordino.session.card import NOT_DEFENDED
from sordino.session.open_dataset import Opened
from sordino.session.owner import SPARE, WARNING
from sordino.session.owner import fit as fit_check

__all__ = ["frame_of", "owner_pages", "risk_pages"]


def owner_pages(house: House, worker: Worker, visits: Visits, tokens: Tokens) -> APIRouter:
    """Pages only an owner may open."""
    web = APIRouter(include_in_schema=False)

    def owner(request: Request) -> Person:
        person = visits.of(request).person
        owner_only(person)
        return person

    async def sent(request: Request) -> tuple[Person, Mapping[str, str]]:
        """A form of the owner's own page."""
        visit, fields = await visits.posted(request)
        owner_only(visit.person)
        return visit.person, fields

    @web.get("/owner")
    async def console(request: Request, dataset: str | None = None) -> Response:
        return await shown(request, owner(request), dataset, None)

    async def shown(request: Request, person: Person, dataset: str | None, made: Mapping[str, str] | None) -> Response:
        name, opened = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        entries = await worker.free(house.entries, name)
        budget, witness = opened.budget, await worker.free(_witness, opened.ledger)
        holders = [holder for holder in tokens.people() if holder.sees(name)]
        purses = {who: {"spent": spent, "cap": cap} for who, (spent, cap) in budget.analysts.items()}
        place = _place(opened.declared.ledger)
        facts: dict[str, Any] = {"holders": holders, "purses": purses, "budget": budget, "witness": witness, "place": place}
        cards = [entry.id for entry in reversed(entries) if entry.answer is not None][:50]
        lost = [entry.id for entry in entries if entry.state == "open"]
        names = list(house.seen_by(person))
        facts |= {"deadlines": house.deadlines[name], "floor": house.floors[name].said(opened.ledger), "most_late": LATE}
        shares = [(entry, shared, pairs_picture(shared)) for entry, shared in await worker.free(recorded_shares, entries)]
        facts |= {"schema": schema_picture(opened.declared), "shares": shares, "file": Path(opened.declared.path).name}
        facts |= {"waiting": await worker.free(_waiting, house, person, name), "above": house.threshold(name)}
        return page("owner.html", request, dataset=name, names=names, cards=cards, lost=lost, words=NOT_DEFENDED, made=made, **facts)

    @web.get("/owner/fit")
    async def fit(
        request: Request, dataset: str | None = None, table: str | None = None, run: str | None = None, path: str | None = None
    ) -> Response:
        """NOT PRIVATE: how the declaration fits the rows. Computed anew for every request and kept nowhere.

        With a path it is about a dataset file beside those that are served, whose ledger is not even opened.
        """
        person = owner(request)
        name, opened = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        here = table if table is not None and table in opened.tables else next(iter(opened.tables))
        fits: list[Any] = []
        problem = None
        if run is not None or path is not None:
            visits.buckets.pay(person.name, 20)  # rows are read several times
            try:
                if path is not None:
                    file = allowed(path, house, person)
                    request.scope["said"] = {"looked": file.name}
                    fits = list((await worker.free(fit_check, file)).values())
                else:
                    request.scope["said"] = {"looked": here}
                    fits = [await worker.free(fit_check, opened.tables[here])]
            except SordinoError as error:
                problem = error
        files = await worker.free(beside, house, person)
        facts: dict[str, Any] = {"dataset": name, "names": list(house.seen_by(person)), "tables": list(opened.tables), "here": here}
        facts |= {"path": path or "", "files": files}
        return page("fit.html", request, fits=fits, problem=problem, warning=WARNING, spare=SPARE, at=facts)

    @web.get("/owner/archive")
    async def archived(request: Request, dataset: str | None = None) -> Response:
        """Everything to keep, as one file; no row of the data is in it."""
        person = owner(request)
        name, opened = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        visits.buckets.pay(person.name, 20)
        content = await worker.free(archive, opened)
        request.scope["said"] = {"archived": name}
        headers = {"content-disposition": f'attachment; filename="{Path(opened.declared.path).stem}.zip"'}
        return Response(content, headers=headers, media_type="application/zip")

    @web.post("/owner/approvals")
    async def decide(request: Request) -> Response:
        """The owner's word about an ask that waits."""
        person, fields = await sent(request)
        name, opened = house.dataset(person, fields.get("dataset"))
        queue = Approvals.beside(opened.declared.path)
        word = partial(verdict, by=person, note=fields.get("note", "").strip())
        said = await worker.free(word, queue, opened.ledger, name, fields.get("id", ""), fields.get("verdict", ""))
        request.scope["said"] = {"approval": said.id, "verdict": said.state}
        return RedirectResponse(f"/owner?{urlencode({'dataset': name})}", 303)

    @web.post("/owner/threshold")
    async def threshold(request: Request) -> Response:
        """Above which price a release waits for the owner, from now on."""
        person, fields = await sent(request)
        name, opened = house.dataset(person, fields.get("dataset"))
        above = fields.get("above", "").strip()
        await worker.free(set_threshold, opened.declared.path, above)
        request.scope["said"] = {"approve_above": above or "nothing"}
        return RedirectResponse(f"/owner?{urlencode({'dataset': name})}", 303)

    @web.post("/owner/cap")
    async def cap(request: Request) -> Response:
        """What one release may cost at most, from now on."""
        person, fields = await sent(request)
        name, opened = house.dataset(person, fields.get("dataset"))
        most = fields.get("most", "").strip()
        await worker.free(set_cap, opened.declared.path, most)
        request.scope["said"] = {"max_per_release": most or "nothing"}
        return RedirectResponse(f"/owner?{urlencode({'dataset': name})}", 303)

    @web.post("/owner/tokens")
    async def token(request: Request) -> Response:
        """Make a token, which this one page shows, or revoke one."""
        person, fields = await sent(request)
        name, _ = house.dataset(person, fields.get("dataset"))
        if gone := fields.get("revoke"):
            await worker.free(tokens.revoke, gone)
            request.scope["said"] = {"revoked": gone}
            return RedirectResponse(f"/owner?{urlencode({'dataset': name})}", 303)
        who, scope, days = fields.get("name", "").strip(), fields.get("scope", ""), fields.get("days", "").strip()
        if days and not days.isdecimal():
            raise QueryError("SRD-103", "this is no number of days.", "Give a whole number, or leave it empty.")
        for wanted in filter(None, [scope]):
            house.dataset(person, wanted)
        kept = partial(tokens.add, days=int(days[:5]) if days else None)
        secret = await worker.free(kept, who, fields.get("role", "analyst"), (scope,) if scope else ())
        request.scope["said"] = {"token": who, "role": fields.get("role", "analyst")}
        return await shown(request, person, name, {"name": who, "token": secret})

    @web.post("/owner/purses")
    async def purse(request: Request) -> Response:
        """What one analyst may spend, from now on."""
        person, fields = await sent(request)
        name, opened = house.dataset(person, fields.get("dataset"))
        who, cap = fields.get("name", "").strip(), fields.get("epsilon", "").strip()
        await worker.free(set_purse, opened.declared.path, who, cap)
        request.scope["said"] = {"purse": who, "epsilon": cap}
        return RedirectResponse(f"/owner?{urlencode({'dataset': name})}", 303)

    return web


def _waiting(house: House, person: Person, name: str) -> list[dict[str, Any]]:
    """The queue with its questions, those that wait first."""
    asks = [{**asdict(asked), "sql": PlannedQuestion.of(asked.plan).sql} for asked in house.approvals(person, name)]
    return sorted(asks, key=lambda asked: asked["state"] != "pending")[:200]


def _place(address: str) -> str:
    """Where a ledger is, without folders and without a password."""
    place = urlsplit(address)
    return Path(address).name if not place.scheme else f"{place.scheme}://{place.hostname or ''}{place.path}"


def _witness(book: Book) -> dict[str, Any]:
    """What the witness outside the ledger last saw, beside what the ledger says now."""
    seen = None if book.witness is None else book.witness.look()
    count = book.head.count
    return {"place": None if book.witness is None else book.witness.path.name, "seen": None if seen is None else seen.count, "count": count}


COLUMNS = 6  # more single everybody out, and every mixture of coarser ones is tried
ROWS = 100_000
CASTS = {"int": "DOUBLE", "float": "DOUBLE", "decimal": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP", "bool": "BOOLEAN"}


def risk_pages(house: House, worker: Worker, visits: Visits) -> APIRouter:
    """The page only an owner may open."""
    web = APIRouter(include_in_schema=False)

    @web.get("/risk")
    async def risk(request: Request, dataset: str | None = None, table: str | None = None) -> Response:
        person = visits.of(request).person
        owner_only(person)
        name, opened = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        said, chosen = dict(request.query_params), request.query_params.getlist("column")
        here = table if table is not None and table in opened.tables else next(iter(opened.tables))
        found: dict[str, Any] = {"table": None, "person_found": None, "problem": None}
        try:
            if chosen:
                visits.buckets.pay(person.name, 20)  # rows are read and many mixtures tried: seconds of work
                request.scope["said"] = {"looked": here, "columns": chosen[: COLUMNS + 1]}
                found["table"] = await worker.free(_table, opened, here, chosen, said.get("target", "5"))
            if said.get("birth_date"):
                found["person_found"] = await worker.free(_person, said)
        except SordinoError as error:
            found["problem"] = error
        columns = [column for column in opened.tables[here].columns if column != opened.declared.unit.column]
        facts = {"dataset": name, "names": list(house.seen_by(person)), "tables": list(opened.tables), "here": here}
        return page("risk.html", request, said=said, chosen=chosen, columns=columns, most=COLUMNS, **found, at=facts)

    return web


def frame_of(opened: Opened, table: str, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Raw columns of a private table, with the unit's own. Only the owner's page calls this."""
    asked, known = opened.tables[table], opened.declared.unit.column
    names = list(dict.fromkeys([*columns, *([known] if known else [])]))
    if wrong := [name for name in names if name not in asked.columns]:
        raise QueryError("SRD-201", f"there is no column {wrong[0]!r:.80}.", f"Choose among {', '.join(asked.columns)}.")
    engine = asked.engine
    if not isinstance(engine, DuckDB):
        raise QueryError("SRD-205", "this page reads files only.", "Load the columns yourself and call sd.lab.uniqueness(frame, columns).")
    try:
        with contextlib.closing(engine._cursor()) as cursor:
            scan = engine.source.scan(cursor, [asked.columns[name] for name in names])
            reads = [_read(asked.columns[name].type, scan.fields[name].text) for name in names]
            rows = cursor.execute(f"SELECT {', '.join(reads)} FROM {scan.text} LIMIT {ROWS + 1}").fetchall()
    except duckdb.Error:
        raise QueryError("SRD-205", "the source cannot be read.", "Check that it is a readable file of its kind.") from None
    if len(rows) > ROWS:
        raise QueryError("SRD-105", f"the table has more than {ROWS:,} rows.", "Call sd.lab.uniqueness(frame, columns).")
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _read(kind: str, text: str) -> str:
    cast = CASTS.get(kind.partition("(")[0])
    return text if cast is None else f"TRY_CAST({text} AS {cast})"


def _table(opened: Opened, table: str, columns: Sequence[str], target: str) -> Any:
    if len(columns) > COLUMNS:
        raise QueryError("SRD-103", f"{len(columns)} columns are chosen.", f"Choose at most {COLUMNS}.")
    try:
        share = float(target) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise QueryError("SRD-103", "the target is not a share.", "Give percent, from 0 to 99.")
    return uniqueness(frame_of(opened, table, columns), columns, unit=opened.declared.unit.column, target=share)


def _person(said: dict[str, str]) -> Any:
    try:
        people = int(said.get("population", "").replace(",", "") or 100_000)
    except ValueError:
        people = 0
    if not 1 <= people <= 10**10:
        raise QueryError("SRD-103", "the population is not a number of people.", "Give a whole number, such as 40000.")
    try:
        dt.date.fromisoformat(said["birth_date"])
    except ValueError:
        raise QueryError("SRD-103", "this is no birth date.", "Give a day: 1984-05-17.") from None
    return how_unique(population=people, birth_date=said["birth_date"], sex=said.get("sex") or None)
