"""The neighbouring tables of people are neighbours, of the kind they say."""

from collections import Counter

import pytest

from sordino.lab.question import EVERY_KIND, PAIRS, declared, sides
from sordino.session.table import table


def rows(columns):
    return Counter(zip(*(map(repr, values) for values in columns.values()), strict=True))


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.name)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_one_person_or_one_row_makes_the_difference(pair, kind):
    if not pair.fits(kind):
        return
    here, there = sides(pair, kind)
    came, gone = rows(there) - rows(here), rows(here) - rows(there)
    brought = 9 if pair.plenty else min(kind.rows, kind.groups) if pair.everywhere else kind.rows
    assert sum(came.values()) == (brought if kind.person else 1)
    assert len({row[0] for row in (*came, *gone)}) == 1
    assert sum(gone.values()) == (0 if kind.relation == "add_remove" else 3 if kind.person else 1)
    assert all(len(column) == len(here["person"]) for column in here.values())


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.name)
def test_the_owner_declares_the_same_whatever_the_rows_are(kind):
    with table(sides(PAIRS[2], kind)[1], **declared(kind)) as people:
        assert people.unit.relation.value == kind.relation
        assert (people.unit.column == "person") == kind.person
