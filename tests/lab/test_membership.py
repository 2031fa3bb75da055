"""Attacks on shared tables: none does better than the ceiling, a leaking table is told, and closeness to real rows says nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from statistics import NormalDist

import numpy as np
import pytest
from tests.share.small import answering, talk

import sordino as sd
from sordino.errors import QueryError
from sordino.lab import closest_record, density_ratio, shadow, share_ceiling
from sordino.noise import draw
from sordino.privacy.cost import gaussian_epsilon
from sordino.share.rounds import FitSteps

NAMES = [f"c{i}" for i in range(4)]


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, n)
    return np.column_stack([first, (first + (rng.random(n) < 0.3)) % 3, rng.integers(0, 3, n), rng.integers(0, 3, n)])


def shared(rows, epsilon=1.0, **more):
    columns = {name: {"type": "int", "bounds": (0, 2)} for name in NAMES}
    budget = sd.Budget(epsilon=10**4, delta=1e-2)
    with sd.table(
        {name: rows[:, i] for i, name in enumerate(NAMES)}, columns=columns, budget=budget, ledger=":memory:", size=400, **more
    ) as held:
        return held.share(epsilon=epsilon, delta=1e-6, method="tree", fresh=True)


def codes(found):
    rows = found.to_dict()
    return np.column_stack([[0 if v is None else v for v in rows[name]] for name in NAMES])


def test_the_ceiling_is_far_from_certain_and_rises_with_the_price():
    low, high = (share_ceiling(shared(people(400), epsilon)) for epsilon in (0.5, 5))
    assert 0.5 < low.auc < 0.62
    assert low.auc < high.auc < 1
    assert "AUC" in repr(low)


def test_a_replaced_row_moves_two_cells_of_every_marginal():
    """At one price the noise is the wider for it, and the ceiling of what it hides is about the same."""
    here, there = (share_ceiling(shared(people(400), 1, relation=relation)) for relation in ("add_remove", "replace"))
    assert there.mu == pytest.approx(here.mu, rel=0.05)


def test_shadow_tables_of_the_rows_themselves_give_an_outlier_away():
    private, outlier = people(150), np.array([0, 2, 1, 1])
    private = private[~((private[:, 0] == 0) & (private[:, 1] == 2))]
    leaking = shadow(lambda rows: rows, private, outlier, tables=5)
    assert leaking.auc == 1
    with pytest.raises(QueryError, match="at least 2"):
        shadow(lambda rows: rows, private, outlier, tables=1)


def made(plan, rows):
    """A large table: what is left of chance is the noise of the counts."""
    seen = plan.run(answering(rows), draw, FitSteps(3, 8))
    return np.column_stack([column.fine(seen.codes[:, i], np.full(len(seen.codes), 0.5)) for i, column in enumerate(seen.columns)])


def test_shadow_tables_stay_below_the_ceiling_of_their_price_and_half_the_noise_does_not():
    sold = replace(talk(2, method="tree", epsilon=9, rows=20), rows=500)
    mu = float(sold.schedule.purse.mu)
    leaky = replace(sold, schedule=replace(sold.schedule, gaussian=(Fraction(gaussian_epsilon(2 * mu, 1e-6)), Fraction(1, 10**6))))
    private, outlier = np.repeat([[0, 0], [1, 1]], 10, axis=0), np.array([0, 1])
    found, told = (shadow(partial(made, plan), private, outlier, tables=150).auc for plan in (sold, leaky))
    ceiling = NormalDist().cdf(mu / math.sqrt(2))
    assert found < ceiling + 0.02 < told


def test_rows_of_the_table_are_no_denser_in_the_made_up_one_than_others():
    private, strangers, reference = people(400, 1), people(400, 2), people(2_000, 3)
    assert density_ratio(codes(shared(private)), private, strangers, reference).auc < 0.6
    with pytest.raises(QueryError, match="same columns"):
        density_ratio(private, private[:, :2], strangers, reference)


def test_the_distance_to_the_closest_record_passes_a_table_that_leaks():
    rng = np.random.default_rng(5)
    wide = np.column_stack([people(300, 6) for _ in range(4)])
    outlier = np.full(16, 2)
    outlier[::2] = 0
    private = np.concatenate([wide, outlier[None]])
    shuffled = np.concatenate([np.column_stack([rng.permutation(wide[:, i]) for i in range(16)]), outlier[None]])
    strangers = np.column_stack([people(300, 7) for _ in range(4)])
    found = closest_record(shuffled, private, strangers, outlier)
    assert found.passes
    assert found.exposed
    assert "passes" in repr(found)
