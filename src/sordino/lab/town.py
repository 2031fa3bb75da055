"""A town that does not exist: generated, seeded tables to practise on."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["crowd", "hospital", "register"]

DIAGNOSES = ("asthma", "diabetes", "fracture", "hypertension", "migraine", "pneumonia")


def hospital(people: int = 4_000, *, zips: int | None = None, seed: int = 1) -> dict[str, list[object]]:
    """Admissions of a made-up town: person, zip, birth date, sex, diagnosis and cost; one to five rows per person."""
    rng, home, born, sex = _townsfolk(people, zips, seed)
    person = np.repeat(np.arange(people), rng.integers(1, 6, people))
    person = person[rng.permutation(len(person))]
    illness = rng.choice(len(DIAGNOSES), len(person), p=[0.22, 0.25, 0.15, 0.2, 0.1, 0.08])
    cost = np.clip(rng.lognormal(np.log(1_800 + 400 * illness + 60 * home[person]), 0.7), 0, 100_000).astype(int)
    known = _known(person, home, born, sex)
    return {**known, "diagnosis": [DIAGNOSES[i] for i in illness], "cost": cost.tolist()}


def register(people: int = 4_000, *, zips: int | None = None, seed: int = 1, coverage: float = 1.0) -> dict[str, list[object]]:
    """The public register of the same town: one row per registered person, in no order, with zip, birth date and sex.

    The ids in `person` are those of `hospital` with the same arguments. Only the share `coverage` of people is registered: who is not
    can be taken for somebody else.
    """
    _, home, born, sex = _townsfolk(people, zips, seed)
    listed = np.random.default_rng([seed, 1]).permutation(people)[: round(coverage * people)]
    return _known(listed, home, born, sex)


def crowd(people: int = 100, questions: int = 1_000, *, seed: int | None = None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Yes-or-no answers of people in a study, and of ten times as many strangers of the same kind: one row per person."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform(0.1, 0.9, questions)
    return rng.random((people, questions)) < chance, rng.random((10 * people, questions)) < chance


def _townsfolk(people: int, zips: int | None, seed: int) -> tuple[np.random.Generator, NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Everyone's zip, day of birth and sex. A larger town has more zips, one for 3,000 people, as towns do."""
    rng = np.random.default_rng(seed)
    places = max(12, people // 3_000) if zips is None else zips
    weights = 1 / np.arange(1, places + 1) ** 0.5
    home = rng.choice(places, people, p=weights / weights.sum())
    born = dt.date(1930, 1, 1).toordinal() + rng.integers(0, 80 * 365, people)
    sex = rng.choice(["f", "m", "x"], people, p=[0.495, 0.495, 0.01])
    return rng, home, born, sex


def _known(person: NDArray[Any], home: NDArray[Any], born: NDArray[Any], sex: NDArray[Any]) -> dict[str, list[object]]:
    return {
        "person": person.tolist(),
        "zip": [f"{10_100 + 7 * int(z)}" for z in home[person]],
        "birth_date": [dt.date.fromordinal(int(day)) for day in born[person]],
        "sex": sex[person].tolist(),
    }
