"""The outer wall: a request comes in whole or not at all, and its answer leaves on the public grid in time.

The grid of a request starts when its last byte has arrived. If it started with the first, an analyst could hold the last byte back
and so choose where in a tick the work falls, and learn from the tick of the answer on which side of that place the work ended.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sordino.server.clock import Tick
from sordino.server.problem import Refusal, problem, unexpected

__all__ = ["HEADERS", "Grid", "Turn"]

LARGEST = 64 * 1024  # bytes of a request's body
PATIENCE = 20.0  # seconds for all of it to arrive
EXEMPT = ("/static/", "/learn", "/v1/openapi.json")  # these touch no dataset, whoever asks
CONTENT = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'"
HEADERS = {
    "content-security-policy": f"{CONTENT}; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass
class Turn:
    """One request on its way: when it was whole, and whether its answer is on the grid already."""

    start: float
    aligned: bool = False


@dataclass(frozen=True)
class Grid:
    """The middleware around everything."""

    app: ASGIApp
    tick: Tick
    log: Callable[..., None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = await self._whole(receive)
        if body is None:
            return
        turn = scope["turn"] = Turn(self.tick.clock.now())
        answer: list[Message] = []
        await self._answer(scope, body, answer)
        if not turn.aligned and not scope["path"].startswith(EXEMPT) and (left := self.tick.left(turn.start)):
            await self.tick.clock.sleep(left)
        self._record(scope, answer[0]["status"], turn)
        for message in answer:
            await send(message)

    async def _whole(self, receive: Receive) -> bytes | None:
        """The body; one byte too many if it is too large; None if it never came."""
        parts, size = [], 0
        try:
            async with asyncio.timeout(PATIENCE):
                while size <= LARGEST:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            return None
        return b"".join(parts)

    async def _answer(self, scope: Scope, body: bytes, answer: list[Message]) -> None:
        given = False

        async def receive() -> Message:
            nonlocal given
            if given:
                await asyncio.Event().wait()  # whether the caller is still there changes nothing
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = {name for name, _ in message["headers"]}
                extra = {**HEADERS, "cache-control": "no-store"} if not scope["path"].startswith("/static/") else HEADERS
                message["headers"] += [(n.encode(), v.encode()) for n, v in extra.items() if n.encode() not in named]
            answer.append(message)

        try:
            if len(body) > LARGEST:
                large = Refusal(413, "SRD-503", f"the request is larger than {LARGEST:,} bytes.", "Send less.", Connection="close")
                await problem(large)(scope, receive, keep)
            else:
                await self.app(scope, receive, keep)
        except Exception as error:
            answer.clear()
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.log("failed", error=type(error).__name__, place=f"{place.name}, line {place.lineno}")  # its text may quote a value
            await problem(unexpected())(scope, receive, keep)

    def _record(self, scope: Scope, status: int, turn: Turn) -> None:
        route: Any = scope.get("route")
        person = scope.get("person")
        where = getattr(route, "path", None) or "no such address"
        name = None if person is None else person.name
        self.log("answered", who=name, method=scope["method"], route=where, status=status, **scope.get("said", {}))
