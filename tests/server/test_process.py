"""A real server on the loopback: killed in the middle of releases, stopped in the middle of releases, asked by `sd.connect`."""

from __future__ import annotations

import json
import threading
import time
from fractions import Fraction
from functools import partial
from urllib.error import URLError

import pytest

import sordino as sd
from sordino.cli import main
from sordino.errors import BudgetExceeded, QueryError
from sordino.ledger import read_ledger
from sordino.remote import connect
from sordino.server.auth import Tokens

from .hall import write
from .process import Process

EACH = "0.01"


def until(there):
    """Wait for something that must happen; the machine may be busy."""
    end = time.monotonic() + 60
    while not there():
        assert time.monotonic() < end
        time.sleep(0.01)


def flood(server, token, plan, seen, *, stop, who):
    """Ask one new question after another until the server is gone."""
    turn = 0
    while not stop.is_set():
        key, turn = f"{who}-{turn}", turn + 1
        seen.setdefault(key, None)
        try:
            status, body = server.ask("POST", f"/v1/plans/{plan}/release", token, {"epsilon": EACH, "fresh": True}, key)
        except (URLError, ConnectionError, OSError):
            return
        if status == 200:
            seen[key] = body


def test_killed_in_the_middle_of_a_shared_table_its_charge_stands_and_its_job_says_so(tmp_path):
    file = write(tmp_path, purses="", epsilon=1000, deadline=200)
    token = Tokens.beside(file).add("amina")
    body = {"share": {"table": "admissions"}, "epsilon": "1"}
    server = Process(file)
    try:
        status, promised = server.ask("POST", "/v1/shares", token, body, "k")
        assert status == 202, promised
        with read_ledger(tmp_path / "hospital.ledger") as book:
            until(lambda: [entry for entry in book.entries() if entry.cost is not None])
    finally:
        server.kill()
    server = Process(file)
    try:
        status, found = server.ask("GET", json.loads(promised)["poll"], token)
        assert status in (200, 500)
        told = json.loads(found)
        assert told["state"] == "done" if status == 200 else (told["code"], told["spent"]) == ("SRD-402", True)
        assert server.ask("POST", "/v1/shares", token, body, "k")[0] == {200: 202, 500: 500}[status]
        assert json.loads(server.ask("GET", "/v1/budget", token)[1])["spent"] == pytest.approx(1, rel=1e-3), "charged once, and never again"
    finally:
        server.kill()


def test_killed_in_the_middle_of_releases_charges_stand_and_answers_replay(tmp_path):
    file = write(tmp_path, purses="", epsilon=1000, floor="least_epsilon = 0.01")
    token = Tokens.beside(file).add("amina")
    seen: dict[str, bytes | None] = {}
    for kill in range(2):
        server, stop = Process(file), threading.Event()
        try:
            plan = json.loads(server.ask("POST", "/v1/plans", token, {"sql": "SELECT COUNT(*) AS n FROM admissions"})[1])["id"]
            ask = partial(flood, server, token, plan, seen, stop=stop)
            threads = [threading.Thread(target=ask, kwargs={"who": f"{kill}.{who}"}) for who in "abcd"]
            for thread in threads:
                thread.start()
            until(lambda kill=kill: sum(body is not None for body in list(seen.values())) >= 5 * (kill + 1))
        finally:
            server.kill()
            stop.set()
        for thread in threads:
            thread.join()
    answered = {key for key, body in seen.items() if body is not None}
    assert len(answered) >= 10
    server = Process(file)
    try:
        before = json.loads(server.ask("GET", "/v1/budget", token)[1])["exact"]["spent"]
        fates = {}
        for key in seen:
            status, body = server.ask("POST", f"/v1/plans/{plan}/release", token, {"epsilon": EACH, "fresh": True}, key)
            fates[key] = status, body
        for key in answered:
            assert fates[key] == (200, seen[key]), "an answer that was seen must come back to the byte"
        lost = {key for key, (status, body) in fates.items() if status == 500 and json.loads(body)["code"] == "SRD-402"}
        assert {status for status, _ in fates.values()} <= {200, 500}
        after = json.loads(server.ask("GET", "/v1/budget", token)[1])["exact"]["spent"]
    finally:
        assert server.stop() in (0, -15)  # the signal is passed on once everything is sealed
    with sd.open(file) as opened:
        entries = opened.ledger.entries()
        assert opened.ledger.verify()
    assert len({entry.request for entry in entries}) == len(entries) == len(seen)
    assert Fraction(after) == Fraction(EACH) * len(seen)
    assert Fraction(before) <= Fraction(after)
    assert {entry.request.partition(":")[2] for entry in entries if entry.state == "open"} == lost
    log = file.with_suffix(".log")
    assert log.stat().st_mode & 0o777 == 0o600
    events = [json.loads(line)["event"] for line in log.read_text(encoding="utf-8").splitlines()]
    assert events.count("started") == 3
    assert events[-1] == "stopped"


