"""The generated town: one truth behind two tables."""

import pytest

from sordino.lab.town import hospital, register


@pytest.mark.parametrize("people", [10, 500])
def test_register_and_hospital_speak_of_the_same_people(people):
    listed, admitted = register(people, seed=5), hospital(people, seed=5)
    assert sorted(listed["person"]) == list(range(people)) == sorted(set(admitted["person"]))
    known = dict(zip(listed["person"], zip(listed["zip"], listed["birth_date"], listed["sex"], strict=True), strict=True))
    for row, person in enumerate(admitted["person"]):
        assert known[person] == (admitted["zip"][row], admitted["birth_date"][row], admitted["sex"][row])
    assert "diagnosis" not in listed


def test_the_same_seed_gives_the_same_town_and_another_seed_another():
    assert register(200) == register(200)
    assert hospital(200) == hospital(200)
    assert register(200)["birth_date"] != register(200, seed=2)["birth_date"]


def test_a_register_may_cover_only_some_and_a_larger_town_has_more_zips():
    assert len(register(1_000, coverage=0.6)["person"]) == 600
    assert len(set(register(30_000)["zip"])) == 12
    assert len(set(register(60_000)["zip"])) == 20
    assert len(set(register(1_000, zips=3)["zip"])) == 3
