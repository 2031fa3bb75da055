"""Every error code is raised for real, by the shortest mistake that deserves it; a code nobody can raise, or explain, fails here."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest
from tests.server.hall import Visitor, write

import sordino as sd
from sordino.cli import main
from sordino.errors import CODES, FIXES
from sordino.server.app import ServerLimits

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from mistake import MISTAKES, SETUP  # noqa: E402
from mistake import REQUESTS as SAID  # noqa: E402

sys.path.pop(0)
BEFORE = {"SRD-402": "SRD-401", "SRD-606": "SRD-602"}  # mistakes that take an earlier one


def fails(*_given, **_named):
    raise RuntimeError("nobody expected this")


def released(hall, token):
    return hall.pay(token, "SELECT COUNT(*) FROM admissions", "monday", epsilon="0.5")


def twice(hall, token):
    hall.ask("GET", "/v1/datasets", token)
    return hall.ask("GET", "/v1/datasets", token)


def denied(hall, token):
    """The owner says no to what waits; then it is asked for again."""
    released(hall, token)
    owner = hall.token("boss", "owner")
    waiting = hall.ask("GET", "/v1/approvals", owner).json()[0]["id"]
    assert hall.ask("POST", f"/v1/approvals/{waiting}", owner, json={"verdict": "refused"}).status_code == 200
    return released(hall, token)


def paused(hall, token):
    """The owner looks why a release was not ready after four deadlines."""
    hall.app.app.app.state.house.deadlines["hospital"].missed("amina:monday", 2.0, stopped=True)
    return released(hall, token)


SUMS = [f"SUM(CASE WHEN ward LIKE '%{'_' * 200}{i}' THEN 1 ELSE 0 END) AS s{i}" for i in range(20)]
LONG = f"SELECT {', '.join(SUMS)} FROM admissions"
REQUESTS = {
    "SRD-501": (lambda hall, _: hall.ask("GET", "/v1/datasets"), {}),
    "SRD-502": (lambda hall, token: hall.ask("GET", "/v1/ledger", token), {}),
    "SRD-503": (lambda hall, token: hall.ask("POST", "/v1/plans", token, json={"question": 1}), {}),
    "SRD-504": (twice, {"limits": ServerLimits(rate=0.001, burst=1, deadline=0)}),
    "SRD-505": (lambda hall, token: hall.ask("GET", "/v1/plans/none/preview", token), {}),
    "SRD-506": (released, {"limits": ServerLimits(rate=1_000, burst=1_000, patience=0, deadline=0)}),
    "SRD-507": (released, {"execute": fails}),
    "SRD-508": (released, {}),
    "SRD-509": (denied, {}),
    "SRD-305": (lambda hall, token: hall.pay(token, "SELECT COUNT(*) FROM admissions", "monday", epsilon="0.00001"), {}),
    "SRD-510": (lambda hall, token: hall.pay(token, LONG, "monday", epsilon="0.5"), {"limits": ServerLimits()}),
    "SRD-511": (paused, {}),
    "SRD-512": (lambda hall, token: hall.pay(token, "SELECT COUNT(*) FROM admissions", "monday", within=30, at_most="0.001"), {}),
}


def test_every_code_has_one_mistake_that_raises_it_and_no_mistake_is_without_a_code():
    assert set(MISTAKES) | set(REQUESTS) == set(CODES) == set(FIXES)
    assert not set(MISTAKES) & set(REQUESTS)
    assert set(SAID) == set(REQUESTS)


@pytest.mark.parametrize("code", sorted(MISTAKES))
def test_the_mistake_raises_its_error(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    exec(SETUP, space)
    if code in BEFORE:
        with pytest.raises(sd.errors.SordinoError):
            exec(textwrap.dedent(MISTAKES[BEFORE[code]]), space)
    with pytest.raises(sd.errors.SordinoError) as caught:
        exec(textwrap.dedent(MISTAKES[code]), space)
    assert caught.value.code == code
    assert caught.value.what.strip()
    assert caught.value.fix.strip(), "the person who made the mistake is told what to do"
    assert caught.value.spent is code.startswith("SRD-4")
    space.clear()


@pytest.mark.parametrize("code", sorted(REQUESTS))
def test_the_request_gets_its_problem(code, tmp_path):
    request, options = REQUESTS[code]
    approve = "approve_above = 0.1" if code in ("SRD-508", "SRD-509") else ""
    hall = Visitor(write(tmp_path, rows=["p1,20,30,f,north"], approve=approve), **options)
    try:
        answer = request(hall, hall.token())
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.json()["code"], answer.json()["title"]) == (code, CODES[code])
        assert answer.json()["fix"].strip()
    finally:
        hall.close()


@pytest.mark.parametrize("code", sorted(CODES))
def test_the_code_has_a_section_in_the_catalogue_a_fix_line_and_an_explanation(code, capsys):
    page = (ROOT / "docs/reference/errors.md").read_text(encoding="utf-8")
    section = page.partition(f"### {code}\n")[2].partition("\n#")[0]
    assert FIXES[code] in section
    assert CODES[code][1:] in section
    assert main(["explain", code]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert CODES[code] in said
    assert FIXES[code] in said
