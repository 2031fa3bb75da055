"""One behaviour for every store: the same tests run against memory, SQLite and PostgreSQL."""

from __future__ import annotations

import os
import threading
from fractions import Fraction

import pytest

from sordino.errors import BudgetExceeded, LedgerError, QueryError, ReleaseFailed
from sordino.ledger import Budget, read_ledger, verify_export
from sordino.privacy.cost import Cost
from sordino.privacy.relation import PrivacyUnit

from .scenes import PURSES, TENTH, key, open_book


def test_ten_charges_of_a_tenth_are_exactly_one_and_the_eleventh_is_refused(where, dataset):
    with open_book(where, dataset=dataset) as book:
        for turn in range(10):
            assert book.charge(f"r{turn}", key(), TENTH).state == "new"
        assert book.budget.exact["spent"] == 1
        with pytest.raises(BudgetExceeded) as refusal:
            book.charge("r10", key(), TENTH)
        assert refusal.value.code == "SRD-301"
        assert refusal.value.facts == {"word": "epsilon", "asked": Fraction(1, 10), "left": 0, "cap": 1}
        with pytest.raises(BudgetExceeded):
            book.charge("tiny", key(), Cost.pure("1e-30"))
        assert len(book.entries()) == 10


def test_three_thirds_are_exactly_one(where, dataset):
    with open_book(where, dataset=dataset) as book:
        for turn in range(3):
            book.charge(f"r{turn}", key(), Cost.pure(Fraction(1, 3)))
        assert book.budget.exact["left"] == 0


def test_only_the_inserting_call_is_new_and_a_sealed_answer_comes_back_to_the_byte(where, dataset):
    with open_book(where, dataset=dataset) as book:
        entry = book.charge("r", key(), TENTH, "amina")
        assert (entry.state, entry.answer, entry.analyst, entry.cost) == ("new", None, "amina", TENTH)
        assert book.charge("r", key(), TENTH).state == "open"
        assert book.recall(key()) == []
        book.seal(entry, b"\x00answer\xff")
        again = book.charge("r", key(), TENTH)
        assert (again.state, again.answer, again.id) == ("sealed", b"\x00answer\xff", entry.id)
        book.seal(entry, b"a second seal")
        assert book.recall(key()) == [b"\x00answer\xff"]
        assert book.budget.exact["spent"] == Fraction(1, 10)


def test_recall_gives_every_sealed_answer_oldest_charge_first_and_nothing_for_other_questions(where, dataset):
    with open_book(where, dataset=dataset) as book:
        entries = [book.charge(f"r{turn}", key(), TENTH) for turn in range(3)]
        for turn in (2, 0):
            book.seal(entries[turn], b"%d" % turn)
        assert list(book.recall(key())) == [b"0", b"2"]
        assert list(book.recall(key("another"))) == []


@pytest.mark.parametrize(("question", "cost"), [("another", TENTH), ("question", Cost.laplace("0.2")), ("question", Cost.pure("0.1"))])
def test_a_request_id_used_for_another_question_or_price_is_refused(where, dataset, question, cost):
    with open_book(where, dataset=dataset) as book:
        book.charge("r", key(), TENTH)
        with pytest.raises(QueryError) as refusal:
            book.charge("r", key(question), cost)
        assert refusal.value.code == "SRD-605"
        assert book.budget.exact["spent"] == Fraction(1, 10)


def test_entries_tell_requests_costs_analysts_and_states(where, dataset):
    with open_book(where, dataset=dataset) as book:
        book.seal(book.charge("first", key("a"), TENTH, "amina"), b"yes")
        book.charge("second", key("b"), Cost.laplace("0.3"))
        told = [(e.request, e.key, e.state, e.answer, e.analyst, e.cost) for e in book.entries()]
        assert told == [
            ("first", key("a"), "sealed", b"yes", "amina", TENTH),
            ("second", key("b"), "open", None, None, Cost.laplace("0.3")),
        ]


def test_a_reopened_ledger_continues_where_it_was(durable, dataset):
    with open_book(durable, dataset=dataset) as book:
        book.seal(book.charge("r", key(), TENTH), b"answer")
        number, head = book.head.count, book.head.hash
    with open_book(durable, dataset=dataset) as book:
        assert (book.head.count, book.head.hash) == (number, head)
        assert book.charge("r", key(), TENTH).answer == b"answer"
        assert book.budget.exact["spent"] == Fraction(1, 10)


