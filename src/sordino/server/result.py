"""The pages of an answer: the result, files of it, its card, and what a better one costs."""

from __future__ import annotations

import csv
import io
import math
import secrets
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from sordino.errors import SordinoError
from sordino.pictures.picture import safe
from sordino.server.api import released
from sordino.server.asking import number
from sordino.server.comparison import compared
from sordino.server.house import House
from sordino.server.improving import improvement, together
from sordino.server.plan import Plan
from sordino.server.sheet import page
from sordino.server.visit import Visits
from sordino.server.worker import Worker
from sordino.session.release import Release
from sordino.session.view import plain, plottable

__all__ = ["result_pages"]


def result_pages(house: House, worker: Worker, visits: Visits) -> APIRouter:
    """Everything about a recorded answer; open to every analyst of its dataset."""
    web = APIRouter(include_in_schema=False)

    @web.get("/improve")
    async def improve(request: Request, plan: str = "", within: str = "") -> Response:
        """What a narrower interval costs: one more draw averaged with the others, or a release of its own."""
        asked, _, query = await worker.free(house.query, visits.of(request).person, plan)
        found, problem = None, None
        try:
            if (wish := number(within, "within")) is not None:
                found = await worker.free(improvement, query, wish, house.floors[asked.dataset])
        except SordinoError as error:
            problem = error
        prices = {"second": _decimal(found and found.second), "alone": _decimal(found and found.alone)}
        facts: dict[str, Any] = {"found": found, "problem": problem, "key": secrets.token_hex(16), **prices}
        return page("improve.html", request, sql=asked.sql, plan=asked.id, **facts)

    async def recorded(request: Request, id: str, plan: str) -> Release:
        found, _ = await worker.free(house.release, visits.of(request).person, id, plan or None)
        return found

    @web.get("/releases/{id}.csv")
    async def as_csv(request: Request, id: str, plan: str = "") -> Response:
        """The table. A cell that a spreadsheet would take for a formula is written as text."""
        columns, text = plain(await recorded(request, id, plan)), io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow([_cell(name) for name in columns])
        writer.writerows([_cell(cell) for cell in row] for row in zip(*columns.values(), strict=True))
        headers = {"content-disposition": f'attachment; filename="{id}.csv"'}
        return Response(text.getvalue().encode("utf-8", "replace"), headers=headers, media_type="text/csv")

    @web.get("/releases/{id}.json")
    async def as_json(request: Request, id: str, plan: str = "") -> Response:
        made = released(await recorded(request, id, plan))
        made.headers["content-disposition"] = f'attachment; filename="{id}.json"'
        return made

    @web.get("/releases/{id}.card.html")
    async def as_card(request: Request, id: str, plan: str = "") -> Response:
        """The claim card as a file to publish."""
        found = await recorded(request, id, plan)
        text = f"<p>{safe(found.about)}</p>\n{found.card.to_html()}"
        head = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{safe(id)}</title>\n'
        headers = {"content-disposition": f'attachment; filename="{id}.card.html"'}
        return Response(f"{head}{text}</html>\n".encode("utf-8", "replace"), headers=headers, media_type="text/html")

    @web.get("/releases/{id}")
    async def result(request: Request, id: str, plan: str = "") -> Response:
        found = await recorded(request, id, plan)
        sql, mean = Plan.of(plan).sql if plan else None, None
        if plan:
            _, _, query = await worker.free(house.query, visits.of(request).person, plan)
            mean = await worker.free(together, query)
        half = _half_width(found)
        picture = found.plot() if plottable(found) else None
        facts: dict[str, Any] = {"sql": sql, "dataset": found.card.get("dataset"), "half": half, "picture": picture}
        return page("release.html", request, release=found, columns=found.to_dict(), pairs=compared(found), plan=plan, mean=mean, **facts)

    return web


def _half_width(release: Release) -> float | None:
    """Of the first statistic; the widest, where there are groups."""
    name = release.names[0]
    ends = zip(release.answers.get(f"{name}_low", []), release.answers.get(f"{name}_high", []), strict=False)
    return max(((high - low) / 2 for low, high in ends if isinstance(low, int | float) and isinstance(high, int | float)), default=None)


def _decimal(price: Any) -> str | None:
    """A price rounded up to what fits in a form and can be read."""
    return None if price is None else f"{math.ceil(price * 10**6) / 10**6:.6f}".rstrip("0")


def _cell(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
