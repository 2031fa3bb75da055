"""`sd.connect`: the same verbs over HTTP. Nothing here can see a row; what comes back is the sealed answer.

The server is not trusted with the caller's machine: an answer has a size and a time, is JSON of the expected shape or one error, and is
never followed to another place.

`remote.admissions.share(...)`: a shared table of a server, promised at once and waited for; whoever stops waiting takes it up again.

The server works the seconds out from public facts, so how far the job is follows from the clock here. Rows are made on this machine from
the sealed record, as they are where the table is.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from sordino.errors import BudgetExceeded, LedgerError, QueryError, ReleaseFailed, SordinoError, builds
from sordino.remote.wording import RemoteAsked, Words, as_id, as_json, as_request, as_wishes
from sordino.schema.column import shown
from sordino.session.execute import as_fresh
from sordino.session.forecast import Forecast
from sordino.session.preview import Other, Preview, PriceLine
from sordino.session.release import Release
from sordino.session.share_preview import Tell, bar
from sordino.session.shared import Shared
from sordino.share.cells import FineCells

__all__ = ["Remote", "RemoteQuery", "connect", "promise", "taken_up", "words"]

T = TypeVar("T")
TRIES = 4  # of one request id: it is charged once at most, so asking again is safe
LONGEST = 120.0  # seconds for one answer, from the first byte asked to the last byte read
LARGEST = 16 * 2**20  # bytes of one answer
WRONG = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError)  # what a wrong answer may raise


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
        data = None if body is None else as_json(body)
        head = {"Authorization": f"Bearer {self.token}", **{name.replace("_", "-"): text for name, text in headers.items()}}
        request = Request(f"{self.url}{path}", data, {**head, "Content-Type": "application/json"}, method=method)
        status, content = _fetched(request)
        if status >= 300:
            raise _raised(status, content)
        return _shaped(lambda: json.loads(content))

    @property
    def datasets(self) -> list[dict[str, Any]]:
        """What may be asked, as the owners declared it."""
        found: list[dict[str, Any]] = self.ask("GET", "/v1/datasets")
        return _shaped(lambda: [dict(item) for item in found if self.name in (None, item["name"])])

    @property
    def budget(self) -> dict[str, Any]:
        """What is spent and what is left, now."""
        found: dict[str, Any] = self.ask("GET", "/v1/budget" + (f"?{urlencode({'dataset': self.name})}" if self.name else ""))
        return _shaped(lambda: dict(found))

    @property
    def approvals(self) -> list[dict[str, Any]]:
        """Your asks above the owner's threshold, newest first; each has a state: pending, approved, refused or released."""
        found: list[dict[str, Any]] = self.ask("GET", "/v1/approvals" + (f"?{urlencode({'dataset': self.name})}" if self.name else ""))
        return _shaped(lambda: [dict(item) for item in found])

    def sql(self, text: str) -> RemoteQuery:
        """The question an SQL statement asks. Nothing is spent."""
        if not isinstance(text, str):
            raise QueryError("SRD-209", f"the statement is {shown(text)}.", 'Write, for example, "SELECT AVG(age) FROM t".')
        return self._planned({"sql": text}, text)

    def _planned(self, question: dict[str, Any], text: str) -> RemoteQuery:
        plan = self.ask("POST", "/v1/plans", question | ({"dataset": self.name} if self.name else {}))
        return RemoteQuery(self, _shaped(lambda: "".join(plan["id"])), text)

    def _said(self, asked: RemoteAsked) -> RemoteQuery:
        return self._planned({"call": asked.call}, str(asked.call)) if asked.verbs else self.sql(asked.text)

    def release(self, id: str) -> Release:
        """A recorded answer by its id."""
        found = self.ask("GET", f"/v1/releases/{as_id(id)}")
        return _shaped(lambda: _release(found))

    def shared(self, id: str) -> Shared:
        """The table of a job that was promised before: waits for it, pays nothing more."""
        return taken_up(self, id)

    def _made(self, asked: RemoteAsked, options: dict[str, Any], **given: Any) -> Shared:
        return promise(self, words(asked.table, asked.conditions, options), **given)

    def persist(self, method: str, path: str, key: str, body: Any = None) -> Any:
        """One request under one id, sent again where the connection breaks: whatever it asks for is done and charged once at most."""
        last = time.monotonic() + LONGEST
        for turn in range(TRIES):
            try:
                return self.ask(method, path, body, **({} if method == "GET" else {"Idempotency_Key": key}))
            except (Unclear, _Waiting) as refusal:
                if turn == TRIES - 1 or time.monotonic() > last or refusal.facts.get("final"):
                    what = f"{refusal.what} The request was {key}."
                    raise Unclear("SRD-507", what, "Ask again with request= and that: it is charged once at most.", request=key) from None
                time.sleep(0.2 * 2**turn)
        raise AssertionError

    def __getattr__(self, table: str) -> Words:
        if table.startswith("_"):
            raise AttributeError(table)
        return Words(RemoteAsked(table), self._said, self._made)