def test_a_new_version_is_written_down_and_the_budget_is_not_refilled(durable, dataset):
    with open_book(durable, dataset=dataset) as book:
        book.charge("r", key(), TENTH)
    for version in ("2", "2", "1"):
        with open_book(durable, dataset=dataset, version=version) as book:
            assert book.budget.exact["spent"] == Fraction(1, 10)
            assert book.head.count == 3


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("relation", {"relation": "replace"}),
        ("unit", {"unit": "person_id"}),
        ("unit", {"unit": PrivacyUnit("person_id")}),
        ("unit", {"unit": {"row_of": "another table"}}),
        ("epsilon", {"budget": Budget(2)}),
        ("delta", {"budget": Budget(1, "1e-6")}),
        ("accounting", {"budget": Budget(1, "1e-6", "zcdp")}),
    ],
)
def test_opening_under_other_terms_is_refused(tmp_path, name, other):
    open_book(tmp_path / "a.ledger").close()
    if name == "accounting":
        other = {"budget": Budget(1, "1e-6", "zcdp"), "dataset": "b"}
        open_book(tmp_path / "b.ledger", budget=Budget(1, "1e-6"), dataset="b").close()
    with pytest.raises(LedgerError) as refusal:
        open_book(tmp_path / ("b.ledger" if name == "accounting" else "a.ledger"), **other)
    assert (refusal.value.code, refusal.value.facts["name"]) == ("SRD-604", name)


def test_opening_for_another_dataset_is_refused(tmp_path):
    open_book(tmp_path / "a.ledger").close()
    with pytest.raises(LedgerError, match="SRD-604"):
        open_book(tmp_path / "a.ledger", dataset="others")


def test_the_same_unit_may_be_declared_in_any_of_its_spellings(tmp_path):
    open_book(tmp_path / "a.ledger", unit="person_id").close()
    open_book(tmp_path / "a.ledger", unit=PrivacyUnit("person_id", max_rows=8)).close()
    open_book(tmp_path / "a.ledger", unit={"person": "person_id", "type": "id"}).close()


def test_a_new_ledger_needs_a_budget_and_an_old_one_remembers_its_own(tmp_path):
    from sordino.ledger import open_ledger

    terms = {"relation": "add_remove", "unit": None, "dataset": "people"}
    with pytest.raises(QueryError, match="needs a budget"):
        open_ledger(tmp_path / "a.ledger", budget=None, **terms)
    open_book(tmp_path / "a.ledger", epsilon=3).close()
    with open_ledger(tmp_path / "a.ledger", budget=None, **terms) as book:
        assert book.budget.cap == 3


def test_purses_and_ceilings_hold_and_the_owner_may_change_them_on_the_record(durable, dataset):
    first = Budget(1, max_per_release="0.3", analysts={"amina": {"epsilon": "0.4"}})
    with open_book(durable, dataset=dataset, budget=first) as book:
        with pytest.raises(BudgetExceeded) as refusal:
            book.charge("big", key(), Cost.pure("0.31"), "amina")
        assert refusal.value.code == "SRD-303"
        book.charge("r1", key(), Cost.pure("0.3"), "amina")
        with pytest.raises(BudgetExceeded) as refusal:
            book.charge("r2", key(), Cost.pure("0.11"), "amina")
        assert refusal.value.code == "SRD-302"
        assert refusal.value.facts["left"] == Fraction(1, 10)
        with pytest.raises(BudgetExceeded):
            book.charge("r3", key(), TENTH, "stranger")
        book.charge("r4", key(), TENTH)
        assert book.budget.analysts == {"amina": (0.3, 0.4)}
    with open_book(durable, dataset=dataset, budget=Budget(1, analysts={"amina": 1})) as book:
        assert book.charge("r2", key(), Cost.pure("0.31"), "amina").state == "new"
        assert book.verify()


def test_a_refusal_leaves_no_trace(where, dataset):
    with open_book(where, dataset=dataset) as book:
        book.charge("r", key(), Cost.pure("0.95"))
        before = book.head
        with pytest.raises(BudgetExceeded):
            book.charge("s", key(), TENTH)
        assert book.head == before
        assert book.charge("s", key(), Cost.pure("0.05")).state == "new"


def test_sealing_what_was_never_charged_fails_with_a_constant_text(where, dataset):
    with open_book(where, dataset=dataset) as book:
        entry = book.charge("r", key(), TENTH)
        with pytest.raises(ReleaseFailed) as failure:
            book.seal(entry._replace(number=99), b"answer")
        assert (failure.value.code, failure.value.facts) == ("SRD-402", {})


@pytest.mark.parametrize("request_id", ["", 7, None, "x" * 513, "a\nb", "\ud800"])
def test_unusable_request_ids_are_refused(request_id):
    with open_book(":memory:") as book, pytest.raises(QueryError):
        book.charge(request_id, key(), TENTH)


def test_the_book_exports_and_the_export_verifies_by_itself(where, dataset):
    with open_book(where, dataset=dataset) as book:
        book.seal(book.charge("r", key(), TENTH, "amina"), b"\xff\x00")
        book.charge("s", key(), TENTH)
        text, check = book.export(), book.verify()
    assert check
    assert verify_export(text) == check
    assert not verify_export(text.replace('"epsilon":"1/10"', '"epsilon":"1/20"'))
    assert not verify_export(text.replace("/wA=", "/wE="))
    lines = text.splitlines()
    assert not verify_export("\n".join([lines[0], *lines[2:]]))
    assert not verify_export("no json")


