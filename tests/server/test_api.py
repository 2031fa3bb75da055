"""The API as an analyst uses it: plan, preview, pay once, recall, look at budgets and cards; and every way of being turned away."""

from __future__ import annotations

import json
import threading

import pytest

from sordino.server.app import ServerLimits
from sordino.session.release import Release

from .hall import Visitor, write

COUNT = "SELECT COUNT(*) AS n FROM admissions"


def test_a_question_is_planned_previewed_paid_and_shown_again(hall):
    token = hall.token()
    plan = hall.plan(token, COUNT)
    assert plan == hall.plan(token, COUNT)
    shown = hall.ask("GET", f"/v1/plans/{plan}/preview?within=40", token).json()
    assert shown["best"]["epsilon"] > 0
    assert "nothing read, nothing spent" in shown["text"]
    assert shown["recorded"] is None
    assert hall.spent(token) == 0
    paid = hall.ask("POST", f"/v1/plans/{plan}/release", token, "k1", json={"within": 40})
    assert paid.status_code == 200
    answer = paid.json()
    assert answer["paid"] is True
    assert hall.spent(token) == pytest.approx(shown["best"]["epsilon"])
    assert hall.ask("GET", f"/v1/plans/{plan}/preview?within=45", token).json()["recorded"] == answer["id"]
    again = hall.ask("GET", f"/v1/releases/{answer['id']}?plan={plan}", token).json()
    assert again["columns"] == answer["columns"]
    book = hall.ask("GET", f"/v1/releases/{answer['id']}", token).json()
    assert list(book["columns"].values()) == list(answer["columns"].values())
    assert (list(answer["columns"]), list(book["columns"])) == (["n", "n_low", "n_high"], ["count", "count_low", "count_high"])
    assert book["record"] == again["record"] == answer["record"]
    other = hall.plan(token, "SELECT COUNT(*) AS m FROM admissions WHERE age > 3 ORDER BY m")
    assert hall.ask("GET", f"/v1/releases/{answer['id']}?plan={other}", token).json() == book, "a plan of another question changes nothing"
    card = hall.ask("GET", f"/v1/releases/{answer['id']}/card?plan={plan}", token).json()
    assert card == answer["card"]
    assert card["privacy unit"]["unit"] == "patient"
    sealed = hall.app.app.app.state.house.datasets["hospital"].ledger.entries()[0].answer
    assert Release.from_bytes(json.dumps(answer["record"]).encode()).to_bytes() == sealed


def test_the_same_key_gives_the_same_bytes_and_one_charge(hall):
    token = hall.token()
    first = hall.pay(token, COUNT, "k", epsilon="0.5")
    again = hall.pay(token, COUNT, "k", epsilon="0.5")
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert hall.spent(token) == 0.5
    for sql, wish in ((COUNT, {"epsilon": "0.4"}), ("SELECT SUM(age) AS s FROM admissions", {"epsilon": "0.5"}), (COUNT, {"within": 9})):
        other = hall.pay(token, sql, "k", **wish)
        assert (other.status_code, other.json()["code"]) == (409, "SRD-605")
    assert hall.spent(token) == 0.5


def test_keys_are_each_analysts_own_and_a_recorded_answer_is_free_for_everybody(hall):
    amina, bela = hall.token("amina"), hall.token("bela")
    first = hall.pay(amina, COUNT, "k", epsilon="0.4").json()
    recalled = hall.pay(bela, COUNT, "k", epsilon="0.3")
    assert recalled.json()["paid"] is False
    assert recalled.json()["record"] == first["record"]
    assert hall.spent(amina) == 0.4
    dearer = hall.pay(amina, COUNT, "k2", epsilon="0.5").json()
    assert dearer["id"] != first["id"]
    assert hall.pay(bela, COUNT, "k", epsilon="0.3").content == recalled.content, "a better answer must not change a repeat"
    assert hall.pay(bela, COUNT, "k", epsilon="0.2").status_code == 409
    fresh = hall.pay(bela, COUNT, "k3", epsilon="0.1", fresh=True).json()
    assert fresh["paid"] is True
    assert hall.spent(amina) == pytest.approx(1.0)