@dataclass(frozen=True)
class RemoteQuery:
    """A question the server has understood: it can be priced and released."""

    remote: Remote
    id: str
    text: str

    def preview(
        self, *, within: float | None = None, within_rank: float | None = None, epsilon: float | None = None,
        interval: bool | str | None = None, level: float | None = None,
    ) -> Preview:  # fmt: skip
        """The price list. Free."""
        said = as_wishes(within=within, within_rank=within_rank, epsilon=epsilon, interval=interval, level=level)
        wishes = urlencode({name: str(value).lower() if isinstance(value, bool) else value for name, value in said.items()})
        found = self.remote.ask("GET", f"/v1/plans/{quote(self.id, safe='')}/preview?{wishes}")
        return _shaped(lambda: _preview(found))

    def release(
        self, *, epsilon: Any = None, delta: Any = None, within: Any = None, within_rank: Any = None, fresh: bool = False,
        request: str | None = None, interval: bool | str | None = None, level: float | None = None, at_most: Any = None,
    ) -> Release:  # fmt: skip
        """Pay and get the answer. If the connection breaks, the same request is sent again: it is charged once at most.

        With `at_most` nothing dearer is charged: a wish whose price has risen above it is refused. Above the owner's threshold it is
        put into a queue and raises SRD-508; ask again with request=error.facts["request"] once `remote.approvals` says it is approved.
        """
        key, said = as_request(request), {"epsilon": epsilon, "delta": delta, "within": within, "within_rank": within_rank}
        wishes = as_wishes(**said, interval=interval, level=level, at_most=at_most)
        body = {name: str(value) if name in ("epsilon", "delta", "at_most") else value for name, value in wishes.items()}
        place = f"/v1/plans/{quote(self.id, safe='')}/release"
        try:
            found = self.remote.persist("POST", place, key, {**body, "fresh": as_fresh(fresh)})
        except BudgetExceeded as refusal:
            refusal.facts["request"] = key
            raise
        return _shaped(lambda: _release(found))


class Unclear(LedgerError):
    """No usable answer came, so nobody here can say what the server did."""

    spent = None


class _Waiting(LedgerError):
    """The server is still at it, or away for a moment."""


