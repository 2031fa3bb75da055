"""The pages of an answer: the result, files of it, its card, and what a better one costs.

Which differences between groups survive the noise.

A better answer out of several: what all recorded draws say together, and the price of one more.

A recorded answer in words: what was asked, what the card says, and how to ask the same from elsewhere. No Python reprs on a page.
"""

from __future__ import annotations

import csv
import io
import math
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from sordino.errors import SordinoError
from sordino.pictures import Picture
from sordino.pictures.picture import safe
from sordino.server.api import released
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.login import Visits
from sordino.server.price_card import number
from sordino.server.problem import Refusal
from sordino.server.rules import Floor
from sordino.server.templates import page
from sordino.server.worker import Worker
from sordino.session.about import _condition
from sordino.session.improvement import NoiseWeight, combine, drawn_noise, half_width, second_price
from sordino.session.query import Query
from sordino.session.release import Release
from sordino.session.view import plain, plottable, shown

__all__ = [
    "Improvement", "PairedGroups", "card_rows", "compared", "copies", "family", "improvement", "pictures", "result_pages", "spoken",
    "statement_of", "together",
]  # fmt: skip


def spoken(card: Mapping[str, Any], names: tuple[str, ...] = ()) -> str:
    """The question of a card in one line: what, by what, of which rows."""
    asked = card.get("question")
    if not isinstance(asked, Mapping):
        return ", ".join(names)
    by = f" by {', '.join(map(str, asked.get('by') or ()))}" if asked.get("by") else ""
    where = f" where {_condition(asked['where'])}" if asked.get("where") is not None else ""
    return f"{', '.join(names or tuple(asked.get('statistics', ())))}{by} of {asked.get('table', '')}{where}"


@lru_cache(8192)
def statement_of(sealed: bytes) -> tuple[str, str, tuple[str, ...]]:
    """What a sealed answer says of its question: in words, its table, its statistics. Answers never change, so it is worked out once."""
    found = Release.from_bytes(sealed)
    return spoken(found.card, found.names), str(found.card.get("table", "")), found.names


def card_rows(release: Release) -> list[tuple[str, str]]:
    """The claim card, with the sentence people need first and the question in words."""
    card = release.card
    first = [("in one sentence", str(card["odds"]))] if card.get("odds") else []
    first += [("about", release.about)] if release.about else []
    first += [("asked", spoken(card, release.names))]
    rest = {name: value for name, value in card.items() if name not in ("odds", "question")}
    return [*first, *((name, text) for name, text in _rows(rest) if text)]


def _rows(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}: {inner}", _words(item)) for inner, item in value.items())
        else:
            yield name, _words(value)


