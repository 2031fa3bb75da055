"""Cases: sizes follow from the time, labels from the parameters, and every method says what it found."""

import time
from fractions import Fraction

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.lab.case import FEWEST, NO_POWER, QUICK, UNKNOWN, Effort, _trace_all, listed, louder, mechanism_cases, powered, sampled
from sordino.lab.specimen import variant
from sordino.mechanisms import Laplace, LaplaceHistogram, ProposeLadder, TwoCoins

SMALL = Effort(seconds=0.02, most=5_000, epsilons=(Fraction(1),))


def test_a_case_is_named_by_everything_that_makes_it_one():
    found = list(mechanism_cases(QUICK))
    ids = [case.id for case in found]
    assert len(set(ids)) == len(ids)
    assert "mechanism | LaplaceHistogram(keys=('a', 'b')) | 1 | a person more in every key | sampled" in ids
    assert any(case.subject == "TwoCoins()" and case.epsilon == "1.099" for case in found)
    assert {case.method for case in found} == {"certificate", "replay", "exact", "sampled", "pathwise"}


def test_the_number_of_trials_fits_the_time():
    def fast(data, n):
        return np.full(n, data)

    def slow(data, n):
        end = time.process_time() + 0.0002 * n
        while time.process_time() < end:
            pass
        return [data] * n

    assert sampled(fast, 0, 0, (1.0, 0.0), SMALL)["draws"] == 2 * SMALL.most
    few = sampled(slow, 0, 0, (1.0, 0.0), SMALL)
    assert few["draws"] == 2 * FEWEST
    assert sampled(slow, 0, 0, (1.0, 0.0), Effort(seconds=0.002)) is None


def test_what_is_too_large_to_list_does_not_apply_and_what_is_wrong_is_raised():
    assert listed(Laplace(1), 0, 1, Effort(seconds=9.0), span=300)["found"] == pytest.approx(1)
    assert listed(Laplace(1), 0, 1, Effort(listed=100), span=300) is None
    assert listed(Laplace(1), 0, 10**6, Effort(seconds=9.0), span=300) is None  # all of it lies beyond the span
    assert listed(LaplaceHistogram(1, tuple("abc")), {}, {"a": 1}, Effort(seconds=9.0)) is None
    with pytest.raises(QueryError):
        listed(TwoCoins(), "x", 1, Effort(seconds=9.0))


class Strange(Laplace):
    def release(self, ask, draw):
        return ask("something new")


def test_a_mechanism_without_neighbours_is_not_passed_over(monkeypatch):
    monkeypatch.setattr("sordino.lab.case.catalog", lambda: (Strange,))
    monkeypatch.setattr(Strange, "examples", classmethod(lambda cls: (cls(1),)))
    verdicts = {case.pair: case.run(SMALL)["verdict"] for case in mechanism_cases(SMALL)}
    assert verdicts == {"all neighbours": "consistent", "no neighbours known": UNKNOWN}


def test_a_check_that_passes_the_twin_has_no_power():
    fine, fallen = {"verdict": "consistent"}, {"verdict": "refuted"}
    assert powered(fine, lambda: fallen) == {"verdict": "consistent", "twin": True}
    assert powered(fine, lambda: fine) == {"verdict": NO_POWER, "twin": False}
    assert powered(fine, lambda: None)["verdict"] == NO_POWER
    assert powered(fallen, lambda: fine) == fallen
    assert powered(None, lambda: fallen) is None


def test_the_twin_of_a_coin_without_a_price_has_its_odds_squared():
    assert louder(TwoCoins()).certificate().check().epsilon == pytest.approx(2 * np.log(3))
    found = {case.method: case.run(SMALL) for case in mechanism_cases(SMALL) if case.subject == "TwoCoins()"}
    assert all(found[method]["twin"] for method in ("certificate", "pathwise", "exact"))


def test_a_ladder_of_proposals_at_twice_its_price_is_caught():
    for example in ProposeLadder.examples():
        found = _trace_all(variant(example, Fraction(1), narrow=False), QUICK)
        assert found["twin"], found