def _fetched(request: Request) -> tuple[int, bytes]:
    """Status and body of one answer, of at most so many bytes and after at most so many seconds in all, however slowly they drip."""
    held: list[socket.socket] = []
    cut = threading.Event()

    def end() -> None:
        cut.set()
        for one in held:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    class Plain(HTTPHandler):
        def http_open(self, req: Request) -> Any:
            return self.do_open(_held(HTTPConnection, held), req)

    class Safe(HTTPSHandler):
        def https_open(self, req: Request) -> Any:
            return self.do_open(_held(HTTPSConnection, held), req)

    alarm = threading.Timer(LONGEST, end)
    alarm.daemon = True
    alarm.start()
    try:
        try:
            answer: Any = build_opener(_Stay, Plain, Safe).open(request, timeout=LONGEST)
        except HTTPError as error:
            answer = error
        with answer:
            status, content = int(answer.status), answer.read(LARGEST + 1)
    except (OSError, HTTPException, ValueError) as error:  # ValueError: a header or a chunk that is no number
        why = f"did not answer within {LONGEST:g} s" if cut.is_set() else f"cannot be reached ({type(error).__name__})"
        raise Unclear("SRD-507", f"the server {why}.", "Check the address, and ask its owner.") from None
    finally:
        alarm.cancel()
    if cut.is_set():
        raise Unclear("SRD-507", f"the server did not answer within {LONGEST:g} s.", "Ask its owner.")
    if len(content) > LARGEST:
        what = f"the server's answer is larger than {LARGEST:,} bytes."
        raise Unclear("SRD-507", what, "Ask for fewer groups, or its owner.", final=True)
    return status, content


def _held(kind: Any, held: list[socket.socket]) -> Any:
    class Held(kind):  # type: ignore[misc]
        def connect(self) -> None:
            super().connect()
            held.append(self.sock)

    return Held


def _shaped(read: Callable[[], T]) -> T:
    """What an answer says, if it has the shape that was asked for."""
    try:
        return read()
    except SordinoError:
        raise
    except WRONG:
        what = "the server's answer is not one of this API."
        raise Unclear("SRD-507", what, "Check the address, and ask its owner.", final=True) from None


def _preview(said: dict[str, Any]) -> Preview:
    known = {part.name for part in fields(Preview)}
    best = None if said["best"] is None else _line(said["best"])
    others = tuple(Other(**other) for other in said.get("others", ()))
    lines = {"lines": tuple(map(_line, said["lines"])), "best": best, "notes": tuple(said["notes"]), "others": others}
    made = Preview(**{**{name: value for name, value in said.items() if name in known}, **lines})
    str(made)  # a number that is none shows here, and not on the caller's screen
    return made


def _line(said: dict[str, Any]) -> PriceLine:
    return PriceLine(**{**said, "forecasts": tuple(Forecast(**known) for known in said["forecasts"])})


def _release(said: dict[str, Any]) -> Release:
    """The sealed answer, under the labels of whoever asked."""
    made = Release.from_bytes(json.dumps(said["record"]).encode("ascii"), recalled=said.get("paid") is False)
    found = made.under(said.get("labels", {}), said.get("shapes", {}))
    repr(found)
    return found


def _raised(status: int, content: bytes) -> SordinoError:
    """The server's problem as the error of the same family; its words are cut, because nobody knows whose they are."""
    if status < 400:
        return Unclear("SRD-507", f"the server sends elsewhere ({status}).", "A token is for one server: give its own address.", final=True)
    try:
        said = json.loads(content)
        code, what, fix = (str(said[word])[:1_000] for word in ("code", "detail", "fix"))
        spent = said.get("spent")
    except WRONG:
        return Unclear("SRD-507", f"the server answered {status}.", "Check the address, and ask its owner.", final=status < 500)
    families = {402: BudgetExceeded, 503: _Waiting if code in ("SRD-506", "SRD-603") else LedgerError}
    kind = ReleaseFailed if spent else families.get(status, LedgerError if status >= 500 else QueryError)
    return (Unclear if spent is None and status >= 500 and kind is LedgerError else kind)(code, what, fix)


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


MOST = 10_000_000  # rows anybody makes here because a server says so
EVERY = 0.1  # seconds between two looks at the clock
ALMOST = 0.99
OPTIONS = ("columns", "method", "workload", "bins", "weight", "target", "rows", "forbid")


