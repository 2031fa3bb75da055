"""Cases of a single run: group-bys with a canary row in every key."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.lab.canary import one_run
from sordino.lab.case import Case, Effort, Found
from sordino.ledger import Budget
from sordino.mechanisms import LaplaceHistogram, StableHistogram
from sordino.noise import draw
from sordino.session.table import table
from sordino.summaries import Held, Tally

__all__ = ["canary_cases", "grouped", "histogram", "stable"]

Coins = NDArray[np.bool_]
ONE = Fraction(1)
SMALL = Fraction(1, 10**12)  # many canaries need a small delta: the theorem counts it once for each
FORTY = 40  # rows that are there anyway, so that no key is hidden


def canary_cases() -> Iterator[Case]:
    for name, release, claim in (
        ("LaplaceHistogram", histogram, (1.0, 0.0)),
        ("StableHistogram", stable, (1.0, float(SMALL))),
        ("count by public keys", grouped, (1.0, 0.0)),
    ):
        yield Case("one run", name, "1", "a canary row in every key", "one run", partial(_run, release, claim))


def _run(release: Callable[[Coins], list[float]], claim: tuple[float, float], effort: Effort) -> Found:
    found = one_run(release, effort.canaries, claimed=claim, confidence=1 - effort.error)
    return {"claimed": claim, "found": found.epsilon_lower, "draws": effort.canaries, "verdict": found.verdict}


def histogram(included: Coins, mechanism: Any = None) -> list[float]:
    """Counts of public keys by the mechanism itself, or by a twin of it."""
    keys = tuple(range(len(included)))
    drawn = (mechanism or LaplaceHistogram(ONE, keys)).release(Held(_tally(included, 0)), draw)
    return [drawn[key] for key in keys]


def stable(included: Coins) -> list[float]:
    """Counts of keys nobody listed."""
    drawn = StableHistogram(ONE, SMALL).release(Held(_tally(included, FORTY)), draw)
    return [drawn.get(key, math.nan) for key in range(len(included))]


def grouped(included: Coins) -> list[float]:
    """The whole way: a table, its ledger and engine, one release."""
    names = [f"k{i}" for i in range(len(included))]
    rows = {"key": [name for name, kept in zip(names, included, strict=True) if kept]}
    with table(rows, keys={"key": names}, budget=Budget(epsilon=1), ledger=":memory:") as people:
        columns = people.group_by("key").count().release(epsilon=1).to_dict()
    found = dict(zip(columns["key"], columns["count"], strict=True))
    return [found[name] for name in names]


def _tally(included: Coins, base: int) -> Tally:
    counts = included.astype(np.int64) + base
    return Tally(tuple(np.flatnonzero(counts).tolist()), counts[counts > 0])
