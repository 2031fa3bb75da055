"""What two laws of one turn tell apart, against closed forms and against sums over listed outcomes."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.lab.loss import between, composed, compressed, listed, merged
from sordino.lab.world import hockey
from sordino.noise import draw
from sordino.privacy.cost import gaussian_delta
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace, UniformInteger
from sordino.privacy.families import GaussianLaw, LaplaceLaw, PowerLaw
from sordino.privacy.law import LawOutcome, Placed
from sordino.privacy.sphere import PlacedVector, SphericalSpread, SphericalT

ONE, TWO = Fraction(1), Fraction(2)


def test_laplace_shifts_add_up_and_their_divergence_is_the_rho_of_the_price():
    same = LaplaceLaw().at(3, TWO)
    assert between(same, same).nothing
    found = between(LaplaceLaw().at(np.array([1, 2]), TWO), LaplaceLaw().at(np.array([2, 4]), TWO))
    assert found.there == found.back == pytest.approx(1.5)
    assert found.rho == pytest.approx(sum(e - 1 + math.exp(-e) for e in (0.5, 1.0)))
    whole = between(DiscreteLaplace(TWO, 5), DiscreteLaplace(TWO, 6))
    assert whole.sup == pytest.approx(0.5)
    p, q = merged(DiscreteLaplace(TWO), 5, 6)
    assert whole.rho == pytest.approx(listed(p, q).rho)


def test_gaussian_shifts_add_up_by_squares():
    turn = between(GaussianLaw().at(0, ONE), GaussianLaw().at(1, ONE))
    vector = between(GaussianLaw().at(np.zeros(2, np.int64), ONE), GaussianLaw().at(np.ones(2, np.int64), ONE))
    assert vector.mu_squared == 2 * turn.mu_squared == 2
    assert composed([turn, turn], 1.0) == pytest.approx(gaussian_delta(math.sqrt(2), 1.0))


def test_a_dilated_pair_is_integrated():
    law = PowerLaw(ONE, Fraction(3, 10))
    assert 0 < between(law.at(0, Fraction(100)), law.at(50, Fraction(130))).sup < 1
    light = between(LaplaceLaw().at(0, Fraction(100)), LaplaceLaw().at(0, Fraction(130)))
    assert light.sup == math.inf
    cells = [dict(enumerate(np.diff(LaplaceLaw().cdf(np.arange(-4000, 4001) / scale)))) for scale in (100, 130)]
    assert composed([light], 0.3) == pytest.approx(hockey(*cells, 0.3), rel=0.05)


def test_a_spherical_pair_has_its_closed_form():
    law = SphericalT(3)
    found = between(law.at([0, 0, 0], Fraction(100)), law.at([50, 0, 0], Fraction(120)))
    wide = SphericalSpread(law, 2.0, math.log(1.2)).at(math.log(1.2))
    assert found.sup == pytest.approx(wide, rel=1e-6)


def test_coins_and_choices_are_listed():
    assert between(Bernoulli.of(Fraction(1, 4)), Bernoulli.of(Fraction(3, 4))).sup == pytest.approx(math.log(3))
    many = [Bernoulli((Fraction(1, 4), Fraction(3, 4)), np.array(index)) for index in ([0, 1, 1], [1, 0, 1])]
    assert between(*many).sup == pytest.approx(2 * math.log(3))
    choice = between(ArgMax(np.array([0, 0]), TWO, "gumbel"), ArgMax(np.array([0, 1]), TWO, "gumbel"))
    assert 0 < choice.sup <= 0.5
    assert between(Categorical((1, 2)), Categorical((2, 1))).sup == pytest.approx(math.log(2))


def test_a_choice_among_private_cells_is_told_by_what_is_drawn_inside():
    one = Categorical(np.array([1.0, 1.0]), lambda: [(0, 10), (10, 20)])
    other = Categorical(np.array([3.0, 1.0]), lambda: [(0, 15), (15, 20)])
    found = between(one, other)
    p = dict.fromkeys(range(1, 21), 0.05)
    q = {k: 0.75 / 15 if k <= 15 else 0.05 for k in range(1, 21)}
    assert found.sup == pytest.approx(max(abs(math.log(p[k] / q[k])) for k in p), abs=1e-12)
    narrow = Categorical(np.array([1.0, 1.0]), lambda: [(0, 1), (1, 20)])
    assert between(one, narrow).best == 2
    assert between(one, narrow).back == pytest.approx(math.log(0.5 / 0.05))


def test_integers_of_different_ranges_are_told_apart_for_certain():
    assert between(UniformInteger(0, 3), UniformInteger(0, 3)).nothing
    assert between(UniformInteger(0, 3), UniformInteger(0, 4)).sup == math.inf


@pytest.mark.parametrize(
    "pair",
    [
        (LaplaceLaw().at(0, ONE), GaussianLaw().at(0, ONE)),
        (LaplaceLaw().at(0, ONE), DiscreteLaplace(ONE, 0)),
        (DiscreteLaplace(ONE, np.zeros(2, np.int64)), DiscreteLaplace(ONE, np.zeros(3, np.int64))),
        (Categorical((1, 2)), Categorical((1, 2, 3))),
    ],
)
def test_laws_that_differ_in_public_are_refused(pair):
    with pytest.raises(QueryError):
        between(*pair)


def test_many_outcomes_are_told_as_few_without_losing_the_delta():
    p, q = (np.diff(GaussianLaw().cdf((np.arange(-9000, 9001) - shift) / 1000)) for shift in (0, 500))
    small = compressed(p, q)
    assert len(small[0]) <= 1_001
    assert listed(*small).rho == pytest.approx(listed(p, q).rho, rel=1e-3)
    assert composed([listed(p, q)], 0.5) == pytest.approx(gaussian_delta(0.5, 0.5), rel=1e-2)


DRAWN: dict[Any, Any] = {
    Bernoulli: Bernoulli.of(Fraction(1, 3)),
    UniformInteger: UniformInteger(0, 3),
    Categorical: Categorical((1, 2)),
    DiscreteLaplace: DiscreteLaplace(TWO, 1),
    ArgMax: ArgMax(np.array([0, 1]), TWO, "gumbel"),
    Placed: LaplaceLaw().at(3, TWO),
    PlacedVector: SphericalT(3).at([0, 0, 0], Fraction(100)),
}


def laws(kind=LawOutcome):
    """Every class of laws that `draw` accepts, however deep."""
    for below in kind.__subclasses__():
        if below.__module__.startswith("sordino."):
            yield below
            yield from laws(below)


@pytest.mark.parametrize("kind", sorted(set(laws()), key=str), ids=str)
def test_every_law_that_can_be_drawn_has_a_rule(kind):
    """A red line here means: say in `between` what a draw from the new law tells."""
    law = next(law for known, law in DRAWN.items() if issubclass(kind, known))
    assert draw(law) is not None
    assert between(law, law).nothing
