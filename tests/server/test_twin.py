"""Two worlds that differ in one awkward person, the same draws, the same clock: every byte, status, header and time is equal."""

from __future__ import annotations

import io
import re
import secrets
import uuid
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.engines import source
from sordino.engines.duckdb import DuckDB
from sordino.server import owner_page
from sordino.server.app import ServerLimits
from sordino.session import open_dataset

from .hall import Still, Visitor, people, write
from .tape import Tape, rekey

AWKWARD = [
    "new,n/a,?,perhaps,\"<script>alert(1)</script>\"", "new,-1e308,1e400,f,", "new,NaN,-inf,m,north", "new,,,,", "new,7,30,x,'; DROP TABLE",
    "new,99999999999999999999,30,f,north", *(f"new,{i},{i},f,ward {i}" for i in range(60)),
]  # fmt: skip
STATEMENTS = [
    "SELECT COUNT(*) AS n FROM admissions",
    "SELECT COUNT(*) AS n FROM admissions WHERE age >= 18 OR age IS NULL",
    "SELECT COUNT(DISTINCT patient) AS people FROM admissions",
    "SELECT SUM(cost) AS s, AVG(cost) AS m FROM admissions",
    "SELECT MEDIAN(cost) AS m FROM admissions",
    "SELECT QUANTILE_CONT(cost, 0.9) AS q FROM admissions",
    "SELECT VARIANCE(age) AS v FROM admissions",
    "SELECT MIN(age) AS a, MAX(age) AS b FROM admissions",
    "SELECT sex, COUNT(*) AS n, AVG(age) AS m FROM admissions GROUP BY sex ORDER BY n DESC",
    "SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward",
    "SELECT ward, MEDIAN(cost) AS m FROM admissions GROUP BY ward",
    "SELECT MODE(sex) AS m FROM admissions",
]
CALLS = [
    {"table": "admissions", "ask": {"verb": "trimmed_mean", "given": ["cost"], "named": {"trim": "0.1"}}},
    {"table": "admissions", "where": ["age >= 18"], "ask": {"verb": "histogram", "given": ["age"], "named": {"bins": [0, 18, 65, 120]}}},
    {"table": "admissions", "by": ["sex"], "agg": {"n": {"verb": "count"}, "m": {"verb": "median", "given": ["cost"]}}},
    {"table": "admissions", "by": ["sex"], "ask": {"verb": "row_limit"}},
    {"table": "admissions", "by": ["sex"], "limit": {"rows": 2}, "ask": {"verb": "count"}},
]
PEOPLE = people(400)
KNOWN = list(dict.fromkeys(row.partition(",")[0] for row in PEOPLE))


@dataclass(frozen=True)
class Neighbours:
    """Two tables that differ in one awkward person, and how their owner declares them.

    What is compared is whether all they showed is equal, and that is the same either way round: a person fewer is a person more, read
    from the other side.
    """

    one: list[str]
    other: list[str]
    declared: dict[str, Any] = field(default_factory=dict)


ADDED = Neighbours(PEOPLE, [*PEOPLE, *AWKWARD])
KEPT = [row for row in PEOPLE if not row.startswith(f"{KNOWN[0]},")]
REPLACED = Neighbours(PEOPLE, [*KEPT, *AWKWARD], {"relation": "replace", "size": len(KNOWN)})
SHARED = [{"table": "admissions", "columns": ["age", "sex", "cost"]}, {"table": "admissions", "columns": ["age", "sex"], "method": "tree"}]
SLOW = (5, 6, 7)  # their previews are simulated for seconds, on public rows
BRIEF = (0, 2, 3, 4, 8, 9)  # the statements of a short walk
Seen = list[tuple[Any, ...]]
Store = Callable[..., Path]


