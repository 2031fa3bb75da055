"""The owner's console: approvals, analysts and purses, ledger and witness, cards to publish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from sordino.errors import SordinoError
from sordino.ledger import Book
from sordino.server.approval import Approvals
from sordino.server.deadline import LATE
from sordino.server.gate import verdict
from sordino.server.guard import owner_only
from sordino.server.house import House
from sordino.server.plan import Plan
from sordino.server.purse import set_purse
from sordino.server.sheet import page
from sordino.server.token import Person, Tokens
from sordino.server.visit import Visits
from sordino.server.worker import Worker
from sordino.session.card import NOT_DEFENDED
from sordino.session.owner import SPARE, WARNING
from sordino.session.owner import fit as fit_check

__all__ = ["owner_pages"]


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
        person = owner(request)
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
        facts |= {"waiting": await worker.free(_waiting, house, person, name), "above": opened.declared.approve_above}
        return page("owner.html", request, dataset=name, names=names, cards=cards, lost=lost, words=NOT_DEFENDED, **facts)

    @web.get("/owner/fit")
    async def fit(request: Request, dataset: str | None = None, table: str | None = None, run: str | None = None) -> Response:
        """NOT PRIVATE: how the declaration fits the rows. Computed anew for every request and kept nowhere."""
        person = owner(request)
        name, opened = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        here = table if table is not None and table in opened.tables else next(iter(opened.tables))
        found = problem = None
        if run is not None:
            visits.buckets.pay(person.name, 20)  # rows are read several times
            request.scope["said"] = {"looked": here}
            try:
                found = await worker.free(fit_check, opened.tables[here])
            except SordinoError as error:
                problem = error
        facts = {"dataset": name, "names": list(house.seen_by(person)), "tables": list(opened.tables), "here": here}
        return page("fit.html", request, fit=found, problem=problem, warning=WARNING, spare=SPARE, at=facts)

    @web.post("/owner/approvals")
    async def decide(request: Request) -> Response:
        """The owner's word about an ask that waits."""
        person, fields = await sent(request)
        name, opened = house.dataset(person, fields.get("dataset"))
        queue = Approvals.beside(opened.declared.path)
        said = await worker.free(verdict, queue, opened.ledger, name, fields.get("id", ""), fields.get("verdict", ""))
        request.scope["said"] = {"approval": said.id, "verdict": said.state}
        return RedirectResponse(f"/owner?{urlencode({'dataset': name})}", 303)

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
    asks = [{**asdict(asked), "sql": Plan.of(asked.plan).sql} for asked in house.approvals(person, name)]
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
