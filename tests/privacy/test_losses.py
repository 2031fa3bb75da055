"""Privacy loss: three definitions of pure privacy agree on finite laws, and the loss tail is never below the hockey stick."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import QueryError
from sordino.privacy import loss
from sordino.privacy.cost import gaussian_epsilon
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT

LAWS = [LaplaceLaw(), GaussianLaw(), StudentT(1), StudentT(4), GeneralizedCauchy(Fraction(4)), PowerLaw()]


def by_events(p: list[float], q: list[float]) -> float:
    """The least epsilon with P(E) <= e^epsilon Q(E) for every event, by trying them all."""
    events = chain.from_iterable(combinations(range(len(p)), size) for size in range(1, len(p) + 1))
    ratios = [(sum(p[i] for i in event), sum(q[i] for i in event)) for event in events]
    return max(math.inf if b == 0 else math.log(a / b) for a, b in ratios if a > 0)


def by_points(p: list[float], q: list[float]) -> float:
    return max(math.inf if b == 0 else math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def hockey(p: list[float], q: list[float], epsilon: float) -> float:
    """The largest P(E) - e^epsilon Q(E), by trying every event."""
    events = chain.from_iterable(combinations(range(len(p)), size) for size in range(len(p) + 1))
    return max(sum(p[i] for i in event) - math.exp(epsilon) * sum(q[i] for i in event) for event in events)


counts = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7)


@given(counts.filter(lambda pairs: sum(a for a, _ in pairs) and sum(b for _, b in pairs)), st.floats(0, 3))
def test_the_three_definitions_of_pure_privacy_agree_on_every_finite_law(pairs: list[tuple[int, int]], epsilon: float) -> None:
    p, q = ([n / sum(column) for n in column] for column in zip(*pairs, strict=True))
    forth = loss(p, q)
    assert forth.sup == pytest.approx(by_points(p, q), abs=1e-12)
    assert forth.sup == pytest.approx(by_events(p, q), abs=1e-9)
    assert forth.delta(epsilon) == pytest.approx(hockey(p, q, epsilon), abs=1e-12)
    assert forth.tail(epsilon) >= forth.delta(epsilon) - 1e-15
    if math.isfinite(forth.sup):
        assert forth.delta(forth.sup) == pytest.approx(0, abs=1e-12)
        assert forth.tail(forth.sup + 1e-9) == 0


def test_pointwise_privacy_is_not_approximate_privacy() -> None:
    """A hundred outcomes of probability 0.01 that the neighbour never gives: each looks harmless, together they reveal everything."""
    p = dict.fromkeys(range(100), 0.01)
    q = {-1: 1.0}
    told = loss(p, q)
    pointwise = max(p.get(y, 0.0) - math.e * q.get(y, 0.0) for y in {*p, *q})
    assert pointwise == pytest.approx(0.01)
    assert told.delta(1.0) == pytest.approx(1.0)
    assert told.sup == math.inf
    assert told.tail(50.0) == pytest.approx(1.0)


def test_mappings_are_matched_by_outcome() -> None:
    one, other = {"a": 0.2, "b": 0.8}, {"b": 0.5, "a": 0.5}
    assert loss(one, other).sup == pytest.approx(math.log(1.6))
    assert loss(other, one).sup == pytest.approx(math.log(2.5))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize(("shift", "ratio"), [(1, "1"), (3, "1.2"), (0, "1.5"), (10, "1.01")])
def test_the_loss_tail_is_never_below_the_hockey_stick(law: Any, shift: int, ratio: str) -> None:
    scales = Fraction(4), Fraction(4) * Fraction(ratio)
    for one, other in (scales, scales[::-1]):
        pair = loss(law.at(0, one), law.at(shift, other))
        for epsilon in (0.0, 0.05, 0.3, 1.0, 2.5):
            assert pair.tail(epsilon) >= pair.delta(epsilon) - 1e-12
            assert 0 <= pair.delta(epsilon) <= 1


def test_a_tight_gaussian_exceeds_its_epsilon_twenty_times_as_often_as_delta() -> None:
    low, high = 0.01, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_epsilon(middle, 1e-6) < 1 else (low, middle)
    pair = loss(GaussianLaw().at(0, Fraction(10**9)), GaussianLaw().at(round(low * 1e9), Fraction(10**9)))
    assert pair.delta(1.0) == pytest.approx(1e-6, rel=1e-4)
    assert pair.tail(1.0) == pytest.approx(2e-5, rel=0.1)


def test_locations_beyond_the_precision_of_doubles_are_told_apart() -> None:
    assert loss(LaplaceLaw().at(2**60, Fraction(1)), LaplaceLaw().at(2**60 + 1, Fraction(1))).sup == pytest.approx(1.0)


def test_an_enormous_epsilon_is_answered() -> None:
    pair = loss([1.0, 0.0], [0.0, 1.0])
    assert pair.delta(1e6) == 1.0
    assert pair.tail(1e6) == 1.0
    assert loss([0.5, 0.5], [0.5, 0.5]).delta(1e6) == 0.0


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.5, 0.5], [1.0]),
        ([0.5, 0.6], [0.5, 0.5]),
        ([-0.5, 1.5], [0.5, 0.5]),
        ([math.nan, 1.0], [0.5, 0.5]),
        ([], []),
        ({"a": 1.0}, [1.0]),
        ("ab", "cd"),
        (1, 2),
        (None, [1.0]),
        (LaplaceLaw().at(0, Fraction(1)), GaussianLaw().at(0, Fraction(1))),
        (LaplaceLaw().at(0, Fraction(1)), [1.0]),
        (LaplaceLaw().at(np.zeros(2, np.int64), Fraction(1)), LaplaceLaw().at(np.zeros(2, np.int64), Fraction(1))),
    ],
)
def test_what_is_not_a_pair_of_laws_is_refused(p: Any, q: Any) -> None:
    with pytest.raises(QueryError, match="SRD-105"):
        loss(p, q)


def test_a_loss_can_be_shown() -> None:
    assert "delta(1)" in repr(loss([0.4, 0.6], [0.6, 0.4]))
    assert loss([0.4, 0.6], [0.6, 0.4]).plot() is not None
    assert loss(GaussianLaw().at(0, Fraction(1)), GaussianLaw().at(1, Fraction(1))).plot() is not None