class World:
    """A server on one table, and everything it showed. In brief every route is walked, with fewer questions."""

    def __init__(self, file: Path, rows: int, pinned: Tape | None, *, deadline: float | None, brief: bool) -> None:
        self.clock, self.seen, self.brief = Still(), [], brief
        self.tape = Tape(pinned, lambda: self.clock.move(1e-5 * rows))
        self.hall = Visitor(
            file, execute=self.tape.execute, clock=self.clock, limits=ServerLimits(rate=10_000, burst=10_000, deadline=deadline)
        )
        self.token, self.owner = self.hall.token(), self.hall.token("boss", "owner")

    def ask(self, method: str, path: str, token: str | None = None, key: str | None = None, **options: Any) -> Any:
        """Ask, and write down all that an analyst could see or time."""
        rekey(f"{len(self.seen)} {method} {path}")
        promising = method == "POST" and path in ("/v1/shares", "/share")
        (self.tape.begun.clear if promising else self.tape.begun.set)()
        start = self.clock.now()
        answer = self.hall.ask(method, path, token or self.token, key, **options)
        headers = sorted(answer.headers.multi_items())
        shown = _unpacked(answer.content) if answer.headers.get("content-type") == "application/zip" else answer.content
        self.seen.append((method, path, answer.status_code, headers, shown, round(self.clock.now() - start, 9)))
        return answer

    def post(self, path: str, **fields: str) -> Any:
        """Send a form."""
        return self.ask("POST", path, content=urlencode(fields).encode(), headers={"Content-Type": "application/x-www-form-urlencoded"})

    def decide(self, key: str, word: str) -> None:
        """What an owner does meanwhile, unseen by the analyst."""
        listed = self.hall.ask("GET", "/v1/approvals", self.owner).json()
        id = next(asked["id"] for asked in listed if asked["key"] == key)
        assert self.hall.ask("POST", f"/v1/approvals/{id}", self.owner, json={"verdict": word}).status_code == 200

    def routes(self) -> list[Any]:
        """Every route of the application."""
        kept = self.hall.app.app.app.routes
        return [_walkable(inner) for route in kept for inner in getattr(route, "original_router", _Alone(route)).routes]

    def walked(self, *statuses: int) -> set[tuple[str, str]]:
        """The routes that were asked; with statuses, those that once answered so."""
        asked = {(m, path.partition("?")[0]) for m, path, status, *_ in self.seen if not statuses or status in statuses}
        return {(m, route.path) for m, path in asked for route in self.routes() if m in route.methods and route.path_regex.match(path)}

    def known(self, among: Callable[[Any], bool]) -> set[tuple[str, str]]:
        return {(method, route.path) for route in self.routes() if among(route) for method in route.methods - {"HEAD"}}


class _Alone:
    def __init__(self, route: Any) -> None:
        self.routes = [route]


def _walkable(route: Any) -> Any:
    """A folder of files is a route like any other: one file of it has to be asked for."""
    if getattr(route, "methods", None):
        return route
    return SimpleNamespace(path=route.path, methods={"GET"}, path_regex=route.path_regex, endpoint=route.app)


def _unpacked(archive: bytes) -> dict[str, bytes]:
    """The files of an archive, which itself says at what time of the wall clock it was packed."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return {name: file.read(name) for name in file.namelist()}


def api(route: Any) -> bool:
    return route.path.startswith("/v1/")


def pages(route: Any) -> bool:
    return not api(route)


def owners(route: Any) -> bool:
    """What an analyst is refused: every page of the owner's module."""
    return getattr(route.endpoint, "__module__", "") == owner_page.__name__