def test_a_reader_sees_everything_and_spends_nothing(durable, dataset):
    with open_book(durable, dataset=dataset) as book:
        book.seal(book.charge("r", key(), TENTH), b"answer")
    with read_ledger(durable, dataset=dataset) as book:
        assert book.verify()
        assert [entry.answer for entry in book.entries()] == [b"answer"]
        with pytest.raises(LedgerError, match="reading only"):
            book.charge("s", key(), TENTH)


def test_reading_a_ledger_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="SRD-604"):
        read_ledger(tmp_path / "none.ledger")
    assert not (tmp_path / "none.ledger").exists()


def test_threads_of_one_process_share_the_last_grants_without_a_double_spend(where, dataset):
    with open_book(where, dataset=dataset, epsilon=3) as book:
        states, lock = [], threading.Lock()

        def spend(who: int) -> None:
            for turn in range(10):
                try:
                    state = book.charge(f"{who}-{turn}", key(), TENTH).state
                except BudgetExceeded:
                    state = "refused"
                with lock:
                    states.append(state)

        threads = [threading.Thread(target=spend, args=(who,)) for who in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert (states.count("new"), states.count("refused")) == (30, 50)
        assert book.budget.exact["left"] == 0
        assert book.verify()


def test_threads_share_purses_of_a_book_that_adds_rho_without_a_double_spend(where, dataset):
    with open_book(where, dataset=dataset, budget=Budget(**PURSES)) as book:
        states, lock = {"amina": [], "bela": []}, threading.Lock()

        def spend(who: int) -> None:
            name = ("amina", "bela")[who % 2]
            for turn in range(10):
                try:
                    state = book.charge(f"{who}-{turn}", key(), TENTH, name).state
                except BudgetExceeded:
                    state = "refused"
                with lock:
                    states[name].append(state)

        threads = [threading.Thread(target=spend, args=(who,)) for who in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert {name: found.count("new") for name, found in states.items()} == {"amina": 20, "bela": 10}
        assert book.budget.tally.spent.loss == sum(entry.charged.loss for entry in book.entries()) <= book.budget.filter.cap.loss
        assert book.verify()


def test_a_clock_that_is_set_back_changes_nothing_that_counts(durable, dataset, monkeypatch):
    """When is written beside a charge and decides nothing: not the order, not what is left, not whether a request is known."""
    times = iter(f"{2030 - turn}-01-01T00:00:00Z" for turn in range(100))
    monkeypatch.setattr("sordino.ledger.transaction.now", lambda: next(times))
    with open_book(durable, dataset=dataset, epsilon=1) as book:
        for turn in range(5):
            book.charge(f"k{turn}", key(str(turn)), TENTH)
    with open_book(durable, dataset=dataset, epsilon=1) as book:
        assert book.charge("k3", key("3"), TENTH).state == "open", "charged once, whatever the clock says"
        for turn in range(5, 10):
            book.charge(f"k{turn}", key(str(turn)), TENTH)
        with pytest.raises(BudgetExceeded):
            book.charge("k10", key("10"), TENTH)
        entries = book.entries()
        assert [entry.request for entry in entries] == [f"k{turn}" for turn in range(10)]
        assert [entry.at for entry in entries] == sorted((entry.at for entry in entries), reverse=True)
        assert book.budget.exact["left"] == 0
        assert book.verify()


def test_many_callers_with_one_request_id_get_one_new(where, dataset):
    with open_book(where, dataset=dataset) as book:
        states: list[str] = []
        threads = [threading.Thread(target=lambda: states.append(book.charge("r", key(), TENTH).state)) for _ in range(12)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert sorted(states) == ["new"] + ["open"] * 11


def test_a_forked_child_spends_from_the_same_book(durable, dataset):
    with open_book(durable, dataset=dataset) as book:
        book.charge("parent", key(), TENTH)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if book.charge("child", key(), TENTH).state == "new" else 1)
            except BaseException:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert book.charge("parent again", key(), TENTH).state == "new"
        assert [entry.request for entry in book.entries()] == ["parent", "child", "parent again"]
        assert book.verify()


def test_an_entry_knows_the_budget_as_of_its_own_charge(where, dataset):
    with open_book(where, dataset=dataset) as book:
        first = book.charge("r", key(), TENTH)
        book.charge("s", key(), TENTH)
        assert book.balance(first).exact["spent"] == Fraction(1, 10)
        assert book.budget.exact["spent"] == Fraction(1, 5)


def test_a_closed_book_refuses(where, dataset):
    book = open_book(where, dataset=dataset)
    book.close()
    with pytest.raises(LedgerError, match="closed"):
        book.charge("r", key(), TENTH)


def test_a_request_can_be_found_again_and_finding_writes_nothing(where, dataset):
    with open_book(where, dataset=dataset) as book:
        assert book.find("r") is None
        entry = book.charge("r", key(), TENTH, "amina")
        before = book.head
        found = book.find("r")
        assert (found.state, found.id, found.key, found.cost) == ("open", entry.id, key(), TENTH)
        assert (found.analyst, found.answer) == ("amina", None)
        assert book.head == before
        book.seal(entry, b"answer")
        assert (book.find("r").state, book.find("r").answer) == ("sealed", b"answer")
        with pytest.raises(QueryError):
            book.find("")
