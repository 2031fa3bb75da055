from __future__ import annotations

import contextlib
import logging
import os
import stat
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from tests.session.people import QUESTIONS, fresh, rows, table

import sordino as sd
from sordino.errors import BudgetExceeded, LedgerError, QueryError, ReleaseFailed
from sordino.noise import draw
from sordino.session.execute import execute, rehearse
from sordino.statistics.port import Plain

SECRET = "income of p17 is 41,203"


class Broken:
    """An engine that fails on looking, with the data in its message."""

    def __init__(self, error):
        self.error, self.looked = error, 0

    def header(self):
        return ()

    def check(self, frame):
        return

    def close(self):
        return

    @contextlib.contextmanager
    def bounded(self, frame, salt):
        self.looked += 1
        raise self.error
        yield


class Late(Broken):
    """One that fails in the middle of the conversation."""

    @contextlib.contextmanager
    def bounded(self, frame, salt):
        self.looked += 1
        yield self

    def ask(self, request):
        raise self.error


FAILURES = [
    RuntimeError(SECRET), QueryError("SRD-105", SECRET), ReleaseFailed("SRD-402", SECRET), MemoryError(SECRET), KeyboardInterrupt(SECRET),
    SystemExit(SECRET), GeneratorExit(SECRET), LedgerError("SRD-603", SECRET), UserWarning(SECRET), RecursionError(SECRET),
]  # fmt: skip


@pytest.mark.parametrize("kind", [Broken, Late])
@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_every_failure_after_the_charge_has_the_same_text_and_no_cause(error, kind, caplog):
    caplog.set_level(logging.DEBUG)
    with table() as people:
        broken = replace(people, engine=kind(error))
        with pytest.raises(ReleaseFailed) as caught:
            broken.count().release(epsilon=1)
        assert str(caught.value) == (
            "SRD-401: The charge stands and no answer was recorded. Ask again as a new release. The charge stands."
        )
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert caught.value.facts == {}
        assert SECRET not in "".join(traceback.format_exception(caught.value))
        assert SECRET not in caplog.text
        assert people.budget.spent == 1
        assert [entry.state for entry in people.ledger.entries()] == ["open"]


def test_no_frame_of_the_traceback_holds_the_salt_or_a_summary():
    with table() as people:
        broken = replace(people, engine=Late(RuntimeError(SECRET)))
        with pytest.raises(ReleaseFailed) as caught:
            broken.count().release(epsilon=1)
        step = caught.value.__traceback__
        names = set()
        while step is not None:
            if step.tb_frame.f_code.co_filename.endswith("execute.py"):
                names |= set(step.tb_frame.f_locals)
            step = step.tb_next
        assert "entry" in names
        assert not names & {"salt", "groups", "answers", "error"}


def test_the_details_of_a_failure_go_to_the_owners_log_and_nowhere_else(tmp_path, capfd):
    path = tmp_path / "owner.log"
    path.write_text("")
    path.chmod(0o644)
    with table(owner_log=str(path)) as people:
        broken = replace(people, engine=Broken(RuntimeError(SECRET)))
        for _ in range(2):
            with pytest.raises(ReleaseFailed):
                broken.count().release(epsilon=1)
    assert path.read_text().count(f"RuntimeError: {SECRET}") == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SECRET not in "".join(capfd.readouterr())


def test_an_owners_log_that_cannot_be_written_does_not_say_why_it_was_needed(tmp_path):
    with table(owner_log=str(tmp_path / "missing" / "owner.log")) as people:
        broken = replace(people, engine=Broken(RuntimeError(SECRET)))
        with pytest.raises(ReleaseFailed) as caught:
            broken.count().release(epsilon=1)
        assert caught.value.__context__ is None
        assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_an_owners_log_is_no_way_to_write_through_somebody_elses_link(tmp_path):
    (tmp_path / "victim").write_text("")
    os.symlink(tmp_path / "victim", tmp_path / "owner.log")
    with table(owner_log=str(tmp_path / "owner.log")) as people, pytest.raises(ReleaseFailed):
        replace(people, engine=Broken(RuntimeError(SECRET))).count().release(epsilon=1)
    assert (tmp_path / "victim").read_text() == ""


def test_a_refused_charge_never_touches_the_engine():
    engine = Broken(AssertionError("looked"))
    with table(budget=sd.Budget(epsilon=1)) as people:
        stingy = replace(people, engine=engine)
        with pytest.raises(BudgetExceeded):
            stingy.count().release(epsilon=2)
        assert engine.looked == 0
        assert people.budget.spent == 0
        people.ledger.close()
        with pytest.raises(LedgerError):
            stingy.count().release(epsilon=0.5)
        assert engine.looked == 0


def test_the_charge_is_in_the_book_before_the_first_look():
    seen = []

    class Watching(Broken):
        @contextlib.contextmanager
        def bounded(self, frame, salt):
            seen.append((people.budget.spent, [entry.state for entry in people.ledger.entries()]))
            raise self.error
            yield

    with table() as people:
        with pytest.raises(ReleaseFailed):
            replace(people, engine=Watching(RuntimeError())).median("age").release(epsilon=0.25)
        assert seen == [(0.25, ["open"])]


