"""Relations and units are closed lists of legal values."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

from sordino.errors import QueryError
from sordino.privacy.relation import Limits, PrivacyUnit, Relation


def test_a_relation_is_known_by_its_name_or_refused() -> None:
    assert Relation.of("add_remove") is Relation.ADD_REMOVE
    assert Relation.of(Relation.REPLACE) is Relation.REPLACE
    for name in ("bounded", "", None, 3):
        with pytest.raises(QueryError, match=r"SRD-107.*add_remove"):
            Relation.of(name)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", None])
@pytest.mark.parametrize("name", ["max_rows", "max_groups"])
def test_a_units_limits_are_whole_numbers_of_at_least_one(name: str, value: Any) -> None:
    with pytest.raises(QueryError, match=f"SRD-103: {name}"):
        PrivacyUnit("person", **{name: value})


def test_a_unit_reads_its_relation_by_name_and_defaults_to_a_row_added_or_removed() -> None:
    assert PrivacyUnit().relation is Relation.ADD_REMOVE
    unit = PrivacyUnit("person", relation="replace", max_rows=3)  # type: ignore[arg-type]
    assert unit.relation is Relation.REPLACE
    assert unit.rows_per_group == 3
    assert PrivacyUnit("person", max_rows=3, max_rows_per_group=8).rows_per_group == 3


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_rows_per_group_are_a_whole_number_or_left_out(value: Any) -> None:
    with pytest.raises(QueryError, match="SRD-103: max_rows_per_group"):
        PrivacyUnit("person", max_rows_per_group=value)


@pytest.mark.parametrize("groups", [1, 2, 3, 5])
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
@pytest.mark.parametrize("total", [1, 2, 3, 5, 7, 12, 30])
def test_the_worst_allocation_of_a_persons_rows_is_the_vertex(groups: int, rows: int, total: int) -> None:
    """Every way to spread rows over groups, against the numbers that prices are made of."""
    limits = Limits(rows, groups, total)
    ways = [way for way in product(range(min(rows, total) + 1), repeat=groups) if sum(way) <= total]
    assert max(map(sum, ways)) == limits.counted
    assert max(sum(map(bool, way)) for way in ways) == limits.touched
    assert max(sum(r * r for r in way) for way in ways) == limits.squares
    assert limits.filled * limits.rows + limits.rest == limits.counted
    price = [r / limits.rows - 1 + math.exp(-r / limits.rows) for r in range(limits.rows + 1)]  # Laplace noise in zCDP: convex
    assert max(sum(price[r] for r in way) for way in ways) == pytest.approx(limits.filled * price[limits.rows] + price[limits.rest])


def test_a_question_without_groups_is_limited_by_its_rows_alone() -> None:
    unit = PrivacyUnit("person", max_rows=8, max_groups=3, max_rows_per_group=2)
    assert unit.limits() == Limits(8, 1, 8)
    assert unit.limits(100) == Limits(2, 3, 8)
    assert unit.limits(2) == Limits(2, 2, 8)
    assert PrivacyUnit().limits(100) == Limits(1, 1, 1)
    assert (unit.limits(3).counted, unit.limits(5).touched) == (6, 3)
