"""How many people a few harmless columns single out."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.lab.coarse import Coarsening, codes, crowds, judge, suggest
from sordino.lab.report import as_html, as_json, cells, say
from sordino.pictures import Picture, bars

__all__ = ["Coarsening", "Crowd", "HowUnique", "Known", "Uniqueness", "how_unique", "uniqueness"]

_MODAL, _SLOPE = 85.0, 0.1  # ages of a place: a stationary population whose deaths peak at 85 and whose hazard grows by a tenth a year
_SEXES = {"f": 0.495, "m": 0.495}


@dataclass(frozen=True)
class Crowd:
    """The people who share their combination with k - 1 others."""

    k: int
    people: int
    share: float


@dataclass(frozen=True)
class Known:
    """What some of the columns give away on their own."""

    columns: tuple[str, ...]
    share_unique: float
    bits: float


@dataclass(frozen=True, repr=False)
class Uniqueness:
    """Share of people alone with their combination, the entropy of the combination in bits, and how many hide among how many."""

    columns: tuple[str, ...]
    people: int
    share_unique: float
    bits: float
    table: tuple[Crowd, ...]
    combinations: tuple[Known, ...]
    coarser: tuple[Coarsening, ...]

    @property
    def k(self) -> int:
        """The table is k-anonymous in these columns for this k and no larger."""
        return self.table[0].k

    def hidden(self, k: int) -> float:
        """The share of people in a crowd of at least k."""
        return sum(crowd.share for crowd in self.table if crowd.k >= k)

    def __repr__(self) -> str:
        out = [
            f"uniqueness: {self.share_unique:.1%} of {self.people:,} people are alone",
            f"  columns: {', '.join(self.columns)}",
            f"  entropy {self.bits:.1f} bits of the {math.log2(self.people):.1f} that name everyone; smallest crowd {self.k}",
            f"  in a crowd of 2 or more {self.hidden(2):.1%}, 5 or more {self.hidden(5):.1%}, 20 or more {self.hidden(20):.1%}",
        ]
        for known in self.combinations:
            out.append(f"  {known.share_unique:7.1%} alone, {known.bits:5.1f} bits: {', '.join(known.columns)}")
        if self.coarser:
            out.append("  safer, and as fine as can be:")
        for way in self.coarser:
            changes = "; ".join(f"{column} {how}" for column, how in way.changes)
            out.append(f"  {way.share_unique:7.1%} alone, {way.bits:5.1f} bits: {changes}")
        return say(out)

    def plot(self) -> Picture:
        edges = [1, 2, 3, 5, 10, 20, 50, 100, math.inf]
        labels = ["alone", "2", "3 to 4", "5 to 9", "10 to 19", "20 to 49", "50 to 99", "100 or more"]
        shares = [sum(c.share for c in self.table if a <= c.k < b) for a, b in pairwise(edges)]
        return bars(labels, shares, title=f"Crowds by {', '.join(self.columns)}", x="share of people")

    def to_json(self) -> str:
        return as_json(self, k=self.k)

    def _repr_html_(self) -> str:
        return as_html(self)


def uniqueness(frame: Any, columns: Sequence[str], *, unit: str | None = None, target: float = 0.05) -> Uniqueness:
    """How many people these columns single out, and the finest coarsenings that bring their share below the target.

    `unit` names the person's column when people have several rows: of their combinations the least shared one counts.
    Missing is a value like any other. NOT PRIVATE: for owners.
    """
    chosen = (columns,) if isinstance(columns, str) else tuple(columns)
    data = {name: cells(frame, name) for name in chosen}
    rows = len(next(iter(data.values()), []))
    if not rows or any(len(column) != rows for column in data.values()):
        raise QueryError("SRD-105", "there is nothing to compare.", "Name at least one column; all must have the same rows.")
    people = codes(cells(frame, unit)) if unit is not None else np.arange(rows)
    coded = {name: codes(column) for name, column in data.items()}
    sizes = crowds(people, list(coded.values()))
    count = len(sizes)
    ks, each = np.unique(sizes, return_counts=True)
    table = tuple(Crowd(int(k), int(n), int(n) / count) for k, n in zip(ks, each, strict=True))
    parts = [part for r in range(1, len(chosen)) for part in combinations(chosen, r)] if len(chosen) <= 5 else [(name,) for name in chosen]
    known = [Known(part, *judge(crowds(people, [coded[name] for name in part]))) for part in parts]
    ranked = tuple(sorted(known, key=lambda part: -part.bits)[:8])
    return Uniqueness(chosen, count, *judge(sizes), table, ranked, suggest(people, data, coded, target))


@dataclass(frozen=True, repr=False)
class HowUnique:
    """How many others in a place share what is known of one person, and the chance that nobody does."""

    population: int
    birth_date: str
    sex: str | None
    others: float
    unique: float
    bits: float
    table: tuple[tuple[str, float, float], ...]

    def __repr__(self) -> str:
        out = [
            f"how unique: {self.unique:.1%} sure to be the only one among {self.population:,}",
            f"  {self.others:.3g} others expected; {self.bits:.1f} bits known, {math.log2(self.population):.1f} name anyone here",
        ]
        return say([*out, *(f"  {chance:7.1%} alone, {others:10,.2f} others: {what}" for what, others, chance in self.table)])

    def plot(self) -> Picture:
        what, _, chance = zip(*self.table, strict=True)
        return bars(what, chance, title=f"Alone among {self.population:,} people", x="chance that nobody else shares it")

    def to_json(self) -> str:
        return as_json(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def how_unique(*, population: Any, birth_date: dt.date | str, sex: str | None = None, today: dt.date | None = None) -> HowUnique:
    r"""How far a birth date (day, month "1984-05" or year "1984") and a sex single out one person of a place.

    `population` is the number of people there, or a table of them with columns birth_date and sex, which is then counted.
    For a number, ages follow a stationary population whose hazard grows as e^{a/10} and whose deaths peak at 85; days of birth within
    a year are equal; 49.5% are female, 49.5% male. The other N - 1 people are taken as independent, so nobody shares a property of
    share q with probability (1 - q)^(N - 1).
    """
    try:
        parts = tuple(int(part) for part in str(birth_date).split("-"))
        dt.date(*(*parts, 1, 1)[: max(3, len(parts))])
    except (TypeError, ValueError):
        raise QueryError("SRD-105", f"{birth_date!r} is no birth date.", 'Give a date, "1984-05-17", "1984-05" or "1984".') from None
    steps = [("year", parts[:1]), ("year and month", parts[:2]), ("birth date", parts[:3])][: len(parts)]
    known: list[tuple[str, tuple[int, ...] | None, str | None]] = [(name, part, None) for name, part in steps]
    if sex is not None:
        known = [("sex", None, sex), *known, *((f"{name} and sex", part, sex) for name, part in steps)]
    if isinstance(population, int):
        size, shares = population, [_share(part, who, today or dt.date.today()) for _, part, who in known]
        rows = [(name, (size - 1) * q, (1 - q) ** (size - 1), q) for (name, *_), q in zip(known, shares, strict=True)]
    else:
        people = list(zip(cells(population, "birth_date"), cells(population, "sex"), strict=True))
        size = len(people)
        rows = []
        for name, part, who in known:
            alike = sum((part is None or _starts(day, part)) and (who is None or s == who) for day, s in people)
            rows.append((name, float(max(alike - 1, 0)), float(alike <= 1), max(alike, 1) / size))
    if size < 1:
        raise QueryError("SRD-103", f"the population is {size}.", "Give the number of people, at least 1, or a table of them.")
    _, others, unique, q = rows[-1]
    bits = -math.log2(q) if q else math.inf
    return HowUnique(size, str(birth_date), sex, others, unique, bits, tuple((name, n, chance) for name, n, chance, _ in rows))


def _starts(day: Any, part: tuple[int, ...]) -> bool:
    return day is not None and tuple(int(p) for p in str(day)[:10].split("-"))[: len(part)] == part


def _share(part: tuple[int, ...] | None, sex: str | None, today: dt.date) -> float:
    """The share of people born in this year, month or day, of this sex."""
    share = 1.0 if sex is None else _SEXES.get(sex, 0.01)
    if part is None:
        return share
    first = dt.date(*(*part, 1, 1)[:3])
    days = {1: 365.25, 2: 30.44, 3: 1.0}[len(part)]
    age = (today - first).days / 365.25
    ages = np.arange(0.5, 121)
    alive = np.exp(-np.exp(-_SLOPE * _MODAL) * np.expm1(_SLOPE * np.append(ages, max(age, 0.0))))
    return share * float(alive[-1] / alive[:-1].sum()) * days / 365.25
