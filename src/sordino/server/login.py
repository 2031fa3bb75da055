"""Browsers: a token pasted once becomes a session in a strict cookie, and every form carries a proof that it came from here."""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sordino.server.auth import Person, Tokens, admit
from sordino.server.clock import Clock
from sordino.server.problem import Refusal
from sordino.server.rate_limit import Buckets
from sordino.server.templates import page

__all__ = ["Login", "Visit", "Visits"]

COOKIE = "__Host-sordino"
LASTS = 8 * 3600.0
MOST = 4_096


class Login(Exception):
    """Nobody is logged in: show the door."""


@dataclass(frozen=True)
class Visit:
    """One browser's session. `form` goes into every form; another site can neither read it nor make it up."""

    secret: str
    person: Person

    @property
    def form(self) -> str:
        return hmac.new(self.secret.encode(), b"form", sha256).hexdigest()


@dataclass
class Visits:
    """Sessions of browsers, kept in memory: a restart asks for the token again."""

    tokens: Tokens
    buckets: Buckets
    clock: Clock
    _open: OrderedDict[str, tuple[str, float]] = field(default_factory=OrderedDict)

    def of(self, request: Request) -> Visit:
        """The visit a request belongs to; the holder of a revoked token is out at once."""
        secret = request.cookies.get(COOKIE, "")
        token, until = self._open.get(_mark(secret), ("", 0.0))
        person = self.tokens.holder(token) if until > self.clock.now() else None
        if person is None:
            raise Login
        request.scope["person"] = admit(person, self.buckets)
        visit = request.scope["visit"] = Visit(secret, person)
        return visit

    async def posted(self, request: Request) -> tuple[Visit, Mapping[str, str]]:
        """A form that this visit's own page sent."""
        visit, fields = self.of(request), await fields_of(request)
        _from_here(request)
        if not hmac.compare_digest(fields.get("form", "").encode(), visit.form.encode()):
            raise Refusal(403, "SRD-502", "this form was not sent by a page of this server.", "Open the page again and send it from there.")
        return visit, fields

    async def enter(self, request: Request) -> Response:
        """Change a token for a session."""
        _from_here(request)
        token = (await fields_of(request)).get("token", "").strip()
        person = self.tokens.find(token)
        if person is None:
            return page("login.html", request, 401, wrong=True)
        secret = secrets.token_urlsafe(32)
        self._open[_mark(secret)] = (person.hash, self.clock.now() + LASTS)
        while len(self._open) > MOST:
            self._open.popitem(last=False)
        answer = RedirectResponse("/datasets", 303)
        answer.set_cookie(COOKIE, secret, secure=True, httponly=True, samesite="strict", path="/")
        return answer

    async def leave(self, request: Request) -> Response:
        visit, _ = await self.posted(request)
        self._open.pop(_mark(visit.secret), None)
        answer = RedirectResponse("/login", 303)
        answer.set_cookie(COOKIE, "", max_age=0, secure=True, httponly=True, samesite="strict", path="/")
        return answer


def _mark(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


async def fields_of(request: Request) -> Mapping[str, str]:
    """The fields of a form; files and other kinds of bodies are not forms here."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise Refusal(422, "SRD-503", "the body is not a form.", "Send it from the page.")
    try:
        return dict(parse_qsl((await request.body()).decode("utf-8"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        raise Refusal(422, "SRD-503", "the form cannot be read.", "Send it from the page.") from None


def _from_here(request: Request) -> None:
    """Browsers say where a request comes from; one that admits to another site is believed."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    if site not in ("same-origin", "none"):
        raise Refusal(403, "SRD-502", "another site sent this form.", "Open the page of this server.")
