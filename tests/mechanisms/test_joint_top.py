"""The k most frequent in one draw: its law against all sequences listed, its small worlds, and hostile scores."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from mechanism_world import RELATIONS, VALUES, worst_pair

from sordino.errors import QueryError
from sordino.lab.world import exact_law, loss
from sordino.mechanisms import JointTop


def plain_law(mechanism, scores):
    """Every sequence by the definition: its weight from its loss, nothing counted in heaps."""
    ranked, every = sorted(scores, reverse=True), list(permutations(range(len(scores)), mechanism.k))
    cut = math.log(1e6 * len(every)) / float(mechanism.rate)
    losses = [min(max(ranked[i] - scores[j] for i, j in enumerate(chosen)), cut) for chosen in every]
    weights = np.exp(-float(mechanism.rate) * np.array(losses))
    return every, weights / weights.sum()


TABLES = ([3, 1, 0], [2, 2, 2, 2], [9, 9, 1, 0, 0], [0, 0, 0], [400, 3, 3, 2], [7, 6, 5, 4, 3, 2], [10**6, 0, 10**6])


@pytest.mark.parametrize("scores", TABLES, ids=str)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "6", "2000"])
def test_the_counted_law_is_the_listed_one(scores, k, epsilon):
    mechanism = JointTop(epsilon, k=k)
    every, law = plain_law(mechanism, scores)
    assert np.exp(mechanism.log_probability(scores, every)) == pytest.approx(law, rel=1e-9)


@pytest.mark.parametrize("scores", TABLES[:6], ids=str)
def test_what_is_drawn_has_that_law(scores):
    mechanism = JointTop(2, k=2)
    every, law = plain_law(mechanism, scores)
    found = exact_law(mechanism, scores)
    assert [found[chosen] for chosen in every] == pytest.approx(law, rel=1e-9)
    assert len(found) == len(every)


def counts(table):
    return [table.count(value) for value in VALUES]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("k", [2, 3])
def test_in_every_small_world_the_loss_is_within_the_price(relation, rows, k):
    mechanism = JointTop(1, rows, relation == "add_remove", relation, k)
    _, ratio = worst_pair(mechanism, relation, read=counts, rows=rows)
    assert 0.3 < ratio <= 1


HOSTILE = {
    "two heaps": ([50, 50, 0, 0, 0], [51, 50, 0, 0, 1]),
    "all ties": ([20] * 5, [21, 20, 20, 21, 20]),
    "one holds all": ([200, 0, 0, 0, 0], [201, 0, 1, 1, 0]),
}


@pytest.mark.parametrize("pair", HOSTILE)
def test_hostile_scores_stay_within_the_price_and_half_the_sensitivity_would_not(pair):
    """The exact law on neighbours: no sampling, no doubt."""
    laws = [exact_law(JointTop(1, monotone=True, k=2), scores) for scores in HOSTILE[pair]]
    assert loss(*laws) <= 1

    class Half(JointTop):
        @property
        def scale(self):
            return super().scale / 4

    twins = [exact_law(Half(1, monotone=True, k=2), scores) for scores in HOSTILE[pair]]
    assert loss(*twins) > 1


@pytest.mark.parametrize("epsilon", [1_000, 1_500, 3_000, 10**6])
@pytest.mark.parametrize("pair", HOSTILE)
def test_at_absurd_prices_no_sequence_becomes_impossible(epsilon, pair):
    """A weight that underflows to zero on one of two neighbours would be an infinite loss."""
    mechanism = JointTop(epsilon, monotone=True, k=2)
    laws = [exact_law(mechanism, scores) for scores in HOSTILE[pair]]
    assert [len(law) for law in laws] == [20, 20]
    assert all(chance > 0 for law in laws for chance in law.values())
    assert loss(*laws) <= epsilon
    assert mechanism.certificate().check().sound


def test_many_keys_are_drawn_in_order_and_what_is_too_deep_is_refused():
    scores = np.arange(2000)[::-1] * 40
    chosen = JointTop(1, k=10).release(lambda _: scores, lambda law: int(np.argmax(law.weights)))
    assert chosen == tuple(range(10))
    with pytest.raises(QueryError, match="one by one"):
        JointTop(1, k=100).farthest(10_000)
    with pytest.raises(QueryError, match="fewer"):
        JointTop(1, k=5).farthest(4)
    for bad in ({"k": 1}, {"k": True}, {"epsilon": "1e-12"}):
        with pytest.raises(QueryError):
            JointTop(**{"epsilon": 1, **bad})