def _words(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return "; ".join(_words(item) for item in value)
        case Mapping():
            return "; ".join(f"{name} {_words(item)}" for name, item in value.items())
    return shown(value)


def copies(release: Release, server: str, sql: str | None) -> dict[str, str]:
    """The same answer from elsewhere. It is recorded, so each of them is free."""
    called = sql is not None and sql.lstrip().startswith("{")
    home = f'import sordino as sd\n\nremote = sd.connect("{server}", token="srd_...")\n'
    said = {"Python": f'{home}answer = remote.release("{release.id}")'}
    if sql is not None and not called:
        price = release.cost.exact.epsilon
        text = sql.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        said["Python"] = f'{home}query = remote.sql("""{text}""")\nanswer = query.release(epsilon="{price}")  # recorded, so free'
        said["SQL"] = sql
    said["curl"] = f'curl -H "Authorization: Bearer $TOKEN" "{server}/v1/releases/{release.id}"'
    return said


MOST = 8  # groups; more make a table nobody reads
SURE = 0.95  # that every interval of the family holds at once


@dataclass(frozen=True)
class PairedGroups:
    """Two groups of one release, and whether their intervals meet."""

    one: str
    other: str
    difference: float
    survives: bool


def family(release: Release) -> Release | None:
    """The answer with intervals that all hold at once with 95%: each at 1 - 0.05 over their number (Bonferroni). None where unknown."""
    groups = min(MOST, len(release.answers[release.names[0]])) if release.grouped else 0
    if groups < 2:
        return None
    try:
        return release.at(1 - (1 - SURE) / groups)
    except SordinoError:
        return None


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

    def file(content: bytes | str, name: str, kind: str) -> Response:
        text = content.encode("utf-8", "replace") if isinstance(content, str) else content
        return Response(text, headers={"content-disposition": f'attachment; filename="{name}"'}, media_type=kind)

    @web.get("/releases/{id}.csv")
    async def as_csv(request: Request, id: str, plan: str = "") -> Response:
        """The table, with what it is about in its first line. A cell that a spreadsheet would take for a formula is written as text."""
        found = await recorded(request, id, plan)
        columns, text = plain(found), io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow([f"# {found.about}"])
        writer.writerow([_cell(name) for name in columns])
        writer.writerows([_cell(cell) for cell in row] for row in zip(*columns.values(), strict=True))
        return file(text.getvalue(), f"{id}.csv", "text/csv")

    @web.get("/releases/{id}.parquet")
    async def as_parquet(request: Request, id: str, plan: str = "") -> Response:
        """A Parquet file with the card and what it is about in its metadata."""
        found = await recorded(request, id, plan)
        return file(await worker.free(_parquet, found), f"{id}.parquet", "application/vnd.apache.parquet")

    @web.get("/releases/{id}.json")
    async def as_json(request: Request, id: str, plan: str = "") -> Response:
        made = released(await recorded(request, id, plan))
        made.headers["content-disposition"] = f'attachment; filename="{id}.json"'
        return made

    @web.get("/releases/{id}.svg")
    async def as_svg(request: Request, id: str, plan: str = "", of: str = "") -> Response:
        """The picture of one statistic, in colours that follow the reader's own."""
        found = await recorded(request, id, plan)
        drawn = pictures(found)
        if (name := of or next(iter(drawn), "")) not in drawn:
            raise Refusal(404, "SRD-505", "there is no such picture.", "The page of the answer shows those there are.")
        return file(drawn[name].svg, f"{id}.svg", "image/svg+xml")

    @web.get("/releases/{id}.card.html")
    async def as_card(request: Request, id: str, plan: str = "") -> Response:
        """The claim card as a file to publish."""
        found = await recorded(request, id, plan)
        rows = "".join(f"<tr><th scope='row'>{safe(name)}</th><td>{safe(text)}</td></tr>\n" for name, text in card_rows(found))
        head = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{safe(id)}</title>\n'
        text = f"{head}<p>{safe(found.about)}</p>\n<table><caption>Claim card</caption>\n{rows}</table></html>\n"
        return file(text, f"{id}.card.html", "text/html")

    @web.get("/releases/{id}")
    async def result(request: Request, id: str, plan: str = "") -> Response:
        found = await recorded(request, id, plan)
        sql, mean = PlannedQuestion.of(plan).sql if plan else None, None
        if plan:
            _, _, query = await worker.free(house.query, visits.of(request).person, plan)
            mean = await worker.free(together, query)
        sure = await worker.free(family, found)
        base = f"{request.url.scheme}://{request.url.netloc}{request.scope.get('base', '')}"
        facts: dict[str, Any] = {"sql": sql, "dataset": found.card.get("dataset"), "half": _half_width(found), "pictures": pictures(found)}
        facts |= {
            "pairs": compared(sure or found),
            "sure": sure is not None,
            "card": card_rows(found),
            "asked": spoken(found.card, found.names),
        }
        facts |= {"copies": copies(found, base, sql), "parquet": find_spec("pyarrow") is not None}
        return page("release.html", request, release=found, columns=found.to_dict(), plan=plan, mean=mean, **facts)

    return web


def pictures(release: Release) -> dict[str, Picture]:
    """A picture for every statistic that is made of numbers."""
    alone = {name: replace(release, names=(name,)) for name in release.names}
    return {name: one.plot() for name, one in alone.items() if plottable(one)}


def _parquet(release: Release) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "answer.parquet"
        release.to_parquet(place)
        return place.read_bytes()


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