def field_of(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    return found[1] if found else ""


def paying(page: str) -> dict[str, str]:
    """What the button of a price sends."""
    return {name: field_of(page, name) for name in ("form", "plan", "key", "within", "epsilon", "at_most")}


def drive(world: World) -> None:
    """Every route an analyst has."""
    world.ask("GET", "/v1/datasets")
    world.ask("GET", "/v1/openapi.json")
    for number, sql in enumerate(STATEMENTS):
        if world.brief and number not in BRIEF:
            continue
        plan = world.ask("POST", "/v1/plans", json={"sql": sql}).json()["id"]
        if number not in SLOW and not (world.brief and number):
            world.ask("GET", f"/v1/plans/{plan}/preview?within=500")
        wish = {"epsilon": "1"} if number % 2 else {"epsilon": "0.5", "delta": "1e-7"}
        paid = world.ask("POST", f"/v1/plans/{plan}/release", key=f"k{number}", json=wish).json()
        world.ask("POST", f"/v1/plans/{plan}/release", key=f"k{number}", json=wish)
        world.ask("POST", f"/v1/plans/{plan}/release", key=f"again{number}", json={"epsilon": "0.25"})
        world.ask("POST", f"/v1/plans/{plan}/release", key=f"k{number}", json={"epsilon": "0.125"})
        world.ask("GET", f"/v1/releases/{paid['id']}")
        world.ask("GET", f"/v1/releases/{paid['id']}/card")
    for number, call in enumerate(CALLS[1:4] if world.brief else CALLS):
        plan = world.ask("POST", "/v1/plans", json={"call": call}).json()["id"]
        world.ask("POST", f"/v1/plans/{plan}/release", key=f"call{number}", json={"epsilon": "1"})
        world.ask("POST", f"/v1/plans/{plan}/release", key=f"recall{number}", json={"epsilon": "0.5"})
    for number, share in enumerate(SHARED[:1] if world.brief else SHARED):
        world.ask("POST", "/v1/shares/price", json={"share": share, "epsilon": "1"})
        for key in (f"share{number}", f"share{number}", f"recalled{number}"):
            place = world.ask("POST", "/v1/shares", key=key, json={"share": share, "epsilon": "1"}).json()["poll"]
            world.ask("GET", place)
        world.ask("GET", f"{place}/table.csv")
        world.ask("GET", f"{place}/table.parquet")
    plan = world.ask("POST", "/v1/plans", json={"sql": STATEMENTS[0]}).json()["id"]
    world.ask("POST", f"/v1/plans/{plan}/release", key="within", json={"within": 5})
    world.ask("DELETE", f"/v1/plans/{plan}/release", key="within")
    world.ask("POST", f"/v1/plans/{plan}/release", key="too-much", json={"epsilon": 49})
    for key, word in (("approved", "approved"), ("refused", "refused"), ("pending", "")):
        world.ask("POST", f"/v1/plans/{plan}/release", key=key, json={"epsilon": "3.5", "fresh": True})
        asked = world.ask("GET", "/v1/approvals").json()[0]["id"]
        world.ask("POST", f"/v1/approvals/{asked}", json={"verdict": "approved"})
        if word:
            world.decide(key, word)
        world.ask("GET", "/v1/approvals")
        world.ask("POST", f"/v1/plans/{plan}/release", key=key, json={"epsilon": "3.5", "fresh": True})
        world.ask("POST", f"/v1/plans/{plan}/release", key=key, json={"epsilon": "3.25", "fresh": True})
    world.ask("POST", "/v1/plans", json={"sql": "SELECT ward FROM admissions"})
    world.ask("GET", "/v1/budget")
    world.ask("GET", "/v1/ledger")
    world.ask("GET", "/v1/datasets", token="srd_wrong")


PAGES = [
    "SELECT COUNT(*) AS n FROM admissions WHERE sex = 'x'",
    "SELECT sex, SUM(age) AS s FROM admissions GROUP BY sex",
    "SELECT ward, COUNT(*) AS n FROM admissions WHERE age < 90 GROUP BY ward",
    "SELECT MEDIAN(age) AS m FROM admissions WHERE sex = 'f'",
]


def browse(world: World) -> None:
    """Every page an analyst has."""
    post = world.post
    world.ask("GET", "/datasets")
    world.ask("GET", "/login")
    post("/login", token="srd_wrong")
    post("/login", token=world.token)
    world.ask("GET", "/datasets")
    for sql in PAGES[1:3] if world.brief else PAGES:
        world.ask("GET", f"/ask?{urlencode({'sql': sql, 'within': '300', 'part': '1'})}")
        page = world.ask("GET", f"/ask?{urlencode({'sql': sql, 'within': '300'})}").text
        if "Pay epsilon" not in page:  # the error of a median is not known beforehand: it is bought at a price
            page = world.ask("GET", f"/ask?{urlencode({'sql': sql, 'epsilon': '1'})}").text
        known = paying(page)
        paid = post("/pay", **known)
        post("/pay", **known)
        place = paid.headers["location"]
        world.ask("GET", place)
        for ending in (".csv", ".json", ".svg", ".parquet"):
            world.ask("GET", place.partition("?")[0] + ending)
        post("/answers", form=known["form"], plan=known["plan"], name="kept")
        world.ask("GET", "/answers")
        world.ask("GET", "/history.csv?q=admissions")
        world.ask("GET", place.partition("?")[0] + ".card.html")
        world.ask("GET", f"/improve?plan={known['plan']}&within=200")
        world.ask("GET", "/history")
    fields = {"priced": "1", "column": ["age", "sex"], "method": "tree", "epsilon": "1"}
    page = world.ask("GET", f"/share?{urlencode(fields, doseq=True)}").text
    offer = {"epsilon": "1", **{name: field_of(page, name) for name in ("form", "plan", "key")}}
    place = field_of(post("/share", **offer).text.replace('id="job" data-follow href', 'name="job" value'), "job")
    assert place.startswith("/shares/")
    for file in ("", "/shared.csv", "/shared.parquet", "/errors.svg", "/card.html"):
        world.ask("GET", place + file)
    world.ask("GET", f"/why?plan={known['plan']}")
    dear = {**known, "key": "d" * 32, "within": "", "epsilon": "3.5", "fresh": "1", "at_most": ""}
    assert post("/pay", **dear).headers["location"].startswith("/approvals")
    world.ask("GET", "/approvals")
    world.decide("d" * 32, "approved")
    world.ask("GET", "/approvals")
    assert post("/pay", **dear).headers["location"].startswith("/releases/")
    world.ask("GET", "/approvals")
    post("/owner/approvals", form=known["form"], id="x", verdict="approved")
    post("/approvals", form=known["form"], id="x")
    post("/owner/tokens", form=known["form"], name="eve")
    post("/owner/purses", form=known["form"], name="amina", epsilon="3")
    post("/owner/threshold", form=known["form"], above="3")
    post("/owner/cap", form=known["form"], most="48")
    post("/pay", **{**known, "key": "f" * 32, "within": "", "epsilon": "49", "fresh": "1", "at_most": ""})
    for path in ("/", "/learn/median.html", "/risk?column=age", "/static/look.css", "/healthz", "/readyz", "/metrics", "/api"):
        world.ask("GET", path)
    for path in ("/owner/archive", "/owner/fit?run=1"):
        world.ask("GET", path)
    for path in ("/ask?sql=SELECT+1", "/ask?build=1", "/history", "/owner", "/risk", "/learn", "/nothing", "/releases/none", "/datasets"):
        world.ask("GET", path)
    post("/logout", form=known["form"])
    world.ask("GET", "/history")


def own(world: World) -> None:
    """Every route and page that only an owner may open; not what reads rows for the owner alone, which is not private and says so."""
    plan = world.ask("POST", "/v1/plans", json={"sql": STATEMENTS[0]}).json()["id"]
    world.ask("POST", f"/v1/plans/{plan}/release", key="dear", json={"epsilon": "3.5"})
    world.token = world.owner
    world.ask("POST", f"/v1/plans/{plan}/release", key="k", json={"epsilon": "4"})
    world.ask("GET", "/v1/datasets")
    world.ask("GET", "/v1/ledger")
    world.ask("GET", "/v1/budget")
    asked = world.ask("GET", "/v1/approvals").json()[0]["id"]
    world.ask("POST", "/v1/approvals/none", json={"verdict": "approved"})
    world.post("/login", token=world.owner)
    known = field_of(world.ask("GET", "/owner").text, "form")
    said = {
        "approvals": {"id": asked, "verdict": "refused", "note": "not now"}, "tokens": {"name": "cleo"}, "threshold": {"above": "5"},
        "cap": {"most": "10"}, "purses": {"name": "amina", "epsilon": "3"},
    }  # fmt: skip
    for what, fields in (("approvals", {"id": "none", "verdict": "approved"}), *said.items()):
        world.post(f"/owner/{what}", form=known, dataset="hospital", **fields)
    for path in ("/owner", "/owner/fit", "/owner/archive", "/risk", "/history", "/history.csv", "/approvals", "/datasets"):
        world.ask("GET", path)


WALKS = {drive: api, browse: pages, own: owners}


def both(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    walk: Any = drive,
    pair: Neighbours = ADDED,
    *,
    store: Store = write,
    deadline: float | None = None,
    brief: bool = False,
) -> tuple[Seen, Seen]:
    """What two servers showed that differ in one person, at the same place. Each walk has to have seen all of its routes."""
    seen = []
    tape = None
    here = tmp_path / "here"
    monkeypatch.setenv("SORDINO_STATE", str(here / "state"))
    for name, rows in (("one", pair.one), ("other", pair.other)):
        ids = (uuid.UUID(int=number, version=4) for number in range(1, 10**6))
        monkeypatch.setattr(uuid, "uuid4", lambda ids=ids: next(ids))
        marks = iter(range(1, 10**6))
        monkeypatch.setattr(secrets, "token_urlsafe", lambda size, marks=marks: f"{next(marks):043d}")
        monkeypatch.setattr(secrets, "token_hex", lambda size, marks=marks: f"{next(marks):032x}")
        monkeypatch.setattr("sordino.ledger.transaction.now", lambda: "2025-11-16T02:21:07Z")  # the wall clock, written before the look
        here.mkdir()
        file = store(here, rows=rows, epsilon=50, purses="", approve="approve_above = 3", **pair.declared)
        world = World(file, len(rows), tape, deadline=deadline, brief=brief)
        try:
            walk(world)
        finally:
            world.hall.close()
            here.rename(tmp_path / name)
        tape = tape or world.tape
        seen.append(world.seen)
        if (among := WALKS.get(walk)) is not None:
            assert world.known(among) - world.walked() == set(), "a route that no twin has walked"
            assert world.known(lambda route: True) - world.walked(), "a route that was not walked is seen to be so"
        if walk is browse:
            assert world.walked(403) == world.known(owners), "what refuses an analyst is what `own` has to walk"
    return seen[0], seen[1]


STATUSES = {
    drive: {200, 201, 202, 401, 402, 403, 404, 409, 422},
    browse: {200, 202, 303, 401, 402, 403, 404},
    own: {200, 201, 303, 402, 404},
}


def alike(walk: Any, one: Seen, other: Seen) -> None:
    assert {status for _, _, status, *_ in one} == STATUSES[walk]
    for a, b in zip(one, other, strict=True):
        assert a == b


def test_no_byte_no_header_and_no_time_of_any_route_depends_on_one_person(tmp_path, monkeypatch):
    one, other = both(tmp_path, monkeypatch)
    assert len(one) > 80
    alike(drive, one, other)
    waits = sorted({took for *_, took in one if took})
    assert {path.split("/")[2] for _, path, *_, took in one if took} == {"plans", "shares"}, "only what is paid waits, for its own deadline"
    assert waits[0] >= 2.0
    assert len(waits) > 5, "dear questions wait longer"


def test_no_byte_and_no_time_of_any_page_depends_on_one_person(tmp_path, monkeypatch):
    one, other = both(tmp_path, monkeypatch, browse)
    assert len(one) > 45
    assert sum(status == 303 and path == "/pay" for _, path, status, *_ in one) == 2 * len(PAGES) + 2
    alike(browse, one, other)


def test_no_byte_and_no_time_of_what_an_owner_sees_depends_on_one_person(tmp_path, monkeypatch):
    alike(own, *both(tmp_path, monkeypatch, own))


@pytest.mark.parametrize("walk", WALKS)
def test_nor_on_who_one_person_is_where_their_number_is_public(tmp_path, monkeypatch, walk):
    alike(walk, *both(tmp_path, monkeypatch, walk, REPLACED, brief=True))


def test_without_a_deadline_the_clock_would_tell(tmp_path, monkeypatch):
    """The check can fail: without a deadline the time of a paid answer depends on the rows."""

    def walk(world: World) -> None:
        plan = world.ask("POST", "/v1/plans", json={"sql": STATEMENTS[0]}).json()["id"]
        world.ask("POST", f"/v1/plans/{plan}/release", key="k", json={"epsilon": "1"})

    one, other = both(tmp_path, monkeypatch, walk, deadline=0)
    assert one[0] == other[0]
    assert one[1][:5] == other[1][:5]
    assert one[1][5] != other[1][5]


# limits of memory


@pytest.mark.parametrize("way", ["imported", "file"])
def test_under_a_limit_of_memory_a_person_with_a_huge_note_is_answered_as_a_neighbour_is(tmp_path, monkeypatch, way):
    """2,000 rows of a note of 200 kB: served from the import both worlds are answered; from the file itself one would fail."""

    def small(held, columns, **_):
        return DuckDB(held, columns, memory="100MB", disk="20MB", threads=1)

    for place in (open_dataset, source):  # where an import is opened, and where a file is
        monkeypatch.setattr(place, "DuckDB", small)
    if way == "file":
        monkeypatch.setattr(open_dataset, "needs_import", lambda reader: False)
    rows, answers = [line.split(",") for line in people(500)], []
    for there in (False, True):
        folder = tmp_path / str(there)
        folder.mkdir()
        file = write(folder, epsilon=50, purses="")
        file.write_text(file.read_text().replace("hospital.csv", "hospital.parquet"))
        added = [["evil", "7", "30", "x", "Q" * 200_000]] * (2_000 if there else 0)
        columns = dict(zip(("patient", "cost", "age", "sex", "ward"), zip(*rows, *added, strict=True), strict=True))
        pq.write_table(pa.table(columns), folder / "hospital.parquet", use_dictionary=False, compression="zstd")
        hall = Visitor(file)
        try:
            token = hall.token()
            asked = [
                "SELECT COUNT(*) AS n FROM admissions WHERE ward LIKE '%Q%'",
                "SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward",
                "SELECT SUM(CASE WHEN LENGTH(ward || ward) > 300 THEN cost ELSE 0 END) AS s FROM admissions",
            ]
            said = [hall.pay(token, sql, f"k{i}", epsilon=1) for i, sql in enumerate(asked)]
            answers.append([(answer.status_code, answer.json().get("code"), sorted(answer.json())) for answer in said])
        finally:
            hall.close()
    one, other = answers
    assert [status for status, *_ in one] == [200] * 3
    assert (one == other) == (way == "imported"), "or the limit shows nothing"
