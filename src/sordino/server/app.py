"""The application: datasets behind a queue of releases and tokens, a deadline for every release.

Pinned draws and clocks enter here, in Python, and nowhere else.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from sordino.errors import QueryError, SordinoError
from sordino.plan.dataset import Dataset
from sordino.server.api import routes
from sordino.server.ask_page import pages
from sordino.server.auth import AuthMiddleware, Buckets, Tokens, bearer
from sordino.server.classroom import PackedFiles, Rooms, lessons
from sordino.server.clock import Clock, Intake, Wall
from sordino.server.datasets import House
from sordino.server.history_page import history_pages
from sordino.server.login import Login, Visits
from sordino.server.oidc import Provider, ProviderSettings, login_routes
from sordino.server.owner_page import owner_pages, risk_pages
from sordino.server.problem import Refusal, Unfinished, problem, record
from sordino.server.release_request import ReleaseQueue
from sordino.server.result_page import result_pages
from sordino.server.sessions import Sessions, Turns
from sordino.server.sessions_postgres import AnySessions, AnyTurns, PostgresSessions, PostgresTurns
from sordino.server.share_api import share_routes
from sordino.server.share_jobs import ShareJobs
from sordino.server.share_page import share_pages
from sordino.server.templates import HERE, page, problem_page
from sordino.server.wire import Problem
from sordino.server.worker import Worker
from sordino.session.execute import execute as charge_look_draw
from sordino.session.open_dataset import Opened, open_dataset

__all__ = ["ApiRoute", "RequestCounts", "ServerLimits", "create_app", "create_classroom", "documentation", "health", "routes_of"]


@dataclass(frozen=True)
class ApiRoute:
    """One method of one address."""

    method: str
    path: str
    says: str
    parameters: tuple[tuple[str, str, str], ...]  # name, where, what
    body: str
    answers: tuple[tuple[str, str], ...]

    @property
    def curl(self) -> str:
        key = ' -H "Idempotency-Key: $(uuidgen)"' if any(name == "Idempotency-Key" for name, _, _ in self.parameters) else ""
        body = f" -H 'Content-Type: application/json' -d '{self.body}'" if self.body else ""
        method = "" if self.method == "GET" else f" -X {self.method}"
        return f'curl{method} -H "Authorization: Bearer $TOKEN"{key}{body} "$SERVER{self.path}"'


def routes_of(document: Mapping[str, Any]) -> Iterator[ApiRoute]:
    """Every method of every address, in the order of the document."""
    shapes = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            known = tuple((p["name"], p["in"], p.get("description") or _kind(p["schema"])) for p in said.get("parameters", ()))
            content = said.get("requestBody", {}).get("content", {}).get("application/json", {})
            answers = tuple((status, found["description"]) for status, found in said["responses"].items())
            yield ApiRoute(method.upper(), path, said.get("description", ""), known, _example(content.get("schema", {}), shapes), answers)


def _kind(schema: Mapping[str, Any]) -> str:
    kinds = [str(part.get("type", "")) for part in schema.get("anyOf", ())]
    return str(schema.get("type") or " or ".join(kind for kind in kinds if kind != "null"))


def _example(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> str:
    """The example a shape declares."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    found = shapes.get(name, {}).get("examples") or [None]
    return "" if found[0] is None else json.dumps(found[0])


def documentation(document: Callable[[], Mapping[str, Any]], visits: Visits) -> APIRouter:
    """The page; open to everybody, as the document is."""
    web = APIRouter(include_in_schema=False)

    @web.get("/api")
    async def api(request: Request) -> Response:
        with suppress(Login):  # who is logged in sees the links they know
            visits.of(request)
        return page("api.html", request, routes=list(routes_of(document())))

    return web


