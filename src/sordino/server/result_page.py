"""The pages of an answer: the result, files of it, its card, and what a better one costs.

Which differences between groups survive the noise.

A better answer out of several: what all recorded draws say together, and the price of one more.
"""

from __future__ import annotations

import csv
import io
import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from sordino.errors import SordinoError
from sordino.pictures.picture import safe
from sordino.server.api import released
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.login import Visits
from sordino.server.price_card import number
from sordino.server.rules import Floor
from sordino.server.templates import page
from sordino.server.worker import Worker
from sordino.session.improvement import NoiseWeight, combine, drawn_noise, half_width, second_price
from sordino.session.query import Query
from sordino.session.release import Release
from sordino.session.view import plain, plottable, shown

__all__ = ["Improvement", "PairedGroups", "compared", "improvement", "result_pages", "together"]

MOST = 8  # groups; more make a table nobody reads


@dataclass(frozen=True)
class PairedGroups:
    """Two groups of one release. Intervals of 95% that do not meet: with at least 90% the noise alone does not explain the difference."""

    one: str
    other: str
    difference: float
    survives: bool


def compared(release: Release) -> list[PairedGroups]:
    """Every pair of the first groups, where the first statistic has numbers with ends; a function of the release alone."""
    name = release.names[0]
    ends = [release.answers[name + end] for end in ("", "_low", "_high") if name + end in release.answers]
    if not release.grouped or len(ends) < 3:
        return []
    keys = [" / ".join(map(shown, key)) for key in zip(*release.keys.values(), strict=True)]
    rows = [row for row in zip(keys, ends[0], ends[1], ends[2], strict=True) if all(map(_real, row[1:]))][:MOST]
    return [PairedGroups(a, b, float(y - x), bool(hx < ly or hy < lx)) for (a, x, lx, hx), (b, y, ly, hy) in combinations(rows, 2)]


def _real(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


@dataclass(frozen=True)
class Improvement:
    """What a narrower interval costs: one more draw averaged with those recorded, or a release of its own."""

    within: float
    reached: bool  # the recorded answers are good enough together: nothing to pay
    second: Fraction | None  # the price of one more draw; None where averaging does not help
    alone: Fraction | None  # the price of a release that is good enough on its own; None where none is
    problem: str = ""


def _draws(query: Query) -> tuple[list[Release], list[NoiseWeight]]:
    """The recorded answers and the public noise of each, if all of them are additive; otherwise nothing."""
    found = query.drawn_alike()
    known = [noise for item in found if (noise := drawn_noise(query, item)) is not None]
    return (found, known) if found and len(known) == len(found) else ([], [])


def together(query: Query) -> Release | None:
    """The inverse-variance mean of every recorded answer: post-processing, free; None where there is only one or it does not apply."""
    found, known = _draws(query)
    return combine(found, known) if len(found) > 1 else None


def improvement(query: Query, within: float, floor: Floor) -> Improvement:
    """The two prices of a half-width, by public facts and recorded answers alone, and none that is not sold."""
    wish, (found, known) = query.wished(within), _draws(query)
    reached = bool(found) and half_width(known) <= within
    second = second_price(query, known, wish) if found and not reached and len(wish) == 1 else None
    if second is not None and not floor.met(query.table.ledger, query.settle(second).cost):
        second = floor.epsilon(query)
    try:
        return Improvement(within, reached, second, floor.priced(query, within=within).cost.epsilon)
    except SordinoError as error:
        return Improvement(within, reached, second, None, f"{error.what} {error.fix}")


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
        sql, mean = PlannedQuestion.of(plan).sql if plan else None, None
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
