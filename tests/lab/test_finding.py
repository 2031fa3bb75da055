"""What findings share: claims and confidences are read alike, and exit codes follow verdicts."""

import json
import math
from fractions import Fraction

import pytest

from sordino.errors import QueryError
from sordino.lab.finding import as_claim, as_confidence, exit_code, grown, plain


def test_a_claim_is_epsilon_or_a_pair():
    assert as_claim(1) == (1.0, 0.0)
    assert as_claim((Fraction(1, 2), "1e-6")) == (0.5, 1e-6)
    for wrong in (-1, math.nan, "much", (1, 1), (1, -0.1), (1, 0, 0), None):
        with pytest.raises(QueryError):
            as_claim(wrong)


def test_a_confidence_lies_between_zero_and_one():
    assert as_confidence(0.9) == 0.9
    for wrong in (0, 1, True, "high", math.nan):
        with pytest.raises(QueryError):
            as_confidence(wrong)


def test_only_a_refuted_claim_fails_a_script():
    assert exit_code("refuted") == 1
    assert exit_code("consistent") == 0


def test_plain_values_are_json_whatever_they_were():
    value = {"a": (1, math.inf, None), 2: Fraction(1, 3), "b": [True, "x", 0.5]}
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == {"a": [1, "inf", None], "2": "1/3", "b": [True, "x", 0.5]}
    assert math.isfinite(grown(1e6))
