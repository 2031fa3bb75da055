"""After the noise everything is free: arithmetic on answers, HAVING, with intervals that hold together; and names from elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.plan.formula import parse_formula, span, value

ROWS = {"ward": ["x", "y", "z", "x"] * 300, "cost": [10, 20, 30, 40] * 300}


@pytest.fixture
def table() -> Any:
    return sd.table(
        ROWS,
        bounds={"cost": (0, 50)},
        keys={"ward": ["x", "y", "z"]},
        budget=sd.Budget(epsilon=1_000_000),
        ledger=":memory:",
        name="visits",
    )


def columns(release: Any) -> dict[str, Any]:
    return {name: [round(c, 1) if isinstance(c, float) else c for c in cells] for name, cells in release.to_dict().items()
            if not name.endswith(("_low", "_high"))}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT SUM(cost) / COUNT(*) AS m FROM visits", {"m": [25.0]}),
        ("SELECT ROUND(AVG(cost)) AS m, COUNT(*) AS n FROM visits", {"m": [25], "n": [1200]}),
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 400", {"ward": ["x"], "n": [600]}),
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n < 400 AND ward <> 'z'", {"ward": ["y"], "n": [300]}),
        ("SELECT ward, CASE WHEN COUNT(*) > 400 THEN 'many' ELSE 'few' END AS size FROM visits GROUP BY ward ORDER BY ward DESC LIMIT 2",
         {"ward": ["z", "y"], "size": ["few", "few"]}),
        ("SELECT ward, ROUND(100.0 * SUM(cost) / COUNT(*), -2) AS p FROM visits GROUP BY ward ORDER BY p DESC",
         {"ward": ["z", "x", "y"], "p": [3000, 2500, 2000]}),
        ("SELECT COALESCE(NULLIF(COUNT(*), 0), 1) AS n FROM visits WHERE cost > 5", {"n": [1200]}),
    ],
)  # fmt: skip
def test_arithmetic_on_aggregates_is_computed_from_the_answers(table: Any, text: str, expected: dict[str, Any]) -> None:
    assert columns(table.sql(text).release(epsilon=10_000)) == expected


def test_derive_is_free_and_says_so_on_the_card(table: Any) -> None:
    both = table.agg(s=sd.sum("cost"), n=sd.count()).release(epsilon=1)
    spent = table.budget.spent
    rate = both.derive(rate="s / n", share="round(100 * s / (s + n), 1)")
    assert table.budget.spent == spent
    assert rate.id == both.id
    assert rate.to_dict()["rate"][0] == pytest.approx(both.answers["s"][0] / both.answers["n"][0])
    assert rate.to_dict()["rate_low"][0] < rate.to_dict()["rate"][0] < rate.to_dict()["rate_high"][0]
    assert "rate = s / n" in rate.card["post-processing"]
    assert "rate = s / n" in str(rate)
    wide, narrow = rate.at(0.99).to_dict(), rate.at(0.5).to_dict()
    assert wide["rate_low"][0] < narrow["rate_low"][0]
    for bad in ({"rate": "s / m"}, {"s": "n"}, {"r": "s; n"}, {"r": ""}, {"r": "median(s)"}, {}):
        with pytest.raises(QueryError):
            both.derive(**bad)


def test_a_derived_interval_holds(table: Any) -> None:
    """At least 95% of 300 intervals of a ratio hold, but for luck: fewer than 270 would have a chance below 1e-4 at exactly 95%."""
    query = table.group_by("ward").agg(s=sd.sum("cost"), n=sd.count())
    held = 0
    for _ in range(100):
        rate = query.release(epsilon=1, fresh=True).derive(rate="s / n").to_dict()
        held += sum(low <= truth <= high for low, truth, high in zip(rate["rate_low"], (25, 20, 30), rate["rate_high"], strict=True))
    assert held >= 270


def test_formulas_follow_sql_and_spans_contain_them() -> None:
    row = {"a": 7, "b": -2.5, "c": None}
    ends = {"a": (5, 9), "b": (-3.0, -2.0), "c": None}
    for text, expected in (
        ("a / 0", None), ("a + c", None), ("coalesce(c, a)", 7), ("-a * b", 17.5), ("abs(b)", 2.5), ("a % 4", 3), ("round(b)", -3),
        ("least(a, b)", -2.5), ("a > 3 and c > 1", None), ("a > 3 or c > 1", True), ("case when b < 0 then a end", 7), ("sqrt(b)", None),
        ("a between 7 and 8", True), ("a in (1, 7)", True), ("c is null", True), ("power(a, 2)", 49.0), ("cast(b as int)", -3),
        ("nullif(a, 7)", None), ("exp(ln(a))", pytest.approx(7)), ("not (a = 7)", False), ("floor(b) + ceil(b)", -5), ("'x'", "x"),
    ):  # fmt: skip
        formula = parse_formula(text, list(row))
        assert value(formula, row) == expected, text
        found = span(formula, ends)
        if found is not None and isinstance(expected, int | float) and not isinstance(expected, bool):
            assert found[0] <= expected <= found[1], text
    assert span(parse_formula("a / b", list(row)), ends) == (-4.5, pytest.approx(-5 / 3))
    assert span(parse_formula("a / (b + 2.5)", list(row)), ends) is None


def test_names_of_other_libraries_are_answered_with_ours(table: Any) -> None:
    for name, ours in (("groupby", "group_by"), ("value_counts", "count"), ("corr", "CORR"), ("merge", "sd.dataset"), ("head", "share")):
        for owner in (table, table.where("cost > 3")):
            with pytest.raises(AttributeError, match=ours):
                getattr(owner, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        table.nothing  # noqa: B018
    assert not hasattr(table, "_repr_svg_")
