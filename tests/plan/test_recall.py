"""The same question has the same key, in every process and for ever; another question has another."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from schema.worlds import COLUMNS
from sordino.errors import QueryError
from sordino.plan.query_plan import QueryPlan
from sordino.plan.recall import question, question_format_1, recall_key
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.statistics.port import Counted

from .fakes import COUNT, MEAN, MEDIAN, Fake

PEOPLE = QueryPlan("people", COLUMNS)
PERSON, ROW = PrivacyUnit("person", max_rows=8, max_groups=4), PrivacyUnit()
ASKED = PEOPLE.with_where("age >= 18 AND sex = 'f'").group_by("sex").agg(n=COUNT, med=MEDIAN)
GOLDEN_1 = "99c43311645534860fbafbbdd652b1cef6d499deac93eb1836944418bd66bb86"
GOLDEN = "9468ff4ec6107250a9bf600ef939637415ae52c017d8a13564f2b5f56114bb2e"
FACTS = {"table", "where", "by", "statistics", "columns", "unit", "fold_ids", "relation", "max_rows", "max_groups"}


def _key(query=ASKED, unit=PERSON, dataset="d", version="1", mechanism=None, **more):
    return recall_key(dataset, version, question(query.by_mechanism(mechanism), unit, **more))


def test_the_question_is_plain_json_without_a_price():
    asked = question(ASKED, PERSON)
    assert json.loads(json.dumps(asked)) == asked
    assert set(asked) == FACTS | {"max_rows_per_group", "text"}
    assert asked["statistics"] == [MEDIAN.question(), COUNT.question()], "in one order, that of their spelling"
    assert asked["columns"]["income"]["grid"] == ["1/536870912", 0, 536870912000000]
    assert asked["columns"]["sex"]["keys"] == [["text", "f"], ["text", "m"]]
    assert set(asked["columns"]) == {"age", "income", "sex"}


def test_the_same_question_has_the_same_key_however_it_is_written():
    same = [
        PEOPLE.agg(med=MEDIAN, n=COUNT).group_by("sex").with_where("sex = 'f'").with_where("NOT age < 18"),
        PEOPLE.with_where("sex IN ('f') AND age > 17").group_by("sex").agg(n=COUNT).agg(med=MEDIAN),
    ]
    assert {_key(query) for query in same} == {_key()}
    assert _key(mechanism="auto") == _key(mechanism=None) == _key()
    shaped = replace(ASKED, columns={**COLUMNS, "income": replace(COLUMNS["income"], shape="skewed"), "price": Column("price", "cat")})
    assert _key(shaped) == _key(), "a shape is advice to the planner, and columns nobody asks about do not matter"


def _changed(name, **facts):
    return replace(ASKED, columns={**COLUMNS, name: replace(COLUMNS[name], **facts)})


def test_the_length_of_a_text_is_part_of_the_question_that_reads_it():
    assert question(ASKED, PERSON)["text"] == {}
    assert question(_changed("sex", max_length=5), PERSON)["text"] == {"sex": 5}
    assert _key(_changed("sex", max_length=256)) == _key() != _key(_changed("sex", max_length=5))
    unread = next(name for name, column in COLUMNS.items() if column.type == "cat" and name != "sex")
    assert _key(_changed(unread, max_length=5)) == _key()


def test_another_question_has_another_key():
    others = [
        _key(),
        _key(dataset="e"),
        _key(version="2"),
        _key(replace(ASKED, table="persons")),
        _key(ASKED.with_where("kids = 1")),
        _key(ASKED.group_by("smoker")),
        _key(ASKED.group_by("smoker", "sex")),
        _key(ASKED.group_by("sex", "smoker")),
        _key(ASKED.agg(avg=MEAN)),
        _key(_changed("income", bounds=(0, 999))),
        _key(_changed("income", resolution=1)),
        _key(_changed("income", nulls=0)),
        _key(_changed("sex", keys=("f", "m", "x"))),
        _key(_changed("sex", keys=("m", "f"))),
        _key(_changed("sex", keys=None)),
        _key(_changed("income", type="int")),
        _key(unit=replace(PERSON, max_rows=9)),
        _key(unit=replace(PERSON, max_rows_per_group=2)),
        _key(unit=replace(PERSON, max_groups=5)),
        _key(unit=replace(PERSON, relation="replace")),
        _key(unit=ROW),
        _key(fold_ids=True),
        _key(mechanism="laplace"),
        _key(mechanism="smooth"),
        _key(PEOPLE.with_where("age >= 18 AND sex = 'f'").group_by("sex").agg(n=COUNT, med=replace(MEDIAN, level="9/10"))),
        _key(ASKED.with_where("income < 500000")),
        _key(PEOPLE.agg(n=COUNT)),
        _key(PEOPLE.agg(n=Fake("count", cells=Counted("sex")))),
    ]
    assert len(set(others)) == len(others)
    assert all(len(key) == 32 for key in others)


def test_labels_are_no_part_of_the_question():
    assert _key(PEOPLE.agg(n=COUNT)) == _key(PEOPLE.agg(m=COUNT)) == _key(PEOPLE.agg(a=COUNT, b=COUNT))
    assert _key(PEOPLE.agg(n=COUNT, m=MEAN)) == _key(PEOPLE.agg(m=COUNT, n=MEAN)) == _key(PEOPLE.agg(x=MEAN, y=COUNT, z=COUNT))


def test_a_limit_by_group_that_limits_nothing_is_no_other_question():
    assert _key(unit=replace(PERSON, max_rows_per_group=8)) == _key(unit=replace(PERSON, max_rows_per_group=9)) == _key()


def test_the_key_never_changes():
    assert _key().hex() == GOLDEN, "a changed key makes every analyst pay again: raise the format and say so"


def test_the_key_of_format_1_is_frozen():
    """It is how answers recorded under that format are found."""
    asked = question_format_1(ASKED, PERSON)
    assert set(asked) == FACTS
    assert asked["statistics"] == {"n": COUNT.question(), "med": MEDIAN.question()}
    assert recall_key("d", "1", asked, format=1).hex() == GOLDEN_1
    upgraded = replace(PERSON, max_rows=32, max_rows_per_group=8)
    assert question_format_1(ASKED, upgraded) == asked, "format 1 wrote the limit of each group"


def test_the_key_is_the_same_in_another_process():
    code = "from plan.test_recall import _key; print(_key().hex())"
    for seed in ("0", "1"):
        world = {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=world)
        assert done.stdout.strip() == GOLDEN


@pytest.mark.parametrize(("dataset", "version"), [("", "1"), ("d", ""), (None, "1"), ("d", 1), ("\ud800", "1")])
def test_dataset_and_version_are_text(dataset, version):
    with pytest.raises(QueryError, match="SRD-204"):
        recall_key(dataset, version, {})


def test_names_cannot_be_shifted_between_fields():
    assert recall_key("a", "bc", {}) != recall_key("ab", "c", {})


def test_a_question_needs_a_statistic():
    with pytest.raises(QueryError, match="SRD-208"):
        question(PEOPLE, ROW)
