"""A made-up table holds what the released counts say, and nothing else."""

from collections import Counter

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.lab.town import hospital

KEYS = {
    "sex": ["f", "m", "x"],
    "zip": [str(10_100 + 7 * z) for z in range(12)],
    "diagnosis": ["asthma", "diabetes", "fracture", "hypertension", "migraine", "pneumonia"],
}


@pytest.fixture(scope="module")
def table():
    with sd.table(hospital(800), keys=KEYS, budget=sd.Budget(epsilon=10**6), ledger=":memory:") as opened:
        yield opened


def counted(table, *columns, epsilon=10**4):
    return table.group_by(*columns).count().release(epsilon=epsilon)


def tally(columns, *names):
    return Counter(zip(*(columns[name] for name in names), strict=True))


def test_one_release_gives_a_table_with_its_own_counts(table):
    release = counted(table, "sex", "zip")
    made = sd.synthesize(release)
    groups = zip(release.keys["sex"], release.keys["zip"], strict=True)
    assert tally(made, "sex", "zip") == {group: n for group, n in zip(groups, release.to_dict()["count"], strict=True) if n > 0}
    assert sd.synthesize(release) == made, "there is no draw in it"


def test_further_releases_bring_columns_that_follow_what_they_share(table):
    first, second = counted(table, "sex", "zip"), counted(table, "zip", "diagnosis")
    made = sd.synthesize(first, second, rows=5_000)
    assert list(made) == ["sex", "zip", "diagnosis"]
    assert {len(column) for column in made.values()} == {5_000}
    truth = dict(zip(zip(second.keys["zip"], second.keys["diagnosis"], strict=True), second.to_dict()["count"], strict=True))
    whole = sum(first.to_dict()["count"])
    place = max(KEYS["zip"], key=lambda z: sum(truth[z, d] for d in KEYS["diagnosis"]))
    inside = sum(truth[place, d] for d in KEYS["diagnosis"])
    here = sum(1 for z in made["zip"] if z == place)
    for illness in KEYS["diagnosis"]:
        share = tally(made, "zip", "diagnosis")[place, illness] / here
        assert share == pytest.approx(truth[place, illness] / inside, abs=0.02)
    told = sum(n for z, n in zip(first.keys["zip"], first.to_dict()["count"], strict=True) if z == place)
    assert here == pytest.approx(5_000 * told / whole, abs=3)


def test_a_release_without_a_new_column_is_used_and_the_order_does_not_matter():
    rng = np.random.default_rng(3)
    sex = np.where(rng.random(4_000) < 0.5, "f", "m")
    ill = np.where(rng.random(4_000) < np.where(sex == "f", 0.9, 0.1), "yes", "no")
    rows = {"sex": sex, "ill": ill, "zip": rng.integers(0, 3, 4_000).astype(str)}
    keys = {"sex": ["f", "m"], "ill": ["yes", "no"], "zip": ["0", "1", "2"]}
    with sd.table(rows, keys=keys, budget=sd.Budget(epsilon=100), ledger=":memory:") as held:
        parts = [counted(held, "sex", "zip", epsilon=5), counted(held, "zip", "ill", epsilon=5), counted(held, "sex", "ill", epsilon=5)]

        def association(made):
            found = tally(made, "sex", "ill")
            return found["f", "yes"] / (found["f", "yes"] + found["f", "no"]) - found["m", "yes"] / (found["m", "yes"] + found["m", "no"])

        for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
            assert association(sd.synthesize(*(parts[i] for i in order))) == pytest.approx(0.8, abs=0.04)
        assert association(sd.synthesize(*parts[:2])) == pytest.approx(0, abs=0.1), "what no count shows together"


def test_minorities_stay_and_histograms_bring_numbers():
    rng = np.random.default_rng(4)
    age = rng.integers(0, 100, 3_000)
    rare = np.where(rng.random(3_000) < 0.101, "yes", "no")
    rows = {"age": age, "rare": rare, "zip": rng.integers(0, 40, 3_000).astype(str)}
    keys = {"rare": ["yes", "no"], "zip": [str(z) for z in range(40)]}
    with sd.table(rows, keys=keys, bounds={"age": (0, 100)}, budget=sd.Budget(epsilon=100), ledger=":memory:") as held:
        parts = [counted(held, "zip", epsilon=2), counted(held, "rare", epsilon=2)]
        ages = held.histogram("age", bins=[0, 25, 50, 75, 100]).release(epsilon=2)
        made = sd.synthesize(*parts, ages, rows=400)
        assert set(made) == {"zip", "rare", "age"}
        assert len(set(made["age"])) == 4
        assert np.mean(np.array(made["rare"]) == "yes") == pytest.approx(0.101, abs=0.03), "ten rows a zip, and one in ten of them"


def test_it_costs_nothing_and_noise_below_zero_is_an_empty_group(table):
    before = table.budget.spent
    release = counted(table, "sex", epsilon="0.001")
    assert min(release.to_dict()["count"]) < 10**9
    paid = table.budget.spent
    made = sd.synthesize(release, rows=100)
    assert table.budget.spent == paid > before
    low = {sex for sex, n in zip(release.keys["sex"], release.to_dict()["count"], strict=True) if n <= 0}
    assert not low & set(made["sex"])


def test_what_is_no_count_by_group_is_refused(table):
    with pytest.raises(QueryError, match="not a count by group"):
        sd.synthesize(table.count().release(epsilon=1))
    with pytest.raises(QueryError, match="nothing to make"):
        sd.synthesize()
    with pytest.raises(QueryError, match="rows is -1"):
        sd.synthesize(counted(table, "sex"), rows=-1)
