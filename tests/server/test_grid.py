"""The grid in time: answers leave on whole ticks, whatever the work took and however the request was sent."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from sordino.server.clock import Tick
from sordino.server.grid import LARGEST, Grid
from sordino.session.execute import execute

from .hall import Still, Visitor, write

COUNT = "SELECT COUNT(*) AS n FROM admissions"


def drive(work, body=(b"",), tick=0.5, path="/v1/x", hold=0.0):
    """One request through a grid whose inner work moves the clock; the time it was answered at, and the answer."""
    clock, sent = Still(), []

    async def inner(scope, receive, send):
        await receive()
        clock.move(work)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def outer():
        parts = [{"type": "http.request", "body": part, "more_body": i < len(body) - 1} for i, part in enumerate(body)]

        async def receive():
            if len(parts) == 1:
                clock.move(hold)
            return parts.pop(0)

        async def send(message):
            sent.append((clock.now(), message))

        await Grid(inner, Tick(tick, clock), lambda *_, **__: None)({"type": "http", "path": path, "method": "GET"}, receive, send)

    asyncio.run(outer())
    return sent


@pytest.mark.parametrize(("work", "ticks"), [(0, 1), (0.001, 1), (0.499, 1), (0.5, 1), (0.5001, 2), (1.7, 4)])
def test_answers_leave_on_whole_ticks(work, ticks):
    times = {time for time, _ in drive(work)}
    assert times == {ticks * 0.5}


@pytest.mark.parametrize("hold", [0.0, 0.2, 0.499, 3.3])
def test_holding_back_the_last_byte_does_not_move_the_work_within_its_tick(hold):
    """If the grid began with the first byte, holding 0.45 back would make work of 0.04 and of 0.06 look different."""
    left = {work: drive(work, (b"a", b"b"), hold=hold)[0][0] - hold for work in (0.04, 0.06)}
    assert left[0.04] == left[0.06] == pytest.approx(0.5)


def test_pages_that_touch_no_dataset_do_not_wait():
    assert drive(0.1, path="/static/look.css")[0][0] == 0.1


def test_a_request_that_is_too_large_is_refused_unread_and_an_absent_one_is_left():
    sent = drive(0.0, (b"x" * LARGEST, b"y", b"z" * LARGEST))
    assert sent[0][1]["status"] == 413
    assert json.loads(sent[1][1]["body"])["code"] == "SRD-503"


def test_every_answer_carries_the_strict_headers(hall):
    answer = hall.ask("GET", "/v1/datasets", hall.token())
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_paid_answer_is_sealed_and_leaves_one_tick_after_its_charge(tmp_path):
    """The look takes anything below a tick: neither the answer nor the seal, which others can see, shows how long."""
    seen = {}
    for look in (0.0, 0.3, 0.9):
        clock, folder = Still(), tmp_path / str(look)
        folder.mkdir()

        def slow(plan, ledger, engine, *, clock=clock, look=look, **named):
            class Slow:
                def bounded(self, *given):
                    clock.move(look)
                    return engine.bounded(*given)

            return execute(plan, ledger, Slow(), **named)

        hall = Visitor(write(folder, tick=1000), clock=clock, execute=slow)
        token = hall.token()
        book = hall.app.app.app.state.house.datasets["hospital"].ledger
        seal, sealed = book.seal, []
        book.seal = lambda entry, answer, clock=clock, seal=seal, sealed=sealed: (sealed.append(clock.now()), seal(entry, answer))
        plan = hall.plan(token, COUNT)
        start = clock.now()
        assert hall.ask("POST", f"/v1/plans/{plan}/release", token, "k", json={"epsilon": 1}).status_code == 200
        seen[look] = (sealed[0] - start, clock.now() - start)
        hall.close()
    assert set(seen.values()) == {(1.0, 1.0)}


def test_a_failure_after_the_charge_has_one_text_one_status_and_one_tick(tmp_path):
    clock = Still()

    def broken(plan, ledger, engine, **named):
        class Broken:
            def bounded(self, *_):
                clock.move(0.7)
                raise ValueError("patient p17 has a cost of 99")

        return execute(plan, ledger, Broken(), **named)

    hall = Visitor(write(tmp_path, tick=1000), clock=clock, execute=broken)
    try:
        token = hall.token()
        plan = hall.plan(token, COUNT)
        start = clock.now()
        answer = hall.ask("POST", f"/v1/plans/{plan}/release", token, "k", json={"epsilon": 1})
        assert clock.now() - start == 1.0
        assert (answer.status_code, answer.json()["code"], answer.json()["spent"]) == (500, "SRD-401", True)
        assert "p17" not in answer.text
        again = hall.ask("POST", f"/v1/plans/{plan}/release", token, "k", json={"epsilon": 1})
        assert (again.status_code, again.json()["code"]) == (500, "SRD-402")
        assert hall.spent(token) == 1
    finally:
        hall.close()


def test_a_server_that_fails_says_one_sentence_and_logs_no_values(tmp_path, caplog):
    hall = Visitor(write(tmp_path))
    try:
        token = hall.token()
        hall.app.app.app.state.house.facts = lambda _: (_ for _ in ()).throw(RuntimeError("the secret of p17"))
        with caplog.at_level(logging.INFO, "sordino.server"):
            answer = hall.ask("GET", "/v1/datasets", token)
        assert (answer.status_code, answer.json()["code"]) == (500, "SRD-507")
        assert "p17" not in answer.text + caplog.text
        lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "sordino.server"]
        assert [line["event"] for line in lines] == ["failed", "answered"]
        assert (lines[1]["who"], lines[1]["status"], lines[1]["route"]) == ("amina", 500, "/v1/datasets")
        assert token not in caplog.text
    finally:
        hall.close()
