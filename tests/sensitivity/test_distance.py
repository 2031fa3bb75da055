import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.sensitivity import distance, exhaustive, rungs

from .worlds import BOUNDS, worlds

KEYS = "abc"


def ranked(table):
    return sorted(Counter(table).items(), key=lambda item: (-item[1], item[0].encode()))


def top(table, k):
    """The set of the k most frequent keys; fewer keys make a smaller set."""
    return frozenset(key for key, _ in ranked(table)[:k])


def key_world(k, relation, max_rows, sizes):
    """Tables of single-key rows; a person holds up to max_rows of them."""
    return exhaustive(lambda t: top(t, k), KEYS, relation, sizes=sizes, max_rows=max_rows)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_mode_and_top_k_distances_never_exceed_the_definition_and_move_by_one(relation, k, rows):
    for sizes in [range(11)] if relation == "add_remove" else [[n] for n in range(7)]:
        everything = key_world(k, relation, rows, sizes)
        inner = [t for t in everything.tables if relation == "replace" or len(t) <= 4]
        d = {t: distance.top_k(Counter(t), k, relation=relation, max_rows=rows) for t in inner}
        for t in inner:
            # below "a" there is no unseen key in this world, so the true distance may be larger, never smaller
            assert d[t] <= everything.stability(t)
            assert all(abs(d[t] - d[s]) <= 1 for s in everything.neighbours(t) if s in d)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_mode_distance_is_exact_where_a_lower_key_is_unseen(relation):
    for sizes in [range(10)] if relation == "add_remove" else [[n] for n in range(1, 7)]:
        everything = key_world(1, relation, 1, sizes)
        for t in everything.tables:
            if "a" not in t and len(t) <= 4 + 2 * (relation == "replace"):
                assert distance.mode(Counter(t), relation=relation) == everything.stability(t)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_people_who_hold_two_rows_of_every_key_at_once_change_the_set_no_sooner_than_the_distance_says(relation, k):
    rows, tall = 2, 7
    counts = list(product(range(tall + 1), repeat=len(KEYS)))
    person = list(product(range(rows + 1), repeat=len(KEYS)))
    moves = set(person) | {tuple(-c for c in p) for p in person}
    if relation == "replace":
        moves = {tuple(a - b for a, b in zip(p, q, strict=True)) for p in person for q in person}
    answer = {c: top([key for key, count in zip(KEYS, c, strict=True) for _ in range(count)], k) for c in counts}
    near = {c: [n for m in moves if (n := tuple(a + b for a, b in zip(c, m, strict=True))) in answer] for c in counts}
    left = {c: 0 for c in counts if any(answer[n] != answer[c] for n in near[c])}
    steps = 0
    while len(left) < len(counts):
        steps += 1
        left |= {c: steps for c in counts if c not in left and any(n in left for n in near[c])}
    for c in product(range(5), repeat=len(KEYS)):
        assert distance.top_k(dict(zip(KEYS, c, strict=True)), k, relation=relation, max_rows=rows) <= left[c]


def test_larger_contributions_and_replacements_shorten_the_distance():
    assert distance.mode({"b": 9, "c": 2}) == 7
    assert distance.mode({"b": 9, "c": 2}, max_rows=2) == 3
    assert distance.mode({"b": 9, "c": 2}, relation="replace") == 3
    assert distance.mode({"b": 9, "c": 2}, relation="replace", max_rows=2) == 1


def test_observed_keys_alone_give_a_distance_that_is_too_large():
    def wrong(counts):
        (a, most), *others = ranked(counts.elements())
        return min((most - c + (b > a) for b, c in others), default=math.inf) - 1

    everything = key_world(1, "add_remove", 1, range(10))
    assert any(wrong(Counter(t)) > everything.stability(t) for t in everything.tables if 1 <= len(t) <= 4)


def test_ties_go_to_the_lowest_key_in_byte_order():
    assert distance.mode({"Z": 5, "a": 5}) == 0
    assert distance.mode({"a": 6, "Z": 5}) == 0  # "Z" sorts below "a": a tie is enough
    assert distance.mode({"Z": 6, "a": 5}) == 1
    assert distance.mode({"é": 6, "z": 5}) == 0
    assert distance.mode({2: 6, 10: 5}) == 0  # text order: "10" < "2"


def test_absent_and_empty_keys_change_nothing():
    assert distance.mode({}) == 0
    assert distance.mode({"b": 0}) == 0
    assert distance.mode({"b": 4, "c": 0}) == distance.mode({"b": 4}) == 3
    assert distance.top_k({"b": 4}, 3) == 0
    assert distance.mode({"": 4, "c": 1}) == 3


@pytest.mark.parametrize("bad", [{"a": -1}, {"a": 1.5}])
def test_counts_that_are_not_whole_are_refused(bad):
    with pytest.raises(QueryError):
        distance.mode(bad)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("name", "options"), [("median", {}), ("quantile", {"q": "0.25"}), ("min", {}), ("max", {})])
def test_distances_of_ranks_equal_breadth_first_search(name, options, relation):
    for everything, tables in worlds(name, tuple(options.values()), relation):
        for above in (0, 0.5, 1, 2, 3):
            for x in tables:
                found = getattr(distance, name)(list(x), above=above, bounds=BOUNDS, relation=relation, **options)
                assert found == everything.distance(x, above)


def test_people_reach_instability_no_later_than_the_definition_says():
    for everything, tables in worlds("quantile", ("0.75",), "add_remove", 2):
        for x in tables:
            assert distance.quantile(list(x), q="0.75", above=1, bounds=BOUNDS, max_rows=2) <= everything.distance(x, 1)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_search_finds_the_first_rung_above(relation):
    rng = np.random.default_rng(9)
    x = np.round(rng.normal(500, 60, 400))
    steps = rungs.quantile(x, q=0.3, bounds=(0, 1000), relation=relation, count=420)
    for above in (0, 3, 20.5, 90, 400, 999, 1000, 5000):
        first = distance.from_rungs(steps, above=above)
        found = distance.quantile(x, q=0.3, above=above, bounds=(0, 1000), relation=relation)
        assert found == (first if above < 1000 else math.inf)


def test_a_ladder_of_ones_own_may_be_a_list_or_a_function():
    assert distance.from_rungs([0, 1, 4], above=1) == 2
    assert distance.from_rungs([0, 1, 4], above=9) == 3
    assert distance.from_rungs([0, 1, 4], above=0, limit=1) == 1
    assert distance.from_rungs(lambda k: k * k, above=10, limit=100) == 4
    with pytest.raises(QueryError):
        distance.from_rungs(lambda k: k, above=10)
    with pytest.raises(QueryError):
        distance.from_rungs([1], above=math.nan)
