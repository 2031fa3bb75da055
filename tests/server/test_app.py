"""What an application is made of: a ledger in SQLite or PostgreSQL, and no way to pin a draw or a clock but in Python."""

from __future__ import annotations

import inspect
import time
from pathlib import Path

import pytest
import typer

import sordino
from ledger.conftest import POSTGRES, postgres  # noqa: F401
from sordino.cli import app
from sordino.errors import QueryError
from sordino.ledger.sqlite_store import SqliteStore
from sordino.server.app import create_app

from .hall import Visitor, people, write

COUNT = "SELECT COUNT(*) AS n FROM admissions"
ROOMS = Path(sordino.__file__).parent


def test_the_ledger_is_a_sqlite_file_by_default(hall):
    assert isinstance(hall.app.app.app.state.house.datasets["hospital"].ledger._store, SqliteStore)


@POSTGRES
def test_a_ledger_in_postgres_is_charged_once_and_remembers_over_a_restart(tmp_path, request):
    address = request.getfixturevalue("postgres").address
    file = write(tmp_path, name="ward", ledger=address)
    first = Visitor(file)
    token = first.token()
    paid = first.pay(token, COUNT, "k", epsilon="0.5")
    assert paid.status_code == 200
    assert first.pay(token, COUNT, "j", epsilon="9").status_code == 402
    first.close()
    second = Visitor(file)
    try:
        assert second.pay(token, COUNT, "k", epsilon="0.5").content == paid.content
        assert second.spent(token) == 0.5
        owner = second.token("boss", "owner")
        assert second.ask("GET", "/v1/ledger", owner).json()["verified"] is True
    finally:
        second.close()


def test_draws_and_clock_enter_by_arguments_in_python_and_by_nothing_else(tmp_path):
    assert set(inspect.signature(create_app).parameters) == {
        "config", "execute", "clock", "limits", "prefix", "https", "workers", "provider",
    }  # fmt: skip
    serve = typer.main.get_command(app).commands["serve"]
    assert {option.name for option in serve.params} == {
        "files", "host", "port", "certificate", "key", "behind_https", "log", "workers", "prefix", "oidc",
    }  # fmt: skip
    for room in ("noise", "session", "server", "engines", "mechanisms", "statistics"):
        for module in (ROOMS / room).rglob("*.py"):
            text = module.read_text(encoding="utf-8")
            assert "os.environ[" not in text, module
            assert "environ.get" not in text, module
            assert "getenv" not in text, module
            assert room != "server" or "default_rng" not in text, module


def test_a_header_a_cookie_or_a_field_that_asks_for_a_seed_changes_nothing(tmp_path):
    hall = Visitor(write(tmp_path, epsilon=100, purses=""))
    try:
        token, seen = hall.token(), set()
        plan = hall.plan(token, COUNT)
        pins = {"X-Seed": "1", "X-Sordino-Draw": "0", "X-Sordino-Clock": "0", "Cookie": "seed=1"}
        for turn in range(12):
            body = {"epsilon": "0.01", "fresh": True}
            found = hall.ask("POST", f"/v1/plans/{plan}/release?seed=1&draw=0", token, f"k{turn}", json=body, headers=pins)
            seen.add(found.json()["columns"]["n"][0])
        assert len(seen) > 6, "twelve draws of a scale of hundreds: that six of them agree has a chance below 1e-12"
        refused = hall.ask("POST", f"/v1/plans/{plan}/release", token, "seeded", json={"epsilon": "0.01", "seed": 1})
        assert refused.status_code == 422
    finally:
        hall.close()


@pytest.mark.parametrize("wrong", [[], ["hospital.toml", "hospital.toml"]])
def test_no_dataset_or_one_twice_is_refused(tmp_path, monkeypatch, wrong):
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    with pytest.raises(sordino.errors.QueryError, match="SRD-204"):
        create_app(wrong)


def test_a_wall_clock_that_is_set_back_ends_no_session_and_charges_nothing_twice(tmp_path, monkeypatch):
    """Rates, sessions and deadlines count on a clock that only grows; the wall clock is written down and nothing more."""
    real, back = time.time, iter(range(0, 10**9, 86_400))
    hall = Visitor(write(tmp_path))
    try:
        token = hall.token()
        monkeypatch.setattr(time, "time", lambda: real() - next(back))
        monkeypatch.setattr("sordino.ledger.transaction.now", lambda: f"{2020 - next(back) // 86_400 % 1000:04d}-01-01T00:00:00Z")
        first = hall.pay(token, COUNT, "k", epsilon="0.5")
        again = hall.pay(token, COUNT, "k", epsilon="0.5")
        assert (first.status_code, again.content) == (200, first.content)
        assert hall.pay(token, COUNT, "other", epsilon="1", fresh=True).status_code == 200
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert hall.ask("POST", "/login", content=f"token={token}".encode(), headers=form).status_code == 303
        assert hall.ask("GET", "/history").status_code == 200
        assert hall.spent(token) == 1.5
    finally:
        hall.close()


def test_text_is_served_from_imports_whatever_one_person_wrote(tmp_path):
    long = [f"{'q' * 30_000},5,5,f,{'w' * 30_000}"] * 100
    answers = []
    for name, rows in (("without", people()), ("with", people() + long)):
        visitor = Visitor(write(tmp_path, name=name, rows=rows))
        try:
            engine = visitor.app.app.app.state.house.datasets[name].admissions.engine
            assert type(engine.source).__name__ == "Imported"
            assert (tmp_path / f"{name}.imported" / "admissions.imported").stat().st_size < 100_000
            (tmp_path / f"{name}.csv").rename(tmp_path / f"{name}.away")  # nothing reads it any more
            token = visitor.token()
            asked = (COUNT, f"{COUNT} WHERE ward LIKE '%w%'", "SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward")
            answers.append([visitor.pay(token, sql, f"k{i}", epsilon="0.5").status_code for i, sql in enumerate(asked)])
        finally:
            visitor.close()
    assert answers == [[200, 200, 200]] * 2
    (tmp_path / "with.away").rename(tmp_path / "with.csv")
    with (tmp_path / "with.csv").open("a", encoding="utf-8") as stream:
        stream.write(f"{people(1)[0]}\n")
    with pytest.raises(QueryError, match=r"written after it was imported.*--again"):
        create_app(tmp_path / "with.toml")
