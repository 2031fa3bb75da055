"""The door of the API: a token first, then a place in the rate, and only then anything else is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from sordino.errors import SordinoError
from sordino.server.bucket import Buckets
from sordino.server.problem import Refusal, problem
from sordino.server.token import Person, Tokens

__all__ = ["Guard", "admit", "owner_only"]

OPEN = ("/v1/openapi.json",)


def admit(person: Person | None, buckets: Buckets) -> Person:
    """Somebody known who does not ask too often."""
    if person is None:
        raise Refusal(
            401, "SRD-501", "this takes a token.", "Send Authorization: Bearer and a token that is not revoked.", WWW_Authenticate="Bearer"
        )
    buckets.pay(person.name)
    return person


def owner_only(person: Person) -> None:
    if not person.owner:
        raise Refusal(403, "SRD-502", "this is for owners.", "Ask the owner.")


@dataclass(frozen=True)
class Guard:
    """The middleware in front of /v1; pages have their own way in."""

    app: ASGIApp
    tokens: Tokens
    buckets: Buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v1/") or scope["path"] in OPEN:
            await self.app(scope, receive, send)
            return
        try:
            scope["person"] = admit(self.tokens.find(_bearer(scope)), self.buckets)
        except SordinoError as error:
            await problem(error)(scope, receive, send)
            return
        await self.app(scope, receive, send)


def _bearer(scope: Any) -> str:
    said = next((value for name, value in scope["headers"] if name == b"authorization"), b"").decode("latin-1")
    kind, _, token = said.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""
