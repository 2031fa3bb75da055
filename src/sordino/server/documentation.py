"""The API for people: every address with what it takes, what it answers and a line to try, out of the OpenAPI document itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from sordino.server.login import Login, Visits
from sordino.server.templates import page

__all__ = ["ApiRoute", "documentation", "routes_of"]


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
