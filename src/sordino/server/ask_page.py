"""The analyst's pages: datasets and budgets, ask, pay, history. Each is a face of a verb; the forms work without script.

What the Ask page knows about a price: the list, the wish, the slider between cheap and accurate.

The small builder and SQL, both ways: fields become a statement, and a statement that says no more than the fields becomes fields.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from sqlglot import exp
from starlette.responses import RedirectResponse, Response

from sordino.errors import QueryError, SordinoError
from sordino.plan.select import parse_statement
from sordino.remote.wording import RemoteAsked, quoted
from sordino.server.api import balance_of
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.login import Visits
from sordino.server.quote import QuoteTerms
from sordino.server.release_request import Desk, Errand, Wish
from sordino.server.templates import page
from sordino.server.worker import Worker
from sordino.session.preview import Preview
from sordino.session.release import Release

__all__ = ["STATISTICS", "Slider", "built", "number", "pages", "rows_of", "slider", "unbuilt"]


def number(text: str | None, name: str) -> float | None:
    """A number typed into a field, or nothing."""
    if not text or not text.strip():
        return None
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise QueryError("SRD-103", f"{name} is {text!r:.40}.", f"Give {name} as a positive number.")
    return value


@dataclass(frozen=True)
class Slider:
    """From the least accurate to the most accurate line of the price list, on a logarithmic scale."""

    low: float
    high: float
    at: float

    @property
    def place(self) -> int:
        """0 to 100, where the slider stands."""
        if self.high <= self.low:
            return 50
        return round(100 * (1 - math.log(min(max(self.at, self.low), self.high) / self.low) / math.log(self.high / self.low)))


def slider(preview: Preview, within: float | None) -> Slider | None:
    """The range of half-widths the price list offers; None where the error cannot be predicted in the statistic's unit."""
    widths = [f.half_width for line in preview.lines for f in line.forecasts if f.half_width and math.isfinite(f.half_width)]
    if not widths:
        return None
    middle = math.sqrt(min(widths) * max(widths))
    return Slider(min(widths), max(widths), within or float(f"{middle:.2g}"))


def rows_of(preview: Preview) -> list[dict[str, Any]]:
    """The price list as a table: one row for each price and statistic; the line of the wish first."""
    lines = preview.lines if preview.best is None else (preview.best, *preview.lines)
    return [
        {"wish": line is preview.best, "epsilon": line.epsilon, "rows": line.rows, "name": known.name, "within": known.half_width,
         "ranks": known.ranks, "source": known.source, "charged": line.charged, "more": line.more, "appears": line.appears}
        for line in lines for known in line.forecasts
    ]  # fmt: skip


STATISTICS = {
    "count": "COUNT(*)", "sum": "SUM({})", "mean": "AVG({})", "median": "MEDIAN({})", "variance": "VARIANCE({})", "std": "STDDEV({})",
    "min": "MIN({})", "max": "MAX({})", "mode": "MODE({})",
}  # fmt: skip
_KINDS: dict[type[exp.Expression], str] = {
    exp.Count: "count", exp.Sum: "sum", exp.Avg: "mean", exp.Median: "median", exp.Variance: "variance", exp.Stddev: "std",
    exp.Min: "min", exp.Max: "max", exp.Mode: "mode",
}  # fmt: skip
_PARTS = {"expressions", "from_", "where", "group"}


def built(fields: Mapping[str, str]) -> str:
    """The statement the small builder says."""
    statistic = fields.get("statistic", "count")
    if statistic not in STATISTICS:
        raise QueryError("SRD-208", "the builder does not know this statistic.", f"Choose one of {', '.join(STATISTICS)}.")
    column, where, by = (fields.get(name, "").strip() for name in ("column", "where", "by"))
    if not column and statistic != "count":
        raise QueryError("SRD-208", f"{statistic} of which column?", "Choose a column.")
    shown = STATISTICS[statistic].format(quoted(column))
    return RemoteAsked(fields.get("table", ""), (f"{shown} AS {statistic}",), (where,) if where else (), (by,) if by else ()).text


def unbuilt(sql: str) -> dict[str, str] | None:
    """The fields that say this statement; None where it says more than the builder can."""
    try:
        tree = parse_statement(sql)
    except SordinoError:
        return None
    source, where, group = tree.args.get("from_"), tree.args.get("where"), tree.args.get("group")
    more = {name for name, part in tree.args.items() if part} - _PARTS
    if more or source is None or type(source.this) is not exp.Table or source.this.alias:
        return None
    keys = [] if group is None else group.expressions
    shown = [column.unalias() for column in tree.expressions]
    if len(keys) > 1 or len(shown) != len(keys) + 1 or any(type(key) is not exp.Column for key in keys):
        return None
    asked = shown[-1]
    statistic, column = _KINDS.get(type(asked)), asked.this
    if statistic is None or [key.sql() for key in keys] != [key.sql() for key in shown[:-1]]:
        return None
    if statistic == "count":
        if type(column) is not exp.Star:
            return None
    elif type(column) is not exp.Column:
        return None
    condition = where.this.unnest() if where is not None else None
    return {
        "table": source.this.name, "statistic": statistic, "column": "" if statistic == "count" else column.name,
        "by": keys[0].name if keys else "", "where": "" if condition is None else condition.sql("duckdb"),
    }  # fmt: skip


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
        words = ("preview", "slider", "plan", "picture", "key", "recorded", "above", "deadline")
        asked: dict[str, Any] = dict.fromkeys(words) | {"rows": []}
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
                asked["above"] = None if (gate := house.gate(person, PlannedQuestion(name, sql))) is None else float(gate.above)
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
        asks = [{"sql": PlannedQuestion.of(asked.plan).sql, "asked": asked} for asked in await worker.free(house.approvals, person, name)]
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
    plan = PlannedQuestion(name, sql)
    query = house.parsed(plan)
    quote = house.quotes.of(query, QuoteTerms(within=within))
    if within is None and (wish := slider(quote.preview, None)) is not None and not query.asked.by:
        quote = house.quotes.of(
            query, QuoteTerms(within=wish.at)
        )  # a first wish in the middle of the list, so that there is a price to see
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
