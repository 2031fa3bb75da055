"""Releases above the owner's threshold: queued without a charge, approved or refused, released once at most at that price."""

from __future__ import annotations

import re
import threading
from fractions import Fraction

import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.plan.dataset import read_dataset
from sordino.server.approval import MOST, Approval, Approvals
from sordino.server.dataset_file import set_purse, with_purse, with_threshold

from .hall import Visitor, write
from .test_ask_page import Browser

COUNT = "SELECT COUNT(*) AS n FROM admissions"


@pytest.fixture
def strict(tmp_path):
    visitor = Visitor(write(tmp_path, approve="approve_above = 0.5"))
    visitor.amina, visitor.owner = visitor.token("amina"), visitor.token("boss", "owner")
    yield visitor
    visitor.close()


def queue(hall, token):
    return hall.ask("GET", "/v1/approvals", token).json()


def decide(hall, token, id, word):
    return hall.ask("POST", f"/v1/approvals/{id}", token, json={"verdict": word})


def book(hall):
    return hall.app.app.app.state.house.datasets["hospital"].ledger


def test_the_threshold_is_read_from_the_dataset_file(tmp_path):
    assert read_dataset(write(tmp_path)).approve_above is None
    assert read_dataset(write(tmp_path, approve="approve_above = 0.5")).approve_above == Fraction(1, 2)
    assert read_dataset(write(tmp_path, approve="approve_above = 0")).approve_above == 0
    for wrong in ("approve_above = -1", "approve_above = true", 'approve_above = "much"', "approve_abov = 1"):
        with pytest.raises(QueryError, match="approve_above"):
            read_dataset(write(tmp_path, approve=wrong))


def test_a_dear_ask_waits_uncharged_and_an_approved_one_is_released_once(strict):
    hall, amina = strict, strict.amina
    assert hall.ask("GET", "/v1/datasets", amina).json()[0]["approve_above"] == "1/2"
    assert hall.pay(amina, COUNT, "cheap", epsilon="0.5").json()["paid"] is True
    waits = hall.pay(amina, COUNT, "dear", epsilon="0.75")
    assert (waits.status_code, waits.json()["code"], waits.json()["spent"]) == (402, "SRD-508", False)
    assert hall.pay(amina, COUNT, "dear", epsilon="0.75").json()["code"] == "SRD-508", "asking again does not jump the queue"
    (asked,) = queue(hall, amina)
    assert (asked["state"], asked["epsilon"], asked["key"], asked["analyst"]) == ("pending", 0.75, "dear", "amina")
    assert hall.spent(amina) == 0.5
    assert decide(hall, strict.owner, asked["id"], "approved").json()["state"] == "approved"
    assert hall.spent(amina) == 0.5, "an approval is not a charge"
    paid = hall.pay(amina, COUNT, "dear", epsilon="0.75")
    again = hall.pay(amina, COUNT, "dear", epsilon="0.75")
    assert (paid.status_code, paid.content) == (200, again.content)
    assert hall.spent(amina) == 1.25
    assert queue(hall, amina)[0]["state"] == "released"
    assert decide(hall, strict.owner, asked["id"], "refused").status_code == 409
    assert hall.pay(amina, COUNT, "another", epsilon="0.75", fresh=True).json()["code"] == "SRD-508", "one approval, one release"
    assert len(book(hall).entries()) == 2


def test_a_refused_ask_stays_refused_until_the_owner_says_otherwise(strict):
    hall, amina = strict, strict.amina
    hall.pay(amina, COUNT, "dear", epsilon="1")
    id = queue(hall, amina)[0]["id"]
    decide(hall, strict.owner, id, "refused")
    refused = hall.pay(amina, COUNT, "dear", epsilon="1")
    assert (refused.status_code, refused.json()["code"], refused.json()["spent"]) == (402, "SRD-509", False)
    decide(hall, strict.owner, id, "approved")
    assert hall.pay(amina, COUNT, "dear", epsilon="1").status_code == 200


def test_an_approval_is_for_its_own_question_price_and_analyst(strict):
    hall, amina = strict, strict.amina
    hall.pay(amina, COUNT, "dear", epsilon="0.75")
    decide(hall, strict.owner, queue(hall, amina)[0]["id"], "approved")
    for sql, price in ((COUNT, "0.8"), ("SELECT SUM(age) AS s FROM admissions", "0.75"), (COUNT, "0.2")):
        other = hall.pay(amina, sql, "dear", epsilon=price)
        assert (other.status_code, other.json()["code"]) == (409, "SRD-605")
    bela = hall.token("bela")
    assert queue(hall, bela) == []
    assert hall.pay(bela, COUNT, "dear", epsilon="0.75").json()["code"] == "SRD-302", "what the purse forbids does not wait"
    assert queue(hall, bela) == []
    assert len(queue(hall, strict.owner)) == 1
    assert hall.spent(amina) == 0


