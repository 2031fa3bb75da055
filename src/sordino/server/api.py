"""The routes of /v1: plans, previews, releases, cards, budgets, the ledger, datasets. Faces of the session; no privacy logic here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Header, Path, Request
from fastapi import Query as Said
from fastapi.security import HTTPBearer
from starlette.responses import Response

from sordino.errors import QueryError, SordinoError
from sordino.server.approval import Approvals
from sordino.server.auth import Person, owner_only
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.problem import Refusal
from sordino.server.quote import QuoteTerms, as_json
from sordino.server.release_request import ReleaseQueue, ReleaseRequest, Wish, id_of
from sordino.server.rules import verdict
from sordino.server.wire import (
    AskBody,
    Declared,
    Listed,
    Number,
    OrderBody,
    Planned,
    PricedBody,
    Recorded,
    Released,
    Spent,
    VerdictBody,
    Waiting,
    errors,
)
from sordino.server.worker import Worker
from sordino.session.query import Query
from sordino.session.release import Release

__all__ = ["answer", "balance_of", "body_of", "released", "routes"]

Dataset = Annotated[str | None, Said(max_length=500, description="Which dataset; may be left out if the token sees only one.")]
PlanId = Annotated[str, Path(max_length=16_000, description="What POST /v1/plans answered.")]
Words = Annotated[str | None, Said(max_length=16_000, description="A plan that asks the same question: its labels are used.")]
ReleaseId = Annotated[str, Path(max_length=100, description="The id of a release.")]
Limit = Annotated[int, Said(ge=1, le=1000, description="How many at most.")]
Cursor = Annotated[int, Said(ge=0, le=10**9, description="Where to begin: `next` of the answer before.")]
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]

ENDS: dict[str, bool] = {"true": True, "false": False}  # `interval` as an address spells it


def answer(content: Any, status: int = 200, **headers: str) -> Response:
    return Response(as_json(content), status, headers, media_type="application/json")


def paged(request: Request, rows: Sequence[Any], limit: int, cursor: int) -> tuple[Sequence[Any], int | None, dict[str, str]]:
    """A stretch of a list, where the next one begins, and a Link to it."""
    after = cursor + limit if cursor + limit < len(rows) else None
    if after is None:
        return rows[cursor : cursor + limit], None, {}
    words = dict(request.query_params) | {"limit": str(limit), "cursor": str(after)}
    link = f'<{request.scope.get("base", "")}{request.url.path}?{urlencode(words)}>; rel="next"'
    return rows[cursor : cursor + limit], after, {"Link": link}


def released(release: Release, *, paid: bool | None = None, sealed: bytes | None = None) -> Response:
    """A release as JSON: a function of its sealed bytes and of the statement, so a repeat is the same to the byte."""
    said = {} if paid is None else {"paid": paid}
    labels = release.query.labels.canonical if release.query is not None else {name: name for name in release.names}
    shown = {**release.to_plain(), "labels": dict(labels), "shapes": release.shapes, **said}
    body = b'%s, "record": %s}' % (as_json(shown)[:-1], sealed or release.sealed or release.to_bytes())
    return Response(body, media_type="application/json")


@lru_cache(512)
def body_of(sealed: bytes, query: Query, *, paid: bool) -> bytes:
    """The answer to a request: sealed bytes and questions stay as they are, so a repeat is not worked out again."""
    return bytes(released(Release.from_bytes(sealed, query=query).at(query.level), paid=paid, sealed=sealed).body)


def balance_of(name: str, opened: Any, person: Person) -> dict[str, Any]:
    """The budget as everybody may see it, and the purse as its owner may: analysts see their own, owners all of them."""
    balance = opened.budget
    purses = {who: {"spent": spent, "cap": cap} for who, (spent, cap) in balance.analysts.items() if person.owner or who == person.name}
    words = ("spent", "left", "cap", "naive", "percent", "spent_delta", "left_delta", "cap_delta")
    facts = {word: getattr(balance, word) for word in words}
    exact = {word: str(value) for word, value in balance.exact.items()}
    ceiling = balance.tally.policy["max_per_release"]
    return {"dataset": name, **facts, "accounting": balance.filter.accounting, "max_per_release": ceiling, "exact": exact, "purses": purses}


def routes(house: House, queue: ReleaseQueue, worker: Worker) -> APIRouter:
    """Every route of the API, over these datasets."""
    api = APIRouter(prefix="/v1", dependencies=[Depends(HTTPBearer(auto_error=False))])

    def who(request: Request) -> Person:
        person: Person = request.scope["person"]
        return person

    async def parsed(request: Request, id: str) -> Query:
        """The question behind a plan's id; a thread is taken only for one that has to be read anew."""
        found = house.known(who(request), id)
        return found or (await worker.free(house.query, who(request), id))[2]

    @api.get("/datasets", response_model=list[Declared], responses=errors())
    async def datasets(request: Request) -> Response:
        """What may be asked: tables, columns, bounds and keys as their owner declared them."""
        return answer(house.facts(who(request)))

    @api.post("/plans", status_code=201, response_model=Planned, responses=errors())
    async def plan(request: Request, body: AskBody) -> Response:
        """Read a question, as SQL or as a call of verbs. Nothing is spent and no row is read; the same question has the same id."""
        name, _ = house.dataset(who(request), body.dataset)
        text = body.sql if body.call is None else body.call.text
        if text is None or (body.sql is not None and body.call is not None):
            raise QueryError("SRD-503", "a plan is one question.", "Give either sql or call.")
        found = PlannedQuestion(name, text)
        query = await worker.free(house.parsed, found)
        return answer({"id": found.id, "dataset": name, "table": query.asked.table, "statistics": list(query.asked.statistics)}, 201)

    @api.get("/plans/{id}/preview", response_model=PricedBody, responses=errors(402))
    async def preview(
        request: Request, id: PlanId, *, within: Annotated[Number | None, Said()] = None,
        within_rank: Annotated[float | None, Said(gt=0, lt=1)] = None, epsilon: Annotated[Number | None, Said()] = None,
        interval: Annotated[Literal["true", "false", "total"] | None, Said()] = None,
        level: Annotated[float | None, Said(ge=0.5, le=0.99999)] = None,
    ) -> Response:  # fmt: skip
        """The price list of a plan: epsilon, error, share of the budget. Free; never opens the private source."""
        terms, query = QuoteTerms(epsilon, within, within_rank), await parsed(request, id)
        query = query.ended(ENDS.get(interval, interval) if interval else None, level, within_rank)
        found = house.quotes.young(query, terms)
        if found is None:
            found = await worker.free(house.quotes.of, query, terms)
        left = house.purse_left(who(request), query.table.dataset)
        return Response(found.body_for(left), media_type="application/json")

    @api.post("/plans/{id}/release", response_model=Released, responses=errors(402, 409, 500))
    async def release(request: Request, id: PlanId, body: OrderBody, key: Key) -> Response:
        """Pay, look, draw. The same Idempotency-Key again gives the same bytes and is charged once; a recorded answer costs nothing."""
        person = who(request)
        query, rules = await parsed(request, id), house.rules(person, PlannedQuestion.of(id))
        query = query.ended(body.interval, body.level, body.within_rank)
        wish = Wish(**body.model_dump(exclude={"level", "reason"}))
        found = await queue.release(ReleaseRequest(query, wish, person.name, f"{person.name}:{key}", rules, body.reason))
        if isinstance(found, SordinoError):
            raise found
        request.scope["said"] = {"release": id_of(found.sealed), "paid": found.recalled is None}
        return Response(body_of(found.sealed, query, paid=found.recalled is None), media_type="application/json")

    @api.delete("/plans/{id}/release", status_code=204, responses=errors(404))
    async def cancel(request: Request, id: PlanId, key: Key) -> Response:
        """Take back a release that waits for the one before it. Once its turn has come it is paid for, and its answer stays."""
        query, person = await parsed(request, id), who(request)
        if not queue.cancel(query.table.dataset, f"{person.name}:{key}"):
            fix = "It was answered or is on its way: send it again with the same key and read the answer."
            raise Refusal(404, "SRD-505", "no release waits under this Idempotency-Key.", fix)
        return Response(status_code=204)

    @api.get("/releases/{id}", response_model=Recorded, responses=errors())
    async def recorded(request: Request, id: ReleaseId, plan: Words = None) -> Response:
        """A recorded answer; open to every analyst of its dataset. In the book's own words, or in those of a plan."""
        found, _ = await worker.free(house.release, who(request), id, plan)
        return released(found)

    @api.get("/releases/{id}/card", response_model=dict[str, Any], responses=errors())
    async def card(request: Request, id: ReleaseId, plan: Words = None) -> Response:
        """The claim card of a release: what was promised, about whom, by which theorem."""
        found, _ = await worker.free(house.release, who(request), id, plan)
        return answer(dict(found.card))

    @api.get("/budget", response_model=Spent, responses=errors())
    async def budget(request: Request, dataset: Dataset = None) -> Response:
        """What is spent and what is left."""
        name, opened = house.dataset(who(request), dataset)
        return answer(await worker.free(balance_of, name, opened, who(request)))

    @api.get("/approvals", response_model=list[Waiting], responses=errors())
    async def approvals(request: Request, dataset: Dataset = None, limit: Limit = 1000, cursor: Cursor = 0) -> Response:
        """Asks above the owner's threshold and what became of them: an analyst's own, or everybody's for owners."""
        name, _ = house.dataset(who(request), dataset)
        asks, _, link = paged(request, await worker.free(house.approvals, who(request), name), limit, cursor)
        return answer([asdict(asked) for asked in asks], 200, **link)

    @api.post("/approvals/{id}", response_model=Waiting, responses=errors(409))
    async def decide(request: Request, id: ReleaseId, body: VerdictBody, dataset: Dataset = None) -> Response:
        """Approve or refuse an ask, for owners; withdraw one's own. Approved, it is charged when its analyst sends it again, once."""
        if body.verdict != "withdrawn":
            owner_only(who(request))
        name, opened = house.dataset(who(request), dataset)
        said = await worker.free(
            partial(verdict, by=who(request), note=body.note), Approvals.beside(opened.declared.path), opened.ledger, name, id, body.verdict
        )
        request.scope["said"] = {"approval": said.id, "verdict": said.state}
        return answer(asdict(said))

    @api.get("/ledger", response_model=Listed, responses=errors())
    async def ledger(request: Request, dataset: Dataset = None, limit: Limit = 1000, cursor: Cursor = 0) -> Response:
        """Every charge, oldest first, and whether the chain holds. For owners. `next` is the cursor of what follows, also as a Link."""
        owner_only(who(request))
        name, opened = house.dataset(who(request), dataset)
        entries, after, link = paged(request, await worker.free(house.entries, name), limit, cursor)
        check = await worker.free(opened.ledger.verify)
        rows = [
            {"id": e.id, "state": e.state, "analyst": e.analyst, "cost": None if e.cost is None else e.cost.to_dict(),
             "charged": {"loss": str(e.charged.loss), "delta": str(e.charged.delta)}, "request": e.request, "at": e.at}
            for e in entries
        ]  # fmt: skip
        head = opened.ledger.head.hash.hex()
        found = {"dataset": name, "verified": bool(check), "chain": str(check), "head": head, "entries": rows, "next": after}
        return answer(found, 200, **link)

    return api
