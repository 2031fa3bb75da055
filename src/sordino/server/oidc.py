"""Logging in by the house's own provider: authorization code with PKCE, groups to roles, beside tokens.

Nothing is installed for it: a provider is asked over https, and its signature is checked here, RS256 or ES256 and no other. What must hold
of an answer: the state belongs to this very browser, the code was asked for with a verifier only this server knows, the token is signed
by a key the provider publishes, for this client, for this question, and not too old. Keys that are not known are fetched anew, at most
once in a while, so that a provider may change them; clocks may differ by a minute.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from sordino.errors import QueryError
from sordino.server.auth import NAME, ROLES, Person
from sordino.server.login import Visits, inside
from sordino.server.problem import Refusal
from sordino.server.worker import Worker

__all__ = ["Provider", "ProviderSettings", "login_routes"]

SKEW = 60.0  # seconds by which two clocks may differ
AGAIN = 30.0  # seconds between two looks at a provider's keys
LASTS = 600.0  # seconds to log in elsewhere
LARGEST = 1_000_000
COOKIE = "__Host-sordino-door"
PENDING = "pending:"  # a login that has not come back is no session
KNOWN = {"issuer", "client_id", "client_secret_file", "address", "name_claim", "groups_claim", "scopes", "groups"}


@dataclass(frozen=True)
class ProviderSettings:
    """What the owner says in a file of its own: who is asked, as which client, and which group may do what."""

    issuer: str
    client_id: str
    address: str  # of this server, as browsers see it
    groups: Mapping[str, tuple[str, tuple[str, ...]]]  # role and datasets
    secret: str = field(default="", repr=False)
    name_claim: str = "preferred_username"
    groups_claim: str = "groups"
    scopes: str = "openid profile email"

    @classmethod
    def read(cls, path: str | Path) -> ProviderSettings:
        """oidc.toml; the client's secret is in a file of its own."""
        place = Path(path)
        try:
            said = tomllib.loads(place.read_text(encoding="utf-8"))
            secret = (place.parent / said["client_secret_file"]).read_text(encoding="utf-8").strip() if "client_secret_file" in said else ""
            groups = {str(name): (str(to["role"]), tuple(map(str, to.get("scope", ())))) for name, to in said["groups"].items()}
            found = cls(str(said["issuer"]).rstrip("/"), str(said["client_id"]), str(said["address"]).rstrip("/"), groups, secret)
        except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
            what = f"{place.name} says no provider: {type(error).__name__} {error}."
            raise QueryError("SRD-204", what, "It takes issuer, client_id, address and [groups]; see docs, Run a server.") from None
        if unknown := set(said) - KNOWN:
            raise QueryError("SRD-204", f"{place.name} says {sorted(unknown)[0]!r}.", f"Use {', '.join(sorted(KNOWN))}.")
        if wrong := [role for role, _ in groups.values() if role not in ROLES]:
            raise QueryError("SRD-204", f"{place.name} gives the role {wrong[0]!r}.", "Use analyst or owner.")
        for address in (found.issuer, found.address):
            _safe(address)
        words = {name: str(said[name]) for name in ("name_claim", "groups_claim", "scopes") if name in said}
        return cls(found.issuer, found.client_id, found.address, groups, secret, **words)


def _safe(address: str) -> None:
    """By https, or on this very machine."""
    place = urlsplit(address)
    try:
        near = ip_address(place.hostname or "").is_loopback
    except ValueError:
        near = place.hostname == "localhost"
    if place.scheme != "https" and not (place.scheme == "http" and near):
        raise QueryError("SRD-204", f"{address} is not asked by https.", "Give an address that begins with https.")


