"""The first and the last day that have a name are days like others; and what nobody foresaw is refused before anything is charged."""

from __future__ import annotations

import pytest

from sordino.session import open_dataset

from .hall import Visitor, write

COLUMNS = 'day = { type = "date", bounds = [2020-01-01, 2020-12-31] }\nat = { type = "timestamp", bounds = [2020-01-01, 2020-12-31] }'
ENDS = [
    "LEAST(day, DATE '0001-01-01')", "GREATEST(day, DATE '9999-12-31')",
    "LEAST(at, TIMESTAMP '0001-01-01 00:00:00')", "GREATEST(at, TIMESTAMP '9999-12-31 23:59:59')",
    "CAST(GREATEST(at, TIMESTAMP '9999-12-31 00:00:00') AS DATE)",
]  # fmt: skip
ASKS = [
    "SELECT MEDIAN({0}) AS a FROM admissions", "SELECT MODE({0}) AS a FROM admissions", "SELECT MIN({0}) AS a FROM admissions",
    "SELECT MAX({0}) AS a FROM admissions", "SELECT COUNT(DISTINCT {0}) AS a FROM admissions",
    "SELECT QUANTILE_CONT({0}, 0.3) AS a FROM admissions", "SELECT COUNT(*) AS a FROM admissions WHERE day >= {0}",
    "SELECT COUNT(*) AS a FROM admissions WHERE at <= {0}", "SELECT {0} AS g, COUNT(*) AS a FROM admissions GROUP BY 1",
]  # fmt: skip


@pytest.fixture(scope="module")
def hall(tmp_path_factory):
    file = write(tmp_path_factory.mktemp("calendar"))
    file.write_text(file.read_text().replace("cost = ", f"{COLUMNS}\ncost = "))
    lines = (f"p{place % 100},2020-03-{place % 28 + 1:02},2020-03-{place % 28 + 1:02} 12:00:00,1,1,f,north" for place in range(200))
    (file.parent / "hospital.csv").write_text("\n".join(["patient,day,at,cost,age,sex,ward", *lines, ""]))
    visitor = Visitor(file)
    yield visitor
    visitor.close()


@pytest.fixture(scope="module")
def token(hall):
    return hall.token()


@pytest.mark.parametrize("ask", ASKS)
def test_no_day_is_too_early_or_too_late_to_ask_about(hall, token, ask):
    for end in ENDS:
        before, made = hall.spent(token), hall.ask("POST", "/v1/plans", token, json={"sql": ask.format(end)})
        if made.status_code == 201:
            made = hall.ask("GET", f"/v1/plans/{made.json()['id']}/preview", token)
        assert made.status_code < 500, (end, made.text)
        if made.status_code >= 300:  # moments cannot group
            assert made.json()["code"] in ("SRD-202", "SRD-203"), (end, made.text)
        assert hall.spent(token) == before


@pytest.mark.parametrize("ask", ASKS[:2])
def test_what_is_asked_about_such_a_day_is_answered(hall, token, ask):
    found = hall.pay(token, ask.format(ENDS[0]), f"first-day-{ASKS.index(ask)}", epsilon="0.1")
    assert found.status_code == 200, found.text


def test_an_unforeseen_failure_while_a_question_is_built_is_an_error_with_a_code(hall, token, monkeypatch):
    """Nothing was charged yet, so it is the question's error and not the server's."""

    def fail(*_):
        raise OverflowError("date value out of range")

    before = hall.spent(token)
    monkeypatch.setattr(open_dataset, "read_select", fail)
    found = hall.ask("POST", "/v1/plans", token, json={"sql": "SELECT COUNT(*) AS unforeseen FROM admissions"})
    assert (found.status_code, found.json()["code"], hall.spent(token)) == (422, "SRD-208", before)
