"""Logging in with a provider: a real one on the loopback, and everything that must not hold of its token."""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from sordino.errors import QueryError
from sordino.server import oidc
from sordino.server.oidc import Provider, ProviderSettings
from sordino.server.problem import Refusal

from .hall import HOME, Visitor, write

GROUPS = {"office": ("owner", ()), "labs": ("analyst", ("hospital",)), "everybody": ("analyst", ("elsewhere",))}


PROVIDER = """
import sys
from oidc_provider_mock import User, run_server_in_thread
groups = {"amina": ["labs", "everybody"], "boss": ["labs", "office"], "eve": ["strangers"]}
people = [User(sub=f"s-{name}", claims={"preferred_username": name, "groups": found}) for name, found in groups.items()]
with run_server_in_thread(user_claims=people) as server:
    print(server.server_port, flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def provider():
    """A provider in a process of its own: its warnings are its own business."""
    command = [sys.executable, "-W", "ignore", "-c", PROVIDER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        yield f"http://127.0.0.1:{int(running.stdout.readline())}"
        running.stdin.close()
        running.wait(10)


@pytest.fixture(scope="module")
def issuer():
    with provider() as address:
        yield address


@pytest.fixture
def hall(tmp_path, issuer):
    visitor = Visitor(write(tmp_path), provider=ProviderSettings(issuer, "sordino", HOME, GROUPS, "secret"))
    yield visitor
    visitor.close()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def approve(place: str, sub: str) -> str:
    """What a person does at the provider; the address it sends the browser back to."""
    request = urllib.request.Request(place, urlencode({"sub": sub}).encode())
    try:
        urllib.request.build_opener(_Stay).open(request, timeout=10)
    except urllib.error.HTTPError as error:
        with error:
            return error.headers["Location"].removeprefix(HOME)
    raise AssertionError


def cookie(answer) -> dict[str, str]:
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_somebody_of_a_group_logs_in_and_comes_back_to_where_they_were_going(hall):
    assert "Log in with 127.0.0.1" in hall.ask("GET", "/login?next=%2Fhistory").text
    out = hall.ask("GET", "/oidc/login?next=%2Fhistory")
    asked = parse_qs(urlsplit(out.headers["location"]).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["redirect_uri"] == [f"{HOME}/oidc/return"]
    back = approve(out.headers["location"], "s-amina")
    hall.client.cookies.clear()
    assert hall.ask("GET", back).status_code == 403, "another browser cannot use it"
    entered = hall.ask("GET", back, headers=cookie(out))
    assert entered.headers["location"] == "/history"
    session = {"Cookie": next(c for c in entered.headers.get_list("set-cookie") if c.startswith("__Host-sordino=")).partition(";")[0]}
    hall.client.cookies.clear()
    assert "hospital" in hall.ask("GET", "/datasets", headers=session).text
    assert hall.ask("GET", "/owner", headers=session).status_code == 403
    assert hall.ask("GET", back, headers=cookie(out)).status_code == 403, "once"
    pending = {"Cookie": f"__Host-sordino={asked['state'][0]} {cookie(out)['Cookie'].partition('=')[2]}"}
    assert hall.ask("GET", "/datasets", headers=pending).status_code == 303, "a login under way is no session"


def test_groups_say_the_role_and_strangers_are_turned_away(hall):
    for sub, status, place in (("s-boss", 303, "/datasets"), ("s-eve", 403, None)):
        out = hall.ask("GET", "/oidc/login")
        entered = hall.ask("GET", approve(out.headers["location"], sub), headers=cookie(out))
        assert (entered.status_code, entered.headers.get("location")) == (status, place)
        if place:
            assert hall.ask("GET", "/owner").status_code == 200
        hall.client.cookies.clear()
    assert hall.ask("GET", "/oidc/return?state=x&code=y").status_code == 403


def packed(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def whole(number: int) -> str:
    return packed(number.to_bytes((number.bit_length() + 7) // 8, "big"))


class Signer:
    """A key and what its provider would publish of it."""

    def __init__(self, kid: str, kind: str = "RS256") -> None:
        self.kid, self.kind = kid, kind
        self.key: Any = rsa.generate_private_key(65537, 2048) if kind == "RS256" else ec.generate_private_key(ec.SECP256R1())

    @property
    def public(self) -> dict[str, str]:
        number = self.key.public_key().public_numbers()
        if self.kind == "RS256":
            return {"kid": self.kid, "kty": "RSA", "n": whole(number.n), "e": whole(number.e)}
        return {"kid": self.kid, "kty": "EC", "crv": "P-256", "x": whole(number.x), "y": whole(number.y)}

    def token(self, claims, alg=None) -> str:
        signed = f"{packed(json.dumps({'alg': alg or self.kind, 'kid': self.kid}).encode())}.{packed(json.dumps(claims).encode())}"
        if self.kind == "RS256":
            return f"{signed}.{packed(self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"
        r, s = decode_dss_signature(self.key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{packed(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


@pytest.mark.parametrize("kind", ["RS256", "ES256"])
def test_a_token_that_is_not_for_this_login_opens_nothing(monkeypatch, kind):
    signer, other, clock = Signer("one", kind), Signer("one", kind), SimpleNamespace(now=0.0)
    keys, looks = [signer.public], []

    def fetched(address, body=None):
        looks.append(address)
        return {"keys": list(keys)}

    monkeypatch.setattr(oidc, "_fetched", fetched)
    monkeypatch.setattr(oidc.time, "monotonic", lambda: clock.now)
    provider = Provider(ProviderSettings("https://login.example", "sordino", "https://here.example", GROUPS))
    provider._places = {"jwks_uri": "keys"}
    now = time.time()
    good = {"iss": "https://login.example", "aud": "sordino", "exp": now + 60, "iat": now, "nonce": "n", "sub": "amina"}
    assert provider.checked(signer.token(good), "n")["sub"] == "amina"
    assert provider.checked(signer.token({**good, "exp": now - 50, "iat": now + 50}), "n"), "clocks differ by up to a minute"
    wrong = [
        signer.token({**good, "iss": "https://evil.example"}), signer.token({**good, "aud": "another"}),
        signer.token({**good, "aud": ["sordino", "another"]}), signer.token({**good, "exp": now - 61}),
        signer.token({**good, "iat": now + 61}), signer.token({**good, "nonce": "old"}), signer.token({**good, "exp": "soon"}),
        other.token(good), signer.token(good, alg="none"), signer.token(good, alg="HS256"), signer.token(good)[:-8] + "AAAAAAAA",
        "", "a.b", "a.b.c", signer.token(good).rpartition(".")[0] + ".",
    ]  # fmt: skip
    for token in wrong:
        with pytest.raises(Refusal):
            provider.checked(token, "n")
    rotated = Signer("two", kind)
    with pytest.raises(Refusal, match="not known"):
        provider.checked(rotated.token(good), "n")
    keys[:] = [rotated.public]
    before = len(looks)
    clock.now += 31
    assert provider.checked(rotated.token(good), "n"), "a provider may change its keys"
    for _ in range(5):
        with pytest.raises(Refusal):
            provider.checked(Signer("made up", kind).token(good), "n")
    assert len(looks) == before + 1, "made-up keys do not make us ask without end"


def test_settings_are_read_from_a_file_and_checked(tmp_path):
    file = tmp_path / "oidc.toml"
    (tmp_path / "s").write_text("hush\n")
    lines = 'issuer = "https://i.example/"\nclient_id = "c"\naddress = "https://a.example"\nclient_secret_file = "s"\n'
    file.write_text(f'{lines}name_claim = "email"\n[groups]\noffice = {{ role = "owner" }}\nlabs = {{ role = "analyst", scope = ["h"] }}\n')
    found = ProviderSettings.read(file)
    assert (found.issuer, found.secret, found.name_claim) == ("https://i.example", "hush", "email")
    assert found.groups == {"office": ("owner", ()), "labs": ("analyst", ("h",))}
    assert "hush" not in repr(found)
    groups = '[groups]\noffice = { role = "owner" }\n'
    king, open_air = '[groups]\no = { role = "king" }\n', lines.replace("https://i", "http://i")
    for text in ("", lines, f"{lines}colour = 1\n{groups}", lines + king, open_air + groups):
        file.write_text(text)
        with pytest.raises(QueryError, match="SRD-204"):
            ProviderSettings.read(file)
