"""Relations and units are closed lists of legal values."""

from __future__ import annotations

from typing import Any

import pytest

from sordino.errors import QueryError
from sordino.privacy.relation import PrivacyUnit, Relation


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
    assert unit.stability == 3