HELP = {
    "sordino_requests_total": "Requests that were answered, by method, route and status.",
    "sordino_refusals_total": "Requests that were refused, by the code of the error.",
    "sordino_charges_total": "Releases that were charged by this process.",
    "sordino_recalls_total": "Releases that were found recorded and cost nothing.",
}
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class RequestCounts:
    """Counters of this process since it started."""

    def __init__(self) -> None:
        self._lock, self._kept = threading.Lock(), Counter[tuple[str, tuple[tuple[str, str], ...]]]()

    def add(self, name: str, **labels: str) -> None:
        with self._lock:
            self._kept[name, tuple(sorted(labels.items()))] += 1

    def answered(self, scope: Mapping[str, Any], route: str, status: int) -> None:
        """One request, by what anybody may know of it."""
        self.add("sordino_requests_total", method=scope["method"], route=route, status=str(status))
        if code := scope.get("code"):
            self.add("sordino_refusals_total", code=code)
        if "paid" in (said := scope.get("said", {})):
            self.add("sordino_charges_total" if said["paid"] else "sordino_recalls_total")

    def text(self) -> str:
        """In the text format that Prometheus reads."""
        with self._lock:
            kept = sorted(self._kept.items())
        out = []
        for name, words in HELP.items():
            out += [f"# HELP {name} {words}", f"# TYPE {name} counter"]
            for (counted, labels), count in kept:
                if counted == name:
                    said = ",".join(f'{key}="{_quoted(value)}"' for key, value in (*labels, ("process", str(os.getpid()))))
                    out.append(f"{name}{{{said}}} {count}")
        return "\n".join([*out, ""])


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def health(house: House, worker: Worker, tokens: Tokens, counts: RequestCounts) -> APIRouter:
    """Three addresses outside the API. None of them reads a row."""
    web = APIRouter(include_in_schema=False)

    @web.get("/healthz")
    async def alive() -> Response:
        return PlainTextResponse("ok\n")

    @web.get("/readyz")
    async def ready() -> Response:
        """Whether every ledger can be read and its sums are those of its entries; which one is not is in the owner's log."""
        try:
            for opened in house.datasets.values():
                await worker.free(lambda book=opened.ledger: book.budget)
        except SordinoError:
            return PlainTextResponse("not ready\n", 503)
        return PlainTextResponse("ready\n")

    @web.get("/metrics")
    async def metrics(request: Request) -> Response:
        """For an owner's token, or for a collector on this very machine that came without a proxy."""
        person = tokens.find(bearer(request.scope))
        if not (_next_door(request) or (person is not None and person.owner)):
            raise Refusal(403, "SRD-502", "this is for owners.", "Send an owner's token, or ask from the server's own machine.")
        return Response(counts.text(), media_type=TEXT)

    return web


def _next_door(request: Request) -> bool:
    """A caller on the loopback. A proxy is there too, and says for whom it asks."""
    try:
        near = ip_address(request.client.host).is_loopback if request.client else False
    except ValueError:
        near = False
    return near and not any(name in request.headers for name in ("x-forwarded-for", "forwarded", "x-real-ip", "via"))


Where = str | os.PathLike[str]
LONGEST = 4_000  # characters of an address one comes back to after logging in


@dataclass(frozen=True)
class ServerLimits:
    """How much of the server one person may take."""

    rate: float = 20.0  # requests a second
    burst: float = 60.0
    patience: float = 60.0  # seconds for a release
    thinking: float = 30.0  # seconds for anything free
    deadline: float | None = None  # seconds instead of every plan's own deadline; at 0, for tests and benches, the clock tells


def create_app(
    config: Where | Sequence[Where],
    *,
    execute: Callable[..., bytes] | None = None,
    clock: Clock | None = None,
    limits: ServerLimits | None = None,
    prefix: str = "",
    https: bool = False,
    workers: int = 1,
    provider: ProviderSettings | None = None,
) -> Any:
    """The server of one or more dataset files. Tokens are those beside the first file.

    `prefix` is the path under which a proxy shows the server, `https` whether browsers come by https, `workers` how many processes like
    this one share the work: then turns and sessions are kept in files, and each has its part of the rate. With a ledger in PostgreSQL
    they are kept in its database, whichever machine serves. `provider` is where people may log in beside tokens.

    `execute` and `clock` are for tests that pin draws and time; no flag, environment variable or header reaches them.
    """
    files = [config] if isinstance(config, str | os.PathLike) else list(config)
    opened = _opened(files)
    limits, clock = limits or ServerLimits(), clock or Wall()
    house, worker = House(opened, clock, limits.deadline), Worker(limits.thinking)
    sessions, turns = _shared_state(next(iter(opened.values())).declared, workers)
    queue = ReleaseQueue(clock, execute or charge_look_draw, limits.patience, house.sealed, turns)
    tokens, buckets = Tokens.beside(files[0]), Buckets(clock, limits.rate / workers, max(1.0, limits.burst / workers))
    counts = RequestCounts()

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        record("started", datasets=list(opened))
        for name, deadlines in house.deadlines.items():
            for said in deadlines.undeclared if limits.deadline is None else ():
                record("undeclared", dataset=name, said=said)
            if (known := deadlines.pause).paused:
                record("paused", dataset=name, why=known.why, at=known.at)
        yield
        await queue.close()
        sessions.stop()
        if turns is not None:
            turns.stop()
        worker.close()
        house.close()
        record("stopped", datasets=list(opened))

    app = FastAPI(title="Sordino", version="1", docs_url=None, redoc_url=None, openapi_url="/v1/openapi.json", lifespan=life)
    visits = Visits(tokens, buckets, clock, sessions, house.waiting)
    if provider is not None:
        visits.provider = urlsplit(provider.issuer).netloc
        app.include_router(login_routes(Provider(provider), visits, worker))
    app.include_router(health(house, worker, tokens, counts))
    app.include_router(documentation(lambda: _document(app, prefix), visits))
    app.include_router(routes(house, queue, worker))
    jobs = ShareJobs(house, queue, clock, limits.patience)
    app.include_router(share_routes(house, queue, worker, jobs))
    app.include_router(share_pages(house, queue, worker, visits, jobs))
    app.include_router(pages(house, queue, worker, visits))
    app.include_router(result_pages(house, worker, visits))
    app.include_router(history_pages(house, worker, visits))
    app.include_router(owner_pages(house, worker, visits, tokens))
    app.include_router(risk_pages(house, worker, visits))
    _classroom(app)
    app.openapi = lambda: _document(app, prefix)  # type: ignore[method-assign]
    app.state.house, app.state.queue = house, queue
    return Intake(AuthMiddleware(app, tokens, buckets), record, queue.quiet, counts.answered, prefix.rstrip("/"), https)


