"""A live class: rooms count randomised reports, and know nothing else."""

from __future__ import annotations

import asyncio
import json
import logging

import httpx
import pytest

from sordino.course.writing import files
from sordino.server.app import create_classroom
from sordino.server.classroom import LASTS, MOST, ROOMS, Rooms
from sordino.server.problem import Refusal

from .hall import Still


def visit(walk, clock=None):
    async def run():
        transport = httpx.ASGITransport(create_classroom(clock), client=("203.0.113.9", 4711))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await walk(client)

    return asyncio.run(run())


def test_a_room_counts_reports_and_tells_only_how_many():
    async def walk(client):
        opened = await client.post("/learn/class")
        code = opened.json()["code"]
        for bit in (1, 0, 1, 1):
            assert (await client.post(f"/learn/class/{code}", json={"report": bit})).status_code == 204
        seen = await client.get(f"/learn/class/{code}")
        again = await client.get(f"/learn/class/{code}", headers={"If-None-Match": seen.headers["etag"]})
        return opened, seen, again

    opened, seen, again = visit(walk)
    assert opened.status_code == 201
    assert len(opened.json()["code"]) == 8
    assert seen.json() == {"n": 4, "yes": 3}
    assert again.status_code == 304
    assert not any("set-cookie" in answer.headers for answer in (opened, seen, again))
    assert seen.headers["cache-control"] == "no-store"


WRONG = ["", "1", "[]", "{}", '{"report": 2}', '{"report": true}', '{"report": 1.0}', '{"report": 1, "name": "x"}', "\xff"]


@pytest.mark.parametrize("body", WRONG)
def test_what_is_no_report_is_not_counted(body):
    async def walk(client):
        code = (await client.post("/learn/class")).json()["code"]
        said = await client.post(f"/learn/class/{code}", content=body.encode("latin-1"), headers={"Content-Type": "application/json"})
        return said.status_code, (await client.get(f"/learn/class/{code}")).json()

    assert visit(walk) == (422, {"n": 0, "yes": 0})


def test_another_site_a_form_and_a_stranger_without_a_code_change_nothing():
    async def walk(client):
        code = (await client.post("/learn/class")).json()["code"]
        cross = await client.post(f"/learn/class/{code}", json={"report": 1}, headers={"Sec-Fetch-Site": "cross-site"})
        form = await client.post(f"/learn/class/{code}", data={"report": "1"})
        lost = await client.post("/learn/class/aaaaaaaa", json={"report": 1})
        elsewhere = await client.post("/learn/class", headers={"Sec-Fetch-Site": "cross-site"})
        return [answer.status_code for answer in (cross, form, lost, elsewhere)], (await client.get(f"/learn/class/{code}")).json()["n"]

    assert visit(walk) == ([403, 422, 404, 403], 0)


def test_a_room_closes_after_two_hours_takes_three_thousand_reports_and_there_are_only_so_many():
    clock = Still()
    rooms = Rooms(clock)
    code = rooms.open()
    for _ in range(MOST):
        rooms.report(code, b'{"report": 1}')
    with pytest.raises(Refusal, match="full"):
        rooms.report(code, b'{"report": 1}')
    assert rooms.seen(code) == (MOST, MOST)
    assert len({rooms.open() for _ in range(ROOMS - 1)}) == ROOMS - 1
    with pytest.raises(Refusal, match="taken"):
        rooms.open()
    clock.move(LASTS)
    with pytest.raises(Refusal, match="no such room"):
        rooms.seen(code)
    rooms.open()
    assert len(rooms._open) == 1, "a closed room is forgotten"


def test_no_address_and_no_report_is_logged(caplog):
    async def walk(client):
        code = (await client.post("/learn/class")).json()["code"]
        await client.post(f"/learn/class/{code}", json={"report": 1})
        return code

    with caplog.at_level(logging.INFO, "sordino.server"):
        code = visit(walk)
    told = " ".join(record.getMessage() for record in caplog.records)
    assert "203.0.113.9" not in told
    assert "4711" not in told
    assert code not in told
    assert "report" not in json.loads(caplog.records[-1].getMessage())


def test_a_class_of_three_hundred_is_never_turned_away_and_asks_twice_for_nothing():
    async def walk(client):
        names = ("index.html", "median.html", "core.js", "stage.js", "median.js", "course.css")
        first = [await client.get(f"/learn/{name}") for name in names]
        rest = await asyncio.gather(*(client.get(f"/learn/{name}") for _ in range(300) for name in names))
        tags = [{"If-None-Match": seen.headers["etag"]} for seen in first]
        known = [await client.get(f"/learn/{name}", headers=tag) for name, tag in zip(names, tags, strict=True)]
        return first, rest, known

    first, rest, known = visit(walk)
    assert {answer.status_code for answer in rest} == {200}
    assert {answer.status_code for answer in known} == {304}
    assert all("max-age" in answer.headers["cache-control"] for answer in first)
    assert sum(len(answer.content) for answer in first[1:]) < 100_000, "a page and all it loads"
    assert "connect-src" not in first[0].headers["content-security-policy"]


def test_only_the_page_of_the_class_may_talk_to_the_server():
    async def walk(client):
        return {name: (await client.get(f"/learn/{name}")).headers["content-security-policy"] for name in files()}

    talks = {name for name, policy in visit(walk).items() if "connect-src" in policy}
    assert talks == {"response.html"}