def test_a_server_that_is_stopped_finishes_what_it_charged(tmp_path):
    file = write(tmp_path, purses="", epsilon=1000, deadline=1500)
    token = Tokens.beside(file).add("amina")
    server = Process(file, deadlines=True)
    found = []
    try:
        plan = json.loads(server.ask("POST", "/v1/plans", token, {"sql": "SELECT SUM(cost) AS s FROM admissions"})[1])["id"]
        ask = threading.Thread(target=lambda: found.append(server.ask("POST", f"/v1/plans/{plan}/release", token, {"epsilon": 1}, "k")))
        ask.start()
        with read_ledger(tmp_path / "hospital.ledger") as book:
            until(lambda: book.spent == 1)  # charged, and waiting for its deadline
    finally:
        assert server.stop() in (0, -15)  # the signal is passed on once everything is sealed
    ask.join()
    assert found[0][0] == 200
    with sd.open(file) as opened:
        assert [entry.state for entry in opened.ledger.entries()] == ["sealed"]


def test_connect_speaks_the_same_verbs(tmp_path):
    file = write(tmp_path)
    token = Tokens.beside(file).add("amina")
    server = Process(file)
    try:
        remote = sd.connect(server.url, token)
        assert token not in repr(remote)
        assert [item["name"] for item in remote.datasets] == ["hospital"]
        asked = remote.admissions.where("age >= 18").where("sex = 'f'").count()
        assert asked.preview(within=60).best.epsilon > 0
        release = asked.release(epsilon="0.5")
        assert release.low <= release.value <= release.high
        again = remote.sql("SELECT COUNT(*) FROM admissions WHERE age >= 18 AND sex = 'f'").release(epsilon=0.25)
        assert again.recalled
        assert again.to_bytes() == release.to_bytes()
        assert remote.release(release.id).card == release.card
        grouped = remote.admissions.group_by("sex").agg(n="COUNT(*)", mid="MEDIAN(cost)").release(epsilon="0.3")
        assert grouped.to_dict()["sex"] == ["f", "m", "x"]
        assert list(grouped.to_dict())[:2] == ["sex", "n"]
        renamed = remote.admissions.group_by("sex").agg(middle="MEDIAN(cost)", number="COUNT(*)").release(epsilon="0.3")
        assert (renamed.id, renamed.recalled, renamed.names) == (grouped.id, True, ("middle", "number"))
        assert renamed.to_dict()["number"] == grouped.to_dict()["n"]
        assert list(renamed.card["question"]["statistics"]) == ["middle", "number"]
        middle = remote.admissions.median("cost")
        assert middle.preview(interval=False).lines[0].forecasts[0].bar == "rank"
        assert remote.admissions.median("cost", interval=False).id != middle.id
        for verb in ("sum", "mean", "median", "min", "max", "variance", "std"):
            assert getattr(remote.admissions, verb)("age").id
        assert remote.admissions.quantile("cost", 0.9).id
        assert remote.admissions.mode("sex").id
        assert remote.budget["spent"] == pytest.approx(0.8)
        with pytest.raises(BudgetExceeded, match="SRD-302"):
            remote.admissions.sum("cost").release(epsilon=2)
        with pytest.raises(QueryError, match="SRD-201"):
            remote.nowhere.count()
        with pytest.raises(QueryError, match="SRD-501"):
            _ = connect(server.url, "srd_wrong").budget
    finally:
        server.stop()


