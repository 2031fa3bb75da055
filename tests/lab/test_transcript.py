"""The price of recorded draws, against closed forms and against sums over listed outcomes."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.lab.transcript import spent, witness
from sordino.lab.world import hockey
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace, UniformInteger
from sordino.privacy.families import GaussianLaw, LaplaceLaw, PowerLaw

ONE, TWO = Fraction(1), Fraction(2)


def test_shifts_add_up():
    same = LaplaceLaw().at(3, TWO)
    moved = (LaplaceLaw().at(np.array([1, 2]), TWO), LaplaceLaw().at(np.array([2, 4]), TWO))
    counted = (DiscreteLaplace(TWO, 5), DiscreteLaplace(TWO, 6))
    assert spent([(same, same)], (1, 0)).epsilon == 0
    assert spent([(same, same), moved], (1, 0)).epsilon == pytest.approx(1.5)
    found = spent([moved, counted], (2, 0))
    assert found.epsilon == pytest.approx(2)
    assert found.within((2, 0))
    assert not spent([moved, counted], (1.9, 0)).within((1.9, 0))
    assert not found.exact


def test_gaussian_shifts_add_up_by_squares():
    turn = (GaussianLaw().at(0, ONE), GaussianLaw().at(1, ONE))
    vector = (GaussianLaw().at(np.zeros(2, np.int64), ONE), GaussianLaw().at(np.ones(2, np.int64), ONE))
    two = spent([turn, turn], (1, 0.1))
    assert two.epsilon == math.inf
    assert two.delta == pytest.approx(spent([vector], (1, 0.1)).delta)
    assert two.delta > spent([turn], (1, 0.1)).delta > 0


def test_a_dilated_pair_is_integrated():
    law = PowerLaw(ONE, Fraction(3, 10))
    found = spent([(law.at(0, Fraction(100)), law.at(50, Fraction(130)))], (1, 0))
    assert 0 < found.epsilon < 1
    assert found.exact
    light = spent([(LaplaceLaw().at(0, Fraction(100)), LaplaceLaw().at(0, Fraction(130)))], (0.3, 0.01))
    assert light.epsilon == math.inf
    listed = [dict(enumerate(np.diff(LaplaceLaw().cdf(np.arange(-4000, 4001) / scale)))) for scale in (100, 130)]
    assert light.delta == pytest.approx(hockey(*listed, 0.3), rel=1e-3)


def test_coins_and_choices_are_listed():
    assert witness(Bernoulli.of(Fraction(1, 4)), Bernoulli.of(Fraction(3, 4))).sup() == pytest.approx(math.log(3))
    choice = witness(ArgMax(np.array([0, 0]), TWO, "gumbel"), ArgMax(np.array([0, 1]), TWO, "gumbel"))
    assert 0 < choice.sup() <= 0.5


def test_what_has_no_rule_is_not_priced():
    assert spent([(UniformInteger(0, 3), UniformInteger(0, 4))], (1, 0)) is None
    assert spent([(Categorical((1, 2)), Categorical((2, 1)))], (1, 0)) is None
    assert witness(LaplaceLaw().at(0, ONE), GaussianLaw().at(0, ONE)) is None
    assert spent([(UniformInteger(0, 3), UniformInteger(0, 3))], (1, 0)).epsilon == 0


def test_a_draw_that_another_may_withhold_costs_at_most_its_own_price():
    """With a test before it the noise is shown only sometimes: its delta is a bound, and a bound refutes nothing."""
    moved = (LaplaceLaw().at(0, Fraction(1)), LaplaceLaw().at(5, Fraction(1)))
    test = (Bernoulli.of(Fraction(1, 50)),) * 2
    assert spent([moved], (1, 0.02)).exact
    found = spent([test, moved], (1, 0.02))
    assert found.delta > 0.02
    assert not found.exact
    noise = (GaussianLaw().at(0, Fraction(1)), GaussianLaw().at(5, Fraction(1)))
    assert spent([(noise[0], noise[0]), noise], (1, 0.02)).exact
