"""How unique people are: the owner's own look at raw columns, and at one person of a place. NOT PRIVATE, and not for analysts.

Nothing of it is kept: the answer is computed anew for every request, leaves with `no-store`, and no analyst's route reads from here.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Sequence
from typing import Any

import duckdb
from fastapi import APIRouter, Request
from starlette.responses import Response

from sordino.engines.duckdb import DuckDB
from sordino.errors import QueryError, SordinoError
from sordino.lab import how_unique, uniqueness
from sordino.server.auth import owner_only
from sordino.server.datasets import House
from sordino.server.login import Visits
from sordino.server.templates import page
from sordino.server.worker import Worker
from sordino.session.open_dataset import Opened

__all__ = ["frame_of", "risk_pages"]

COLUMNS = 6  # more single everybody out, and every mixture of coarser ones is tried
ROWS = 100_000
CASTS = {"int": "DOUBLE", "float": "DOUBLE", "decimal": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP", "bool": "BOOLEAN"}


def risk_pages(house: House, worker: Worker, visits: Visits) -> APIRouter:
    """The page only an owner may open."""
    web = APIRouter(include_in_schema=False)

    @web.get("/risk")
    async def risk(request: Request, dataset: str | None = None, table: str | None = None) -> Response:
        person = visits.of(request).person
        owner_only(person)
        name, opened = house.dataset(person, dataset or next(iter(house.seen_by(person)), None))
        said, chosen = dict(request.query_params), request.query_params.getlist("column")
        here = table if table is not None and table in opened.tables else next(iter(opened.tables))
        found: dict[str, Any] = {"table": None, "person_found": None, "problem": None}
        try:
            if chosen:
                visits.buckets.pay(person.name, 20)  # rows are read and many mixtures tried: seconds of work
                request.scope["said"] = {"looked": here, "columns": chosen[: COLUMNS + 1]}
                found["table"] = await worker.free(_table, opened, here, chosen, said.get("target", "5"))
            if said.get("birth_date"):
                found["person_found"] = await worker.free(_person, said)
        except SordinoError as error:
            found["problem"] = error
        columns = [column for column in opened.tables[here].columns if column != opened.declared.unit.column]
        facts = {"dataset": name, "names": list(house.seen_by(person)), "tables": list(opened.tables), "here": here}
        return page("risk.html", request, said=said, chosen=chosen, columns=columns, most=COLUMNS, **found, at=facts)

    return web


def frame_of(opened: Opened, table: str, columns: Sequence[str]) -> dict[str, list[Any]]:
    """Raw columns of a private table, with the unit's own. Only the owner's page calls this."""
    asked, known = opened.tables[table], opened.declared.unit.column
    names = list(dict.fromkeys([*columns, *([known] if known else [])]))
    if wrong := [name for name in names if name not in asked.columns]:
        raise QueryError("SRD-201", f"there is no column {wrong[0]!r:.80}.", f"Choose among {', '.join(asked.columns)}.")
    engine = asked.engine
    if not isinstance(engine, DuckDB):
        raise QueryError("SRD-205", "this page reads files only.", "Load the columns yourself and call sd.lab.uniqueness(frame, columns).")
    try:
        with contextlib.closing(engine._cursor()) as cursor:
            scan = engine.source.scan(cursor, [asked.columns[name] for name in names])
            reads = [_read(asked.columns[name].type, scan.fields[name].text) for name in names]
            rows = cursor.execute(f"SELECT {', '.join(reads)} FROM {scan.text} LIMIT {ROWS + 1}").fetchall()
    except duckdb.Error:
        raise QueryError("SRD-205", "the source cannot be read.", "Check that it is a readable file of its kind.") from None
    if len(rows) > ROWS:
        raise QueryError("SRD-105", f"the table has more than {ROWS:,} rows.", "Call sd.lab.uniqueness(frame, columns).")
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _read(kind: str, text: str) -> str:
    cast = CASTS.get(kind.partition("(")[0])
    return text if cast is None else f"TRY_CAST({text} AS {cast})"


def _table(opened: Opened, table: str, columns: Sequence[str], target: str) -> Any:
    if len(columns) > COLUMNS:
        raise QueryError("SRD-103", f"{len(columns)} columns are chosen.", f"Choose at most {COLUMNS}.")
    try:
        share = float(target) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise QueryError("SRD-103", "the target is not a share.", "Give percent, from 0 to 99.")
    return uniqueness(frame_of(opened, table, columns), columns, unit=opened.declared.unit.column, target=share)


def _person(said: dict[str, str]) -> Any:
    try:
        people = int(said.get("population", "").replace(",", "") or 100_000)
    except ValueError:
        people = 0
    if not 1 <= people <= 10**10:
        raise QueryError("SRD-103", "the population is not a number of people.", "Give a whole number, such as 40000.")
    try:
        dt.date.fromisoformat(said["birth_date"])
    except ValueError:
        raise QueryError("SRD-103", "this is no birth date.", "Give a day: 1984-05-17.") from None
    return how_unique(population=people, birth_date=said["birth_date"], sex=said.get("sex") or None)
