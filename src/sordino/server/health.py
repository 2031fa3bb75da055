"""What a machine asks a server: is it alive, may it be sent work, how much has it done. Counts only, never a duration.

How long anything took could tell about rows, so it is written to the owner's log and to nothing else.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from sordino.errors import SordinoError
from sordino.server.auth import Tokens, bearer
from sordino.server.datasets import House
from sordino.server.problem import Refusal
from sordino.server.worker import Worker

__all__ = ["Counts", "health"]

HELP = {
    "sordino_requests_total": "Requests that were answered, by method, route and status.",
    "sordino_refusals_total": "Requests that were refused, by the code of the error.",
    "sordino_charges_total": "Releases that were charged by this process.",
    "sordino_recalls_total": "Releases that were found recorded and cost nothing.",
}
TEXT = "text/plain; version=0.0.4; charset=utf-8"


class Counts:
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


def health(house: House, worker: Worker, tokens: Tokens, counts: Counts) -> APIRouter:
    """Three addresses outside the API. None of them reads a row."""
    web = APIRouter(include_in_schema=False)

    @web.get("/healthz")
    async def alive() -> Response:
        return PlainTextResponse("ok\n")

    @web.get("/readyz")
    async def ready() -> Response:
        """Whether every ledger can be read; which one cannot is in the owner's log."""
        try:
            for opened in house.datasets.values():
                await worker.free(lambda book=opened.ledger: book.head)
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
