"""The routes of shared tables: what each price buys, a promise, the job behind it, and the table as a file."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path as File
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.responses import Response

from sordino.errors import SordinoError
from sordino.server.api import Key, answer
from sordino.server.auth import Person
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.problem import Unfinished
from sordino.server.release_request import PaidAnswer, ReleaseQueue, ReleaseRequest, Wish, id_of
from sordino.server.result_page import _cell
from sordino.server.rules import Rules
from sordino.server.share_jobs import ShareJob, ShareJobs, Standing
from sordino.server.shared_question import ShareBody, SharedQuestion, SharePriceBody
from sordino.server.wire import errors
from sordino.server.worker import Worker
from sordino.session.encoding import encode
from sordino.session.execute import rehearse
from sordino.session.shared import Shared

__all__ = ["NEVER", "as_csv", "as_file", "as_parquet", "made", "promise", "ready_only", "share_prices", "share_routes"]

JobId = Annotated[str, Path(max_length=16_000, description="What POST /v1/shares answered.")]
NEVER = "No row is anybody's. What was not measured together is as the model has it: a number worked out here is not the private table's."
PARQUET = "application/vnd.apache.parquet"
PRICES = ("0.1", "0.5", "1", "2", "5")


class SharePriced(BaseModel):
    """What each price buys, from public facts: measured sets, their noise, and what the error report can see."""

    columns: list[str]
    rows: int | None  # that the public knows of
    seconds: float | None  # from the charge to the answer
    recorded: str | None  # a release of this table that is there already and free
    lines: list[dict[str, Any]]
    problem: str | None


class SharePromised(BaseModel):
    """A job. `seconds` is its public deadline: how far it is at any moment is the part of them that has passed."""

    id: str
    state: str
    progress: float
    seconds: float
    poll: str


class ShareDone(BaseModel):
    """A shared table with its error report."""

    id: str
    state: str
    progress: float
    release: str
    paid: bool
    about: str
    do_not_conclude: str
    rows: int
    columns: list[str]
    measured: list[list[str]]
    errors: list[dict[str, Any]]
    table: dict[str, str]
    cells: list[dict[str, Any]]  # of every column: with the record of the release the rows can be made again
    card: dict[str, Any]


def share_prices(question: SharedQuestion, rules: Rules, epsilon: Any = None, delta: Any = None) -> dict[str, Any]:
    """The price list of a shared table, with the seconds it takes. Free; never opens the private source."""
    lines: list[dict[str, Any]] = []
    problem, seconds, ask = None, None, question.sharing
    try:
        wanted = PRICES if epsilon is None else [epsilon]
        sold = [price for price in wanted if rules.floor.met(question.table.ledger, ask.plan(price, delta).cost)]
        lines = list(ask.preview(sold, delta=delta, twin=False).lines)
        plan = question.priced(epsilon=epsilon or "1", delta=delta)
        rehearse(plan)
        seconds = rules.deadlines.of(plan, question.table)
    except SordinoError as error:
        problem = f"{error.what} {error.fix}"
    found = question.recall_sealed(None if epsilon is None else ask.plan(epsilon, delta).cost.epsilon) if problem is None else None
    columns = [column.name for column in ask.columns]
    recorded = None if found is None else id_of(found)
    return {"columns": columns, "rows": ask._known_rows, "seconds": seconds, "recorded": recorded, "lines": lines, "problem": problem}


async def promise(
    jobs: ShareJobs, queue: ReleaseQueue, worker: Worker, request: Request, job: ShareJob, *, person: Person, reason: str = ""
) -> float:
    """Refuse, or set the job out once the answer has left, and say how many seconds it takes."""
    requested = await worker.free(jobs.request, person, job, reason)
    seconds = await worker.free(jobs.promised, requested)
    queue.crowded(person.name)
    held = await jobs.hold(requested)
    request.scope["after"] = lambda: jobs.start(requested, seconds, held)
    return seconds


async def made(jobs: ShareJobs, worker: Worker, request: Request, id: str, person: Person) -> tuple[Shared, PaidAnswer] | Standing:
    """The table of a job, or how far it is. A job that is not ready says so while its work goes on."""
    requested: ReleaseRequest = await worker.free(jobs.request, person, ShareJob.of(id))
    found = await jobs.outcome(requested)
    if isinstance(found, Standing):
        request.scope["unheld"] = True
        return found
    assert isinstance(requested.query, SharedQuestion)
    request.scope["said"] = {"release": id_of(found.sealed), "paid": found.recalled is None}
    return await worker.free(requested.query.shared, found.sealed), found


def share_routes(house: House, queue: ReleaseQueue, worker: Worker, jobs: ShareJobs) -> APIRouter:
    """Every route of shared tables."""
    api = APIRouter(prefix="/v1/shares", dependencies=[Depends(HTTPBearer(auto_error=False))])

    def who(request: Request) -> Person:
        person: Person = request.scope["person"]
        return person

    @api.post("/price", response_model=SharePriced, responses=errors())
    async def price(request: Request, body: SharePriceBody) -> Response:
        """What each price buys. Nothing is spent and no row is read."""
        name, _ = house.dataset(who(request), body.dataset)
        plan = PlannedQuestion(name, body.share.text)
        question = await worker.free(house.shared, who(request), plan.id)
        return answer(await worker.free(share_prices, question, house.rules(who(request), plan), body.epsilon, body.delta))

    @api.post("", status_code=202, response_model=SharePromised, responses=errors(402, 409))
    async def share(request: Request, body: ShareBody, key: Key) -> Response:
        """Promise a shared table: one charge, one draw, with an error for every pair and triple (of more than 15 columns,
        every pair). The answer is a job to ask about.

        The same Idempotency-Key again is the same job and is charged once; a table that is recorded costs nothing. What else you ask while
        the work goes on, this job included, is answered when it is over.
        """
        person = who(request)
        name, _ = house.dataset(person, body.dataset)
        job = ShareJob.made(name, body.share, Wish(body.epsilon, body.delta, fresh=body.fresh, at_most=body.at_most), key)
        seconds = await promise(jobs, queue, worker, request, job, person=person, reason=body.reason)
        place = f"/v1/shares/{job.id}"
        said = {"id": job.id, "state": "promised", "progress": 0.0, "seconds": seconds, "poll": place}
        return answer(said, 202, Location=place)

    @api.get("/{id}", response_model=ShareDone, responses={202: {"model": SharePromised}, **errors(402, 409, 500)})
    async def job(request: Request, id: JobId) -> Response:
        """The table of a job with its error report, when it has left; after a minute how far it is, by the clock and its deadline."""
        found = await made(jobs, worker, request, id, who(request))
        if isinstance(found, Standing):
            said = {"id": id, "state": "running", "progress": found.progress, "seconds": found.seconds, "poll": f"/v1/shares/{id}"}
            return answer(said, 202, **{"Retry-After": "1"})
        shared, paid = found
        return answer(await worker.free(_done, id, shared, paid))

    @api.get("/{id}/table.csv", response_class=Response, responses={**errors(402, 409, 500), 200: {"content": {"text/csv": {}}}})
    async def table_csv(request: Request, id: JobId) -> Response:
        """The rows, with what they are in the first line. A cell that a spreadsheet would take for a formula is written as text."""
        return as_file(await worker.free(as_csv, await ready(request, id)), "shared.csv", "text/csv")

    @api.get("/{id}/table.parquet", response_class=Response, responses={**errors(402, 409, 500), 200: {"content": {PARQUET: {}}}})
    async def table_parquet(request: Request, id: JobId) -> Response:
        """The rows with card and error report in the metadata."""
        return as_file(await worker.free(as_parquet, await ready(request, id)), "shared.parquet", PARQUET)

    async def ready(request: Request, id: str) -> Shared:
        return ready_only(await made(jobs, worker, request, id, who(request)))

    return api


def ready_only(found: tuple[Shared, PaidAnswer] | Standing) -> Shared:
    if isinstance(found, Standing):
        raise Unfinished(503, "SRD-506", "this table is not ready.", "Ask about its job first.", Retry_After="5")
    return found[0]


def _done(id: str, shared: Shared, paid: PaidAnswer) -> dict[str, Any]:
    card, place = shared.card, f"/v1/shares/{id}/table"
    facts = {"id": id, "state": "done", "progress": 1.0, "release": shared.release.id, "paid": paid.recalled is None}
    facts |= {"about": shared.about, "do_not_conclude": f"{NEVER} {str(card.get('do not conclude', '')).capitalize()}".strip()}
    facts |= {"rows": len(shared), "columns": list(shared.columns), "measured": [list(names) for names in shared.kept]}
    facts["cells"] = json.loads(encode({"cells": [cells.to_record() for cells in shared.fine]}))["cells"]
    return {**facts, "errors": shared._report(), "table": {"csv": f"{place}.csv", "parquet": f"{place}.parquet"}, "card": dict(card)}


def as_csv(shared: Shared) -> bytes:
    columns, text = shared.to_dict(), io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([f"# {shared.about}"])
    writer.writerow([_cell(name) for name in columns])
    writer.writerows([_cell(cell) for cell in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue().encode("utf-8", "replace")


def as_parquet(shared: Shared) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = File(folder) / "shared.parquet"
        shared.to_parquet(place)
        return place.read_bytes()


def as_file(content: bytes, name: str, kind: str) -> Response:
    return Response(content, headers={"content-disposition": f'attachment; filename="{name}"'}, media_type=kind)