def test_a_dear_release_over_connect_waits_and_goes_on_under_its_request_after_a_kill(tmp_path):
    file = write(tmp_path, approve="approve_above = 0.5")
    token, boss = Tokens.beside(file).add("amina"), Tokens.beside(file).add("boss", "owner")
    server = Process(file)
    asked = sd.connect(server.url, token).admissions.count()
    with pytest.raises(BudgetExceeded, match="SRD-508") as waits:
        asked.release(epsilon="0.75")
    server.kill()
    server = Process(file)
    try:
        remote = sd.connect(server.url, token)
        (known,) = remote.approvals
        assert (known["state"], known["key"]) == ("pending", waits.value.facts["request"])
        assert remote.budget["spent"] == 0
        sd.connect(server.url, boss).ask("POST", f"/v1/approvals/{known['id']}", {"verdict": "approved"})
    finally:
        server.kill()
    server = Process(file)
    try:
        remote = sd.connect(server.url, token)
        release = remote.admissions.count().release(epsilon="0.75", request=known["key"])
        assert remote.admissions.count().release(epsilon="0.75", request=known["key"]).to_bytes() == release.to_bytes()
        assert [item["state"] for item in remote.approvals] == ["released"]
        assert remote.budget["spent"] == 0.75
    finally:
        server.stop()


def test_an_address_that_would_show_the_token_is_refused():
    for url in ("ftp://127.0.0.1", "127.0.0.1:8765", "http://example.org", "http://192.168.1.4:8765"):
        with pytest.raises(QueryError, match="SRD-103"):
            connect(url, "srd_x")
    assert connect("http://[::1]:8765", "x").url == "http://[::1]:8765"
    assert connect("https://example.org/", "x").url == "https://example.org"


def test_serving_in_the_clear_to_a_network_is_refused(tmp_path, capsys):
    file = write(tmp_path)
    assert main(["serve", str(file), "--host", "0.0.0.0"]) == 5
    assert "in the clear" in capsys.readouterr().err
    assert main(["token", "add", "amina", "--config", str(file), "--scope", "hospital", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["token"].startswith("srd_")
    assert main(["token", "list", "--config", str(file)]) == 0
    assert "amina  analyst  hospital" in capsys.readouterr().out
    assert main(["token", "revoke", "amina", "--config", str(file)]) == 0
    assert main(["token", "revoke", "amina", "--config", str(file)]) == 2
    assert main(["token", "list", "--config", str(file)]) == 0
    assert "revoked" in capsys.readouterr().out


def test_a_shared_table_of_a_server_is_the_one_of_the_house(tmp_path):
    file = write(tmp_path, purses="", epsilon=50, deadline=300)
    token = Tokens.beside(file).add("amina")
    server = Process(file, "--workers", "2")
    try:
        remote = connect(server.url, token)
        told, options = [], {"epsilon": "1", "delta": "1e-8", "columns": ["age", "sex", "cost"], "method": "tree"}
        shared = remote.admissions.share(**options, request="first", progress=told.append)
        assert told == sorted(told)
        assert told[-1] == 1.0
        assert shared.genuine
        assert set(shared.to_dict()["sex"]) <= {"f", "m", "x", "other", None}
        assert 0 <= shared.error(["age", "sex"]).low <= 1
        assert "at 95%" in shared.ask("SELECT sex, COUNT(*) FROM shared GROUP BY sex").about
        assert shared.card["seed of the sampling"]
        assert "<svg" in shared.plot().svg
        again = remote.admissions.share(**options, request="first")
        assert again.to_dict() == shared.to_dict()
        with sd.open(file) as house:
            assert house.tables["admissions"].share(**options).to_dict() == shared.to_dict()

        def stop(done):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt, match=r"remote\.shared") as stopped:
            remote.admissions.where("age >= 18").share(epsilon="2", delta="1e-8", columns=["age", "sex"], method="tree", progress=stop)
        job = str(stopped.value).split("'")[1]
        assert len(remote.shared(job)) > 0
        assert float(remote.budget["spent"]) == pytest.approx(3, rel=1e-2)
        with pytest.raises(QueryError, match="no option"):
            remote.admissions.share(epsilon=1, colour="red")
        with pytest.raises(BudgetExceeded) as dear:
            remote.admissions.share(epsilon=60)
        assert dear.value.facts["request"]
    finally:
        server.stop()
