"""Verbs from afar say the same question as verbs at home; what no method takes is refused before a price is known."""

from __future__ import annotations

import json

import pytest

import sordino as sd
from sordino.errors import QueryError, SordinoError
from sordino.remote.wording import VERBS, RemoteAsked, Words
from sordino.server.wire import CallBody, asked, is_call
from sordino.session.open_dataset import open_dataset
from sordino.session.private_limit import cap_question

from .hall import write

SAID = {
    "count": lambda t: t.count(),
    "count_units": lambda t: t.where("age > 30").count_units(),
    "count_distinct": lambda t: t.count_distinct("ward"),
    "counts": lambda t: t.counts(["age > 30", "sex = 'f'"]),
    "sum": lambda t: t.group_by("sex").sum("cost"),
    "mean": lambda t: t.mean("cost"),
    "means": lambda t: t.means(["cost", "age"]),
    "trimmed_mean": lambda t: t.trimmed_mean("cost", trim="0.2"),
    "winsorized_mean": lambda t: t.winsorized_mean("cost"),
    "huber_mean": lambda t: t.huber_mean("cost", scale=500),
    "m_estimate": lambda t: t.m_estimate("cost", "huber", scale=500),
    "variance": lambda t: t.variance("age"),
    "std": lambda t: t.where("sex = 'f'").where("age < 90").std("age"),
    "median": lambda t: t.median("cost"),
    "quantile": lambda t: t.quantile("cost", 0.9),
    "quantiles": lambda t: t.quantiles("cost", [0.25, 0.75]),
    "iqr": lambda t: t.iqr("cost"),
    "min": lambda t: t.min("age"),
    "max": lambda t: t.max("age"),
    "mode": lambda t: t.mode("sex"),
    "top_k": lambda t: t.top_k("ward", 3),
    "histogram": lambda t: t.histogram("age", bins=[0, 30, 60, 120]),
    "regress": lambda t: t.regress("cost ~ age"),
    "m_regress": lambda t: t.m_regress("cost ~ age", psi="tukey"),
    "row_limit": lambda t: t.where("age > 30").group_by("sex").row_limit(),
}
TOGETHER = lambda t: t.group_by("sex").agg(  # noqa: E731
    n=sd.count(), people=sd.count_units(), s=sd.sum("age"), a=sd.mean("age"), m=sd.median("cost"), q=sd.quantile("cost", 0.9),
    v=sd.variance("age"), d=sd.std("age"), low=sd.min("age"), high=sd.max("age"),
)  # fmt: skip


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SORDINO_STATE", str(tmp_path_factory.mktemp("state")))
        with open_dataset(write(tmp_path_factory.mktemp("calls"), purses="")) as found:
            yield found


def words(ask):
    return Words(RemoteAsked("admissions"), ask, lambda *_, **options: options)


def from_afar(opened, say):
    """Through the words of a remote table and the JSON of a request."""
    return say(words(lambda said: asked(opened, CallBody.model_validate_json(json.dumps(said.call)).text)))


def test_ranges_can_be_asked_for_from_afar(opened):
    said = from_afar(opened, lambda t: t.where("age > 30").cdf("cost", bins=64))
    assert said.key() == opened.tables["admissions"].where("age > 30").cdf("cost", bins=64).query.key()


def test_every_verb_of_a_table_can_be_said_from_afar():
    assert set(VERBS) == {*SAID, "logistic"}


def test_a_logistic_regression_from_afar_is_read_by_the_table_itself(opened):
    with pytest.raises(QueryError, match="no two public classes"):
        from_afar(opened, lambda t: t.logistic("cost ~ age"))


@pytest.mark.parametrize("verb", SAID)
def test_a_verb_from_afar_is_the_same_question(opened, verb):
    home, afar = SAID[verb](opened.admissions), from_afar(opened, SAID[verb])
    assert afar.key() == home.key()
    assert list(afar.asked.statistics) == list(home.asked.statistics)


def test_several_statistics_from_afar_are_the_same_question(opened):
    assert from_afar(opened, TOGETHER).key() == TOGETHER(opened.admissions).key()


def test_words_that_are_no_verbs_are_not_there(opened):
    table = words(lambda said: said)
    for name in ("apply", "release", "engine", "_declared", "rows"):
        with pytest.raises(AttributeError):
            getattr(table, name)
    with pytest.raises(QueryError, match="SRD-208"):
        table.agg(n=sd.count(), x=object())


