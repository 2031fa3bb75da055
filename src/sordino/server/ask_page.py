"""The analyst's pages: datasets and budgets, ask, pay, history. Each is a face of a verb; the forms work without script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from sordino.errors import QueryError, SordinoError
from sordino.server.api import balance_of
from sordino.server.approval import Approvals
from sordino.server.builder import OPERATORS, STATISTICS, BuiltQuestion, unbuilt
from sordino.server.built_person import TOTALS
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.login import Visits, inside
from sordino.server.price_card import Wished, number, price_card
from sordino.server.release_request import ReleaseQueue, ReleaseRequest, Wish
from sordino.server.rules import verdict
from sordino.server.templates import page
from sordino.server.worker import Worker
from sordino.session.preview import EPSILONS
from sordino.session.release import Release

__all__ = ["pages"]

WAITING = ("SRD-508", "SRD-509")
WISH = ("within", "epsilon", "percent", "interval")


def pages(house: House, queue: ReleaseQueue, worker: Worker, visits: Visits) -> APIRouter:
    """Every page an analyst may open."""
    web = APIRouter(include_in_schema=False)

    @web.get("/")
    async def start() -> Response:
        return RedirectResponse("/datasets", 303)

    @web.get("/login")
    async def login(request: Request) -> Response:
        return page("login.html", request, wrong=False, wanted=inside(request.query_params.get("next", "")), provider=visits.provider)

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
        person, given = visits.of(request).person, request.query_params.multi_items()
        said = dict(given)
        facts, chosen, problem, card = house.facts(person), said.get("dataset"), None, None
        sql, part, build = said.get("sql", ""), said.get("part"), bool(said.get("build"))
        fields = BuiltQuestion.of(given) if build else None
        try:
            chosen, _ = house.dataset(person, chosen or (facts[0]["name"] if facts else None))
            if fields is not None:
                sql = _statement(house, facts, chosen, fields)
                if not part:
                    words = {name: said[name] for name in WISH if said.get(name)}
                    return RedirectResponse(f"/ask?{urlencode({'dataset': chosen, 'sql': sql, **words})}", 303)
            if sql.strip():
                card = await worker.free(price_card, house, person, chosen, sql, Wished.of(said))
        except SordinoError as error:
            problem = error
        if fields is None:
            known = None if chosen is None or chosen not in house.datasets else partial(house.person_column, chosen)
            fields = unbuilt(sql, known) if sql.strip() else BuiltQuestion()
        gate = None if card is None or chosen is None else house.gate(person, PlannedQuestion(chosen, sql))
        above = None if gate is None else float(gate.above)
        shown: dict[str, Any] = {"chosen": chosen, "sql": sql, "problem": problem, "fields": fields, "said": said, "building": build}
        shown |= {
            "card": card,
            "above": above,
            "moved": said.get("moved"),
            "operators": OPERATORS,
            "statistics": STATISTICS,
            "totals": TOTALS,
        }
        return page("part.html" if part else "ask.html", request, datasets=facts, epsilons=EPSILONS, **shown)

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
        said, price = Wished.of(fields), fields.get("epsilon") or None  # a price stays the text it was
        query = query.ended(said.interval, None, said.ranks)
        wish = Wish(
            price if said.epsilon is not None else None, None, said.within, said.ranks, "fresh" in fields, fields.get("at_most") or None,
            said.interval,
        )  # fmt: skip
        key = fields.get("key", "")
        if not (16 <= len(key) <= 64 and key.isalnum()):
            raise QueryError("SRD-503", "the form has no request id.", "Open the page again.")
        rules = house.rules(visit.person, plan)
        request_id, reason = f"{visit.person.name}:{key}", fields.get("reason", "").strip()
        found = await queue.release(ReleaseRequest(query, wish, visit.person.name, request_id, rules, reason))
        if isinstance(found, SordinoError):
            if found.code in WAITING:
                return RedirectResponse(f"/approvals?{urlencode({'dataset': plan.dataset})}", 303)
            if found.code == "SRD-512":  # dearer than the button said: nothing was charged, and the new price is shown
                again = {"dataset": plan.dataset, "sql": plan.sql, "moved": fields.get("at_most", "")}
                words = {name: fields[name] for name in WISH if fields.get(name)}
                return RedirectResponse(f"/ask?{urlencode(again | words)}", 303)
            raise found
        made = Release.from_bytes(found.sealed, query=query)
        request.scope["said"] = {"release": made.id, "paid": found.recalled is None}
        return RedirectResponse(f"/releases/{made.id}?{urlencode({'plan': plan.id})}", 303)

    @web.get("/approvals")
    async def approvals(request: Request, dataset: str | None = None) -> Response:
        """Asks above the owner's threshold, and the way to release what was approved."""
        person = visits.of(request).person
        name, _ = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        asks = [{"sql": PlannedQuestion.of(asked.plan).sql, "asked": asked} for asked in await worker.free(house.approvals, person, name)]
        names = list(house.seen_by(person))
        return page("approvals.html", request, dataset=name, names=names, asks=asks, above=house.threshold(name))

    @web.post("/approvals")
    async def withdraw(request: Request) -> Response:
        """Take back an ask of one's own that still waits."""
        visit, fields = await visits.posted(request)
        name, opened = house.dataset(visit.person, fields.get("dataset"))
        approvals = Approvals.beside(opened.declared.path)
        said = await worker.free(partial(verdict, by=visit.person), approvals, opened.ledger, name, fields.get("id", ""), "withdrawn")
        request.scope["said"] = {"approval": said.id, "verdict": said.state}
        return RedirectResponse(f"/approvals?{urlencode({'dataset': name})}", 303)

    return web


def _statement(house: House, facts: Sequence[Mapping[str, Any]], dataset: str, fields: BuiltQuestion) -> str:
    """What the fields of the builder say, in the words of the dataset's own columns."""
    tables: list[Any] = next((data["tables"] for data in facts if data["name"] == dataset), [])
    private = [table["name"] for table in tables if not table["public"]]
    fields = fields if fields.table else replace(fields, table=next(iter(private), ""))
    columns: list[Any] = next((table["columns"] for table in tables if table["name"] == fields.table), [])
    return fields.text(columns, house.person_column(dataset, fields.table))
