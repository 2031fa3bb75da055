"""One door: `draw` knows every law with an exact sampler and refuses everything else."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.noise import draw
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace, UniformInteger
from sordino.privacy.families import LaplaceLaw, StudentT


def test_each_law_gives_an_outcome_of_its_own_kind() -> None:
    assert type(draw(LaplaceLaw().at(3, Fraction(2)))) is int
    assert type(draw(Bernoulli.of(Fraction(1, 2)))) is bool
    assert draw(UniformInteger(4, 4)) == 4
    assert draw(Categorical((0, 3, 0))) == 1
    assert type(draw(DiscreteLaplace(Fraction(2), 7))) is int
    assert draw(ArgMax(np.array([5]), Fraction(1), "gumbel")) == 0


@pytest.mark.parametrize("thing", [LaplaceLaw(), None, 3, "laplace", np.zeros(3)])
def test_anything_else_is_refused(thing: object) -> None:
    with pytest.raises(QueryError, match="SRD-108"):
        draw(thing)


def test_a_law_without_an_exact_sampler_cannot_even_be_placed() -> None:
    with pytest.raises(QueryError, match="SRD-108"):
        StudentT(3).at(0, Fraction(1))
