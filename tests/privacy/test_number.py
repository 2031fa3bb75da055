"""Numbers at the door are exact, and what is not a legal number is refused with the fix."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from sordino.errors import QueryError
from sordino.privacy.number import as_bounds, as_delta, as_epsilon, as_positive, exact, exp_down, exp_up, round_down, round_up, shown

NOT_NUMBERS = [
    None,
    "",
    "abc",
    "1/0",
    "nan",
    "inf",
    math.nan,
    math.inf,
    -math.inf,
    True,
    [],
    (),
    {},
    b"1",
    1j,
    np.array([1.0, 2.0]),
    "1e999999999",
    "9" * 5000,
]


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (" 1/3 ", Fraction(1, 3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (np.float64(0.2), Fraction(1, 5)),
        (np.float32(0.2), Fraction(1, 5)),
        (np.int64(7), Fraction(7)),
        (1e-300, Fraction(1, 10**300)),
        (5e-324, Fraction(5, 10**324)),
        (Fraction(2, 7), Fraction(2, 7)),
        (10**30, Fraction(10**30)),
    ],
)
def test_a_number_is_what_the_caller_wrote(given_value: Any, meant: Fraction) -> None:
    assert exact(given_value) == meant


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: shown(value)[:12])
def test_what_is_not_a_number_is_refused_at_every_door(value: Any) -> None:
    for door, code in ((as_epsilon, "SRD-101"), (as_delta, "SRD-102"), (lambda v: as_positive(v, "scale"), "SRD-103")):
        with pytest.raises(QueryError, match=code) as caught:
            door(value)
        assert caught.value.fix
        assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "value", [0, 0.0, -0.0, -1, -1e-9, 1e9, 1000001, "-0.5", 10**5000, Fraction(-1, 3)], ids=lambda value: shown(value)[:12]
)
def test_an_illegal_epsilon_is_refused_with_the_fix(value: Any) -> None:
    with pytest.raises(QueryError, match=r"SRD-101.*positive epsilon"):
        as_epsilon(value)


def test_epsilon_zero_is_legal_only_where_a_law_allows_it() -> None:
    assert as_epsilon(0, zero=True) == 0
    with pytest.raises(QueryError):
        as_epsilon(-1, zero=True)


@pytest.mark.parametrize("value", [0, 1, 1.0, 1.5, -1e-9, "1", 10**5000], ids=lambda value: shown(value)[:12])
def test_an_illegal_delta_is_refused_with_the_fix(value: Any) -> None:
    with pytest.raises(QueryError, match=r"SRD-102.*0 < delta < 1"):
        as_delta(value)
    assert as_delta(0, zero=True) == 0


@pytest.mark.parametrize("value", [0, -1, "-1/3", -(10**5000)], ids=lambda value: shown(value)[:12])
def test_a_parameter_that_is_not_positive_is_refused_by_its_name(value: Any) -> None:
    with pytest.raises(QueryError, match=r"SRD-103: sensitivity is .*Give a positive sensitivity"):
        as_positive(value, "sensitivity")


@pytest.mark.parametrize(
    "value",
    [None, 3, (1,), (1, 2, 3), (2, 1), (1, 1), (0, math.nan), (-math.inf, 0), ("a", "b"), (10**400, 10**400), (10**5000, 0), (None, 1)],
)
def test_illegal_bounds_are_refused_with_the_fix(value: Any) -> None:
    with pytest.raises(QueryError, match="SRD-104") as caught:
        as_bounds(value)
    assert caught.value.fix


def test_legal_bounds_stay_exact() -> None:
    assert as_bounds((0.1, "1/3")) == (Fraction(1, 10), Fraction(1, 3))
    assert as_bounds([-(10**400), 10**400]) == (-(10**400), 10**400)


@given(st.fractions(min_value=-300, max_value=300, max_denominator=10**6))
def test_the_exponential_lies_strictly_between_its_roundings(x: Fraction) -> None:
    with mp.workdps(90):
        truth = mp.exp(mp.mpf(x.numerator) / x.denominator)
        low, high = (mp.mpf(f.numerator) / f.denominator for f in (exp_down(x), exp_up(x)))
        assert low < truth < high
        assert high - low < truth * mp.mpf(10) ** -50


@given(st.floats(min_value=-1e6, max_value=1e6), st.integers(0, 20))
def test_rounding_goes_the_way_it_says(value: float, places: int) -> None:
    down, up = round_down(value, places), round_up(value, places)
    assert down <= Fraction(value) <= up
    assert up - down <= Fraction(1, 10**places)
    assert (up * 10**places).denominator == 1
