"""Browsers: a token pasted once becomes a session in a cookie, and every form carries a proof that it came from here."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sordino.server.auth import Buckets, Person, Tokens, admit
from sordino.server.clock import Clock
from sordino.server.problem import Refusal
from sordino.server.sessions_postgres import AnySessions
from sordino.server.templates import page

__all__ = ["Login", "Visit", "Visits", "inside"]

COOKIE = "__Host-sordino"
LASTS = 8 * 3600.0
NAMED = "person:"  # before whoever has no token but a provider's word


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
    """Sessions of browsers: kept beside the dataset file, where every process of a server finds them."""

    tokens: Tokens
    buckets: Buckets
    clock: Clock
    sessions: AnySessions
    waiting: Callable[[Person], int] = lambda _: 0  # asks that wait for this owner
    provider: str = ""  # where one may log in as well

    def of(self, request: Request) -> Visit:
        """The visit a request belongs to; the holder of a revoked token is out at once."""
        secret = request.cookies.get(COOKIE, "")
        token = self.sessions.find(secret, self.clock.now())
        person = None if token is None else self._holder(token)
        if person is None:
            raise Login
        request.scope["person"] = admit(person, self.buckets)
        request.scope["rate"] = self.buckets.standing(person.name)
        request.scope["waiting"] = self.waiting(person)
        visit = request.scope["visit"] = Visit(secret, person)
        return visit

    def _holder(self, token: str) -> Person | None:
        """Whose session it is: the holder of a token that still counts, or whoever a provider named."""
        if not token.startswith(NAMED):
            return self.tokens.holder(token)
        facts = json.loads(token.removeprefix(NAMED))
        return Person(facts["name"], facts["role"], tuple(facts["scope"]), "")

    async def posted(self, request: Request) -> tuple[Visit, Mapping[str, str]]:
        """A form that this visit's own page sent."""
        visit, fields = self.of(request), await fields_of(request)
        _from_here(request)
        if not hmac.compare_digest(fields.get("form", "").encode(), visit.form.encode()):
            raise Refusal(403, "SRD-502", "this form was not sent by a page of this server.", "Open the page again and send it from there.")
        return visit, fields

    async def enter(self, request: Request) -> Response:
        """Change a token for a session, and go where one was going."""
        _from_here(request)
        fields = await fields_of(request)
        wanted, person = inside(fields.get("next", "")), self.tokens.find(fields.get("token", "").strip())
        if person is None:
            return page("login.html", request, 401, wrong=True, wanted=wanted, provider=self.provider)
        return self.welcome(person, wanted)

    def welcome(self, person: Person, wanted: str = "") -> Response:
        """A new session, in a cookie that links from elsewhere may bring but forms from elsewhere may not use: every form has a proof."""
        secret, now = secrets.token_urlsafe(32), self.clock.now()
        named = json.dumps({"name": person.name, "role": person.role, "scope": person.scope})
        self.sessions.open(secret, person.hash or f"{NAMED}{named}", now + LASTS, now)
        answer = RedirectResponse(wanted or "/datasets", 303)
        answer.set_cookie(COOKIE, secret, secure=True, httponly=True, samesite="lax", path="/")
        return answer

    async def leave(self, request: Request) -> Response:
        visit, _ = await self.posted(request)
        self.sessions.close(visit.secret)
        answer = RedirectResponse("/login", 303)
        answer.set_cookie(COOKIE, "", max_age=0, secure=True, httponly=True, samesite="lax", path="/")
        return answer


def inside(path: str) -> str:
    """A path of this server, or nothing: nobody is sent elsewhere."""
    return path if re.fullmatch(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,4000}", path) and not path.startswith(("/login", "/logout")) else ""


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
