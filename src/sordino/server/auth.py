"""Who may ask: bearer tokens of 256 random bits, of which only hashes are kept, in a file of the owner's own beside the dataset file.

The door of the API: a token first, then a place in the rate, and only then anything else is read.

How often one person may ask: a bucket that fills at a steady rate and empties by one with every request.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import re
import secrets
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from sordino.errors import QueryError, SordinoError
from sordino.server.clock import Clock
from sordino.server.problem import Refusal, problem

__all__ = ["ROLES", "AuthMiddleware", "Buckets", "Person", "Tokens", "admit", "bearer", "digest", "owner_only"]


@dataclass
class Buckets:
    """One bucket per name. Names are those of tokens, so there are as many as the owner handed out."""

    clock: Clock
    rate: float  # a second
    burst: float
    _level: dict[str, tuple[float, float]] = field(default_factory=dict)

    def pay(self, name: str, cost: float = 1) -> None:
        """Take as much as the work is worth, or refuse."""
        if wait := self.wait(name, cost):
            seconds = str(math.ceil(wait))
            raise Refusal(429, "SRD-504", "too many requests.", f"Ask again in {seconds} seconds.", Retry_After=seconds)

    def standing(self, name: str) -> dict[str, str]:
        """How much is left, as headers say it."""
        level, _ = self._level.get(name, (self.burst, 0.0))
        full = math.ceil((self.burst - level) / self.rate)
        return {"ratelimit-limit": f"{self.burst:.0f}", "ratelimit-remaining": str(int(level)), "ratelimit-reset": str(full)}

    def wait(self, name: str, cost: float = 1) -> float:
        """Take this many; or the seconds until they are there, and then nothing is taken."""
        now = self.clock.now()
        level, then = self._level.get(name, (self.burst, now))
        level = min(self.burst, level + (now - then) * self.rate)
        if level < cost:
            self._level[name] = (level, now)
            return (cost - level) / self.rate
        self._level[name] = (level - cost, now)
        return 0.0


ROLES = ("analyst", "owner")
MOST_DAYS = 3_660
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


def digest(token: str) -> str:
    """What is kept of a token. A token has 256 random bits, so a plain hash gives no way to guess it."""
    return sha256(token.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class Person:
    """Whoever holds a token: the name is the purse that pays, the scope the datasets that may be seen (none named: all)."""

    name: str
    role: str
    scope: tuple[str, ...]
    hash: str
    revoked: bool = False
    expires: str | None = None  # a moment in UTC after which it opens nothing

    @property
    def owner(self) -> bool:
        return self.role == "owner"

    @property
    def expired(self) -> bool:
        return self.expires is not None and dt.datetime.now(dt.UTC).isoformat(timespec="seconds") >= self.expires

    def sees(self, dataset: str) -> bool:
        return not self.scope or dataset in self.scope


class Tokens:
    """The file of tokens. It is read again whenever it has changed, so a revoked token stops working at once."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._seen: tuple[int, int, int] | None = None
        self._people: tuple[Person, ...] = ()
        self._by_hash: dict[str, Person] = {}

    @classmethod
    def beside(cls, dataset: str | os.PathLike[str]) -> Tokens:
        """The tokens of a dataset file: hospital.toml has them in hospital.tokens."""
        return cls(Path(dataset).absolute().with_suffix(".tokens"))

    def people(self) -> tuple[Person, ...]:
        try:
            facts = self.path.stat()
        except FileNotFoundError:
            self._seen, self._people, self._by_hash = None, (), {}
            return ()
        if facts.st_mode & 0o077:
            raise QueryError("SRD-204", f"{self.path.name} can be read by others.", f"chmod 600 {self.path.name}")
        now = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
        if now != self._seen:
            try:
                kept = json.loads(self.path.read_text(encoding="utf-8"))["tokens"]
                self._people = tuple(Person(**{**item, "scope": tuple(item["scope"])}) for item in kept)
            except (OSError, ValueError, TypeError, KeyError):
                raise QueryError("SRD-204", f"{self.path.name} is not a file of tokens.", "Move it away and add tokens anew.") from None
            self._by_hash = {person.hash: person for person in self._people if not person.revoked}
            self._seen = now
        return self._people

    def find(self, token: str) -> Person | None:
        """The holder of a token. Looking up a hash takes no time that depends on the token's own letters."""
        return self.holder(digest(token))

    def holder(self, hash: str) -> Person | None:
        """The holder of a token whose hash is known, as a browser's session does; None once it is revoked."""
        self.people()
        found = self._by_hash.get(hash)
        return None if found is None or found.expired else found

    def add(self, name: str, role: str = "analyst", scope: tuple[str, ...] = (), *, days: int | None = None) -> str:
        """A new token, shown this once. With `days` it opens nothing after so many."""
        if not NAME.fullmatch(name):
            raise QueryError("SRD-103", f"{name!r:.80} is no name.", "Use up to 64 letters, digits, dots, dashes, underscores and @.")
        if role not in ROLES:
            raise QueryError("SRD-103", f"role is {role!r:.80}.", "Use analyst or owner.")
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise QueryError("SRD-103", f"a token for {days} days?", f"Give 1 to {MOST_DAYS} days, or none for one that stays.")
        if any(person.name == name and not (person.revoked or person.expired) for person in self.people()):
            raise QueryError("SRD-103", f"{name} has a token already.", f"Revoke it first: sordino token revoke {name}.")
        token = f"srd_{secrets.token_urlsafe(32)}"
        others = [person for person in self.people() if person.name != name]
        until = None if days is None else (dt.datetime.now(dt.UTC) + dt.timedelta(days=days)).isoformat(timespec="seconds")
        self._write([*others, Person(name, role, scope, digest(token), expires=until)])
        return token

    def revoke(self, name: str) -> None:
        if all(person.name != name or person.revoked for person in self.people()):
            raise QueryError("SRD-106", f"nobody named {name!r:.80} has a token.", "`sordino token list` shows them.")
        self._write([replace(person, revoked=person.revoked or person.name == name) for person in self.people()])

    def _write(self, people: list[Person]) -> None:
        """All or nothing, and never readable by others, not even for a moment."""
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"tokens": [asdict(person) for person in people]}, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        self._seen = None


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
class AuthMiddleware:
    """The middleware in front of /v1; pages have their own way in."""

    app: ASGIApp
    tokens: Tokens
    buckets: Buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/v1/") or scope["path"] in OPEN:
            await self.app(scope, receive, send)
            return
        try:
            scope["person"] = admit(self.tokens.find(bearer(scope)), self.buckets)
            scope["rate"] = self.buckets.standing(scope["person"].name)
        except SordinoError as error:
            scope["code"] = error.code
            await problem(error)(scope, receive, send)
            return
        await self.app(scope, receive, send)


def bearer(scope: Any) -> str:
    """The token a request shows, or nothing."""
    said = next((value for name, value in scope["headers"] if name == b"authorization"), b"").decode("latin-1")
    kind, _, token = said.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""