class Provider:
    """A provider as its own documents describe it, with the keys it signs by."""

    def __init__(self, settings: ProviderSettings) -> None:
        self.settings, self._lock = settings, threading.Lock()
        self._places: dict[str, Any] | None = None
        self._keys: dict[str, dict[str, Any]] = {}
        self._looked = -1e9

    @property
    def places(self) -> dict[str, Any]:
        """Where to send people and codes."""
        if self._places is None:
            found = _fetched(f"{self.settings.issuer}/.well-known/openid-configuration")
            if str(found.get("issuer", "")).rstrip("/") != self.settings.issuer:
                raise _wrong("the provider calls itself by another name")
            for word in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                _safe(str(found.get(word, "")))
            self._places = found
        return self._places

    def door(self, state: str, nonce: str, verifier: str) -> str:
        """Where a browser logs in."""
        challenge = _packed(sha256(verifier.encode()).digest())
        asked = {
            "response_type": "code", "client_id": self.settings.client_id, "redirect_uri": self.back, "scope": self.settings.scopes,
            "state": state, "nonce": nonce, "code_challenge": challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        return f"{self.places['authorization_endpoint']}?{urlencode(asked)}"

    @property
    def back(self) -> str:
        return f"{self.settings.address}/oidc/return"

    def person(self, code: str, nonce: str, verifier: str) -> Person:
        """Whoever the provider says it is, with the role of the first group that has one: owners before analysts."""
        said = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.back, "code_verifier": verifier}
        said |= {"client_id": self.settings.client_id} | ({"client_secret": self.settings.secret} if self.settings.secret else {})
        answer = _fetched(self.places["token_endpoint"], urlencode(said).encode())
        return self._named(self.checked(str(answer.get("id_token", "")), nonce))

    def _named(self, claims: Mapping[str, Any]) -> Person:
        name, groups = str(claims.get(self.settings.name_claim) or claims.get("sub") or ""), claims.get(self.settings.groups_claim) or []
        if not NAME.fullmatch(name):
            raise _wrong(f"the provider's {self.settings.name_claim} is no name here")
        listed = [str(group) for group in groups] if isinstance(groups, list) else []
        mine = [self.settings.groups[group] for group in listed if group in self.settings.groups]
        if not mine:
            raise Refusal(403, "SRD-502", "no group of yours may ask here.", "Talk to the owner about your groups.")
        role = "owner" if any(role == "owner" for role, _ in mine) else "analyst"
        scopes = [scope for found, scope in mine if found == role]
        scope = () if any(not one for one in scopes) else tuple(dict.fromkeys(name for one in scopes for name in one))
        return Person(name, role, scope, "")

    def checked(self, token: str, nonce: str) -> Mapping[str, Any]:
        """The claims of an id token, if everything about it holds."""
        try:
            head, body, signature = (_unpacked(part) for part in token.split("."))
            named, claims = json.loads(head), json.loads(body)
            signed = token.rpartition(".")[0].encode("ascii")
        except (ValueError, binascii.Error, UnicodeError):
            raise _wrong("the provider's token cannot be read") from None
        self._signed(named, signed, signature)
        now, audience = time.time(), claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        ours = self.settings.client_id in audiences and (len(audiences) == 1 or claims.get("azp") == self.settings.client_id)
        same = secrets.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode())
        good = str(claims.get("iss", "")).rstrip("/") == self.settings.issuer and ours and same
        try:
            began = max(float(claims.get("iat", 0)), float(claims.get("nbf", 0)))
            young = float(claims["exp"]) > now - SKEW and began < now + SKEW
        except (KeyError, TypeError, ValueError):
            young = False
        if not (good and young):
            raise _wrong("the provider's token is not for this login")
        found: Mapping[str, Any] = claims
        return found

    def _signed(self, named: Mapping[str, Any], signed: bytes, signature: bytes) -> None:
        kind, which = named.get("alg"), str(named.get("kid", ""))
        if kind not in ("RS256", "ES256"):
            raise _wrong("the provider signs in a way that is not taken here")
        if which not in self._keys and (which or len(self._keys) != 1):
            self._look()
        key = self._keys.get(which) if which or len(self._keys) != 1 else next(iter(self._keys.values()))
        if key is None:
            raise _wrong("the provider's key is not known")
        try:
            _verified(kind, key, signed, signature)
        except (InvalidSignature, ValueError, KeyError, TypeError, binascii.Error):
            raise _wrong("the provider's signature does not hold") from None

    def _look(self) -> None:
        """The keys as the provider publishes them now; a stranger with made-up names of keys does not make us ask without end."""
        with self._lock:
            if time.monotonic() - self._looked < AGAIN:
                return
            self._looked = time.monotonic()
            found = _fetched(self.places["jwks_uri"]).get("keys", [])
            self._keys = {str(key.get("kid", "")): key for key in found if isinstance(key, dict)}


