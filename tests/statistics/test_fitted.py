"""Quantiles with noise that fits the data: what the window of ranks determines, and the law on small worlds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.privacy.relation import PrivacyUnit, Relation
from sordino.schema.column import Column
from sordino.sensitivity import position
from sordino.sensitivity.order import Glimpse
from sordino.sensitivity.scale import ScaleLadder
from sordino.statistics.fitted import FittedStep, fitted_price
from sordino.statistics.port import Context
from sordino.summaries.request import rank_window

HALF, SMALL = Fraction(1, 2), Fraction(1, 10**6)


def context(relation="add_remove", rows=1, *, size=None, high=1000, **facts):
    unit = PrivacyUnit(None, Relation.of(relation)) if rows == 1 else PrivacyUnit("who", Relation.of(relation), rows, 1)
    column = Column("x", "int", (0, high), nulls=0)
    return Context(unit, {"x": column}, filtered=rows > 1 or size is None, size=size, **facts)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10), Fraction(9, 10), Fraction(1, 3)])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_window_gives_the_same_rungs_as_the_whole_column(relation, q, rows):
    rng = np.random.default_rng(3)
    for n in (0, 1, 2, 7, 60, 400):
        x = np.sort(rng.integers(0, 1001, n))
        for count in (1, 5, 40):
            whole = position.quantile(x, q=q, bounds=(0, 1000), relation=relation, max_rows=rows).rungs(count)
            window = rank_window(x, q, 2 * (count + 4) * rows, 0, 1000)
            seen = Glimpse(window.values, 0, 1000, exact=True, first=window.first, size=n)
            part = position.quantile(seen, q=q, bounds=(0, 1000), relation=relation, max_rows=rows).rungs(count)
            assert part.tolist() == whole.tolist()


def test_a_window_too_short_would_be_noticed():
    """The comparison above can fail: with half the ranks the rungs differ."""
    x = np.arange(0, 1000, 2)
    whole = position.median(x, bounds=(0, 1000)).rungs(100)
    window = rank_window(x, HALF, 25, 0, 1000)
    seen = Glimpse(window.values, 0, 1000, exact=True, first=window.first, size=len(x))
    assert position.median(seen, bounds=(0, 1000)).rungs(100).tolist() != whole.tolist()


def test_under_replace_with_a_private_n_two_steps_are_paid():
    public = fitted_price(Fraction(1), SMALL, context("replace", size=10))
    hidden = fitted_price(Fraction(1), SMALL, context("replace"))
    assert (public.epsilon, public.relation) == (1, Relation.REPLACE)
    assert (hidden.epsilon, hidden.relation) == (HALF, Relation.ADD_REMOVE)
    assert hidden.delta * (1 + Fraction(np.exp(0.5))) <= SMALL * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("way", ["smooth", "published", "ptr"])
def test_certificates_hold_and_the_price_is_the_whole_price(way):
    step = FittedStep("x", HALF, way, Fraction(1), SMALL, context(propose=Fraction(5)))
    assert all(certificate.check().sound for certificate in step.certificates())
    assert step.cost.epsilon == 1
    assert step.cost.delta == (0 if way == "smooth" else SMALL)
    assert step.bar == ("published" if way == "published" else "none")


@pytest.mark.parametrize(("way", "delta", "fix"), [("published", Fraction(0), "smooth"), ("ptr", SMALL, "propose=")])
def test_what_is_missing_is_said_before_the_charge(way, delta, fix):
    with pytest.raises(QueryError, match=fix):
        FittedStep("x", HALF, way, Fraction(1), delta, context())


def laws(step, x):
    """The laws one table hands to the sampler, with outcomes pinned."""
    seen = []

    def draw(law):
        seen.append(law)
        return 1 if type(law).__name__ == "Bernoulli" else 7

    def ask(request):
        return iter([(rank_window(np.sort(np.array(x, np.int64)), request.q[0], request.radius, 0, step.grid.width),)])

    (answer,) = step.release(ask, draw, None)
    return seen, answer


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("q", [HALF, Fraction(1, 4)])
def test_in_every_small_world_scales_are_smooth_and_cover_the_move(relation, rows, q):
    """All tables over {0..3} of up to four rows and their neighbours: one rung apart, and the move within the narrower scale."""
    from itertools import combinations_with_replacement as choose

    facts = context(relation, rows, high=3, size=4 if relation == "replace" and rows == 1 else None)
    step = FittedStep("x", q, "smooth", Fraction(1), Fraction(0), facts)
    scales, index = ScaleLadder(step.fit.mechanism.beta, 3), {}
    for n in range(5 + rows):
        for x in choose(range(4), n):
            value, ladder = step.ladder(rank_window(np.array(x, np.int64), q, step.radius, 0, 3))
            assert ladder.top == step.grid.width  # what K was counted for
            index[x] = value, scales.index(ladder.rungs(step.window))
    pairs = 0
    for x, (value, rung) in index.items():
        added = [tuple(sorted((*x, *extra))) for j in range(1, rows + 1) for extra in choose(range(4), j)]
        if step.price.relation is Relation.REPLACE:
            added = [tuple(sorted((*x[:i], new, *x[i + 1 :]))) for i in range(len(x)) for new in range(4)]
        for y in added:
            if y in index:
                other, near = index[y]
                assert abs(rung - near) <= 1
                assert abs(value - other) <= scales.scale(min(rung, near))
                pairs += 1
    assert pairs > 100


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 4), HALF, Fraction(9, 10), Fraction(1)])
def test_at_a_public_size_a_row_may_vanish(size, q):
    """A row replaced by one that cannot be read leaves a row less: of one row none is left, and the scale must not be zero."""
    from itertools import combinations_with_replacement as choose

    step = FittedStep("x", q, "smooth", Fraction(1), Fraction(0), context("replace", high=3, size=size))
    scales, index = ScaleLadder(step.fit.mechanism.beta, 3), {}
    for n in (size - 1, size):
        for x in choose(range(4), n):
            value, ladder = step.ladder(rank_window(np.array(x, np.int64), q, step.radius, 0, 3))
            index[x] = value, scales.index(ladder.rungs(step.window))
            assert ladder.top == step.grid.width
    for x, (value, rung) in index.items():
        for i in range(len(x) if len(x) == size else 0):
            other, near = index[x[:i] + x[i + 1 :]]
            assert abs(rung - near) <= 1
            assert abs(value - other) <= scales.scale(min(rung, near))


def test_published_answers_carry_the_interval_of_their_own_scale():
    step = FittedStep("x", HALF, "published", Fraction(1), SMALL, context())
    _, answer = laws(step, range(400, 600))
    assert answer.low <= answer.value <= answer.high
    assert step.interval(answer, 0.95) == (answer.low, answer.high)
    low, high = step.interval(answer, 0.5)
    assert answer.low <= low <= high <= answer.high
