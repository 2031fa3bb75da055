"""Time as the server sees it: one clock that tests can hold still.

The outer wall: a request comes in whole or not at all, and nobody is answered beside a release of their own that is on its way.

What is free reads no rows, so it leaves when it is ready. But how long it took shows how busy the machine is, and with a release of one's
own under way that is the data's doing. So whatever else its analyst asks meanwhile leaves when the release has left, at a public time.
"""

from __future__ import annotations

import asyncio
import secrets
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sordino.server.problem import Refusal, problem, unexpected

__all__ = ["HEADERS", "Clock", "Intake", "Wall"]


class Clock(Protocol):
    """Seconds that only grow, and a way to let them pass for a thread that has nothing else to do."""

    def now(self) -> float: ...
    def wait(self, seconds: float) -> None: ...


class Wall:
    """The machine's own clock."""

    def now(self) -> float:
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


LARGEST = 64 * 1024  # bytes of a request's body
PATIENCE = 20.0  # seconds for all of it to arrive
CONTENT = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'"
HEADERS = {
    "content-security-policy": f"{CONTENT}; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


HSTS = "max-age=63072000"
KEPT = "public, max-age=3600"  # files of the look: they change with the version


async def _at_once(_: str) -> None:
    """Where nothing is released nobody waits."""


@dataclass(frozen=True)
class Intake:
    """The middleware around everything. `quiet` returns when no release of that name is on its way."""

    app: ASGIApp
    log: Callable[..., None]
    quiet: Callable[[str], Awaitable[None]] = _at_once
    count: Callable[[Scope, str, int], None] = lambda *_: None
    prefix: str = ""  # under which a proxy shows the server
    https: bool = False  # browsers come by https, here or at the proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, body = time.monotonic(), await self._whole(receive)
        if body is None:
            return
        head, path = scope["method"] == "HEAD", scope["path"]
        if self.prefix and (path == self.prefix or path.startswith(f"{self.prefix}/")):  # a proxy that does not take it off
            path = path[len(self.prefix) :] or "/"
        scope = {**scope, "path": path, "raw_path": path.encode(), "base": self.prefix, "id": secrets.token_hex(8)}
        scope["method"] = "GET" if head else scope["method"]
        answer: list[Message] = []
        await self._answer(scope, body, answer)
        if (person := scope.get("person")) is not None and not scope.get("unheld"):
            await self.quiet(person.name)
        self._record(scope, answer[0]["status"], round(time.monotonic() - began, 4))
        try:
            for message in answer:
                await send({**message, "body": b""} if head and message["type"] == "http.response.body" else message)
        finally:  # what was promised sets out when the promise has left: no work of its own delays it
            scope.get("after", lambda: None)()

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
                message["headers"] = [(name, self._prefixed(name, value)) for name, value in message["headers"]]
                named = {name for name, _ in message["headers"]}
                extra = {**HEADERS, **scope.get("rate", {}), "x-request-id": scope["id"]}
                extra |= {"strict-transport-security": HSTS} if self.https or scope.get("scheme") == "https" else {}
                extra |= {"cache-control": KEPT if scope["path"].startswith("/static/") else "no-store"}
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
            scope["code"] = "SRD-507"
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.log("failed", error=type(error).__name__, place=f"{place.name}, line {place.lineno}")  # its text may quote a value
            await problem(unexpected())(scope, receive, keep)

    def _prefixed(self, name: bytes, value: bytes) -> bytes:
        """Where a browser is sent, as it sees the server."""
        here = name in (b"location", b"hx-redirect") and value.startswith(b"/") and not value.startswith(b"//")
        return self.prefix.encode() + value if self.prefix and here else value

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route: Any = scope.get("route")
        person = scope.get("person")
        where = getattr(route, "path", None) or "no such address"
        name = None if person is None else person.name
        self.count(scope, where, status)
        facts = {"id": scope["id"], "who": name, "method": scope["method"], "route": where, "status": status, "seconds": seconds}
        self.log("answered", **facts, **({"code": scope["code"]} if "code" in scope else {}), **scope.get("said", {}))
