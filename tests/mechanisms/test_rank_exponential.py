"""A value some rows from an end: small worlds, twins, and that it needs no n."""

from fractions import Fraction

import numpy as np
import pytest
from mechanism_world import RELATIONS, worst_pair

from sordino.mechanisms import QuantileExponential, RankExponential

KEPT = {"whole table": lambda t: t, "rows below 3": lambda t: tuple(v for v in t if v != 3)}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("upper", [False, True])
def test_no_small_world_loses_more_than_epsilon(relation, kept, rows, upper):
    for rank, base in ((1, "uniform"), (2, "arsinh")):
        mechanism = RankExponential(1, high=3, max_rows=rows, relation=relation, rank=rank, upper=upper, base=base, origin=1)
        assert worst_pair(mechanism, relation, read=KEPT[kept], rows=rows)[1] <= 1


class HalfReach(RankExponential):
    """Calibrated as if the target moved like that of a median."""

    reach = Fraction(1, 2)


def test_the_certificate_and_the_small_world_refute_the_twins():
    assert not HalfReach(1, high=2**44, rank=20).certificate().check().sound
    assert worst_pair(HalfReach(2, high=3, rank=2), "add_remove")[1] > 2


def test_the_answer_follows_the_end_and_not_the_size():
    points = np.arange(10_001)
    few, many = np.arange(0, 10_001, 50), np.concatenate([np.arange(0, 10_001, 50), np.full(5_000, 9_999)])
    mechanism = RankExponential(1, high=10_000, rank=40)
    laws = [np.exp(mechanism.log_probability(x, points)) for x in (few, many)]
    assert np.abs(laws[0] - laws[1]).sum() < 0.01
    quantile = [np.exp(QuantileExponential(1, "0.2", high=10_000).log_probability(x, points)) for x in (few, many)]
    assert np.abs(quantile[0] - quantile[1]).sum() > 1.9


def test_of_fewer_rows_than_it_would_skip_it_takes_the_middle():
    x = np.arange(100, 200, 10)
    law = np.exp(RankExponential(8, high=1_000, rank=50).log_probability(x, np.arange(1_001)))
    assert law[130:161].sum() > 0.99