@builds
def words(table: str, conditions: tuple[str, ...], options: Mapping[str, Any]) -> dict[str, Any]:
    """What is shared, as POST /v1/shares expects it."""
    unknown = [name for name in options if name not in OPTIONS]
    if unknown:
        raise QueryError("SRD-106", f"{unknown[0]!r:.80} is no option of a shared table.", f"Use some of {', '.join(OPTIONS)}.")
    given = {name: value for name, value in options.items() if value is not None}
    for name in ("columns", "forbid"):
        if name in given:
            given[name] = [given[name]] if isinstance(given[name], str) and name == "columns" else given[name]
            given[name] = given[name] if isinstance(given[name], str) else list(given[name])
    if not isinstance(given.get("workload", 2), int):
        given["workload"] = [list(names) for names in given["workload"]]
    if "bins" in given:
        given["bins"] = {name: list(cut) if isinstance(cut, tuple) else cut for name, cut in given["bins"].items()}
    return {"table": table, **({"where": list(conditions)} if conditions else {}), **given}


def promise(
    remote: Remote, share: dict[str, Any], *, epsilon: Any, delta: Any, fresh: bool, request: str | None, at_most: Any,
    progress: Tell | None,
) -> Shared:  # fmt: skip
    """Promise it, wait for it, and make its rows. The same request again is the same job and is charged once."""

    key = as_request(request)
    if epsilon is None:
        raise QueryError("SRD-101", "a shared table needs one price.", "Give epsilon= and delta=.")
    said = as_wishes(epsilon=epsilon, delta=delta, at_most=at_most)
    body = {"share": share, "fresh": as_fresh(fresh), **{name: str(value) for name, value in said.items()}}
    try:
        job = remote.persist("POST", "/v1/shares", key, body | ({"dataset": remote.name} if remote.name else {}))
    except BudgetExceeded as refusal:
        refusal.facts["request"] = key
        raise
    id, seconds = _shaped(lambda: ("".join(job["id"]), float(job["seconds"])))
    return taken_up(remote, id, seconds, progress=progress)


def taken_up(remote: Remote, id: str, seconds: float = 0.0, *, progress: Tell | None = None) -> Shared:
    """The table of a job, when it is there. Stopped by Ctrl-C it goes on at the server; `remote.shared(id)` waits for it again."""

    began, place = time.monotonic(), f"/v1/shares/{as_id(id)}"
    try:
        with bar("promised; waiting for it", progress) as tell:
            while True:
                found = _waiting(lambda: remote.persist("GET", place, id), began, seconds, tell)
                if _shaped(lambda found=found: "".join(found["state"])) == "done":  # type: ignore[misc]
                    break
                seconds = _shaped(lambda found=found: float(found["seconds"]))  # type: ignore[misc]
            if tell is not None:
                tell(1.0)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the job goes on at the server; take it up again with remote.shared({id!r})") from None
    sealed = remote.persist("GET", f"/v1/releases/{quote(_shaped(lambda: ''.join(found['release'])), safe='')}", id)
    return _shaped(lambda: _shared(_release({**sealed, "paid": found["paid"]}), found["cells"]))


def _waiting(ask: Callable[[], Any], began: float, seconds: float, tell: Tell | None) -> Any:
    """The answer of a request that may take a minute, with the clock shown beside; Ctrl-C is heard meanwhile."""
    done: list[Any] = []

    def run() -> None:
        try:
            done.append((ask(), None))
        except BaseException as error:
            done.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(EVERY)
        if tell is not None and seconds > 0:
            tell(min(ALMOST, (time.monotonic() - began) / seconds))
    found, error = done[0]
    if error is not None:
        raise error
    return found


def _shared(release: Release, cells: list[Any]) -> Shared:
    made = Shared(release, tuple(FineCells.from_record(said) for said in cells))
    rows, names = made.record["sampled"], [one.column.name for one in made.fine]
    if not isinstance(rows, int) or not 0 <= rows <= MOST or names != list(made.columns):
        raise ValueError
    repr(made)
    return made
