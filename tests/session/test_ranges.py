"""Any range of a column from one release, and counts made consistent: values, bars, prices, and mistakes that are caught."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.lab.conformance import check_statistic
from sordino.privacy.cost import gaussian_delta
from sordino.session.release import Release
from sordino.statistics.linear_noise import sum_radius
from sordino.statistics.ranges import UNIT, BinNoise, _inverse, coefficients

SMALL = 1e-6
RNG = np.random.default_rng(5)
X = RNG.integers(0, 256, 5000)
A, B = RNG.choice(list("uv"), 5000), RNG.choice(list("pqr"), 5000)


def opened(**extra):
    budget = sd.Budget(epsilon=1_000_000, delta=0.01)
    columns = {"x": {"type": "int", "bounds": (0, 256)}}
    return sd.table(
        {"x": X, "a": A, "b": B}, columns=columns, keys={"a": list("uv"), "b": list("pqr")}, budget=budget, ledger=":memory:", **extra
    )


@pytest.fixture(scope="module")
def table():
    with opened() as made:
        yield made


@pytest.mark.parametrize("bins", [16, 128])
def test_ranges_are_right_at_a_huge_price_and_covered_at_a_small_one(table, bins):
    question = table.cdf("x", bins=bins)
    sure = question.release(epsilon=10_000, delta=SMALL)
    edges = sure.edges
    assert len(edges) == bins + 1
    pairs = [(0, bins), (0, 1), (3, 11), (bins // 2, bins), (bins - 1, bins)]
    truth = {(i, j): int(((edges[i] <= X) & ((edges[j] > X) | (j == bins))).sum()) for i, j in pairs}
    for (i, j), rows in truth.items():
        assert sure.between(edges[i], edges[j]).value == pytest.approx(rows, abs=1)
    assert sure.below(edges[-1]).value == pytest.approx(len(X), abs=1)
    inside = []
    for _ in range(60):
        drawn = question.release(epsilon=1, delta=SMALL, fresh=True)
        found = {pair: drawn.between(edges[pair[0]], edges[pair[1]]) for pair in pairs}
        inside += [one.low <= truth[pair] <= one.high for pair, one in found.items()]
    assert 0.9 < np.mean(inside) <= 1  # five ranges of sixty draws share their noise
    assert sure.release.card["mechanism"].startswith("Gaussian" if bins == 128 else "LaplaceHistogram")


def test_prefixes_of_many_bins_have_the_noise_of_a_logarithm(table):
    step = table.cdf("x", bins=256).query.settle(1, SMALL).steps["cdf(x)"]
    sigma = float(step.noise.scale) / UNIT / math.sqrt(sum((c / UNIT) ** 2 for c in coefficients(256)))  # of one row alone
    prefixes = np.tril(np.ones((256, 256)))
    noise = BinNoise.read(step.noise_of_bins([]))
    deviations = [noise.sum_width(row, 0.95) / 1.959964 for row in prefixes]
    assert max(deviations) / sigma == pytest.approx(math.log(256) / math.pi + 1.066, rel=0.01)
    assert math.sqrt(np.mean(np.square(deviations))) / sigma == pytest.approx(2.67, rel=0.01)
    assert math.sqrt(256) > 5 * max(deviations) / sigma


def test_the_matrix_and_its_inverse_are_the_square_root_of_adding_up():
    c = np.array(coefficients(64), float) / UNIT
    place = np.arange(64)
    root = np.where(place[:, None] >= place, c[np.maximum(place[:, None] - place, 0)], 0.0)
    assert np.allclose(root @ root, np.tril(np.ones((64, 64))), atol=1e-4)
    assert np.allclose(root @ _inverse(64), np.eye(64), atol=1e-12)
    assert all(a >= b >= 0 for a, b in zip(coefficients(64), coefficients(64)[1:], strict=False))


@pytest.mark.parametrize(("relation", "rows"), [("add_remove", 1), ("replace", 1), ("add_remove", 3)])
def test_no_row_moves_the_measurements_by_more_than_is_paid_for(relation, rows):
    extra = {} if rows == 1 else {"unit": "p", "max_rows": rows, "max_groups": rows}
    size = {"size": 5000} if relation == "replace" else {}
    data = {"x": X, "p": np.arange(5000) // 4}
    with sd.table(data, columns={"x": {"type": "int", "bounds": (0, 256)}}, relation=relation, budget=sd.Budget(epsilon=5, delta=0.01),
                  ledger=":memory:", **extra, **size) as made:  # fmt: skip
        step = made.cdf("x", bins=64).query.settle(1, SMALL).steps["cdf(x)"]
    c = np.array(coefficients(64), float)
    columns = [np.concatenate([np.zeros(j), c[: 64 - j]]) for j in range(64)]
    moves = columns if relation == "add_remove" else [a - b for a in columns for b in columns]
    worst = rows * max(float(np.linalg.norm(move)) for move in moves)
    paid = float(step.noise.reach)
    assert worst <= paid * (1 + 1e-9)
    assert worst >= 0.7 * paid
    assert gaussian_delta(worst / float(step.noise.scale), 1.0) <= SMALL
    planted = gaussian_delta(2 * worst / float(step.noise.scale), 1.0)  # noise for half of the rows
    assert planted > 10 * SMALL


def test_conformance_of_the_new_way():
    found = check_statistic(lambda t: (t.cdf("age", bins=64)).query, places=("", ", where"), delta=Fraction(1, 50))
    found.check()


def test_what_is_no_edge_and_what_has_groups_is_refused(table):
    made = table.cdf("x", bins=16).release(epsilon=1)
    for wrong in ((0.5, 100), (made.edges[3], made.edges[3]), (made.edges[5], made.edges[2]), ("a", None)):
        with pytest.raises(QueryError):
            made.between(*wrong)
    with pytest.raises(QueryError, match="without groups"):
        table.group_by("a").cdf("x", bins=64).release(epsilon=1, delta=SMALL)
    assert table.cdf("x", bins=16).release(epsilon=1).release.recalled
    assert "edges" in repr(made)
    assert len(table.cdf("x", bins=1000).query.settle(1, SMALL).steps["cdf(x)"].labels) == 256  # no more bins than values
    assert len(made.to_dict()["below"]) == 16


@pytest.mark.parametrize(("scales", "normal"), [((1.0,), 0.0), ((1.0, 1.0, 0.2), 0.0), ((1.0,) * 40, 0.0), ((2.0, 0.1), 1.5), ((), 2.0)])
def test_the_reach_of_a_sum_of_noises(scales, normal):
    draws = sum((b * RNG.laplace(size=200_000) for b in scales), normal * RNG.normal(size=200_000))
    far = sum_radius(np.array(scales), normal, 0.95)
    assert 0.949 < np.mean(np.abs(draws) <= far) < 0.955


def test_overlapping_counts_agree_and_are_narrower(table):
    drawn = [ask.release(epsilon=0.1, fresh=True) for ask in (table.count(), table.group_by("a").count(), table.group_by("a", "b").count())]
    total, by_a, by_both = sd.reconcile(*drawn)
    assert sum(by_a.to_dict()["count"]) == pytest.approx(total.value)
    both = by_both.to_dict()
    for key, rows in zip(by_a.to_dict()["a"], by_a.to_dict()["count"], strict=True):
        assert sum(n for a, n in zip(both["a"], both["count"], strict=True) if a == key) == pytest.approx(rows)
    for before, after in zip(drawn, (total, by_a, by_both), strict=True):
        assert after.id == before.id
        assert "made consistent" in after.card["post-processing"][-1]
        was, now = before.to_dict(), after.to_dict()
        assert now["count_high"][0] - now["count_low"][0] < was["count_high"][0] - was["count_low"][0]


def test_reconciled_intervals_cover(table):
    asks = (table.count(), table.group_by("a").count(), table.group_by("a", "b").count())
    truth = [[5000], [int((a == A).sum()) for a in "uv"], [int(((a == A) & (b == B)).sum()) for a in "uv" for b in "pqr"]]
    inside = []
    for _ in range(60):
        for made, exact in zip(sd.reconcile(*(ask.release(epsilon=0.1, fresh=True) for ask in asks)), truth, strict=True):
            cells = made.to_dict()
            inside += [low <= n <= high for low, high, n in zip(cells["count_low"], cells["count_high"], exact, strict=True)]
    assert 0.91 < np.mean(inside) < 0.99


def test_what_does_not_belong_together_is_refused(table):
    count, other = table.group_by("a").count().release(epsilon=1), table.where("x > 5").count().release(epsilon=1)
    for wrong in (
        (),
        (count,),
        (count, other),
        (count, table.mean("x").release(epsilon=1)),
        (count, table.count_units().release(epsilon=1)),
        (count, 5),
    ):
        with pytest.raises(QueryError):
            sd.reconcile(*wrong)


def test_any_histogram_of_bins_answers_ranges_from_what_was_sealed(table):
    plain = table.histogram("x", bins=128).release(epsilon=1, delta=SMALL)
    ranged = table.histogram("x", bins=128, ranges=True).release(epsilon=1, delta=SMALL)
    assert ranged.id == table.cdf("x", bins=128).release(epsilon=1, delta=SMALL).release.id, "it is the same question"
    edges = sorted({edge for pair in plain.value for edge in pair})
    long, short = (plain.between(edges[0], edges[100]), plain.between(edges[3], edges[4]))
    assert long.high - long.low > 8 * (short.high - short.low)
    better = ranged.between(edges[0], edges[100])
    assert better.high - better.low < 0.75 * (long.high - long.low)
    apart = Release.from_bytes(ranged.to_bytes())
    assert apart.query is None
    assert apart.between(edges[0], edges[100]) == better, "the card says what the interval needs"
    whole = plain.between(level=0.5)
    assert whole.high - whole.low < plain.between().high - plain.between().low
    for wrong in (table.histogram("a"), table.group_by("a").histogram("x", bins=4), table.count()):
        with pytest.raises(QueryError, match="histogram of bins"):
            wrong.release(epsilon=1, delta=SMALL).between()


def test_nothing_below_zero_by_choice_with_the_bars_from_before(table):
    few = table.where("a = 'u' AND b = 'p'")
    for asked in (few.histogram("x", bins=128), few.histogram("x", bins=128, ranges=True)):
        drawn = asked.release(epsilon=0.1, delta=SMALL)
        assert min(drawn.value.values()) < 0
        found = drawn.nonnegative()
        assert min(found.value.values()) >= 0
        assert (found.low, found.high) == (drawn.low, drawn.high)
        assert "from before" in found.about
        assert sum(found.value.values()) == pytest.approx(sum(drawn.value.values()), abs=400)
    ranges = few.cdf("x", bins=128).release(epsilon=0.1, delta=SMALL)
    rising = ranges.nonnegative()
    below = rising.to_dict()
    assert below["below"] == sorted(below["below"])
    assert below["low"] == pytest.approx(ranges.to_dict()["low"]), "ends are those of what was drawn"
    groups = table.where("a = 'u'").group_by("a", "b").count().release(epsilon=0.01)
    made = groups.nonnegative().to_dict()
    assert min(made["count"]) >= 0
    assert sum(made["count"]) == pytest.approx(max(sum(groups.to_dict()["count"]), 0))
    with pytest.raises(QueryError, match="only counts"):
        table.mean("x").release(epsilon=1).nonnegative()
