from __future__ import annotations

import logging
import pickle
import shutil

import numpy as np
import pytest
from tests.session.people import QUESTIONS, declared, rows, table
from tests.session.sources import SOURCES

import sordino as sd
from sordino.errors import LedgerError, QueryError, SordinoError
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Ranks, Totals


class Sealed:
    """A column that may be counted and never read."""

    ndim = 1

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def _no(self, *_, **__):
        raise AssertionError("the column was read")

    __iter__ = __getitem__ = __array__ = to_list = tolist = _no


SEALED = {name: Sealed(240) for name in rows()}


def test_opening_asking_pricing_and_refusing_never_read_a_value():
    with sd.table(SEALED, **declared(budget=sd.Budget(epsilon=1, delta=1e-6), size=60)) as people:
        assert "7 columns" in repr(people)
        for ask in QUESTIONS.values():
            query = ask(people)
            assert query.key()
            query.settle(1)
            with pytest.raises(SordinoError, match="Nothing was spent"):
                query.release(epsilon=2)
        with pytest.raises(SordinoError, match="out of reach"):
            people.mean("age").release(within=1e-9)
        assert people.budget.spent == 0


def test_a_column_that_cannot_be_read_fails_after_the_charge_in_constant_words():
    with sd.table(SEALED, **declared()) as people:
        with pytest.raises(sd.errors.ReleaseFailed) as caught:
            people.median("income").release(epsilon=1)
        assert "read" not in str(caught.value)
        assert caught.value.__context__ is None
        assert people.budget.spent == 1


