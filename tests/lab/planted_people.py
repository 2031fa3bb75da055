"""Whose rows count: choices among a person's rows that other people can influence, and people who are counted twice."""

from __future__ import annotations

from fractions import Fraction
from hashlib import blake2b

import numpy as np
from planted_kit import HAND, Audited, Falsified, Listed, planted, whole_noise

import sordino as sd
from sordino.privacy.discrete import DiscreteLaplace
from sordino.statistics.evaluation import Evaluation

PEOPLE = [("first", 0), *((person, value) for person in range(200) for value in (0, 1))]


def hashed(row, salt=b"a fresh secret"):
    return blake2b(repr(row).encode(), key=salt, digest_size=8).digest()


def kept(rows, n, rank):
    """One row of each person, by rank, summed with noise for one row."""
    best = {}
    for number, (person, value) in enumerate(rows):
        mark = rank(number, (person, value))
        if person not in best or mark < best[person][0]:
            best[person] = (mark, value)
    return sum(value for _, value in best.values()) + whole_noise(n)


@planted(HAND, Audited(PEOPLE, PEOPLE[1:]), lambda rows, n: kept(rows, n, lambda _, row: hashed(row)))
def rank_by_row_number(rows, n):
    """A person's rows are ranked by their number in the file: one person less renumbers everybody else's."""
    return kept(rows, n, lambda number, _: number % 2)


def without_id(rows, draw, shared):
    """Rows (id, value) with values in [-1, 1]; at most one row of a person counts, the one with the smallest hash."""
    best = {}
    for person, value in sorted(rows, key=lambda row: hashed(row[1])):
        if person is not None or shared:
            best.setdefault(person, value)
    return draw(DiscreteLaplace(Fraction(1), sum(best.values())))


FIRST, SECOND = sorted([(None, -1), (None, 1)], key=lambda row: hashed(row[1]))


@planted(HAND, Listed([FIRST, SECOND], [SECOND]), lambda rows, draw: without_id(rows, draw, False))
def null_ids_are_one_person(rows, draw):
    """Rows without an id are bounded as one person: when one leaves, another takes its place, and the answer moves twice."""
    return without_id(rows, draw, True)


def in_parts(rows, draw, dealt, remembers=False):
    """The answers of three parts of rows (person, value), summed, with noise for one part that moves by at most one."""
    seen, answers = [], []
    for part in range(3):
        mine = [value for number, (person, value) in enumerate(rows) if dealt(number, person) % 3 == part]
        seen += mine
        answers.append(max(seen if remembers else mine, default=0))
    return draw(DiscreteLaplace(Fraction(1), sum(answers)))


MANY = [("somebody", 1), ("somebody", 1), ("somebody", 1), ("other", 0)]


@planted(HAND, Listed(MANY, MANY[3:]), lambda rows, draw: in_parts(rows, draw, lambda number, person: hashed(person)[0]))
def parts_dealt_by_row(rows, draw):
    """Subsample and aggregate deals out rows instead of people: one of three rows changes every part's answer."""
    return in_parts(rows, draw, lambda number, person: number)


@planted(HAND, Listed([(0, 1), (1, 0), (2, 0)], [(1, 0), (2, 0)]), lambda rows, draw: in_parts(rows, draw, lambda number, person: person))
def a_worker_that_remembers_parts(rows, draw):
    """Subsample and aggregate runs all parts in one process, and the function keeps what it saw: one part changes all later answers."""
    return in_parts(rows, draw, lambda number, person: person, remembers=True)


@planted(HAND, Listed([-1, -1, -1], [1, -1, -1, -1]), lambda rows, draw: draw(DiscreteLaplace(Fraction(1), sum(rows))))
def limit_that_pushes_somebody_out(rows, draw):
    """Only the first three rows count: whoever comes first pushes somebody else out, and the answer moves twice."""
    return draw(DiscreteLaplace(Fraction(1), sum(rows[:3])))


@planted(HAND, Listed(3, 4), lambda people, draw: draw(DiscreteLaplace(Fraction(5), 5 * people)))
def join_that_multiplies(people, draw):
    """Each person matches five rows of another table, and the noise is for one."""
    return draw(DiscreteLaplace(Fraction(1), 5 * people))