WRONG = [
    "{", "{}", '{"table": "admissions"}', '{"table": "nowhere", "ask": {"verb": "count"}}',
    '{"table": "admissions", "ask": {"verb": "apply"}}',
    '{"table": "admissions", "ask": {"verb": "sum"}}', '{"table": "admissions", "ask": {"verb": "sum", "given": [["age"]]}}',
    '{"table": "admissions", "ask": {"verb": "sum", "given": ["nothing"]}}',
    '{"table": "admissions", "ask": {"verb": "_ask", "given": [1]}}',
    '{"table": "admissions", "ask": {"verb": "sum", "given": ["age"], "named": {"engine": 1}}}',
    '{"table": "admissions", "ask": {"verb": "histogram", "given": ["age"], "named": {"bins": [3, 1]}}}',
    '{"table": "admissions", "ask": {"verb": "quantile", "given": ["age", "1e999999999"]}}',
    '{"table": "admissions", "where": ["1; DROP TABLE x"], "ask": {"verb": "count"}}', '{"table": "admissions", "agg": {}}',
    '{"table": "admissions", "agg": {"n": {"verb": "histogram"}}}',
    '{"table": "admissions", "ask": {"verb": "histogram", "given": ["age"], "named": {"keys": "0.1"}}}',
    '{"table": "admissions", "ask": {"verb": "top_k", "given": ["ward", 1e9]}}',
    '{"table": "admissions", "ask": {"verb": "top_k", "given": ["ward"], "named": {"k": 1000000000}}}',
    '{"table": "admissions", "ask": {"verb": "count"}, "agg": {"n": {"verb": "count"}}}',
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_no_method_takes_is_refused(opened, text):
    assert is_call(text)
    with pytest.raises(SordinoError) as caught:
        asked(opened, text)
    assert not caught.value.spent


def test_a_minimum_whose_time_depends_on_the_rows_is_for_the_library(opened):
    text = '{"table": "admissions", "ask": {"verb": "logistic", "given": ["sex ~ age"], "named": {"method": "objective"}}}'
    with pytest.raises(QueryError, match="leave at public times"):
        asked(opened, text)
    assert asked(opened, text.replace("objective", "auto")).key()


def test_a_call_is_planned_paid_and_recalled_over_http(hall):
    token = hall.token()
    call = {"table": "admissions", "where": ["age >= 18"], "ask": {"verb": "trimmed_mean", "given": ["cost"], "named": {"trim": "0.1"}}}
    plan = hall.ask("POST", "/v1/plans", token, json={"call": call})
    assert plan.status_code == 201
    id = plan.json()["id"]
    assert hall.ask("POST", "/v1/plans", token, json={"call": call}).json()["id"] == id
    assert hall.ask("GET", f"/v1/plans/{id}/preview?epsilon=0.5", token).status_code == 200
    paid = hall.ask("POST", f"/v1/plans/{id}/release", token, "k", json={"epsilon": "0.5"})
    assert (paid.status_code, paid.json()["paid"]) == (200, True)
    assert hall.ask("POST", f"/v1/plans/{id}/release", token, "j", json={"epsilon": "0.25"}).json()["paid"] is False
    for body in ({}, {"sql": "SELECT COUNT(*) FROM admissions", "call": call}, {"call": {**call, "more": 1}}):
        assert hall.ask("POST", "/v1/plans", token, json=body).status_code == 422
    assert hall.spent(token) == 0.5


def test_a_narrower_question_is_said_from_afar_as_at_home(opened):
    def say(table):
        return table.group_by("sex").limit(rows=1).count()

    there, here = from_afar(opened, say), say(opened.tables["admissions"])
    assert there.key() == here.key()
    assert there.unit.max_rows == 1
    bundle = from_afar(opened, lambda t: t.group_by("sex").limit(rows=1, groups=1).agg(n=sd.count(), a=sd.mean("age")))
    assert (bundle.unit.max_rows, bundle.unit.max_groups) == (1, 1)
    with pytest.raises(QueryError, match="narrower"):
        from_afar(opened, lambda t: t.limit(rows=10_000).count())
    with pytest.raises(QueryError, match="no word for limits"):
        words(lambda said: said).limit(rows=1).agg(n="COUNT(*)")


def test_a_limit_is_drawn_from_afar_as_a_question_of_its_own(opened):
    with pytest.raises(QueryError, match="row_limit"):
        words(lambda said: said).limit(rows="private")
    table = opened.tables["admissions"].group_by("sex")
    drawn = from_afar(opened, lambda t: t.group_by("sex").row_limit())
    assert drawn.key() == cap_question(table.limit(rows="private").count()).key()
    cap = drawn.release(epsilon="0.2")
    assert 1 <= cap.value <= 4
    found = table.limit(rows="private").count().release(epsilon="0.5")
    assert f"at most {cap.value} admissions of one patient (a limit drawn" in found.about, "drawn from afar"