def test_a_repeat_after_a_restart_returns_the_same_bytes(tmp_path):
    file = write(tmp_path)
    sql = "SELECT MEDIAN(cost) AS m FROM admissions"
    first = Visitor(file)
    token = first.token()
    answers = [first.pay(token, COUNT, "a", within=50), first.pay(token, sql, "b", epsilon="0.25")]
    first.close()
    second = Visitor(file)
    try:
        again = [second.pay(token, COUNT, "a", within=50), second.pay(token, sql, "b", epsilon="0.25")]
        assert [a.content for a in answers] == [b.content for b in again]
        assert second.pay(token, sql, "b", epsilon="0.5").status_code == 409
        assert second.pay(token, sql, "a", epsilon="0.5").status_code == 409
    finally:
        second.close()


def test_a_median_has_ends_or_is_a_point_at_a_level_of_ones_own(hall):
    token, sql = hall.token(), "SELECT MEDIAN(cost) AS m FROM admissions"
    drawn = hall.pay(token, sql, "a", epsilon="0.5").json()["record"]
    assert (drawn["bar"], drawn["drawn"]["median(cost)"]["level"]) == ("drawn", 0.95)
    point = hall.pay(token, sql, "b", epsilon="0.2", interval=False).json()
    assert (point["paid"], point["record"]["bar"]) == (False, "rank")
    assert hall.spent(token) == 0.5
    sure = hall.pay(token, sql, "c", epsilon="0.6", level=0.99).json()["record"]
    assert sure["drawn"]["median(cost)"]["level"] == 0.99
    assert hall.pay(token, sql, "b", epsilon="0.2", interval=True).status_code == 409
    assert hall.pay(token, sql, "d", epsilon="0.2", interval="wide").status_code == 422
    plan = hall.plan(token, sql)
    bars = {}
    for word in ("true", "false"):
        priced = hall.ask("GET", f"/v1/plans/{plan}/preview?interval={word}&epsilon=1", token).json()
        bars[word] = priced["lines"][0]["forecasts"][0]["bar"]
    assert bars == {"true": "drawn", "false": "rank"}