def test_an_interrupted_request_says_so_ever_after_and_a_new_one_pays_again(tmp_path):
    path = str(tmp_path / "people.ledger")
    with table(ledger=path) as people:
        with pytest.raises(ReleaseFailed):
            replace(people, engine=Broken(KeyboardInterrupt())).count().release(epsilon=1, request="monday")
        with pytest.raises(ReleaseFailed, match="SRD-402") as again:
            people.count().release(epsilon=1, request="monday")
        assert again.value.__context__ is None
        assert people.budget.spent == 1
    with table(ledger=path) as reopened:
        assert reopened.budget.spent == 1
        with pytest.raises(ReleaseFailed, match="SRD-402"):
            reopened.count().release(epsilon=1, request="monday")
        reopened.count().release(epsilon=1, request="tuesday")
        assert reopened.budget.spent == 2


def test_a_repeated_request_returns_the_recorded_bytes_without_a_look():
    with table() as people:
        plan = people.count().settle(1)
        first = execute(plan, people.ledger, people.engine, request="one")
        assert execute(plan, people.ledger, Broken(AssertionError("looked")), request="one") == first
        with pytest.raises(QueryError, match="SRD-605"):
            execute(people.sum("age").settle(1), people.ledger, people.engine, request="one")


def test_an_answer_that_cannot_be_sealed_is_not_shown():
    with table() as people:

        def full(entry, answer):
            raise OSError("disk full")

        book = people.ledger
        seal, book.seal = book.seal, full
        with pytest.raises(ReleaseFailed, match="SRD-401"):
            people.count().release(epsilon=1)
        book.seal = seal
        assert people.count().recorded() == []
        assert people.budget.spent == 1


class Strange(Plain):
    """A statistic that asks for something no engine knows, or builds a law nobody can draw."""

    label = "strange"
    columns = ()

    def __init__(self, way):
        self.way = way

    def question(self):
        return {"statistic": "strange"}

    def step(self, epsilon, delta, context):
        step = sd.count().step(epsilon, delta, context)
        way = self.way

        class Step(type(step)):
            def release(self, ask, draw, groups):
                if way == "request":
                    return ask("everything")
                if way == "law":
                    return draw("a law")
                return [type("A", (), {"value": object(), "low": None, "high": None, "raw": ()})()]

        return Step(step.item, step.noise)


@pytest.mark.parametrize("way", ["request", "law", "value"])
def test_what_cannot_be_asked_drawn_or_recorded_is_refused_before_the_charge(way):
    with table() as people:
        with pytest.raises(QueryError, match="Nothing was spent"):
            replace(people, engine=Broken(AssertionError("looked"))).agg(x=Strange(way)).release(epsilon=1)
        assert people.budget.spent == 0


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_can_be_rehearsed_at_small_and_large_prices(name, opened_once):
    people = fresh(opened_once)
    for epsilon in ("0.02", "20"):
        rehearse(QUESTIONS[name](people).settle(epsilon))
    assert people.budget.spent == 0


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "abc", True, 1e7, 1e-300, 1e-12, [1], 10**400, "1/0", b"1"])
def test_absurd_prices_are_refused_before_the_charge(epsilon):
    with table() as people:
        for name in ("variance, plain", "median, private groups", "mode of private keys, plain", "histogram of private keys, plain"):
            with pytest.raises(QueryError):
                QUESTIONS[name](people).release(epsilon=epsilon)
        assert people.budget.spent == 0
        assert people.ledger.entries() == []


def test_a_price_without_meaning_is_paid_and_called_that():
    with table() as people:
        release = people.count().release(epsilon=1000)
        assert "no meaningful privacy" in release.card["odds"]
        assert release.value == people.count().release(epsilon=1000, fresh=True).value


def test_numpy_does_not_warn_about_values_after_the_charge():
    class Warns(Broken):
        @contextlib.contextmanager
        def bounded(self, frame, salt):
            np.array([1.0]) / np.array([0.0])
            np.array([1e308]) * np.array([10.0])
            with people.engine.bounded(frame, salt) as rows:
                yield rows

    with table() as people, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        replace(people, engine=Warns(None)).count().release(epsilon=1)
        assert not caught


def test_the_log_says_public_facts_only(caplog):
    caplog.set_level(logging.DEBUG)
    with table() as people:
        people.where("age > 18").count().release(epsilon="1/2")
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("sordino")]
    assert lines == ["charged epsilon 0.5 for discrete Laplace"]


def test_the_first_outcome_drawn_is_the_salt_of_the_bounding():
    salts, drawn = [], []

    class Salted(Broken):
        @contextlib.contextmanager
        def bounded(self, frame, salt):
            salts.append(salt)
            with people.engine.bounded(frame, salt) as rows:
                yield rows

    def recording(law):
        drawn.append(draw(law))
        return drawn[-1]

    with table() as people:
        plan = people.agg(cells=sd.histogram("sex"), n=sd.count()).settle(1)
        execute(plan, people.ledger, Salted(None), draw=recording)
        assert salts == [drawn[0], drawn[0]]
        assert 0 <= drawn[0] < 2**128


def test_eight_threads_release_on_one_table_without_crosstalk():
    """At a huge epsilon every answer is exact, so a thread that saw another's rows, or its noise, would be wrong."""
    source = rows(2000)
    ages = np.array(source["age"])
    with table(source, unit=None) as people:

        def ask(i):
            release = people.where(f"age >= {i}").count().release(epsilon=1000)
            return int(release.value), release.id

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ask, list(range(40)) * 2))
        assert [n for n, _ in found] == [int((ages >= i).sum()) for i in range(40)] * 2
        entries = people.ledger.entries()
        assert people.budget.spent == 1000 * len(entries)
        assert 40 <= len(entries) <= 80  # a repeat is free once the first is sealed
        assert {entry.state for entry in entries} == {"sealed"}
