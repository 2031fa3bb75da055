"""The owner's pages: the console with analysts, purses, caps, witness and cards; and how unique people are."""

from __future__ import annotations

import datetime as dt
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from sordino.errors import QueryError, SordinoError
from sordino.ledger import Book
from sordino.server.guard import owner_only
from sordino.server.house import House
from sordino.server.sheet import page
from sordino.server.token import Person, Tokens
from sordino.server.visit import Visits
from sordino.server.worker import Worker
from sordino.session.card import NOT_DEFENDED

__all__ = ["owner_pages"]


def owner_pages(house: House, worker: Worker, visits: Visits, tokens: Tokens) -> APIRouter:
    """Pages only an owner may open."""
    web = APIRouter(include_in_schema=False)

    def owner(request: Request) -> Person:
        person = visits.of(request).person
        owner_only(person)
        return person

    @web.get("/owner")
    async def console(request: Request, dataset: str | None = None) -> Response:
        person = owner(request)
        name, opened = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        entries = await worker.free(house.entries, name)
        budget, witness = opened.budget, await worker.free(_witness, opened.ledger)
        holders = [holder for holder in tokens.people() if holder.sees(name)]
        purses = {who: {"spent": spent, "cap": cap} for who, (spent, cap) in budget.analysts.items()}
        place = opened.declared.ledger
        facts: dict[str, Any] = {"holders": holders, "purses": purses, "budget": budget, "witness": witness, "place": place}
        cards = [entry.id for entry in reversed(entries) if entry.answer is not None][:50]
        lost = [entry.id for entry in entries if entry.state == "open"]
        names = list(house.seen_by(person))
        return page("owner.html", request, dataset=name, names=names, cards=cards, lost=lost, words=NOT_DEFENDED, **facts)

    @web.get("/risk")
    async def risk(request: Request) -> Response:
        """How far a birth date and a sex single somebody out, by the ages of a population; no dataset is read."""
        owner(request)
        said, found, problem = dict(request.query_params), None, None
        try:
            if said.get("birth_date"):
                found = await worker.free(_how_unique, said)
        except SordinoError as error:
            problem = error
        return page("risk.html", request, said=said, found=found, problem=problem, picture=None if found is None else found.plot())

    return web


def _how_unique(said: dict[str, str]) -> Any:
    from sordino.lab import how_unique

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


def _witness(book: Book) -> dict[str, Any]:
    """What the witness outside the ledger last saw, beside what the ledger says now."""
    seen = None if book.witness is None else book.witness.look()
    count = book.head.count
    return {"place": None if book.witness is None else str(book.witness.path), "seen": None if seen is None else seen.count, "count": count}