def test_ten_callers_with_one_key_are_one_charge_and_ten_equal_answers(hall):
    token, found = hall.token(), []
    plan = hall.plan(token, COUNT)

    def ask() -> None:
        found.append(hall.ask("POST", f"/v1/plans/{plan}/release", token, "same", json={"epsilon": "0.1"}).content)

    threads = [threading.Thread(target=ask) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert hall.spent(token) == 0.1


def test_purses_ceilings_and_the_cap_are_refused_and_nothing_is_spent(tmp_path):
    hall = Visitor(write(tmp_path, ceiling="max_per_release = 1", epsilon=1.2))
    try:
        amina, bela = hall.token("amina"), hall.token("bela")
        refused = {
            "SRD-302": hall.pay(bela, COUNT, "1", epsilon="0.6"),
            "SRD-303": hall.pay(amina, COUNT, "2", epsilon="1.5"),
            "SRD-301": None,
        }
        assert hall.pay(amina, COUNT, "3", epsilon="1").status_code == 200
        refused["SRD-301"] = hall.pay(amina, COUNT, "4", epsilon="0.9", fresh=True)
        for code, answer in refused.items():
            assert (answer.status_code, answer.json()["code"], answer.json()["spent"]) == (402, code, False)
        assert hall.pay(amina, "SELECT SUM(age) AS s FROM admissions", "5", within="x").status_code == 422
        assert hall.pay(amina, "SELECT SUM(age) AS s FROM admissions", "5", within=0.001).status_code == 402
        assert hall.spent(amina) == 1
        stranger = hall.token("stranger")
        assert hall.pay(stranger, "SELECT MAX(age) AS a FROM admissions", "6", epsilon="0.1").json()["code"] == "SRD-302"
    finally:
        hall.close()


def test_an_analyst_sees_their_own_purse_and_an_owner_all_of_them(hall):
    amina, owner = hall.token("amina"), hall.token("boss", "owner")
    assert list(hall.ask("GET", "/v1/budget", amina).json()["purses"]) == ["amina"]
    assert set(hall.ask("GET", "/v1/budget", owner).json()["purses"]) >= {"amina", "bela"}
    hall.pay(amina, COUNT, "k", epsilon="0.1")
    book = hall.ask("GET", "/v1/ledger", owner).json()
    assert book["verified"] is True
    assert [(e["analyst"], e["state"]) for e in book["entries"]] == [("amina", "sealed")]
    refused = hall.ask("GET", "/v1/ledger", amina)
    assert (refused.status_code, refused.json()["code"]) == (403, "SRD-502")


def test_wrong_questions_are_explained_and_cost_nothing(hall):
    token = hall.token()
    wrong = {
        "SELECT cost FROM admissions": 422, "SELECT COUNT(*) FROM nothing": 422, "DROP TABLE admissions": 422, "SELECT": 422,
        "SELECT COUNT(*) FROM read_csv('/etc/passwd')": 422,
    }  # fmt: skip
    for sql, status in wrong.items():
        answer = hall.ask("POST", "/v1/plans", token, json={"sql": sql})
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert answer.json()["fix"]
    plan = hall.plan(token, COUNT)
    huge, none = {"epsilon": "1e999999999"}, {"epsilon": 0}
    for wish in ({}, {"epsilon": 1, "within": 5}, {"epsilon": "ten"}, huge, none, {"fresh": "yes"}, {"a": 1}):
        assert hall.ask("POST", f"/v1/plans/{plan}/release", token, "k", json=wish).status_code == 422
    assert hall.ask("POST", f"/v1/plans/{plan}/release", token, json={"epsilon": 1}).status_code == 422, "the key is required"
    assert hall.ask("POST", f"/v1/plans/{plan}x/release", token, "k", json={"epsilon": 1}).status_code == 404
    assert hall.ask("GET", "/v1/releases/none", token).status_code == 404
    assert hall.ask("GET", "/v1/nothing", token).status_code == 404
    assert hall.ask("DELETE", "/v1/plans", token).status_code == 405
    assert hall.spent(token) == 0


def test_two_datasets_are_chosen_by_name_and_by_scope(tmp_path):
    hall = Visitor([write(tmp_path), write(tmp_path, name="clinic")])
    try:
        both, one = hall.token("amina"), hall.token("bela", scope=("clinic",))
        assert {item["name"] for item in hall.ask("GET", "/v1/datasets", both).json()} == {"hospital", "clinic"}
        assert [item["name"] for item in hall.ask("GET", "/v1/datasets", one).json()] == ["clinic"]
        assert hall.ask("POST", "/v1/plans", both, json={"sql": COUNT}).status_code == 422
        assert hall.ask("GET", "/v1/budget?dataset=nowhere", both).status_code == 404
        assert hall.plan(one, COUNT) == hall.plan(both, COUNT, dataset="clinic")
        other = hall.plan(both, COUNT, dataset="hospital")
        paid = hall.ask("POST", f"/v1/plans/{other}/release", both, "k", json={"epsilon": "0.2"}).json()
        for path in (f"/v1/plans/{other}/preview", "/v1/budget?dataset=hospital", "/v1/approvals?dataset=hospital"):
            assert hall.ask("GET", path, one).status_code == 403
        assert hall.ask("POST", f"/v1/plans/{other}/release", one, "k", json={"epsilon": "0.1"}).status_code == 403
        assert hall.ask("GET", f"/v1/releases/{paid['id']}", one).status_code == 404
        elsewhere = hall.token("boss", "owner", scope=("clinic",))
        verdict = {"verdict": "approved"}
        assert hall.ask("POST", "/v1/approvals/x?dataset=hospital", elsewhere, json=verdict).status_code == 403
        assert hall.ask("POST", "/v1/approvals/x?dataset=clinic", elsewhere, json=verdict).status_code == 404
        assert hall.ask("GET", "/v1/budget?dataset=hospital", both).json()["spent"] == 0.2
        assert hall.ask("GET", "/v1/budget?dataset=clinic", one).json()["spent"] == 0
    finally:
        hall.close()


def test_a_release_that_takes_too_long_goes_on_and_is_found_under_the_same_key(tmp_path):
    from sordino.session.execute import execute

    gate = threading.Event()

    def slow(*given, **named):
        gate.wait(20)
        return execute(*given, **named)

    hall = Visitor(write(tmp_path), execute=slow, limits=ServerLimits(rate=1000, burst=1000, patience=0.05, deadline=0))
    try:
        token = hall.token()
        late = hall.pay(token, COUNT, "k", epsilon="0.1")
        assert (late.status_code, late.json()["code"], late.json()["spent"]) == (503, "SRD-506", None)
        gate.set()
    finally:
        hall.close()  # waits for the release
    with_answer = Visitor(tmp_path / "hospital.toml")
    try:
        found = with_answer.pay(token, COUNT, "k", epsilon="0.1")
        assert (found.status_code, found.json()["paid"], with_answer.spent(token)) == (200, True, 0.1)
    finally:
        with_answer.close()