def _shared_state(dataset: Dataset, workers: int) -> tuple[AnySessions, AnyTurns | None]:
    """Sessions and turns: in the ledger's database if it is one that several machines reach, else in files beside the dataset."""
    if dataset.ledger.startswith(("postgres://", "postgresql://")):
        return PostgresSessions(dataset.ledger), PostgresTurns(dataset.ledger, dataset.name)
    return Sessions.beside(dataset.path), Turns.beside(dataset.path) if workers > 1 else None


def _opened(files: Sequence[Where]) -> dict[str, Opened]:
    opened: dict[str, Opened] = {}
    try:
        for file in files:
            found = open_dataset(file, imported=True)
            if found.declared.name in opened:
                found.close()
                raise QueryError("SRD-204", f"two files declare the dataset {found.declared.name!r}.", "Serve each dataset once.")
            opened[found.declared.name] = found
        if not opened:
            raise QueryError("SRD-204", "there is no dataset to serve.", "Name a dataset file.")
    except BaseException:
        for item in opened.values():
            item.close()
        raise
    return opened


async def _login(request: Request, _: Exception) -> Response:
    if request.headers.get("hx-request") == "true":  # a part of a page cannot be the door
        return Response(status_code=204, headers={"HX-Redirect": "/login"})
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    back = f"?{urlencode({'next': wanted})}" if request.method == "GET" and wanted != "/" and len(wanted) < LONGEST else ""
    return RedirectResponse(f"/login{back}", 303)


async def _sordino(request: Request, error: Exception) -> Response:
    assert isinstance(error, SordinoError)
    request.scope["unheld"] = isinstance(error, Unfinished)  # says itself that a release is still on its way
    return _told(request, error)


def _told(request: Request, error: SordinoError) -> Response:
    """JSON for programs, a page for people."""
    request.scope["code"] = error.code
    return problem(error) if request.url.path.startswith("/v1/") else problem_page(request, error)


async def _invalid(request: Request, error: Exception) -> Response:
    """The first thing that is wrong, and where; never the value itself, which may be of any size."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part)[:40] for part in first["loc"][:4])
    return _told(request, Refusal(422, "SRD-503", f"{place}: {first['msg']}.", "/v1/openapi.json says what is expected."))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = {name.replace("-", "_"): value for name, value in (error.headers or {}).items()}
    code = "SRD-505" if error.status_code == 404 else "SRD-503"
    status = 422 if error.status_code == 400 else error.status_code  # a body that is no text at all is one more wrong request
    what = str(error.detail).lower() + "."
    return _told(request, Refusal(status, code, what, "/v1/openapi.json lists every address of the API.", **headers))


def _document(app: FastAPI, prefix: str = "") -> dict[str, Any]:
    """The OpenAPI document, with the shape of problems and without the framework's own idea of them."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=__doc__ or "")
        shapes = made.setdefault("components", {}).setdefault("schemas", {})
        shapes["Problem"] = Problem.model_json_schema()
        if prefix:
            made["servers"] = [{"url": prefix}]
        for name in ("HTTPValidationError", "ValidationError"):
            shapes.pop(name, None)
        app.openapi_schema = made
    return app.openapi_schema


def create_classroom(clock: Clock | None = None) -> Any:
    """The pages that teach, and rooms for a class, without any dataset. A server of datasets opens no rooms: strangers could fill them."""
    app = FastAPI(title="Sordino", docs_url=None, redoc_url=None, openapi_url=None)
    _classroom(app, Rooms(clock or Wall()))
    return Intake(app, record)


def _classroom(app: FastAPI, rooms: Rooms | None = None) -> None:
    """What every application has: lessons, the look of pages, and errors in the caller's language."""
    app.include_router(lessons(rooms))
    app.mount("/static", PackedFiles(HERE / "static"))
    app.add_exception_handler(Login, _login)
    app.add_exception_handler(SordinoError, _sordino)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
