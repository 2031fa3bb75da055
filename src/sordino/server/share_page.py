"""The pages of shared tables: which columns at which price, how far it is, and the table with its error report."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from sordino.errors import QueryError, SordinoError
from sordino.pictures.picture import safe
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.login import Visits
from sordino.server.owner_pictures import pairs_picture
from sordino.server.release_request import ReleaseQueue, Wish
from sordino.server.result_page import _rows
from sordino.server.share_api import NEVER, as_csv, as_file, as_parquet, made, promise, ready_only, share_prices
from sordino.server.share_jobs import ShareJob, ShareJobs
from sordino.server.shared_question import ShareWords, shared_question
from sordino.server.templates import page
from sordino.server.worker import Worker
from sordino.session.shared import Shared

__all__ = ["share_pages", "words_of"]

FIRST = 20  # rows that the page shows
METHODS = {
    "adaptive": "adaptive: what the model misses most is measured",
    "tree": "tree: quick, one pair for each column",
}
WAITING = ("SRD-508", "SRD-509")


def words_of(given: Sequence[tuple[str, str]], table: str) -> ShareWords:
    """What the fields of the form say."""
    said, columns = dict(given), [value for name, value in given if name == "column"]
    facts: dict[str, Any] = {"table": table, **({"columns": columns} if columns else {})}
    facts |= {name: said[name].strip() for name in ("method", "weight", "target") if said.get(name, "").strip()}
    facts |= {"where": [said["where"].strip()]} if said.get("where", "").strip() else {}
    facts |= {"forbid": lines} if (lines := [line.strip() for line in said.get("forbid", "").splitlines() if line.strip()]) else {}
    if rows := said.get("rows", "").strip():
        facts["rows"] = int(rows) if rows.isdecimal() and len(rows) < 10 else rows
    try:
        return ShareWords.model_validate(facts)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part)[:40] for part in first["loc"][:2])
        raise QueryError("SRD-503", f"{place}: {first['msg']}.", "Correct it and show the price again.") from None


def share_pages(house: House, queue: ReleaseQueue, worker: Worker, visits: Visits, jobs: ShareJobs) -> APIRouter:
    """Every page of shared tables."""
    web = APIRouter(include_in_schema=False)

    @web.get("/share")
    async def share(request: Request) -> Response:
        """The columns, and what each price buys. Nothing is read and nothing spent."""
        person, given = visits.of(request).person, request.query_params.multi_items()
        said, facts = dict(given), house.facts(person)
        problem, prices, plan, columns, table, name = None, None, "", [], "", None
        try:
            name, opened = house.dataset(person, said.get("dataset") or (facts[0]["name"] if facts else None))
            table = said["table"] if said.get("table") in opened.tables else next(iter(opened.tables))
            columns = [column.name for column in shared_question(opened, ShareWords(table=table).text).sharing.columns]
            if said.get("priced"):
                planned = PlannedQuestion(name, words_of(given, table).text)
                plan = planned.id
                question = await worker.free(house.shared, person, plan)
                prices = await worker.free(share_prices, question, house.rules(person, planned), said.get("epsilon", "").strip() or None)
        except SordinoError as error:
            problem = error
        chosen = [value for word, value in given if word == "column"] or columns
        shown: dict[str, Any] = {"chosen": name, "table": table, "columns": columns, "marked": chosen, "said": said, "methods": METHODS}
        shown |= {"prices": prices, "plan": plan, "problem": problem, "key": secrets.token_hex(16), "never": NEVER}
        shown["tables"] = [] if name is None else list(house.datasets[name].tables)
        return page("share.html", request, datasets=[data["name"] for data in facts], **shown)

    @web.post("/share")
    async def pay(request: Request) -> Response:
        """Promise the table, and show how far it is."""
        visit, fields = await visits.posted(request)
        key, plan = fields.get("key", ""), PlannedQuestion.of(fields.get("plan", ""))
        if not (16 <= len(key) <= 64 and key.isalnum()):
            raise QueryError("SRD-503", "the form has no request id.", "Open the page again.")
        wish = Wish(fields.get("epsilon", "").strip() or "0", None, fresh="fresh" in fields)
        job = ShareJob.of(ShareJob(plan.dataset, plan.sql, wish, key).id)
        try:
            reason = fields.get("reason", "").strip()
            seconds = await promise(jobs, queue, worker, request, job, person=visit.person, reason=reason)
        except SordinoError as error:
            if error.code in WAITING:
                return RedirectResponse(f"/approvals?{urlencode({'dataset': plan.dataset})}", 303)
            raise
        return page("sharing.html", request, 202, job=job.id, seconds=seconds, progress=0.0)

    async def found(request: Request, id: str) -> Shared:
        return ready_only(await made(jobs, worker, request, id, visits.of(request).person))

    @web.get("/shares/{id}/shared.csv")
    async def table_csv(request: Request, id: str) -> Response:
        return as_file(await worker.free(as_csv, await found(request, id)), "shared.csv", "text/csv")

    @web.get("/shares/{id}/shared.parquet")
    async def table_parquet(request: Request, id: str) -> Response:
        return as_file(await worker.free(as_parquet, await found(request, id)), "shared.parquet", "application/vnd.apache.parquet")

    @web.get("/shares/{id}/errors.svg")
    async def picture(request: Request, id: str) -> Response:
        return as_file((await found(request, id)).plot().svg.encode("utf-8", "replace"), "errors.svg", "image/svg+xml")

    @web.get("/shares/{id}/card.html")
    async def card(request: Request, id: str) -> Response:
        """The claim card as a file to publish beside the table."""
        shared = await found(request, id)
        rows = "".join(f"<tr><th scope='row'>{safe(name)}</th><td>{safe(text)}</td></tr>\n" for name, text in card_of(shared))
        head = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{safe(shared.release.id)}</title>\n'
        text = f"{head}<p>{safe(shared.about)}</p>\n<p>{safe(NEVER)}</p>\n<table><caption>Claim card</caption>\n{rows}</table></html>\n"
        return as_file(text.encode("utf-8", "replace"), "card.html", "text/html")

    @web.get("/shares/{id}")
    async def result(request: Request, id: str) -> Response:
        """The table when it has left; where that takes longer than anybody waits, how far it is by the clock and its deadline."""
        known = await made(jobs, worker, request, id, visits.of(request).person)
        if not isinstance(known[0], Shared):
            return page("sharing.html", request, 202, job=id, seconds=known[1], progress=known[0])
        shared, paid = known
        facts = await worker.free(_shown, shared)
        parquet = find_spec("pyarrow") is not None
        return page("shared.html", request, job=id, shared=shared, paid=paid.recalled is None, never=NEVER, parquet=parquet, **facts)

    return web


def card_of(shared: Shared) -> list[tuple[str, str]]:
    """The claim card in words; the question's cells are long and say nothing to a reader."""
    facts: Mapping[str, Any] = {name: value for name, value in shared.card.items() if name != "question"}
    return [(name, text) for name, text in _rows(facts) if text]


def _shown(shared: Shared) -> dict[str, Any]:
    """What the page needs: the first rows, the worst errors, the picture, the card."""
    rows = {name: values[:FIRST] for name, values in shared.to_dict().items()}
    errors = sorted(shared.errors.items(), key=lambda item: (-item[1].tv, item[0]))
    lines = [(", ".join(names), bar) for names, bar in errors[:FIRST]]
    closer = str(shared.card.get("do not conclude", "")).capitalize()
    return {
        "rows": rows,
        "errors": lines,
        "all": len(errors),
        "picture": shared.plot(),
        "pairs": pairs_picture(shared),
        "card": card_of(shared),
        "closer": closer,
    }
