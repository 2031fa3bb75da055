"""What a statistic's own file says is what verbs, SQL, HTTP, sentences, documents and conformance know of it."""

import importlib
import re
import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
from tests.server.hall import Visitor, write

import sordino as sd
from sordino import statistics
from sordino.errors import QueryError
from sordino.lab.conformance import check_statistic
from sordino.lab.covering import coverage
from sordino.lab.question import examples
from sordino.remote.wording import RemoteAsked, Words, _part
from sordino.session.verbs import TableVerbs
from sordino.statistics import registry

ROOT = Path(__file__).parents[2]
FILE, TEST = re.findall(r"^```python\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def worked(tmp_path, monkeypatch):
    """The worked example of CONTRIBUTING, as a file outside the package, until the test is over."""
    (tmp_path / "decile_range.py").write_text(FILE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_KNOWN", dict(registry._KNOWN))
    examples.cache_clear()
    yield importlib.import_module("decile_range")
    del sys.modules["decile_range"]
    examples.cache_clear()


@pytest.fixture
def table():
    rows = {"cost": [float(i % 1000) for i in range(4000)], "ward": ["a", "b"] * 2000}
    facts = {"bounds": {"cost": (0, 1000)}, "keys": {"ward": ["a", "b"]}, "budget": sd.Budget(epsilon=100, delta="1e-6")}
    with sd.table(rows, relation="add_remove", ledger=":memory:", name="t", **facts) as opened:
        yield opened


def test_the_worked_example_of_contributing_passes_its_own_test(worked, table):
    namespace: dict = {}
    exec(compile(TEST, "CONTRIBUTING.md", "exec"), namespace)
    namespace["test_decile_range"](table)


def test_the_worked_example_is_a_verb_everywhere(worked, table):
    asked = table.agg(answer=worked.decile_range("cost"))
    assert table.decile_range("cost").key() == asked.key()  # type: ignore[attr-defined]
    assert table.where("cost >= 0").group_by("ward").ask("decile_range", "cost").release(epsilon=5).to_dict()["ward"] == ["a", "b"]
    both = table.sql("SELECT ward, DECILE_RANGE(cost + 1) AS d, COUNT(*) AS n FROM t GROUP BY ward").release(epsilon=10).to_dict()
    assert all(abs(d - 800) < 100 for d in both["d"])
    assert [one for one in coverage(asked, epsilon=1, repeats=200) if one.share is None or one.share < 0.93 or one.truth != 800] == []
    assert "decile_range" in examples()
    assert "| `decile_range(column)` | The distance of the first and the last decile of a column. | `DECILE_RANGE` |" in _page()


def _page() -> str:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return str(importlib.import_module("pages").statistics())
    finally:
        sys.path.remove(str(ROOT / "tools"))


def test_the_worked_example_is_asked_over_http(worked, tmp_path, monkeypatch):
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    sent: list[RemoteAsked] = []
    words = Words(RemoteAsked("admissions"), sent.append, lambda *_: None)  # type: ignore[arg-type]
    words.ask("decile_range", "cost")
    words.decile_range("cost")  # type: ignore[attr-defined]
    words.agg(n=sd.count(), d=worked.decile_range("cost"))
    assert sent[0].call == sent[1].call
    assert sent[2].call["agg"] == {"n": {"verb": "count"}, "d": {"verb": "decile_range", "given": ["cost"]}}
    visitor = Visitor(write(tmp_path, purses="", epsilon=1000))
    try:
        token = visitor.token("amina")
        for number, asked in enumerate((sent[0], sent[2])):
            plan = visitor.ask("POST", "/v1/plans", token, json={"call": asked.call}).json()["id"]
            paid = visitor.ask("POST", f"/v1/plans/{plan}/release", token, f"key-{number}", json={"epsilon": 20})
            assert paid.status_code == 200
            assert "the distance of the first and the last decile of cost" in paid.json()["about"]
        document = visitor.ask("GET", "/v1/openapi.json").json()["components"]["schemas"]
        assert "decile_range" in document["VerbCall"]["properties"]["verb"]["enum"]
        assert "decile_range" in document["CallPart"]["properties"]["verb"]["enum"]
        odd = visitor.ask("POST", "/v1/plans", token, json={"call": {"table": "admissions", "ask": {"verb": "corr"}}})
        assert (odd.status_code, odd.json()["code"]) == (422, "SRD-503")
    finally:
        visitor.close()


def test_a_twin_of_the_worked_example_that_draws_more_than_it_charges_is_caught(worked):
    @dataclass(frozen=True)
    class Greedy(worked.DecileRange):  # type: ignore[name-defined,misc]
        def ways(self, epsilon, delta, context):
            def build():
                honest = super(Greedy, self).ways(epsilon, delta, context)["exponential"]()
                greedy = super(Greedy, self).ways(3 * epsilon, delta, context)["exponential"]()

                class Step(type(honest)):
                    parts = honest.parts

                return Step(*(getattr(greedy, name) for name in greedy.__dataclass_fields__))

            return {"exponential": build}

    assert not check_statistic(Greedy("income"), places=("",)).ok


def test_every_registered_statistic_can_be_asked_by_name(table):
    for name, one in statistics.catalog().items():
        assert one.about, name
        if one.verb and one.needed in ((), ("column",)) and name != "histogram":
            column = [] if not one.needed else ["ward" if one.cells else "cost"]
            assert table.ask(name, *column).key() == table.agg(x=one.make(*column)).key()
            assert hasattr(TableVerbs, name)
    for odd in ("corr", "present", "release", "_ask", "sql"):  # no verbs, or no statistics
        with pytest.raises(QueryError, match="no statistic is called"):
            table.ask(odd, "cost")
    with pytest.raises(AttributeError, match="sql"):
        _ = table.corr


def test_a_statistic_that_is_sent_together_is_sent_whole():
    """A statistic with more said than its verb takes is refused, not shortened."""
    assert _part("x", sd.mode("a")) == {"verb": "mode", "given": ["a"]}
    assert _part("x", sd.median("a")) == {"verb": "quantile", "given": ["a", "1/2"]}
    for asked in (
        sd.top_k("a", 1, counts=True),
        sd.mean("a", "clamped"),
        replace(sd.std("a"), sample=True),
        sd.quantile("a", Fraction(1, 3), level="0.9"),
    ):
        with pytest.raises(QueryError, match="cannot be sent together"):
            _part("x", asked)


def test_two_files_cannot_have_one_name(worked):
    with pytest.raises(QueryError, match="registered already"):
        registry.registered("median", about="another")(worked.decile_range)
    with pytest.raises(QueryError, match="registered already"):
        registry.registered("corr", about="another")(partial(statistics.second_moment.Pair, "covar_pop"))
    with pytest.raises(QueryError, match="AVG asks for 'mean' already"):
        registry.registered("aaa", about="another", sql=("AVG",))(worked.DecileRange)
    for word in ("share", "sql", "release"):
        with pytest.raises(QueryError, match="a word of tables"):
            registry.registered(word, about="another")(worked.DecileRange)
    table, query = sd.session.table.Table, sd.session.query.Query
    beside = {name for kind in (TableVerbs, table, query) for name in dir(kind) if not name.startswith("_")} - set(statistics.catalog())
    assert {name for name in beside if name in vars(TableVerbs)} <= registry.RESERVED
    assert registry.RESERVED & set(statistics.catalog()) <= {"gram", "row_limit"}


def test_a_statistic_from_elsewhere_has_its_own_name_in_its_question(worked, table):
    @dataclass(frozen=True)
    class Quiet(worked.DecileRange):  # type: ignore[name-defined,misc]
        def question(self):
            return {"statistic": "quantile", "column": self.column, "q": "1/2"}

    def quiet(column):
        return Quiet(column)

    made = registry.registered("quiet", about="{of}")(quiet)
    with pytest.raises(QueryError, match="the question of 'quiet' is called 'quantile'"):
        made("cost")
    with pytest.raises(QueryError, match="is called 'quantile'"):
        table.ask("quiet", "cost")


def test_odd_words_of_a_function_of_ones_own_are_refused_for_nothing(worked, table):
    asked = table.sql("SELECT DECILE_RANGE(cost) FILTER (WHERE cost >= 0) AS d FROM t")
    assert "decile" in asked.release(epsilon=5).about
    for odd in ("DECILE_RANGE('cost')", "DECILE_RANGE(1)", "DECILE_RANGE()", "DECILE_RANGE(cost, 'x')", "REGR_SLOPE(cost)", "CORR(cost)"):
        with pytest.raises(QueryError) as refused:
            table.sql(f"SELECT {odd} AS d FROM t").release(epsilon=1)
        assert not any(word in str(refused.value) for word in ("KeyError", "AttributeError", "Fraction(")), odd
