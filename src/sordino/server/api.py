"""The routes of /v1: plans, previews, releases, cards, budgets, the ledger, datasets. Faces of the session; no privacy logic here."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.security import HTTPBearer
from starlette.responses import Response

from sordino.errors import SordinoError
from sordino.server.desk import Desk
from sordino.server.errand import Errand, Wish
from sordino.server.guard import owner_only
from sordino.server.house import House
from sordino.server.plan import Plan
from sordino.server.shape import Ask, Declared, Listed, Number, Order, Planned, Priced, Recorded, Released, Spent, errors
from sordino.server.token import Person
from sordino.server.worker import Worker
from sordino.session.preview import EPSILONS
from sordino.session.release import Release

__all__ = ["answer", "balance_of", "released", "routes"]

Dataset = Annotated[str | None, Query(max_length=500, description="Which dataset; may be left out if the token sees only one.")]
PlanId = Annotated[str, Path(max_length=16_000, description="What POST /v1/plans answered.")]
ReleaseId = Annotated[str, Path(max_length=100, description="The id of a release.")]
Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]


def answer(content: Any, status: int = 200) -> Response:
    """JSON in ASCII: names may hold anything, and endless numbers are null."""
    return Response(json.dumps(_finite(content), default=str), status, media_type="application/json")


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return None
        case dict():
            return {str(name): _finite(item) for name, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
    return value


def released(release: Release, *, paid: bool | None = None) -> dict[str, Any]:
    """A release as JSON: a function of its sealed bytes and of the statement, so a repeat is the same to the byte."""
    said = {} if paid is None else {"paid": paid}
    return {**json.loads(release.to_json()), **said, "record": json.loads(release.to_bytes())}


def balance_of(name: str, opened: Any, person: Person) -> dict[str, Any]:
    """The budget as everybody may see it, and the purse as its owner may: analysts see their own, owners all of them."""
    balance = opened.budget
    purses = {who: {"spent": spent, "cap": cap} for who, (spent, cap) in balance.analysts.items() if person.owner or who == person.name}
    words = ("spent", "left", "cap", "naive", "percent", "spent_delta", "left_delta", "cap_delta")
    facts = {word: getattr(balance, word) for word in words}
    exact = {word: str(value) for word, value in balance.exact.items()}
    ceiling = balance.tally.policy["max_per_release"]
    return {"dataset": name, **facts, "accounting": balance.filter.accounting, "max_per_release": ceiling, "exact": exact, "purses": purses}


def routes(house: House, desk: Desk, worker: Worker) -> APIRouter:
    """Every route of the API, over these datasets."""
    api = APIRouter(prefix="/v1", dependencies=[Depends(HTTPBearer(auto_error=False))])

    def who(request: Request) -> Person:
        person: Person = request.scope["person"]
        return person

    @api.get("/datasets", response_model=list[Declared], responses=errors())
    async def datasets(request: Request) -> Response:
        """What may be asked: tables, columns, bounds and keys as their owner declared them."""
        return answer(house.facts(who(request)))

    @api.post("/plans", status_code=201, response_model=Planned, responses=errors())
    async def plan(request: Request, body: Ask) -> Response:
        """Read a statement. Nothing is spent and no row is read; the same statement has the same id."""
        name, _ = house.dataset(who(request), body.dataset)
        found = Plan(name, body.sql)
        query = await worker.free(house.parsed, found)
        return answer({"id": found.id, "dataset": name, "table": query.asked.table, "statistics": list(query.asked.statistics)}, 201)

    @api.get("/plans/{id}/preview", response_model=Priced, responses=errors(402))
    async def preview(
        request: Request, id: PlanId, within: Annotated[Number | None, Query()] = None,
        within_rank: Annotated[float | None, Query(gt=0, lt=1)] = None, epsilon: Annotated[Number | None, Query()] = None,
    ) -> Response:  # fmt: skip
        """The price list of a plan: epsilon, error, share of the budget. Free; never opens the private source."""
        _, _, query = await worker.free(house.query, who(request), id)
        prices = EPSILONS if epsilon is None else (str(epsilon),)
        found = await worker.free(lambda: query.preview(epsilons=prices, within=within, within_rank=within_rank))
        good = await worker.free(lambda: Errand(query, Wish(epsilon, None, within, within_rank), "", "").recorded())
        return answer({**found.to_dict(), "recorded": None if good is None else good.id, "text": str(found)})

    @api.post("/plans/{id}/release", response_model=Released, responses=errors(402, 409, 500))
    async def release(request: Request, id: PlanId, body: Order, key: Key) -> Response:
        """Pay, look, draw. The same Idempotency-Key again gives the same bytes and is charged once; a recorded answer costs nothing."""
        person = who(request)
        _, _, query = await worker.free(house.query, person, id)
        errand = Errand(query, Wish(**body.model_dump()), person.name, f"{person.name}:{key}")
        found, aligned = await desk.release(errand)
        request.scope["turn"].aligned = aligned
        if isinstance(found, SordinoError):
            raise found
        made = Release.from_bytes(found.sealed, query=query)
        request.scope["said"] = {"release": made.id, "paid": found.recalled is None}
        return answer(released(made, paid=found.recalled is None))

    @api.get("/releases/{id}", response_model=Recorded, responses=errors())
    async def recorded(request: Request, id: ReleaseId) -> Response:
        """A recorded answer; open to every analyst of its dataset."""
        found, _ = await worker.free(house.release, who(request), id)
        return answer(released(found))

    @api.get("/releases/{id}/card", response_model=dict[str, Any], responses=errors())
    async def card(request: Request, id: ReleaseId) -> Response:
        """The claim card of a release: what was promised, about whom, by which theorem."""
        found, _ = await worker.free(house.release, who(request), id)
        return answer(dict(found.card))

    @api.get("/budget", response_model=Spent, responses=errors())
    async def budget(request: Request, dataset: Dataset = None) -> Response:
        """What is spent and what is left."""
        name, opened = house.dataset(who(request), dataset)
        return answer(await worker.free(balance_of, name, opened, who(request)))

    @api.get("/ledger", response_model=Listed, responses=errors())
    async def ledger(request: Request, dataset: Dataset = None) -> Response:
        """Every charge, and whether the chain holds. For owners."""
        owner_only(who(request))
        name, opened = house.dataset(who(request), dataset)
        entries = await worker.free(house.entries, name)
        check = await worker.free(opened.ledger.verify)
        rows = [
            {"id": e.id, "state": e.state, "analyst": e.analyst, "cost": None if e.cost is None else e.cost.to_dict(),
             "charged": {"loss": str(e.charged.loss), "delta": str(e.charged.delta)}, "request": e.request}
            for e in entries
        ]  # fmt: skip
        head = opened.ledger.head.hash.hex()
        return answer({"dataset": name, "verified": bool(check), "chain": str(check), "head": head, "entries": rows})

    return api