WRONG = {
    "an unknown column": ({"bounds": {"incme": (0, 1)}}, "SRD-201", "income"),
    "bounds the wrong way round": ({"bounds": {"income": (1, 0)}}, "SRD-204", "lower bound"),
    "a type nobody knows": ({"columns": {"income": "money"}}, "SRD-204", "type"),
    "bounds on text": ({"columns": {"zip": {"type": "cat", "bounds": (0, 1)}}}, "SRD-204", "bounds"),
    "no keys": ({"keys": {"sex": []}}, "SRD-204", "non-empty"),
    "no budget": ({"budget": None}, "SRD-304", "budget=sd.Budget"),
    "a budget that is a number": ({"budget": 3}, "SRD-304", "budget=sd.Budget"),
    "a person without limits": ({"max_rows": None}, "SRD-204", "max_rows="),
    "limits without a person": ({"unit": None}, "SRD-204", "limits per person need unit="),
    "limits of zero": ({"max_rows": 0}, "SRD-103", "at least 1"),
    "an unknown unit": ({"unit": "patient"}, "SRD-201", "patient"),
    "a unit with bounds": ({"bounds": {"person": (0, 1)}}, "SRD-204", "privacy unit"),
    "replace without a size": ({"relation": "replace"}, "SRD-107", "size="),
    "an unknown relation": ({"relation": "swap"}, "SRD-107", "add_remove"),
    "a size of nothing": ({"size": 0}, "SRD-204", "whole number"),
    "a size in words": ({"size": "many"}, "SRD-204", "whole number"),
    "an engine that is not here": ({"engine": "oracle"}, "SRD-106", "duckdb"),
    "a nameless table": ({"name": ""}, "SRD", "name|dataset"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_declaration_is_refused_with_the_fix_and_nothing_is_read(what):
    words, code, fix = WRONG[what]
    base = {"unit": "person", "max_rows": 3, "max_groups": 2, "bounds": {"income": (0, 1)}, "ledger": ":memory:"}
    base["budget"] = sd.Budget(epsilon=1)
    with pytest.raises(QueryError, match=code) as caught:
        sd.table(SEALED, **(base | words))
    assert any(part in str(caught.value) for part in fix.split("|"))
    assert str(caught.value).endswith("Nothing was spent.")


NOTHING = [3, None, "rows.xlsx", "missing.parquet", "missing.csv", {}, {"a": 3}, {"a": [1], "b": [1, 2]}, {1: [1]}, [1, 2]]


@pytest.mark.parametrize("source", NOTHING)
def test_what_is_no_source_is_refused(source):
    with pytest.raises(QueryError, match="SRD-205"):
        sd.table(source, budget=sd.Budget(epsilon=1), ledger=":memory:")


def test_a_number_without_bounds_is_refused_when_it_is_asked_for():
    with sd.table(SEALED, columns={"age": "int"}, budget=sd.Budget(epsilon=1), ledger=":memory:") as people:
        with pytest.raises(QueryError, match=r"SRD-202.*bounds=\{'age': \(low, high\)\}"):
            people.mean("age")
        with pytest.raises(QueryError, match="SRD-203"):
            people.mean("income")  # never declared: text with private keys


@pytest.mark.parametrize("kind", ["parquet", "csv", "duckdb", "parquet parts"])
def test_the_ledger_of_a_file_lives_beside_it_and_another_one_is_refused(kind, tmp_path):
    source = SOURCES[kind](rows(), tmp_path)
    words = declared(ledger=None)
    with sd.table(source, **words) as people:
        people.count().release(epsilon=1)
    beside = tmp_path / f"{str(source).split('::')[0]}.ledger"
    assert beside.exists()
    assert list(tmp_path.glob(".*.sordino"))
    with sd.table(source, **words) as again:
        assert again.budget.spent == 1
    for other in (str(tmp_path / "other.ledger"), ":memory:"):
        with pytest.raises(LedgerError, match=r"SRD-604.*another ledger"):
            sd.table(source, **(words | {"ledger": other}))


def test_a_copied_name_or_a_link_is_the_same_data(tmp_path):
    source = SOURCES["parquet"](rows(), tmp_path)
    with sd.table(source, **declared(ledger=None)):
        pass
    (tmp_path / "alias.parquet").symlink_to(source)
    with pytest.raises(LedgerError, match="SRD-604"):
        sd.table(tmp_path / "alias.parquet", **declared(ledger=None))


def test_a_ledger_in_memory_is_noticed_in_one_line(caplog):
    with caplog.at_level(logging.WARNING), sd.table(rows(), **declared(ledger=None)):
        pass
    assert [record.getMessage().count("\n") for record in caplog.records if "memory" in record.getMessage()] == [0]
    caplog.clear()
    with caplog.at_level(logging.WARNING), sd.table(rows(), **declared(ledger=":memory:")):
        pass
    assert not caplog.records


def test_a_ledger_made_for_other_terms_is_refused(tmp_path):
    path = str(tmp_path / "people.ledger")
    with table(ledger=path):
        pass
    for words in ({"relation": "replace"}, {"budget": sd.Budget(epsilon=5)}, {"name": "other"}, {"unit": None}):
        with pytest.raises(LedgerError, match="SRD-604"):
            table(ledger=path, **words)


def test_a_lost_ledger_does_not_refill_the_budget(tmp_path):
    path = tmp_path / "people.ledger"
    with table(ledger=str(path)) as people:
        people.count().release(epsilon=1)
    shutil.copy(path, tmp_path / "backup")
    with table(ledger=str(path)) as people:
        people.count().release(epsilon=1, fresh=True)
    shutil.copy(tmp_path / "backup", path)
    for wal in tmp_path.glob("people.ledger-*"):
        wal.unlink()
    with pytest.raises(LedgerError, match="SRD-602"):
        table(ledger=str(path))


def test_a_table_says_who_is_protected_and_what_is_left():
    with table() as people:
        text = repr(people)
        assert "unit 'person', at most 3 rows of one person, in at most 2 groups, add_remove" in text
        assert "spent 0 of epsilon 1e+06" in text
    with table(unit=None, relation="replace", size=240) as people:
        assert "every row is a unit, replace" in repr(people)


def test_a_closed_table_answers_nothing_and_spends_nothing():
    people = table()
    people.close()
    with pytest.raises(LedgerError, match="closed"):
        people.count().release(epsilon=1)


def test_a_summary_neither_shows_nor_travels():
    with table() as people:
        age = people.columns["age"]
        frame = Frame(PrivacyUnit(), columns=(age,))
        with people.engine.bounded(frame, 1) as bounded:
            totals = bounded.ask(Totals((Item("rows"), Item("sum", "age"))))
            secret = str(int(totals.values[Item("sum", "age")][0]))
            for held in (bounded, totals, people.engine, people, people.count()):
                assert secret not in repr(held) + str(held)
            for held in (totals, people.engine, people, people.count()):
                with pytest.raises(TypeError):
                    pickle.dumps(held)
            assert next(iter(bounded.ask(Ranks("age", (), 3)))) == ()


def test_a_frame_may_grow_and_the_table_keeps_what_it_was_given():
    data = {"age": np.arange(100)}
    with sd.table(data, columns={"age": {"type": "int", "bounds": (0, 120)}}, budget=sd.Budget(epsilon=10**6), ledger=":memory:") as people:
        data["age"] = np.arange(5)
        assert people.count().release(epsilon=1000).value == 100


def test_rows_in_another_order_and_ids_of_another_type_give_the_same_answer():
    data = rows()
    back = {name: values[::-1] for name, values in data.items()}
    with table(data, max_rows=20, max_groups=9) as one, table(back, max_rows=20, max_groups=9) as two:
        for ask in (lambda t: t.count(), lambda t: t.count_units(), lambda t: t.group_by("sex").count()):
            assert ask(one).release(epsilon=100_000).to_dict() == ask(two).release(epsilon=100_000).to_dict()


def test_ids_that_differ_by_case_or_space_are_one_person_only_when_folded():
    data = {"person": ["Ana", "ana", " ana ", "bo"], "age": [1, 2, 3, 4]}
    words = {
        "unit": "person", "max_rows": 9, "max_groups": 1, "columns": {"age": {"type": "int", "bounds": (0, 9)}},
        "budget": sd.Budget(epsilon=10**6), "ledger": ":memory:",
    }  # fmt: skip
    with sd.table(data, **words) as apart, sd.table(data, **words, fold_ids=True) as together:
        assert apart.count_units().release(epsilon=1000).value == 4
        assert together.count_units().release(epsilon=1000).value == 2
        assert apart.count_units().key() != together.count_units().key()


def test_a_declared_column_must_be_declared_once():
    with pytest.raises(QueryError, match="twice"):
        table(columns={"income": {"type": "float", "bounds": (0, 1)}})
    assert Column("x", "cat").keys is None


def test_the_budget_burning_down_and_a_question_can_be_looked_at():
    with table() as people:
        people.count().release(epsilon=1)
        assert "% of the cap left" in str(people.ledger.plot())
        assert "nothing read, nothing spent" in people.count()._repr_html_()


def test_what_changed_in_the_limits_is_said_once(monkeypatch, caplog):
    monkeypatch.setattr("sordino.session.table._told", [])
    for limits in ({"max_groups": 1}, {"max_groups": 2, "max_rows_per_group": 2}):
        table(**limits).close()
    assert "max_rows" not in caplog.text
    for _ in range(2):
        table(max_rows=3, max_groups=2).close()
    (said,) = [line for line in caplog.messages if "max_rows" in line]
    assert "max_rows=6, max_rows_per_group=3" in said
