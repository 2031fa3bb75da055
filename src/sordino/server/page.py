"""The analyst's pages: datasets and budgets, ask, pay, history. Each is a face of a verb; the forms work without script."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from sordino.errors import QueryError, SordinoError
from sordino.server.api import balance_of
from sordino.server.asking import STATISTICS, built, number, rows_of, slider
from sordino.server.desk import Desk
from sordino.server.errand import Errand, Wish
from sordino.server.house import House
from sordino.server.plan import Plan
from sordino.server.sheet import page
from sordino.server.visit import Visits
from sordino.server.worker import Worker
from sordino.session.release import Release

__all__ = ["pages"]


def pages(house: House, desk: Desk, worker: Worker, visits: Visits) -> APIRouter:
    """Every page an analyst may open."""
    web = APIRouter(include_in_schema=False)

    @web.get("/")
    async def start() -> Response:
        return RedirectResponse("/datasets", 303)

    @web.get("/login")
    async def login(request: Request) -> Response:
        return page("login.html", request, wrong=False)

    web.add_api_route("/login", visits.enter, methods=["POST"])
    web.add_api_route("/logout", visits.leave, methods=["POST"])

    @web.get("/datasets")
    async def datasets(request: Request) -> Response:
        person = visits.of(request).person
        seen = house.seen_by(person)
        budgets = {name: await worker.free(balance_of, name, opened, person) for name, opened in seen.items()}
        return page("datasets.html", request, datasets=house.facts(person), budgets=budgets)

    @web.get("/ask")
    async def ask(request: Request) -> Response:
        """The question, its price and why; with `part` only the price, for the script that keeps it up to date."""
        person, said = visits.of(request).person, dict(request.query_params)
        facts, chosen, problem = house.facts(person), said.get("dataset"), None
        asked: dict[str, Any] = {"preview": None, "slider": None, "rows": [], "plan": None, "picture": None, "key": None, "recorded": None}
        try:
            name, _ = house.dataset(person, chosen or (facts[0]["name"] if facts else None))
            chosen = name
            if said.get("build"):
                return RedirectResponse(f"/ask?{urlencode({'dataset': name, 'sql': built(said)})}", 303)
            if said.get("sql", "").strip():
                asked |= await worker.free(_priced, house, name, said["sql"], number(said.get("within"), "within"))
        except SordinoError as error:
            problem = error
        part = "price.html" if said.get("part") else "ask.html"
        shown: dict[str, Any] = {"chosen": chosen, "sql": said.get("sql", ""), "within": said.get("within", ""), "problem": problem}
        return page(part, request, datasets=facts, statistics=list(STATISTICS), **shown, **asked)

    @web.get("/why")
    async def why(request: Request, plan: str = "", epsilon: str = "0.5") -> Response:
        """The mechanism chosen at a price, those rejected, the theorem."""
        _, _, query = await worker.free(house.query, visits.of(request).person, plan)
        price = number(epsilon, "epsilon")
        visits.buckets.pay(request.scope["person"].name, 20)  # every mechanism is simulated: seconds of work
        found = await worker.free(lambda: query.explain(epsilon=str(price or 0.5)))
        name = "why.html" if request.query_params.get("part") else "explanation.html"
        return page(name, request, found=found)

    @web.post("/pay")
    async def pay(request: Request) -> Response:
        visit, fields = await visits.posted(request)
        plan, _, query = await worker.free(house.query, visit.person, fields.get("plan", ""))
        wish = Wish(within=number(fields.get("within"), "within"), epsilon=fields.get("epsilon") or None, fresh="fresh" in fields)
        key = fields.get("key", "")
        if not (16 <= len(key) <= 64 and key.isalnum()):
            raise QueryError("SRD-503", "the form has no request id.", "Open the page again.")
        found, aligned = await desk.release(Errand(query, wish, visit.person.name, f"{visit.person.name}:{key}"))
        request.scope["turn"].aligned = aligned
        if isinstance(found, SordinoError):
            raise found
        made = Release.from_bytes(found.sealed, query=query)
        request.scope["said"] = {"release": made.id, "paid": found.recalled is None}
        return RedirectResponse(f"/releases/{made.id}?{urlencode({'plan': plan.id})}", 303)

    @web.get("/history")
    async def history(request: Request, dataset: str | None = None) -> Response:
        """Every charge of the dataset; what the filter adds up beside the plain sum; whether the chain holds."""
        person = visits.of(request).person
        name, opened = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        entries = await worker.free(house.entries, name)
        check = await worker.free(house.check, name)
        shown = [_entry(entry, person) for entry in reversed(entries[-200:])]
        facts: dict[str, Any] = {"entries": shown, "total": len(entries), "check": check, "picture": await worker.free(opened.ledger.plot)}
        return page("history.html", request, dataset=name, names=list(house.seen_by(person)), budget=opened.budget, **facts)

    return web


def _priced(house: House, name: str, sql: str, within: float | None) -> dict[str, Any]:
    plan = Plan(name, sql)
    query = house.parsed(plan)
    found = query.preview(within=within)
    if within is None and (wish := slider(found, None)) is not None and not query.asked.by:
        found = query.preview(within=wish.at)  # a first wish in the middle of the list, so that there is a price to see
    plotted = any(known.half_width or known.ranks for line in found.lines for known in line.forecasts)
    at = slider(found, within)
    wished = within or (at and not query.asked.by and at.at) or None
    good = None if wished is None else query.recall(None, query._wish(wished, None))
    free = None if good is None else good.id
    made = {"recorded": free, "preview": found, "slider": at, "rows": rows_of(found), "plan": plan.id, "key": secrets.token_hex(16)}
    return {**made, "picture": found.plot() if plotted else None}


def _entry(entry: Any, person: Any) -> dict[str, Any]:
    """What anybody may see of a charge: whose it was is shown to its payer and to owners."""
    asked = []
    if entry.answer is not None and not entry.members:
        asked = list(Release.from_bytes(entry.answer).names)
    who = entry.analyst if person.owner or entry.analyst == person.name else "another analyst"
    cost = None if entry.cost is None else float(entry.cost.epsilon)
    return {"id": entry.id, "who": who or "", "asked": ", ".join(asked), "cost": cost, "state": entry.state}
