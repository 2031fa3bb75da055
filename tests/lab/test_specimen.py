"""Every mechanism of the catalogue has hostile neighbours, and they are neighbours."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.lab.specimen import request_of, specimens, variant
from sordino.mechanisms import Gaussian, Laplace, QuantileExponential, StableHistogram, catalog
from sordino.noise import draw
from sordino.privacy.relation import Relation
from sordino.session.owned import owned
from sordino.summaries import Counts, RankWindow, Value


@pytest.mark.parametrize("mechanism", catalog(), ids=lambda kind: kind.__name__)
def test_every_mechanism_of_the_catalogue_has_neighbours_it_can_answer(mechanism):
    """A red line here means: say in lab/specimen.py, or by `neighbours()`, what this mechanism can be audited on."""
    example = variant(mechanism.examples()[0], Fraction(1))
    pairs = specimens(example)
    assert len(pairs) >= 2
    assert len({pair.name for pair in pairs}) == len(pairs)
    for data in (pairs[0].d0, pairs[0].d1):
        example.release(owned(example, data, **pairs[0].options), draw)


def test_a_variant_has_another_price_a_visible_delta_and_a_small_grid():
    assert variant(Gaussian(1, "1e-6"), Fraction(2)) == Gaussian(2, Fraction(1, 20))
    small = variant(QuantileExponential(1, high=2**44), Fraction(1, 2))
    assert (small.epsilon, small.low, small.high) == (Fraction(1, 2), 0, 100)


def test_columns_differ_by_the_rows_of_one_person():
    for relation in Relation:
        for pair in specimens(QuantileExponential(1, high=100, max_rows=3, relation=relation)):
            one, other = (np.bincount(side, minlength=101) for side in (pair.d0, pair.d1))
            gone, came = np.maximum(one - other, 0).sum(), np.maximum(other - one, 0).sum()
            assert came <= 3
            assert gone <= (3 if relation is Relation.REPLACE else 0)


def test_counts_differ_by_what_one_person_may_hold():
    for relation in Relation:
        mechanism = StableHistogram(1, "0.05", "laplace", 2, 3, relation)
        for pair in specimens(mechanism):
            keys = pair.d0.keys() | pair.d1.keys()
            moved = {key: pair.d1.get(key, 0) - pair.d0.get(key, 0) for key in keys}
            up, down = (sum(sign * move > 0 for move in moved.values()) for sign in (1, -1))
            assert all(abs(move) <= 3 for move in moved.values())
            assert up <= 2
            assert down <= (2 if relation is Relation.REPLACE else 0)
            assert pair.new_key == any((key in pair.d0) != (key in pair.d1) for key in keys)


def test_the_first_request_is_found_without_data():
    assert request_of(Laplace(1)) == Value()
    assert isinstance(request_of(QuantileExponential(1, high=9)), RankWindow)
    assert isinstance(request_of(StableHistogram(1, "0.1")), Counts)


@dataclass(frozen=True)
class Silent:
    def release(self, ask, draw):
        return 7


@dataclass(frozen=True)
class Strange:
    def release(self, ask, draw):
        return ask(Silent())


@dataclass(frozen=True)
class Prepared(Strange):
    def neighbours(self):
        return (("one", 0, 1), ("two", 5, 6))


def test_a_mechanism_nobody_knows_neighbours_for_is_an_error_unless_it_brings_its_own():
    with pytest.raises(QueryError, match=r"specimen\.py"):
        specimens(Strange())
    with pytest.raises(QueryError, match="asks for nothing"):
        specimens(Silent())
    assert [pair.name for pair in specimens(Prepared())] == ["one", "two"]
