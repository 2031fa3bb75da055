"""One person moves counts, scores and distances by no more than the schedule pays for; with pinned outcomes neighbours look the same."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.share.small import answering, table, talk

import sordino as sd
from sordino.noise import draw
from sordino.privacy.discrete import ArgMax, UniformInteger
from sordino.privacy.law import Placed
from sordino.privacy.pld import total
from sordino.privacy.relation import Relation
from sordino.share.rounds import FitSteps
from sordino.share.schedule import FINE, affordable, rounds_of
from sordino.summaries.marginal import person_unit

QUICK = FitSteps(4, 10)


class Pinned:
    """Outcomes of one run, handed out again in another; the laws of both are kept."""

    def __init__(self, outcomes=None):
        self.laws, self.outcomes, self.given = [], [], None if outcomes is None else iter(outcomes)

    def __call__(self, law):
        self.laws.append(law)
        self.outcomes.append(draw(law) if self.given is None else next(self.given))
        return self.outcomes[-1]


def both(one, other, plan, people=(None, None)):
    first = Pinned()
    seen = plan.run(answering(one, people[0]), first, QUICK)
    second = Pinned(first.outcomes)
    again = plan.run(answering(other, people[1]), second, QUICK)
    return first.laws, second.laws, seen, again


def check(one, other, plan, people=(None, None)):
    """Everything visible is equal, and no private place moved by more than is paid for."""
    first, second, seen, again = both(one, other, plan, people)
    assert np.array_equal(seen.codes, again.codes)
    assert seen.distances == again.distances
    assert seen.law.to_record() == again.law.to_record()
    schedule, spent = plan.schedule, Fraction(0)
    for a, b in zip(first, second, strict=True):
        assert type(a) is type(b)
        if isinstance(a, Placed):
            assert (a.scale, a.grid) == (b.scale, b.grid)
            moved = np.asarray(a.location, object) - np.asarray(b.location, object)
            spent += Fraction(int((moved**2).sum())) / a.scale**2
        elif isinstance(a, ArgMax):
            assert np.abs(a.scores - b.scores).max() <= schedule.selection.sensitivity
            assert a.scale == b.scale == schedule.selection.scale
        else:
            assert a == b
            assert isinstance(a, UniformInteger)
    assert spent <= schedule.purse.mu**2, "all Gaussian draws together"


@pytest.mark.parametrize("method", ["adaptive", "tree", "given"])
def test_neighbours_look_the_same_and_move_no_more_than_is_paid(method):
    rng, codes = np.random.default_rng(1), table(300, 4)
    plan = talk(method=method, rounds=5)
    for _ in range(5):
        row = rng.integers(0, 3, (1, 4))  # null is a cell too
        check(codes, np.concatenate([codes, row]), plan)
        check(codes, np.delete(codes, rng.integers(len(codes)), axis=0), plan)
    check(codes[:0], codes[:1], plan)


WEIGHTED = {(0, 1): 2, (1, 2): 64, (0, 2, 3): 3}


@pytest.mark.parametrize("method", ["adaptive", "tree"])
@pytest.mark.parametrize("workload", [WEIGHTED, {(0, 1): 2, (0, 2): 2, (1, 2): 1, (2, 3): 1}], ids=["64", "2"])
def test_weights_of_scores_are_paid_for(method, workload):
    rng, codes = np.random.default_rng(4), table(200, 4)
    plan = talk(method=method, rounds=5, workload=workload)
    assert plan.schedule.selection.sensitivity == max(workload.values()) * FINE

    def several(plan, times):
        for _ in range(times):
            check(codes, np.concatenate([codes, rng.integers(0, 3, (1, 4))]), plan)
            check(codes, np.delete(codes, rng.integers(len(codes)), axis=0), plan)

    several(plan, 4)
    with pytest.raises(AssertionError):  # a price that forgets the weights is seen
        several(talk(method=method, rounds=5, workload=workload, heaviest=1), 20)


def test_a_score_moves_by_no_more_than_the_rows_of_a_person_times_its_weight():
    """Ten thousand pairs of neighbours, a person with up to five rows who comes or goes."""
    rng, sizes, pairs = np.random.default_rng(6), (3, 3), 10_000
    plan = talk(workload={(0, 1): 7, (1, 2): 64}, reach=5)
    tables = rng.poisson(rng.choice([0.2, 3, 40], (pairs, 1, 1)), (pairs, *sizes))
    rows = rng.integers(1, 6, pairs)
    theirs = rng.multinomial(rows, rng.dirichlet(np.full(9, 0.3), pairs)).reshape(pairs, *sizes)
    others = np.where(rng.random((pairs, 1, 1)) < 0.5, tables + theirs, np.maximum(tables - theirs, 0))
    expected = rng.choice([1, 10, 400], (pairs, 1, 1)) * rng.dirichlet(np.full(9, 0.5), pairs).reshape(pairs, *sizes)
    for clique, weight in plan.workload.items():
        one, other = ([plan._score(clique, t, e) for t, e in zip(held, expected, strict=True)] for held in (tables, others))
        moved = np.abs(np.subtract(one, other))
        assert (moved <= weight * rows * FINE).all()
        assert (moved <= plan.schedule.selection.sensitivity).all()
        assert (moved == weight * rows * FINE).any()


def test_a_replacement_is_paid_for_as_one():
    rng, codes = np.random.default_rng(2), table(200, 4)
    plan = talk(relation=Relation.REPLACE, rounds=4)
    for _ in range(5):
        other = codes.copy()
        other[rng.integers(len(codes))] = rng.integers(0, 3, 4)
        check(codes, other, plan)


@pytest.mark.parametrize("weight", ["person", "row"])
def test_somebody_with_many_rows_counts_as_one_person_or_as_their_rows(weight):
    rng, most = np.random.default_rng(3), 4
    codes = table(240, 4)
    people = np.repeat(np.arange(120), 2)
    plan = talk(rounds=4, parts=person_unit(most), reach=person_unit(most)) if weight == "person" else talk(rounds=4, reach=most)
    for rows in (1, 2, 3, 4):
        mine = rng.integers(0, 3, (rows, 4))
        check(codes, np.concatenate([codes, mine]), plan, (people, np.concatenate([people, [999] * rows])))


def test_a_score_by_the_true_number_of_rows_would_move_twice_as_far():
    codes, plan = table(300, 4), talk()
    more, law = np.concatenate([codes, [[0, 0, 0, 0]]]), np.array([[0.0, 1.0], [0.0, 0.0]])

    def score(rows, expected):
        found = np.zeros((2, 2), np.int64)
        np.add.at(found, (rows[:, 0], rows[:, 1]), 1)
        return plan._apart(found, expected)

    assert score(more, 300 * law) - score(codes, 300 * law) == FINE
    assert score(more, len(more) * law) - score(codes, len(codes) * law) == 2 * FINE, "the planted mistake is seen"


def test_the_price_is_that_of_the_schedule_and_close_to_all_that_was_offered():
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(3)):
        schedule = talk(epsilon=epsilon).schedule
        assert schedule.cost.epsilon <= epsilon
        assert float(schedule.cost.epsilon) > 0.999 * float(epsilon)
        assert schedule.cost.delta == Fraction(1, 10**6)
        parts = [part.cost for part in schedule.parts]
        assert total(parts).epsilon(1e-6) <= float(epsilon) * (1 + 1e-9), "the certified profile of all parts"
        assert all(part.certificate.check().sound for part in schedule.parts)


def test_a_price_in_rho_is_met_in_rho():
    offer = {"method": "adaptive", "columns": 4, "reported": 14, "reach": 1, "heaviest": 1, "relation": Relation.ADD_REMOVE}
    schedule = affordable(Fraction(1, 100), Fraction(1, 10**6), **offer, cells=4.0, rows=None, by_rho=True)
    assert 0.0099 < schedule.cost.rho <= Fraction(1, 100)


def test_more_rows_and_a_higher_price_buy_more_measurements():
    assert rounds_of(10, 36, 0.02, 16_000) == 30
    assert rounds_of(10, 36, 0.0002, 16_000) < 30
    assert rounds_of(10, 36, 1e-9, 100) == 9
    assert rounds_of(10, 36, 0.02, None) == 20


def test_rules_are_kept_by_every_sampled_row():
    never = np.zeros((3, 3), bool)
    never[1, 1] = True
    plan = talk(rounds=4, rules={(0, 1): never})
    codes = table(500, 4)
    codes = codes[~((codes[:, 0] == 1) & (codes[:, 1] == 1))]
    made = plan.run(answering(codes), draw, QUICK).codes
    assert not ((made[:, 0] == 1) & (made[:, 1] == 1)).any()
    assert (made[:, 0] == 1).any()


@pytest.mark.parametrize("method", ["given", "tree"])
def test_what_a_model_cannot_hold_stays_measured(method):
    """Four truth values with null: a pair has 9 cells at most, all six pairs in one clique 81, three rules in a ring 27."""
    rules = {c: np.zeros((3, 3), bool) for c in ((0, 1), (1, 2), (0, 2))}
    plan = talk(method=method, cap=40, rules=rules)
    made = plan.run(answering(table(300, 4)), draw, QUICK)
    assert len(made.chosen) == plan.schedule.rounds
    assert made.law.tree.cells <= 40
    assert len(made.codes)


def test_thirty_columns_and_few_rows_are_shared_as_a_tree_with_an_error_for_every_pair():
    cells = dict.fromkeys((f"c{i}" for i in range(32)), "bool")
    codes = table(60, 32).astype(bool)
    rows = {name: codes[:, i] for i, name in enumerate(cells)}
    with sd.table(rows, columns=cells, budget=sd.Budget(epsilon=5, delta=1e-4), ledger=":memory:", size=60) as held:
        found = held.share(epsilon=2, delta=1e-6, method="tree")
    assert len(found.kept) == 31
    assert {len(names) for names in found.errors} == {1, 2}, "triples are left out beyond 15 columns"
    assert len(found.errors) == 32 + 32 * 31 // 2
    assert set(found.to_dict()) == set(cells)