def test_a_price_that_rose_while_it_waited_waits_again(tmp_path):
    queue = Approvals(tmp_path / "x.approvals")
    asked = Approval("d", "amina", "amina:k", "plan", "{}", "mark", "3/4", "0")
    queue.file(asked)
    assert queue.path.stat().st_mode & 0o777 == 0o600
    queue.decide(asked.id, "approved")
    known = queue.find(asked.id)
    assert known.state == "approved"
    assert known.covers(Fraction(3, 4), Fraction(0))
    assert not known.covers(Fraction(76, 100), Fraction(0))
    assert not known.covers(Fraction(1, 2), Fraction(1, 10**6))
    queue.file(Approval("d", "amina", "amina:k", "plan", "{}", "mark", "76/100", "0"))
    assert (queue.find(asked.id).state, queue.find(asked.id).epsilon, len(queue.listed("d"))) == ("pending", "76/100", 1)


def test_only_so_many_asks_of_one_analyst_wait(tmp_path):
    queue = Approvals(tmp_path / "x.approvals")
    asks = [Approval("d", "amina", f"amina:{turn}", "plan", "{}", "mark", "1", "0") for turn in range(MOST + 1)]
    for asked in asks[:MOST]:
        queue.file(asked)
    with pytest.raises(sd.errors.SordinoError, match="SRD-504"):
        queue.file(asks[MOST])
    queue.file(asks[0])
    queue.file(Approval("d", "bela", "bela:0", "plan", "{}", "mark", "1", "0"))
    queue.decide(asks[0].id, "refused")
    queue.file(asks[MOST])
    assert len(queue.listed("d", "amina")) == MOST + 1


def test_analysts_decide_nothing_and_owners_wait_for_nobody(strict):
    hall = strict
    hall.pay(hall.amina, COUNT, "dear", epsilon="0.75")
    id = queue(hall, hall.amina)[0]["id"]
    assert decide(hall, hall.amina, id, "approved").status_code == 403
    assert decide(hall, hall.owner, "0" * 20, "approved").status_code == 404
    assert decide(hall, hall.owner, id, "pending").status_code == 422
    assert queue(hall, hall.amina)[0]["state"] == "pending"
    assert hall.spent(hall.amina) == 0
    own = hall.token("owner", "owner")
    assert hall.pay(own, COUNT, "mine", epsilon="0.75").status_code == 200


def test_the_queue_and_its_verdicts_survive_a_restart(tmp_path):
    file = write(tmp_path, approve="approve_above = 0.5")
    first = Visitor(file)
    amina, owner = first.token("amina"), first.token("boss", "owner")
    for key in ("a", "b", "c"):
        first.pay(amina, COUNT, key, epsilon="0.6", fresh=True)
    asks = {asked["key"]: asked["id"] for asked in queue(first, amina)}
    decide(first, owner, asks["a"], "approved")
    decide(first, owner, asks["b"], "refused")
    first.close()
    second = Visitor(file)
    try:
        assert {asked["key"]: asked["state"] for asked in queue(second, amina)} == {"a": "approved", "b": "refused", "c": "pending"}
        codes = {key: second.pay(amina, COUNT, key, epsilon="0.6", fresh=True).status_code for key in "abc"}
        assert codes == {"a": 200, "b": 402, "c": 402}
        assert second.spent(amina) == 0.6
    finally:
        second.close()


