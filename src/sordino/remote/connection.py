"""`sd.connect`: the same verbs over HTTP. Nothing here can see a row; what comes back is the sealed answer."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from sordino.errors import BudgetExceeded, LedgerError, QueryError, ReleaseFailed, SordinoError
from sordino.remote.wording import Asked, Words
from sordino.session.forecast import Forecast
from sordino.session.preview import Line, Other, Preview
from sordino.session.release import Release

__all__ = ["Remote", "RemoteQuery", "connect"]

TRIES = 4  # of one request id: it is charged once at most, so asking again is safe
LONGEST = 120.0  # seconds for one answer


class _Stay(HTTPRedirectHandler):
    """A token is for one server; it does not follow anybody elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True)
class Remote:
    """A server's datasets: `remote.sql("SELECT ...")`, `remote.admissions.where("age >= 18").median("cost")`."""

    url: str
    token: str = field(repr=False)
    name: str | None = None  # of the dataset, where the token sees several

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """One request; the server's problem becomes the error of the same family."""
        data = None if body is None else json.dumps(body).encode("ascii")
        head = {"Authorization": f"Bearer {self.token}", **{name.replace("_", "-"): text for name, text in headers.items()}}
        request = Request(f"{self.url}{path}", data, {**head, "Content-Type": "application/json"}, method=method)
        try:
            with build_opener(_Stay).open(request, timeout=LONGEST) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            with error:
                raise _raised(error) from None

    @property
    def datasets(self) -> list[dict[str, Any]]:
        """What may be asked, as the owners declared it."""
        found: list[dict[str, Any]] = self.ask("GET", "/v1/datasets")
        return [item for item in found if self.name in (None, item["name"])]

    @property
    def budget(self) -> dict[str, Any]:
        """What is spent and what is left, now."""
        found: dict[str, Any] = self.ask("GET", "/v1/budget" + (f"?{urlencode({'dataset': self.name})}" if self.name else ""))
        return found

    @property
    def approvals(self) -> list[dict[str, Any]]:
        """Your asks above the owner's threshold, newest first; each has a state: pending, approved, refused or released."""
        found: list[dict[str, Any]] = self.ask("GET", "/v1/approvals" + (f"?{urlencode({'dataset': self.name})}" if self.name else ""))
        return found

    def sql(self, text: str) -> RemoteQuery:
        """The question an SQL statement asks. Nothing is spent."""
        return self._planned({"sql": text}, text)

    def _planned(self, question: dict[str, Any], text: str) -> RemoteQuery:
        plan = self.ask("POST", "/v1/plans", question | ({"dataset": self.name} if self.name else {}))
        return RemoteQuery(self, plan["id"], text)

    def _said(self, asked: Asked) -> RemoteQuery:
        return self._planned({"call": asked.call}, str(asked.call)) if asked.verbs else self.sql(asked.text)

    def release(self, id: str) -> Release:
        """A recorded answer by its id."""
        return _release(self.ask("GET", f"/v1/releases/{quote(id, safe='')}"))

    def __getattr__(self, table: str) -> Words:
        if table.startswith("_"):
            raise AttributeError(table)
        return Words(Asked(table), self._said)


@dataclass(frozen=True)
class RemoteQuery:
    """A question the server has understood: it can be priced and released."""

    remote: Remote
    id: str
    text: str

    def preview(self, *, within: float | None = None, within_rank: float | None = None, epsilon: float | None = None) -> Preview:
        """The price list. Free."""
        said = {"within": within, "within_rank": within_rank, "epsilon": epsilon}
        wishes = urlencode({name: value for name, value in said.items() if value is not None})
        found = self.remote.ask("GET", f"/v1/plans/{self.id}/preview?{wishes}")
        for extra in ("text", "recorded"):
            found.pop(extra, None)
        best = None if found["best"] is None else _line(found["best"])
        others = tuple(Other(**other) for other in found.get("others", ()))
        made = {"lines": tuple(map(_line, found["lines"])), "best": best, "notes": tuple(found["notes"]), "others": others}
        return Preview(**{**found, **made})

    def release(
        self, *, epsilon: Any = None, delta: Any = None, within: Any = None, within_rank: Any = None, fresh: bool = False,
        request: str | None = None,
    ) -> Release:  # fmt: skip
        """Pay and get the answer. If the connection breaks, the same request is sent again: it is charged once at most.

        Above the owner's threshold it is put into a queue and raises SRD-508; ask again with request=error.facts["request"] once
        `remote.approvals` says it is approved.
        """
        key, said = request or secrets.token_hex(16), {"epsilon": epsilon, "delta": delta, "within": within, "within_rank": within_rank}
        body = {name: str(value) if name in ("epsilon", "delta") else value for name, value in said.items() if value is not None}
        for turn in range(TRIES):
            try:
                found = self.remote.ask("POST", f"/v1/plans/{self.id}/release", {**body, "fresh": fresh}, Idempotency_Key=key)
                return _release(found)
            except BudgetExceeded as refusal:
                refusal.facts["request"] = key
                raise
            except (URLError, ConnectionError, TimeoutError, _Waiting):
                if turn == TRIES - 1:
                    raise
                time.sleep(0.2 * 2**turn)
        raise AssertionError


class _Waiting(LedgerError):
    """The server is still at it, or away for a moment."""


def _line(said: dict[str, Any]) -> Line:
    return Line(**{**said, "forecasts": tuple(Forecast(**known) for known in said["forecasts"])})


def _release(said: dict[str, Any]) -> Release:
    """The sealed answer, under the labels of whoever asked."""
    made = Release.from_bytes(json.dumps(said["record"]).encode("ascii"), recalled=said.get("paid") is False)
    return made.under(said.get("labels", {}), said.get("shapes", {}))


def _raised(error: HTTPError) -> SordinoError:
    try:
        said = json.loads(error.read())
        code, what, fix = str(said["code"]), str(said["detail"]), str(said["fix"])
    except (ValueError, TypeError, KeyError):
        return LedgerError("SRD-507", f"the server answered {error.code}.", "Ask its owner.")
    families = {402: BudgetExceeded, 503: _Waiting if code in ("SRD-506", "SRD-603") else LedgerError}
    kind = ReleaseFailed if said.get("spent") else families.get(error.code, LedgerError if error.code >= 500 else QueryError)
    return kind(code, what, fix)


def connect(url: str, token: str, *, dataset: str | None = None) -> Remote:
    """A server by its address and your token."""
    place = urlsplit(url)
    if place.scheme not in ("http", "https") or not place.hostname:
        raise QueryError("SRD-103", f"{url!r:.80} is no address of a server.", "Give http://127.0.0.1:8765 or https://...")
    if place.scheme == "http" and not _loopback(place.hostname):
        raise QueryError("SRD-103", "over http a token can be read on its way.", "Use https:// for another machine.")
    return Remote(url.rstrip("/"), token, dataset)


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
