"""Linkage: the town's register names its patients."""

import json

import pandas as pd
import polars as pl
import pytest

from sordino.errors import QueryError
from sordino.lab.town import hospital, register
from sordino.lab.unique import linkage

KNOWN = ["zip", "birth_date", "sex"]


def test_most_patients_of_the_town_are_named_and_rightly():
    found = linkage(register(), hospital(), KNOWN)
    assert found.truth == "person"
    assert found.share_matched > 0.7
    assert found.share_right == 1  # everyone is registered, so a unique combination is the patient's own
    assert all(len(line) <= 80 for line in repr(found).splitlines())
    assert json.loads(found.to_json())["matched"] == found.matched
    assert "<svg" in found._repr_html_()


def test_an_incomplete_register_makes_some_matches_wrong():
    found = linkage(register(20_000, coverage=0.7), hospital(20_000), KNOWN)
    assert 0.5 < found.share_matched < 0.8
    assert 0.9 < found.share_right < 1
    assert "wrong" in found.plot().text


def test_pairs_name_rows_with_equal_combinations():
    public, secret = register(300), hospital(300)
    found = linkage(pd.DataFrame(public), pl.DataFrame(secret), KNOWN)
    assert found == linkage(public, secret, KNOWN)
    assert len(found.pairs) == found.matched
    for a, b in found.pairs:
        assert all(public[name][a] == secret[name][b] for name in KNOWN)


def test_without_a_truth_nothing_is_judged():
    public = {"name": ["a", "b", "c"], "zip": ["1", "2", "2"]}
    found = linkage(public, {"zip": ["1", "2", "3", None], "illness": list("wxyz")}, "zip")
    assert (found.matched, found.rows, found.right, found.share_right) == (1, 4, None, None)
    assert found.pairs == ((0, 0),)
    assert "right" not in repr(found)


def test_missing_values_match_nothing_and_two_rows_of_one_person_are_one():
    public = {"who": [1, 1, 2], "zip": ["5", "5", None]}
    found = linkage(public, {"who": [1, 2, 9], "zip": ["5", None, "5"]}, ["zip"], truth="who")
    assert (found.matched, found.right) == (2, 1)


def test_no_columns_are_refused():
    with pytest.raises(QueryError, match="no column"):
        linkage(register(5), hospital(5), [])
    with pytest.raises(QueryError, match="no column 'shoe'"):
        linkage(register(5), hospital(5), ["shoe"])