def test_many_who_send_an_approved_ask_at_once_are_one_charge(strict):
    hall, found = strict, []
    hall.pay(hall.amina, COUNT, "dear", epsilon="0.75")
    decide(hall, hall.owner, queue(hall, hall.amina)[0]["id"], "approved")
    threads = [threading.Thread(target=lambda: found.append(hall.pay(hall.amina, COUNT, "dear", epsilon="0.75").content)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert hall.spent(hall.amina) == 0.75


def test_owner_and_analyst_meet_on_the_pages(strict):
    hall = strict
    analyst = Browser(hall, hall.amina)
    page = analyst.get("/ask", sql=COUNT, within="20").text
    assert "Waits for the owner:" in page
    assert "Ask the owner for epsilon" in page
    fields = {name: analyst.field(name) for name in ("form", "plan", "key", "within")}
    sent = analyst.post("/pay", **fields)
    assert (sent.status_code, sent.headers["location"]) == (303, "/approvals?dataset=hospital")
    assert "waits for the owner" in analyst.get("/approvals").text
    assert analyst.post("/owner/approvals").status_code == 403
    mine = analyst.field("form")
    assert analyst.post("/owner/approvals", form=mine, id="x", verdict="approved").status_code == 403
    assert analyst.post("/owner/purses", form=mine, name="amina", epsilon="3").status_code == 403
    owner = Browser(hall, hall.owner)
    page = owner.get("/owner").text
    assert "Approve the ask of amina" in page
    word = {"form": owner.field("form"), "dataset": "hospital", "id": owner.field("id")}
    assert owner.post("/owner/approvals", **{**word, "form": "0" * 64}, verdict="approved").status_code == 403
    assert owner.post("/owner/approvals", **word, verdict="perhaps").status_code == 422
    assert owner.post("/owner/approvals", **word, verdict="approved").headers["location"] == "/owner?dataset=hospital"
    assert "approved" in owner.get("/owner").text
    analyst = Browser(hall, hall.amina)
    page = analyst.get("/approvals").text
    assert "Pay at most epsilon" in page
    again = {name: analyst.field(name) for name in ("plan", "key", "within")}
    assert again == {name: fields[name] for name in ("plan", "key", "within")} or float(again["within"]) == float(fields["within"])
    paid = analyst.post("/pay", **again, form=re_form(page))
    assert paid.headers["location"].startswith("/releases/")
    assert "in the history" in analyst.get("/approvals").text
    assert len(book(hall).entries()) == 1


def re_form(page):
    return re.findall(r'name="form" value="([^"]*)"', page)[-1]


PURSES = """# ours
[budget]
epsilon = 3 # all
[budget.analysts] # purses
amina = { epsilon = 1.0 } # first
'b.c' = { epsilon = 1 }
[x]
y = 1
"""


def test_a_purse_changes_one_line_of_the_file_and_nothing_else():
    changed = with_purse(PURSES, "amina", "1.5")
    assert changed == PURSES.replace("amina = { epsilon = 1.0 } # first", "amina = { epsilon = 1.5 }")
    assert with_purse(PURSES, "b.c", "2") == PURSES.replace("'b.c' = { epsilon = 1 }", '"b.c" = { epsilon = 2 }')
    added = with_purse(PURSES, "dora@x.org", "2")
    assert set(added.splitlines()) - set(PURSES.splitlines()) == {'"dora@x.org" = { epsilon = 2 }'}
    assert with_purse("[budget]\nepsilon = 3\n", "amina", "1").endswith("[budget.analysts]\namina = { epsilon = 1 }\n")
    for other in ("[budget]\nanalysts = { amina = { epsilon = 1 } }\n", "[budget]\n[budget.analysts.amina]\nepsilon = 1\n"):
        with pytest.raises(QueryError, match="by hand"):
            with_purse(other, "amina", "2")


def test_a_purse_set_on_the_console_is_in_the_file_in_the_ledger_and_in_force(tmp_path):
    file = write(tmp_path)
    hall = Visitor(file)
    try:
        bela, owner = hall.token("bela"), Browser(hall, hall.token("boss", "owner"))
        assert hall.pay(bela, COUNT, "k", epsilon="0.75").json()["code"] == "SRD-302"
        owner.get("/owner")
        said = {"form": owner.field("form"), "dataset": "hospital"}
        for name, cap in (("bela", "-1"), ("bela", "0"), ("bela", "1e3"), ("bela", "9999999999"), ("a:b", "1"), ("x]\ny", "1")):
            assert owner.post("/owner/purses", **said, name=name, epsilon=cap).status_code == 422
        assert owner.post("/owner/purses", **said, name="bela", epsilon="1.50").status_code == 303
        assert "bela = { epsilon = 1.5 }" in file.read_text(encoding="utf-8")
        assert hall.pay(bela, COUNT, "k", epsilon="0.75").status_code == 200, "a running server obeys at once"
        assert hall.ask("GET", "/v1/budget", bela).json()["purses"] == {"bela": {"spent": 0.75, "cap": 1.5}}
        count = book(hall).head.count
    finally:
        hall.close()
    with sd.open(file) as opened:
        assert opened.ledger.head.count == count, "the file and the ledger say the same, so opening writes nothing"
        assert opened.ledger.verify()


def test_a_threshold_set_on_the_console_is_in_the_file_and_in_force(tmp_path):
    file = write(tmp_path)
    hall = Visitor(file)
    try:
        amina, owner = hall.token("amina"), Browser(hall, hall.token("boss", "owner"))
        owner.get("/owner")
        said = {"form": owner.field("form"), "dataset": "hospital"}
        for wrong in ("-1", "0", "1e3", "x]\ny"):
            assert owner.post("/owner/threshold", **said, above=wrong).status_code == 422
        assert owner.post("/owner/threshold", **said, above="0.30").status_code == 303
        assert "approve_above = 0.3" in file.read_text(encoding="utf-8")
        assert hall.ask("GET", "/v1/datasets", amina).json()[0]["approve_above"] == "3/10"
        assert hall.pay(amina, COUNT, "k", epsilon="0.4").status_code == 402, "a running server obeys at once"
        assert 'value="0.3"' in owner.get("/owner").text
        assert owner.post("/owner/threshold", **said, above="").status_code == 303
        assert "approve_above" not in file.read_text(encoding="utf-8")
        assert hall.pay(amina, COUNT, "j", epsilon="0.4").status_code == 200
    finally:
        hall.close()


def test_a_cap_of_one_release_set_on_the_console_is_in_the_file_and_in_force(tmp_path):
    file = write(tmp_path)
    hall = Visitor(file)
    try:
        amina, owner = hall.token("amina"), Browser(hall, hall.token("boss", "owner"))
        owner.get("/owner")
        said = {"form": owner.field("form"), "dataset": "hospital"}
        for wrong in ("-1", "0", "1e3", "x]\ny"):
            assert owner.post("/owner/cap", **said, most=wrong).status_code == 422
        assert owner.post("/owner/cap", **said, most="0.30").status_code == 303
        assert "max_per_release = 0.3" in file.read_text(encoding="utf-8")
        refused = hall.pay(amina, COUNT, "k", epsilon="0.4")
        assert refused.status_code == 402, "a running server obeys at once"
        assert "one release may cost 0.3" in refused.text
        assert hall.pay(amina, COUNT, "i", epsilon="0.2").status_code == 200
        assert "One release may cost" in owner.get("/owner").text
        assert owner.post("/owner/cap", **said, most="").status_code == 303
        assert "max_per_release" not in file.read_text(encoding="utf-8")
        assert hall.pay(amina, COUNT, "j", epsilon="0.4").status_code == 200
    finally:
        hall.close()


def test_a_threshold_changes_one_line_of_the_file_and_nothing_else():
    text = "[budget]\nepsilon = 3\n[server]\ndeadline_ms = 500\napprove_above = 1 # dear\n"
    assert with_threshold(text, "2") == text.replace("approve_above = 1 # dear", "approve_above = 2")
    assert with_threshold(text, None) == text.replace("approve_above = 1 # dear\n", "")
    assert with_threshold("[budget]\nepsilon = 3\n", "0.5").endswith("[server]\napprove_above = 0.5\n")
    with pytest.raises(QueryError, match="by hand"):
        with_threshold("server = { approve_above = 1 }\n[budget]\nepsilon = 3\n", None)


def test_a_file_that_cannot_be_written_is_said_to_the_owner(tmp_path):
    file = write(tmp_path)
    with pytest.raises(QueryError, match="by hand"):
        set_purse(str(tmp_path / "absent.toml"), "amina", "1")
    assert "amina = { epsilon = 2 }" in file.read_text(encoding="utf-8")
    assert not list(tmp_path.glob(".*toml*"))


def test_an_analyst_withdraws_an_ask_that_waits_and_nobody_elses(tmp_path):
    hall = Visitor(write(tmp_path, approve="approve_above = 0.3"))
    try:
        amina, bela, boss = hall.token("amina"), hall.token("bela"), hall.token("boss", "owner")
        sql = "SELECT COUNT(*) AS n FROM admissions"
        assert hall.pay(amina, sql, "k", epsilon="0.4").status_code == 402
        id = hall.ask("GET", "/v1/approvals", amina).json()[0]["id"]
        said = {"json": {"verdict": "withdrawn"}}
        assert hall.ask("POST", f"/v1/approvals/{id}", bela, **said).status_code == 404
        assert hall.ask("POST", f"/v1/approvals/{id}", boss, **said).status_code == 404, "an owner refuses, and withdraws nothing"
        assert hall.ask("POST", f"/v1/approvals/{id}", amina, json={"verdict": "approved"}).status_code == 403
        assert hall.ask("POST", f"/v1/approvals/{id}", amina, **said).json()["state"] == "withdrawn"
        assert hall.ask("POST", f"/v1/approvals/{id}", boss, json={"verdict": "approved"}).status_code == 409
        assert hall.pay(amina, sql, "k", epsilon="0.4").json()["code"] == "SRD-605"
        assert hall.spent(boss) == 0
    finally:
        hall.close()