def spelled(rows, n, fold):
    groups = {}
    for name in rows:
        groups.setdefault(name.strip().lower() if fold else name, []).append(name)
    return len(groups) + whole_noise(n)


@planted(HAND, Audited(["ann"], ["ann", "bo", "Bo", "bo "]), lambda rows, n: spelled(rows, n, True))
def one_person_under_three_spellings(rows, n):
    """People are counted by an id as it was typed, and one person counts three times."""
    return spelled(rows, n, False)


@planted(HAND, Audited(list(range(100)), list(range(1, 100))), lambda x, n: int(np.sum(np.asarray(x) < 50)) + whole_noise(n))
def systematic_sample(data, n):
    """Every second row of the file is kept: one row less exchanges the whole sample."""
    return int(np.sum(np.asarray(data[::2]) % 2)) + whole_noise(n)


class UndividedBound(Evaluation):
    """The distance is divided by the rows of a person, the bound it is asked for is not."""

    def distance(self, x, above=None, most=10**9):
        return Evaluation(self.custom).distance(x, above, most * self.moves) // self.moves


def sum_of_shares():
    """One row moves it by at most one."""
    custom = sd.statistic(bounds=(0, 1), range=(0, 1_000))(lambda x: x.sum())
    custom.distance_at(lambda x, above: 10**6 if above >= 1 else 0)
    return custom


def lead_of_the_ones():
    """One row moves it by one, a replaced row by two."""
    custom = sd.statistic(bounds=(0, 1), range=(-500, 500))(lambda x: (x == 1).sum() - (x == 0).sum())
    custom.distance_at(lambda x, above: 10**6 if above >= 1 else 0)
    return custom


@planted("sordino 0.1", Falsified(sum_of_shares, 10), lambda: Evaluation)
def bound_of_a_row_for_a_person():
    """Propose-test-release asks how many rows may change before one moves the sum by more than proposed, and a person has ten."""
    return UndividedBound


@planted("sordino 0.1", Falsified(lead_of_the_ones), lambda: Evaluation)
def bound_of_a_row_for_a_replacement():
    """The same where a row is replaced: it leaves and another comes, and the answer moves by twice what was proposed."""
    return UndividedBound


def visited(rows, draw, after):
    """Visits (person, day) joined with themselves on the person; at most two rows of a person count, before the join or after it."""
    kept = {}
    for person, day in rows:
        kept.setdefault(person, []).append(day)
    pairs = sum(min(len(days) ** 2, 2) if after else min(len(days), 2) ** 2 for days in kept.values())
    return draw(DiscreteLaplace(Fraction(2), pairs))


@planted(HAND, Listed([(1, 1), (1, 2), (1, 3)], []), lambda rows, draw: visited(rows, draw, True))
def bounding_before_the_join(rows, draw):
    """Two rows of a person are kept in each table and joined: four come out, and the noise is for two."""
    return visited(rows, draw, False)


VISITS, ITEMS = [("ann", 1), ("ann", 2), ("bob", 1)], [("bob", 1, 1), ("ann", 2, 1)]


def billed(gone, draw, carried):
    """The prices of items, one of each person. Who is gone took along what is theirs: by the id in the item, or by the key of a visit."""
    keys = {key for person, key in VISITS if person == gone}
    left = [(person, price) for person, key, price in ITEMS if (person != gone if carried else key not in keys)]
    return draw(DiscreteLaplace(Fraction(1), sum(dict(left).values())))


@planted(HAND, Listed(None, "ann"), lambda gone, draw: billed(gone, draw, True))
def a_visit_key_of_two_people(gone, draw):
    """An item's owner is looked up by the key of a visit that two people have: one leaves, and takes the other's item along."""
    return billed(gone, draw, False)


def ranked(rows, draw, inside):
    """How many rows have the number one, in all rows or in those of their person, weighed by their value in [-1, 1]."""
    first = {}
    for person, value in sorted(rows, key=lambda row: row[1]):
        first.setdefault(person if inside else None, value)
    return draw(DiscreteLaplace(Fraction(1), sum(first.values())))


@planted(HAND, Listed([(1, -1), (2, 1)], [(2, 1)]), lambda rows, draw: ranked(rows, draw, True))
def window_over_everybody(rows, draw):
    """ROW_NUMBER() without a partition: when the first row leaves, somebody else's becomes the first, and the answer moves twice."""
    return ranked(rows, draw, False)
