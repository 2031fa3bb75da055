"""The number of different values: a person covers at most so many of them, whatever they hold."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.statistics import count_distinct
from sordino.statistics.port import Context

ONE = Fraction(1)
KEYS = (("a",), ("b",), ("c",))


def cities(**options):
    data = {"who": [i // 4 for i in range(400)], "city": [f"c{i % 37}" for i in range(400)], "year": [2000 + i % 5 for i in range(400)],
            "sex": ["f", "m"] * 200, "pay": [1.5] * 400}  # fmt: skip
    facts = {
        "unit": "who",
        "max_rows": 4,
        "max_groups": 4,
        "max_rows_per_group": 4,
        "bounds": {"year": (1990, 2030), "pay": (0, 9)},
        "keys": {"sex": ["f", "m"]},
    }
    facts |= {"budget": sd.Budget(epsilon=10**6, delta=0.01), "ledger": ":memory:", "name": "t", "columns": {"year": "int"}}
    return sd.table(data, **facts, **options)


@pytest.mark.parametrize(("rows", "groups", "each"), [(1, 1, 1), (2, 2, 1), (3, 2, 3), (4, 3, 2)])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_no_person_moves_the_numbers_further_than_their_noise_is_for(rows, groups, each, relation):
    """Every way one person's cells may lie on two groups of two values, beside everybody else's."""
    unit = PrivacyUnit("who", relation, rows, groups, each)
    public = {"city": Column("city", "cat", keys=("x", "y"))}
    facts = Context(unit, {**public, "sex": Column("sex", "cat", keys=("f", "m"))}, grouped=True, keys=(("f",), ("m",)))
    reach = count_distinct("city").step(ONE, Fraction(0), facts).noise.reach  # type: ignore[attr-defined]
    cells = list(product(("f", "m"), ("x", "y")))
    held = [set(kept) for kept in _subsets(cells) if len(kept) <= min(rows, groups)]
    others = [set(kept) for kept in _subsets(cells)]

    def numbers(values):
        return [len({value for group, value in values if group == wanted}) for wanted in ("f", "m")]

    worst = 0
    for rest in others:
        for old in held if relation == "replace" else [set()]:
            for new in held:
                worst = max(worst, sum(abs(a - b) for a, b in zip(numbers(rest | old), numbers(rest | new), strict=True)))
    assert worst <= reach
    if relation == "add_remove":
        assert worst == reach, "and no more is paid"


def _subsets(items):
    return [[item for item, taken in zip(items, chosen, strict=True) if taken] for chosen in product((False, True), repeat=len(items))]


def test_the_number_is_that_of_the_values_where_nobody_has_too_many():
    with cities() as table:
        assert table.count_distinct("city").release(epsilon=10_000).value == 37
        assert table.count_distinct("year").release(epsilon=10_000).value == 5, "whole numbers within public bounds are keys"
        by = table.group_by("sex").count_distinct("year").release(epsilon=10_000).to_dict()
        assert by["count_distinct(year)"] == [5, 5]
        assert table.sql("SELECT COUNT(DISTINCT city) AS n FROM t WHERE year = 2001").release(epsilon=10_000).value == 37
        found = table.count_distinct("city").release(epsilon=1, fresh=True)
        assert found.high - found.value == pytest.approx(12, abs=1), "4 values a person: ln 20 times 4"
        assert "different values" in found.about
        assert "left out" in found.about


def test_a_person_with_more_values_covers_as_many_as_count():
    with cities() as table:
        one = table.limit(groups=1, rows=1).count_distinct("city").release(epsilon=10_000)
        assert 25 <= one.value <= 37
        narrow = table.limit(groups=1, rows=1).count_distinct("city").release(epsilon=1, fresh=True)
        assert narrow.high - narrow.value <= 3


def test_null_is_no_value():
    with sd.table({"c": ["a", None, "b", None]}, unit=None, budget=sd.Budget(epsilon=10**6), ledger=":memory:", columns={"c": "cat"}) as t:
        assert t.count_distinct("c").release(epsilon=10_000).value == 2


def test_what_cannot_be_a_key_is_refused_with_the_reason():
    with cities() as table, pytest.raises(QueryError, match="at most so many") as refused:
        table.count_distinct("pay")
    assert "FLOOR" in refused.value.fix
