"""The course behind /learn: files that never change while the server runs, and rooms for a class. No dataset is touched.

Nothing is computed per reader, so nobody is counted, limited or logged in here: three hundred pupils are three hundred downloads.

Rooms of a live class: reports that were randomised on the pupils' own devices, counted in memory and forgotten after two hours.

The look of pages: a few files that stay as they are while the server runs, packed once and kept by browsers.

Only these are compressed. A page holds a form's proof beside text somebody else may choose, and how well that compresses would tell.
"""

from __future__ import annotations

import gzip
import json
import mimetypes
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from sordino.course.writing import files
from sordino.server.clock import Clock
from sordino.server.problem import Refusal

__all__ = ["LASTS", "MOST", "PackedFiles", "Rooms", "lessons"]

LASTS = 2 * 3600.0
MOST = 3_000  # reports of one room
ROOMS = 64  # at once, so that nobody fills the memory
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is mistaken for another on a wall


@dataclass
class _Room:
    until: float
    n: int = 0
    yes: int = 0


@dataclass
class Rooms:
    """Open rooms by their code. What is kept is how many reports came and how many said yes: no name, no address, no time."""

    clock: Clock
    _open: dict[str, _Room] = field(default_factory=dict)

    def open(self) -> str:
        """A new room; its code is drawn so that nobody finds it by trying."""
        now = self.clock.now()
        self._open = {code: room for code, room in self._open.items() if room.until > now}
        if len(self._open) >= ROOMS:
            raise Refusal(503, "SRD-504", "every room is taken.", "Wait until one closes, after two hours.", Retry_After="600")
        code = "".join(secrets.choice(LETTERS) for _ in range(8))
        self._open[code] = _Room(now + LASTS)
        return code

    def report(self, code: str, body: bytes) -> None:
        """Count one report: {"report": 0} or {"report": 1}, and nothing else."""
        room = self._room(code)
        try:
            said = json.loads(body)
        except ValueError:
            said = None
        bit = said.get("report") if isinstance(said, dict) and len(said) == 1 else None
        if bit not in (0, 1) or isinstance(bit, bool | float):
            raise Refusal(422, "SRD-503", "this is no report.", 'Send {"report": 0} or {"report": 1}.')
        if room.n >= MOST:
            raise Refusal(409, "SRD-503", "the room is full.", f"A room takes {MOST:,} reports.")
        room.n += 1
        room.yes += bit

    def seen(self, code: str) -> tuple[int, int]:
        """How many reports there are, and how many say yes."""
        room = self._room(code)
        return room.n, room.yes

    def _room(self, code: str) -> _Room:
        room = self._open.get(code)
        if room is None or room.until <= self.clock.now():
            raise Refusal(404, "SRD-505", "there is no such room.", "Ask the teacher for the code of an open room.")
        return room


FIRST = "/learn/index.html"
OWN = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'"
POLICY = f"{OWN}; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
TALKS = "response.html"  # its class posts reports and polls the room


def lessons(rooms: Rooms | None = None) -> APIRouter:
    """The pages; with rooms a teacher may open one. Errors are those of every page."""
    web = APIRouter(include_in_schema=False)
    held = {name: (body, kind, f'"{sha256(body).hexdigest()[:32]}"') for name, (body, kind) in files().items()}

    @web.get("/learn")
    async def learn() -> Response:
        return RedirectResponse(FIRST, 303)

    if rooms is not None:
        _class(web, rooms)

    @web.get("/learn/{name}")
    async def page(name: str, request: Request) -> Response:
        if name not in held:
            raise Refusal(404, "SRD-505", "there is no such page.", "/learn lists every page of the course.")
        body, kind, tag = held[name]
        policy = f"{POLICY}; connect-src 'self'" if name == TALKS else POLICY
        headers = {"ETag": tag, "Cache-Control": "public, max-age=3600", "Content-Security-Policy": policy}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type=kind, headers=headers)

    return web


def _class(web: APIRouter, rooms: Rooms) -> None:
    @web.post("/learn/class")
    async def opened(request: Request) -> Response:
        from_here(request)
        return _json(f'{{"code": "{rooms.open()}"}}', 201)

    @web.post("/learn/class/{code}")
    async def report(code: str, request: Request) -> Response:
        from_here(request)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise Refusal(422, "SRD-503", "the report is not JSON.", 'Send {"report": 0} or {"report": 1}.')
        rooms.report(code, await request.body())
        return Response(status_code=204)

    @web.get("/learn/class/{code}")
    async def seen(code: str, request: Request) -> Response:
        n, yes = rooms.seen(code)
        tag = f'"{n}-{yes}"'
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers={"ETag": tag})
        return _json(f'{{"n": {n}, "yes": {yes}}}', 200, ETag=tag)


def from_here(request: Request) -> None:
    """Browsers say where a request comes from; another site may not fill a room."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refusal(403, "SRD-502", "another site sent this.", "Open the page of this server.")


def _json(text: str, status: int, **headers: str) -> Response:
    return Response(text, status, media_type="application/json", headers=headers)


class PackedFiles:
    """Every file of a folder, in memory, with and without packing."""

    def __init__(self, folder: Path) -> None:
        self._kept = {}
        for path in folder.iterdir():
            body = path.read_bytes()
            packed, kind = gzip.compress(body, 9, mtime=0), mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            self._kept[path.name] = (body, packed if len(packed) < len(body) else None, kind, f'"{sha256(body).hexdigest()[:32]}"')

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, name = Request(scope), scope["path"].removeprefix(scope.get("root_path", "")).lstrip("/")
        if scope["method"] != "GET" or name not in self._kept:
            raise Refusal(404, "SRD-505", "there is no such file.", "The pages name those there are.")
        body, packed, kind, tag = self._kept[name]
        headers = {"ETag": tag, "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == tag:
            await Response(status_code=304, headers=headers)(scope, receive, send)
            return
        wanted = packed is not None and "gzip" in request.headers.get("accept-encoding", "")
        content = packed if wanted and packed is not None else body
        await Response(content, headers=headers | ({"Content-Encoding": "gzip"} if wanted else {}), media_type=kind)(scope, receive, send)