def _verified(kind: str, key: Mapping[str, Any], signed: bytes, signature: bytes) -> None:
    def whole(word: str) -> int:
        return int.from_bytes(_unpacked(str(key[word])), "big")

    if kind == "RS256" and key.get("kty") == "RSA":
        number = rsa.RSAPublicNumbers(whole("e"), whole("n"))
        number.public_key().verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
        return
    if kind == "ES256" and key.get("kty") == "EC" and key.get("crv") == "P-256" and len(signature) == 64:
        point = ec.EllipticCurvePublicNumbers(whole("x"), whole("y"), ec.SECP256R1()).public_key()
        ends = (int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
        point.verify(encode_dss_signature(*ends), signed, ec.ECDSA(hashes.SHA256()))
        return
    raise InvalidSignature


def _packed(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _unpacked(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))


def _wrong(what: str) -> Refusal:
    return Refusal(403, "SRD-502", f"{what}.", "Log in again; the owner's log names the request.")


def _fetched(address: str, body: bytes | None = None) -> dict[str, Any]:
    """A JSON object of the provider's."""
    request = urllib.request.Request(address, body, {"Accept": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            found = json.loads(answer.read(LARGEST))
    except (urllib.error.URLError, OSError, ValueError):
        raise Refusal(503, "SRD-506", "the provider does not answer as it should.", "Log in again later, or with a token.") from None
    if not isinstance(found, dict):
        raise _wrong("the provider's answer is no object")
    return found


def login_routes(provider: Provider, visits: Visits, worker: Worker) -> APIRouter:
    """Out to the provider and back. What is kept between is a hash of the browser's own secret, for ten minutes."""
    web = APIRouter(include_in_schema=False)

    @web.get("/oidc/login")
    async def out(request: Request) -> Response:
        state, nonce, verifier, mine = (secrets.token_urlsafe(32) for _ in range(4))
        wanted = inside(request.query_params.get("next", ""))
        place = await worker.free(provider.door, state, nonce, verifier)
        kept = PENDING + json.dumps({"nonce": nonce, "verifier": verifier, "next": wanted})
        now = visits.clock.now()
        visits.sessions.open(f"{state} {mine}", kept, now + LASTS, now)
        answer = RedirectResponse(place, 303)
        answer.set_cookie(COOKIE, mine, max_age=int(LASTS), secure=True, httponly=True, samesite="lax", path="/")
        return answer

    @web.get("/oidc/return")
    async def back(request: Request, state: str = "", code: str = "") -> Response:
        secret = f"{state} {request.cookies.get(COOKIE, '')}"
        kept = visits.sessions.find(secret, visits.clock.now())
        if kept is None or not code or not kept.startswith(PENDING):
            raise _wrong("this is no login that began here")
        visits.sessions.close(secret)  # once
        said = json.loads(kept.removeprefix(PENDING))
        person = await worker.free(provider.person, code, said["nonce"], said["verifier"])
        answer = visits.welcome(person, said["next"])
        answer.set_cookie(COOKIE, "", max_age=0, secure=True, httponly=True, samesite="lax", path="/")
        request.scope["said"] = {"login": person.name, "role": person.role}
        return answer

    return web
