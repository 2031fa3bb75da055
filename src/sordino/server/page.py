"""The analyst's pages: datasets and budgets, ask, pay, history. Each is a face of a verb; the forms work without script."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from sordino.errors import QueryError, SordinoError
from sordino.server.api import balance_of
from sordino.server.asking import number, rows_of, slider
from sordino.server.builder import STATISTICS, built, unbuilt
from sordino.server.desk import Desk
from sordino.server.errand import Errand, Wish
from sordino.server.house import House
from sordino.server.plan import Plan
from sordino.server.quote import Terms
from sordino.server.sheet import page
from sordino.server.visit import Visits
from sordino.server.worker import Worker
from sordino.session.release import Release

__all__ = ["pages"]

WAITING = ("SRD-508", "SRD-509")


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
        """The question, its price and why. With `part` only what follows: the price, and SQL or builder, if the other was touched."""
        person, said = visits.of(request).person, dict(request.query_params)
        facts, chosen, problem = house.facts(person), said.get("dataset"), None
        empty = ("preview", "slider", "plan", "picture", "key", "recorded", "above", "deadline")
        asked: dict[str, Any] = dict.fromkeys(empty) | {"rows": []}
        sql, part = said.get("sql", ""), said.get("part")
        try:
            name, _ = house.dataset(person, chosen or (facts[0]["name"] if facts else None))
            chosen = name
            if said.get("build"):
                sql = built(said)
                if not part:
                    return RedirectResponse(f"/ask?{urlencode({'dataset': name, 'sql': sql})}", 303)
            if sql.strip():
                asked |= await worker.free(_priced, house, name, sql, number(said.get("within"), "within"))
                asked["above"] = None if (gate := house.gate(person, Plan(name, sql))) is None else float(gate.above)
        except SordinoError as error:
            problem = error
        fields = said if said.get("build") else unbuilt(sql)
        shown: dict[str, Any] = {"chosen": chosen, "sql": sql, "within": said.get("within", ""), "problem": problem, "fields": fields}
        outer = "part.html" if part else "ask.html"
        return page(outer, request, datasets=facts, statistics=list(STATISTICS), building=bool(said.get("build")), **shown, **asked)

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
        rules = house.rules(visit.person, plan)
        found = await desk.release(Errand(query, wish, visit.person.name, f"{visit.person.name}:{key}", rules))
        if isinstance(found, SordinoError):
            if found.code in WAITING:
                return RedirectResponse(f"/approvals?{urlencode({'dataset': plan.dataset})}", 303)
            raise found
        made = Release.from_bytes(found.sealed, query=query)
        request.scope["said"] = {"release": made.id, "paid": found.recalled is None}
        return RedirectResponse(f"/releases/{made.id}?{urlencode({'plan': plan.id})}", 303)

    @web.get("/approvals")
    async def approvals(request: Request, dataset: str | None = None) -> Response:
        """Asks above the owner's threshold, and the way to release what was approved."""
        person = visits.of(request).person
        name, opened = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        asks = [{"sql": Plan.of(asked.plan).sql, "asked": asked} for asked in await worker.free(house.approvals, person, name)]
        names = list(house.seen_by(person))
        return page("approvals.html", request, dataset=name, names=names, asks=asks, above=opened.declared.approve_above)

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
    quote = house.quotes.of(query, Terms(within=within))
    if within is None and (wish := slider(quote.preview, None)) is not None and not query.asked.by:
        quote = house.quotes.of(query, Terms(within=wish.at))  # a first wish in the middle of the list, so that there is a price to see
    found = quote.preview
    plotted = any(known.half_width or known.ranks for line in found.lines for known in line.forecasts)
    at = slider(found, within)
    made = {"recorded": quote.recorded, "deadline": quote.deadline, "preview": found, "slider": at, "rows": rows_of(found), "plan": plan.id}
    return {**made, "key": secrets.token_hex(16), "picture": found.plot() if plotted else None}


def _entry(entry: Any, person: Any) -> dict[str, Any]:
    """What anybody may see of a charge: whose it was is shown to its payer and to owners."""
    asked = []
    if entry.answer is not None and not entry.members:
        asked = list(Release.from_bytes(entry.answer).names)
    who = entry.analyst if person.owner or entry.analyst == person.name else "another analyst"
    cost = None if entry.cost is None else float(entry.cost.epsilon)
    return {"id": entry.id, "who": who or "", "asked": ", ".join(asked), "cost": cost, "state": entry.state}
