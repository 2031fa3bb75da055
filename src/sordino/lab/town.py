"""A town that does not exist: generated, seeded tables to practise on."""

from __future__ import annotations

import datetime as dt

import numpy as np

__all__ = ["hospital"]

DIAGNOSES = ("asthma", "diabetes", "fracture", "hypertension", "migraine", "pneumonia")


def hospital(people: int = 4_000, *, zips: int = 12, seed: int = 1) -> dict[str, list[object]]:
    """Admissions of a made-up town: person, zip, birth date, sex, diagnosis and cost; one to five rows per person."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, zips + 1) ** 0.5
    home = rng.choice(zips, people, p=weights / weights.sum())
    born = dt.date(1930, 1, 1).toordinal() + rng.integers(0, 80 * 365, people)
    sex = rng.choice(["f", "m", "x"], people, p=[0.495, 0.495, 0.01])
    person = np.repeat(np.arange(people), rng.integers(1, 6, people))
    person = person[rng.permutation(len(person))]
    illness = rng.choice(len(DIAGNOSES), len(person), p=[0.22, 0.25, 0.15, 0.2, 0.1, 0.08])
    cost = np.clip(rng.lognormal(np.log(1_800 + 400 * illness + 60 * home[person]), 0.7), 0, 100_000).astype(int)
    return {
        "person": person.tolist(),
        "zip": [f"{10_100 + 7 * int(z)}" for z in home[person]],
        "birth_date": [dt.date.fromordinal(int(day)) for day in born[person]],
        "sex": sex[person].tolist(),
        "diagnosis": [DIAGNOSES[i] for i in illness],
        "cost": cost.tolist(),
    }
