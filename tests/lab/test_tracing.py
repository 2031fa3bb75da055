"""Tracing: exact means give members away, private ones do not."""

import json
from itertools import product

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.lab.tracing import Trace, trace
from sordino.mechanisms import Gaussian, Laplace


@pytest.fixture(scope="module")
def crowd():
    draw = np.random.default_rng(11)
    shares = draw.random(1_000)
    return [(draw.random((n, 1_000)) < shares).astype(int) for n in (100, 1_000)]


def test_a_thousand_exact_means_of_a_hundred_people_give_them_away(crowd):
    members, strangers = crowd
    found = trace(members.mean(axis=0), members, strangers)
    assert found.auc > 0.95
    assert found.tpr(0.01) > 0.4
    assert len(found.scores) == 100


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(epsilon=1, sensitivity=1_000, dimension=1_000),
        Gaussian(epsilon=1, delta="1e-6", sensitivity="31.63", dimension=1_000),
    ],
    ids=["laplace", "gaussian"],
)
def test_the_same_means_at_epsilon_one_do_not(crowd, mechanism):
    """One AUC of 100 members has a standard error of .03 around its mean; sixty releases settle the mean itself."""
    members, strangers = crowd
    sums = members.sum(axis=0)
    found = [trace(np.asarray(sd.release(mechanism, sums).value) / 100, members, strangers) for _ in range(60)]
    assert np.mean([one.auc for one in found]) < 0.55
    assert np.mean([one.tpr(0.01) for one in found]) < 0.04


def test_strangers_look_like_strangers(crowd):
    members, strangers = crowd
    outsiders = strangers[::3]
    rest = np.delete(strangers, np.s_[::3], axis=0)
    assert 0.42 < trace(members.mean(axis=0), outsiders, rest).auc < 0.58


def test_auc_and_tpr_follow_their_definitions():
    found = Trace(2, (3.0, 1.0, 2.0), (2.0, 0.0, 1.0, 5.0))
    wins = sum((a > b) + (a == b) / 2 for a, b in product(found.scores, found.strangers))
    assert found.auc == pytest.approx(wins / 12)
    assert [found.tpr(rate) for rate in (0, 0.25, 0.5, 1)] == [0, pytest.approx(1 / 3), pytest.approx(2 / 3), 1]
    with pytest.raises(QueryError, match="fpr"):
        found.tpr(2)


def test_before_and_after_stand_in_one_picture(crowd):
    members, strangers = crowd
    exact = trace(members.mean(axis=0), members, strangers)
    blind = trace(np.zeros(1_000), members, strangers)
    picture = exact.plot(after=blind)
    assert "before" in picture.text
    assert "after" in picture.text
    assert all(len(line) <= 80 for line in f"{exact!r}\n{picture!r}".splitlines())
    assert json.loads(exact.to_json())["auc"] == exact.auc
    assert "<svg" in exact._repr_html_()


def test_shapes_must_meet():
    for means, people, reference in (([1], [[1, 2]], [[1, 2]] * 4), ([1, 2], [[1, 2]], [[1, 2]]), ([1, 2], [[1, 2]], [[1]] * 4)):
        with pytest.raises(QueryError, match="means"):
            trace(means, people, reference)
