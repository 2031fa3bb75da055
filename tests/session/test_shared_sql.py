"""A statement on made-up rows has the reported error where it only counts rows by their columns, and none otherwise."""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.session.shared import ErrorBar
from sordino.session.shared_sql import told

RNG = np.random.default_rng(3)
ROWS = {
    "age": RNG.integers(18, 95, 90).tolist(), "income": RNG.random(90).tolist(), "sex": ["f", "m", None] * 30,
    "smoker": (RNG.random(90) < 0.3).tolist(), "level": RNG.integers(0, 5, 90).tolist(),
}  # fmt: skip
SETS = [c for k in (1, 2, 3) for c in combinations(ROWS, k)]
BARS = {names: ErrorBar(0.1 + i / 100, 0.0, 0.2 + i / 100) for i, names in enumerate(SETS)}


def ask(sql):
    return told(sql, ROWS, BARS, set(ROWS) - {"income"}, 90)


@pytest.mark.parametrize(
    "condition",
    [
        "SEX = 'f' AND Smoker",
        "shared.sex = 'f' AND smoker IS NOT NULL",
        "NOT (sex IN ('f') OR smoker)",
        "sex <> 'm' AND \"SMOKER\" = true",
    ],
)
def test_names_are_found_whatever_their_case(condition):
    assert ask(f"SELECT COUNT(*) FROM shared WHERE {condition}").error == BARS["sex", "smoker"].high


def test_grouped_and_ordered_counts_have_the_error_of_their_columns():
    bar = BARS["sex", "level"].high
    for sql in (
        "SELECT s.sex, COUNT(*) AS n FROM Shared s WHERE level BETWEEN 1 AND -(-3) GROUP BY ALL ORDER BY n DESC",
        "SELECT Sex AS SEX, count(*) FROM shared WHERE LEVEL > 1 GROUP BY 1 ORDER BY 2",
    ):
        assert ask(sql).error == bar


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM shared WHERE sex = 'f' AND AGE > 30 AND level = 1 AND smoker",
        "SELECT COUNT(*) FROM shared WHERE sex = 'f' AND INCOME > 30",
        "SELECT COUNT(*) FROM shared WHERE sex = 'f' AND (shared).\"Income\" > 30",
        "SELECT COUNT(*) FROM shared WHERE sex = 'f' AND rowid < 100",
        "SELECT COUNT(*) FROM shared WHERE sex = 'f' AND random() < .5",
        "SELECT COUNT(*) FROM shared TABLESAMPLE 10% WHERE sex = 'f'",
        "SELECT COUNT(*) FROM shared WHERE sex = 'f' USING SAMPLE 10%",
        "SELECT COUNT(*) FROM shared WHERE level = 1 AND COLUMNS('a.*') > 3",
        "SELECT COUNT(*) FROM shared GROUP BY ROLLUP (sex)",
        "SELECT sex AS level, COUNT(*) FROM shared WHERE level > 1 GROUP BY sex",
        "SELECT COUNT(*) FILTER (WHERE income > 5) FROM shared WHERE level = 1",
        "SELECT COUNT(*) / 2 FROM shared WHERE level = 1",
        "SELECT SUM(1) FROM shared WHERE level = 1",
        "SELECT COUNT(income) FROM shared WHERE level = 1",
        "SELECT COUNT(*) FROM shared WHERE level = 1 HAVING COUNT(*) > 5",
        "SELECT COUNT(*) FROM shared WHERE level = (SELECT MAX(level) FROM shared)",
        "SELECT sex, COUNT(*) FROM shared GROUP BY sex LIMIT 1",
        "SELECT COUNT(*) FROM shared s, shared r WHERE s.level = 1",
        "SELECT COUNT(*) OVER () FROM shared WHERE level = 1",
        "SELECT sex FROM shared",
        "SELECT COUNT(DISTINCT sex) FROM shared",
        "SELECT COUNT(*) FROM shared QUALIFY ROW_NUMBER() OVER (ORDER BY level) < 3",
        "SELECT *, COUNT(*) FROM shared GROUP BY ALL",
    ],
)
def test_what_is_not_plainly_a_count_by_its_columns_has_no_known_error(sql):
    with suppress(QueryError):  # of a statement that cannot run nothing is claimed either
        assert ask(sql).error is None
