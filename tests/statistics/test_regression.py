"""Regression asked of a table: the formula, the coefficients and their bars, and that no person moves the draws beyond the price."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sordino as sd
from sordino.engines.moment_text import gram_text
from sordino.engines.scan import Scan
from sordino.engines.text import Text
from sordino.errors import QueryError
from sordino.mechanisms.estimate import Estimate
from sordino.mechanisms.gaussian import largest_mu
from sordino.noise import draw
from sordino.schema.column import Column
from sordino.statistics.port import Answer
from sordino.statistics.regression_formula import parse

COLUMNS = {
    "cost": Column("cost", "float", (0, 400)),
    "age": Column("age", "int", (0, 100)),
    "sex": Column("sex", "cat", keys=("f", "m", "x")),
    "zip": Column("zip", "cat"),
    "hi": Column("hi", "bool", keys=(False, True)),
    "born": Column("born", "date", ("1950-01-01", "2000-01-01")),
    "id": Column("id", "id"),
    "odd name": Column("odd name", "float", (0, 1)),
    "free": Column("free", "float"),
}


def test_a_formula_is_names_keys_and_plus_signs():
    found = parse("cost ~ age +C( sex )+ `odd name`", COLUMNS)
    assert found.target.column == "cost"
    assert [part.name for part in found.parts] == ["age", "sex=m", "sex=x", "odd name"]
    assert len(found.required) == 1
    assert parse("hi ~ age", COLUMNS, binary=True).target.key is True
    two = COLUMNS | {"arm": Column("arm", "cat", keys=("control", "drug"))}
    assert parse("arm ~ age", two, binary=True).target.key == "drug"
    assert parse("sex ~ age", two, binary=True).target.classes == tuple(COLUMNS["sex"].keys)
    for bad in ("zip ~ age", "cost ~ age", "C(arm) ~ age", "arm:hi ~ age"):
        with pytest.raises(QueryError):
            parse(bad, two, binary=True)
    assert [part.name for part in parse("cost ~ hi", COLUMNS).parts] == ["hi"]


def test_products_powers_and_logarithms_have_bounds_by_interval_arithmetic():
    found = parse("cost ~ age:hi + C(sex):age + C(sex):C(hi) + I(age**2 - 1) + log(`odd name` + 1) + I(-age / 4)", COLUMNS)
    assert [part.name for part in found.parts] == [
        "age:hi", "sex=m:age", "sex=x:age", "sex=m:hi=True", "sex=x:hi=True", "I(age**2 - 1)", "log(`odd name` + 1)", "I(-age / 4)",
    ]  # fmt: skip
    made = {column.name: column for column in found.derived}
    bounds = [None if part.predicate else tuple(map(float, made[part.column].bounds)) for part in found.parts]
    assert bounds[:7] == [(0, 100), (0, 100), (0, 100), None, None, (-1, 9999), (0, pytest.approx(math.log(2)))]
    assert bounds[7] == (-25, 0)
    assert len(found.required) == 2
    assert parse("log(cost + 1) ~ age", COLUMNS).target.name == "log(cost + 1)"


@pytest.mark.parametrize("where", [None, "age >= 20"])
def test_a_formula_with_everything_is_the_least_squares_of_its_design(where):
    rows = town(20_000)
    with table(rows) as held:
        asked = held if where is None else held.where(where)
        query = asked.regress("cost ~ age + C(sex) + age:C(sex) + I(age**2 / 100) + log(age + 1) + hi:age")
        found = query.release(epsilon=500, delta=1e-4)
    keep = rows["age"] >= (0 if where is None else 20)
    age, sex, hi, cost = (rows[name][keep] for name in ("age", "sex", "hi", "cost"))
    made = [np.ones(len(age)), age, sex == "m", sex == "x", age * (sex == "m"), age * (sex == "x"), age**2 / 100, np.log(age + 1), hi * age]
    design = np.column_stack(made).astype(float)
    truth = np.linalg.lstsq(design, np.clip(cost, 0, 400), rcond=None)[0]
    ours = design @ np.array(list(found.value.values()))
    assert ours == pytest.approx(design @ truth, abs=2.0)
    assert list(found.value)[4:] == ["age:sex=m", "age:sex=x", "I(age**2 / 100)", "log(age + 1)", "hi:age"]


@pytest.mark.parametrize(
    "text",
    [
        "", "cost", "~ age", "cost ~", "cost ~ age ~ sex", "cost ~ age * sex", "cost ~ age - 1", "cost ~ 0 + age", "cost ~ age + ",
        "cost ~ I(age", "cost ~ C(zip)", "cost ~ zip", "cost ~ sex", "C(sex) ~ age", "cost ~ age + age", "cost ~ cost", "cost ~ born",
        "cost ~ id", "cost ~ free", "cost ~ C(age)", "cost ~ unknown", "cost ~ __import__('os')", "cost ~ age; DROP TABLE t",
        "cost ~ C(C(sex))", "cost ~ `age", "x" * 20_000, None, 5, "cost ~ log(age)", "cost ~ age:sex",
        "cost ~ I(__import__('os'))", "cost ~ I(age.real)",
        "cost ~ I(age**0.5)", "cost ~ I(age**99)", "cost ~ I(age if age else 1)", "cost ~ I(zip + 1)", "cost ~ I('a')", "cost ~ I(1)",
        "cost ~ age:", "cost ~ :age", "cost ~ I(" + "(" * 200 + "age" + ")" * 200 + ")", "cost ~ log(sex)", "cost ~ born:age",
        "age + cost ~ hi", "age:cost ~ hi", "cost ~ I(lambda: age)", "cost ~ I(age @ age)", "cost ~ C(log(age))", "cost ~ I(_quoted_0_)",
    ],
)  # fmt: skip
def test_everything_else_is_refused_with_a_fix(text):
    with pytest.raises(QueryError) as caught:
        parse(text, COLUMNS)
    assert caught.value.fix


def town(n=4_000, seed=1, people=None):
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(0, 101, n), rng.choice(["f", "m", "x"], n)
    cost = 50 + 2.0 * age + 10 * (sex == "m") + rng.normal(0, 10, n)
    rows = {"cost": cost, "age": age, "sex": sex, "hi": cost > 150}
    return rows if people is None else rows | {"id": rng.integers(0, people, n)}


def table(rows, **more):
    facts = {"columns": {"age": {"type": "int", "bounds": (0, 100)}, "hi": "bool"}, "bounds": {"cost": (0, 400)}}
    budget = {"budget": sd.Budget(epsilon=1000, delta=0.01), "ledger": ":memory:"}
    return sd.table(rows, **facts, keys={"sex": ["f", "m", "x"]}, **budget, **more)


def design(rows):
    return np.column_stack([np.ones(len(rows["cost"])), rows["age"], rows["sex"] == "m", rows["sex"] == "x"])


def test_with_little_noise_the_coefficients_are_the_least_squares():
    rows = town(20_000)
    truth = np.linalg.lstsq(design(rows), np.clip(rows["cost"], 0, 400), rcond=None)[0]
    with table(rows) as held:
        found = held.regress("cost ~ age + C(sex)").release(epsilon=100, delta=1e-4)
        assert list(found.value) == ["intercept", "age", "sex=m", "sex=x"]
        assert list(found.value.values()) == pytest.approx(truth, abs=1.0)
        robust = held.regress("cost ~ age + C(sex)", loss="huber").release(epsilon=100, delta=1e-4)
        assert robust.value["age"] == pytest.approx(truth[1], abs=0.1)
        odds = held.regress("hi ~ age", loss="logistic").release(epsilon=100, delta=1e-4)
        assert odds.value["age"] > 0.05
        assert held.logistic("hi ~ age").release(epsilon=100, delta=1e-4).recalled
        assert odds.low["age"] < odds.value["age"] < odds.high["age"]
        wide = odds.interval(kind="total")
        assert wide[0]["age"] < odds.low["age"]
        assert found.bar == "bound"
        assert odds.bar == "bound"
        assert robust.bar == "none"
        assert found.to_dict()["term"] == ["intercept", "age", "sex=m", "sex=x"]
        assert found.card["mechanism"] == "LeastSquares"
        assert "least squares" in str(found)
        assert "rows were shortened" in found.card["drawn besides"]["regress(cost ~ age + C(sex))"]


@pytest.mark.parametrize("by", [False, True])
def test_every_coefficient_lies_within_its_bars_as_often_as_they_say(by):
    """At least 95%; 100 draws with a true coverage of 95% have fewer than 82 hits with probability below 1e-6."""
    rows = town(3_000)
    truth = np.linalg.lstsq(design(rows), np.clip(rows["cost"], 0, 400), rcond=None)[0]
    keep = rows["sex"] == "f"
    alone = np.polyfit(rows["age"][keep], np.clip(rows["cost"], 0, 400)[keep], 1)[::-1]
    with table(rows) as held:
        query = held.group_by("sex").regress("cost ~ age") if by else held.regress("cost ~ age + C(sex)")
        plan, hits = query.settle(1, 1e-6), []
        (step,) = plan.steps.values()
        with held.engine.bounded(plan.frames[0], 1) as bounded:
            known = {}

            def ask(request):
                if request not in known:
                    known[request] = bounded.ask(request)
                return known[request]

            for _ in range(100):
                answer, *_ = step.release(ask, draw, (("f",), ("m",), ("x",)) if by else None)
                low, high = np.array(list(answer.low.values())), np.array(list(answer.high.values()))
                wide = step.population(answer, 0.95)
                assert (np.array(list(wide[0].values())) <= low).all()
                hits.append((low <= (alone if by else truth)) & ((alone if by else truth) <= high))
    assert np.sum(hits, axis=0).min() >= 82


def test_groups_filters_and_intervals():
    with table(town(6_000)) as held:
        by = held.group_by("sex").regress("cost ~ age").release(epsilon=50, delta=1e-4)
        assert by.to_dict()["sex"] == ["f", "f", "m", "m", "x", "x"]
        assert by.to_dict()["coefficient"][1] == pytest.approx(2, abs=0.3)
        adults = held.where("age >= 50").regress("cost ~ age").release(epsilon=50, delta=1e-4)
        low, high = adults.interval(0.5)
        assert adults.low["age"] <= low["age"] <= adults.value["age"] <= high["age"] <= adults.high["age"]
        wide = adults.interval(0.5, kind="total")
        assert wide[0]["age"] < low["age"]
        assert high["age"] < wide[1]["age"]
        again = held.where("age >= 50").regress("cost ~ age").release(epsilon=50, delta=1e-4)
        assert again.recalled
        assert again.value == adults.value
        with pytest.raises(QueryError, match="groups"):
            held.group_by("sex").regress("cost ~ age", loss="huber").release(epsilon=1)
        for call in (lambda: held.regress("hi ~ age", loss="x"), lambda: held.regress("cost ~ age", loss="logistic")):
            with pytest.raises(QueryError):
                call()


def places(held, question, epsilon, outcomes=None):
    """The laws of a release, in order: with outcomes given they are pinned, otherwise drawn and written down."""
    plan = question(held).settle(epsilon, 1e-6)
    laws, drawn = [], []

    def pinned(law):
        laws.append(law)
        drawn.append(draw(law) if outcomes is None else outcomes[len(laws) - 1])
        return drawn[-1]

    plan.converse(lambda frame: held.engine.bounded(frame, 77), pinned)
    return laws, drawn


def spent(one, other, question):
    """The mu that two neighbouring tables really use."""
    first, drawn = places(one, question, 1)
    second, _ = places(other, question, 1, drawn)
    assert len(first) == len(second)
    total = 0.0
    for a, b in zip(first, second, strict=True):
        assert a.scale == b.scale
        scale = np.array([float(s) for s in a.scale]) if isinstance(a.scale, list) else float(a.scale)
        total += float((((np.atleast_1d(a.location) - np.atleast_1d(b.location)) / scale) ** 2).sum())
    return math.sqrt(total)


QUESTIONS = {
    "squares": lambda held: held.regress("cost ~ age + C(sex)"),
    "groups": lambda held: held.group_by("sex").regress("cost ~ age"),
    "filter": lambda held: held.where("age > 10").regress("cost ~ age"),
    "huber": lambda held: held.regress("cost ~ age", loss="huber"),
    "logistic": lambda held: held.regress("hi ~ age", loss="logistic"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_person_moves_the_draws_by_more_than_the_price(name):
    """A person with many extreme rows in every group leaves; the bounds of three rows in two groups hold."""
    rows = town(300, people=60)
    rows["id"][:30] = 999
    rows["cost"] = np.where(rows["id"] == 999, 400.0, rows["cost"])
    rows["age"] = np.where(rows["id"] == 999, 100, rows["age"])
    rest = {column: values[rows["id"] != 999] for column, values in rows.items()}
    price = float(largest_mu(Fraction(1), Fraction(1, 10**6)))
    with table(rows, unit="id", max_rows=3, max_groups=2) as one, table(rest, unit="id", max_rows=3, max_groups=2) as other:
        used = spent(one, other, QUESTIONS[name])
    assert 0 < used <= price
    if name in ("squares", "groups"):
        assert used > 0.3 * price


def test_a_price_for_one_row_does_not_cover_a_person_with_three():
    """The broken twin: the same rows, priced as if each were a person of its own."""
    rows = town(300, people=60)
    rows["id"][:3] = 999
    rows["cost"][:3], rows["age"][:3], rows["sex"][:3] = 400.0, 100, "m"
    rest = {column: values[rows["id"] != 999] for column, values in rows.items()}
    price = float(largest_mu(Fraction(1), Fraction(1, 10**6)))
    with table(rows) as one, table(rest) as other:
        assert spent(one, other, QUESTIONS["squares"]) > price


@pytest.mark.parametrize("budget", [sd.Budget(epsilon=10), sd.Budget(epsilon=10, delta=1e-3)])
def test_without_a_delta_the_mechanism_and_the_pure_way_are_named_and_nothing_is_spent(budget):
    rows = town(200)
    facts = {"columns": {"age": {"type": "int", "bounds": (0, 100)}, "hi": "bool"}, "bounds": {"cost": (0, 400)}}
    with sd.table(rows, **facts, budget=budget, ledger=":memory:") as held:
        for asked, name in (
            (held.regress("cost ~ age", loss="huber"), "BoostedRegression"),
            (held.m_regress("cost ~ age"), "MRegression"),
            (held.group_by("hi").regress("cost ~ age"), "NormalEquations"),
        ):
            for ask in (asked.release, asked.explain):
                with pytest.raises(QueryError, match=name) as caught:
                    ask(epsilon=1, delta=0)
                assert caught.value.code == "SRD-102"
                assert "A delta buys" in caught.value.fix
                assert "Laplace" in caught.value.fix
                assert "keys" not in str(caught.value)
        assert held.budget.spent == 0


def test_without_a_delta_least_squares_and_logistic_regression_are_drawn_with_laplace_noise():
    rows = town(2_000)
    facts = {"columns": {"age": {"type": "int", "bounds": (0, 100)}, "hi": "bool"}, "bounds": {"cost": (0, 400)}}
    with sd.table(rows, **facts, budget=sd.Budget(epsilon=10), ledger=":memory:") as held:
        for asked in (held.regress("cost ~ age"), held.logistic("hi ~ age")):
            assert asked.explain(epsilon=1)
            found = asked.release(epsilon=1)
            assert (found.cost.epsilon, found.cost.delta) == (1, 0)
            ends = zip(found.low.values(), found.value.values(), found.high.values(), strict=True)
            assert all(low < value < high for low, value, high in ends)
        assert held.budget.spent == 2


def test_zeros_and_ones_are_two_classes_and_other_numbers_none():
    x = np.arange(400) % 40
    rows = {"x": x, "y": [int(3 * i % 40 < v) if i % 50 else 7 for i, v in enumerate(x)]}
    facts = {"bounds": {"x": (0, 40)}, "budget": sd.Budget(epsilon=1000, delta=1e-3), "ledger": ":memory:"}
    with sd.table(rows, columns={"y": {"type": "int", "bounds": (0, 1)}}, **facts) as held:
        numbers = held.logistic("y ~ x").release(epsilon=200, delta=1e-4).value
    kept = {name: [v for v, y in zip(values, rows["y"], strict=True) if y < 2] for name, values in rows.items()}
    with sd.table(kept, columns={"y": "bool"}, **facts) as held:
        truths = held.logistic("y ~ x").release(epsilon=200, delta=1e-4).value
    assert numbers["x"] == pytest.approx(truths["x"], abs=0.01)
    with (
        sd.table(rows, columns={"y": {"type": "int", "bounds": (0, 9)}}, **facts) as held,
        pytest.raises(QueryError, match="0 and 1 are read so"),
    ):
        held.logistic("y ~ x").release(epsilon=1)


def test_a_logistic_regression_takes_the_delta_it_is_offered():
    with table(town(200)) as held:
        assert held.regress("hi ~ age", loss="logistic").release(epsilon=1).cost.delta > 0
        assert held.regress("hi ~ age", loss="logistic").release(epsilon=1, delta=1e-6, fresh=True).cost.delta == pytest.approx(1e-6)


def test_the_preview_says_from_public_facts_that_rows_are_too_few():
    for ask, few, many in (("logistic", "hi ~ age", 400), ("regress", "cost ~ age", 60)):
        rows = town(50)
        with table(rows, size=many) as held:
            assert "rows are not enough at this price" in str(getattr(held, ask)(few).preview(epsilons=[0.1], delta=1e-6))
            assert held.budget.spent == 0
            (step,) = getattr(held, ask)(few).settle(0.1, 1e-6).steps.values()
            unknown = Estimate.made([0, 0], np.eye(2) * 4, np.eye(2), np.eye(2), rows=50, clipped=7.0)
            known = Estimate.made([0, 0], np.eye(2) / 100, np.eye(2), np.eye(2), rows=50, clipped=7.0)
            said = [step.said([Answer({}, raw=found.numbers())]) for found in (unknown, known)]
            assert ["say nothing about age" in text for text in said] == [True, False]
            assert "about 7 of 50 rows" in said[0]
        with table(rows, size=10**6) as held:
            assert "not enough" not in str(getattr(held, ask)(few).preview(epsilons=[1], delta=1e-6))


@pytest.mark.parametrize("loss", ["squares", "huber", "logistic"])
def test_odd_tables_are_regressed_like_any_other(loss):
    """Nobody, nulls only, constant columns, one class, more terms than rows: a number for every term, at the same price."""
    full, formula = town(60), f"{'hi' if loss == 'logistic' else 'cost'} ~ age + C(sex)"
    none = {name: values[:0] for name, values in full.items()}
    nulls = full | {"age": np.full(60, np.nan)}
    flat = full | {"age": np.full(60, 50), "cost": np.full(60, 100.0), "hi": np.full(60, True)}
    strange = full | {"sex": np.full(60, "other")}
    few = {name: values[:2] for name, values in full.items()}
    prices = set()
    for rows in (full, none, nulls, flat, strange, few):
        with table(rows) as held:
            found = held.regress(formula, loss=loss).release(epsilon=1, delta=1e-6)
            assert list(found.value) == ["intercept", "age", "sex=m", "sex=x"]
            assert np.isfinite(list(found.value.values())).all()
            prices.add((found.cost.exact, found.mechanism, tuple(found.card)))
    assert len(prices) == 1


def test_least_squares_is_four_questions_about_one_relation_each():
    """A pilot, lengths, one refinement, squares; with groups the pilot alone; and the text of an answer names the table once."""
    with table(town(100)) as held:
        for query, passes in ((held.regress("cost ~ age + C(sex)"), 4), (held.group_by("sex").regress("cost ~ age"), 1)):
            plan = query.settle(1, 1e-6)
            (step,) = plan.steps.values()
            asked, groups = [], None if passes > 1 else (("f",),)
            with held.engine.bounded(plan.frames[0], 1) as bounded:
                step.release(lambda request, held=asked, rows=bounded: held.append(request) or rows.ask(request), draw, groups)
            assert len(asked) == passes
            relation, _ = gram_text(Text(plan.frames[0], held.columns, Scan("source", {}), 0), "the_rows", asked[0])
            assert relation.count("the_rows") == 1
