"""How many people a few harmless columns single out.

Which columns to say less in, so that fewer people are alone.

Two tables that share a few columns, put together again.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.lab.report import as_html, as_json, cells, names, say
from sordino.pictures import Picture, bars

__all__ = [
    "Coarsening", "Codes", "Crowd", "HowUnique", "KnownFacts", "Linkage", "Uniqueness", "codes", "crowds", "how_unique", "judge",
    "linkage", "suggest", "uniqueness",
]  # fmt: skip

Codes = NDArray[np.int64]
_LARGEST = 2_000  # mixtures worth trying


@dataclass(frozen=True)
class Coarsening:
    """What to say less of, column by column, and what is left after it."""

    changes: tuple[tuple[str, str], ...]
    share_unique: float
    bits: float


def codes(column: Sequence[Any]) -> Codes:
    """The values numbered in the order they appear."""
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(value, len(seen)) for value in column], np.int64)


def crowds(people: Codes, columns: Sequence[Codes]) -> Codes:
    """How many people share each person's combination; of several combinations the least shared counts."""
    joint = np.zeros(len(people), np.int64)
    for column in columns:
        joint = np.unique(joint * (int(column.max()) + 1) + column, return_inverse=True)[1]
    count = int(people.max()) + 1
    pairs = np.unique(joint * count + people)
    shared = np.bincount(pairs // count)[pairs // count]
    least = np.full(count, len(people) + 1, np.int64)
    np.minimum.at(least, pairs % count, shared)
    return least


def judge(sizes: Codes) -> tuple[float, float]:
    """The share of people who are alone, and the entropy of the combination in bits."""
    return float(np.mean(sizes == 1)), float(np.mean(np.log2(len(sizes) / sizes)))


def _coarser(column: Sequence[Any]) -> list[tuple[str, Callable[[Any], Any]]]:
    """Ways to say less in a column, finest first; the last one says nothing."""
    seen = [value for value in column if value is not None]
    ways: list[tuple[str, Callable[[Any], Any]]] = []
    if seen and all(isinstance(v, dt.date) for v in seen):
        ways = [("year and month", lambda d: d and (d.year, d.month)), ("year", lambda d: d and d.year)]
        ways.append(("decade", lambda d: d and d.year // 10))
    elif seen and all(isinstance(v, int | float) and not isinstance(v, bool) for v in seen):
        reach = max(seen) - min(seen)
        for parts in (20, 5):
            width = 10.0 ** math.ceil(math.log10(reach / parts)) if reach > 0 else 1.0
            ways.append((f"in steps of {width:,g}", partial(_stepped, width)))
    elif seen and all(isinstance(v, str) for v in seen) and len({len(v) for v in seen}) == 1 and any(c.isdigit() for c in seen[0]):
        length = len(seen[0])
        ways = [(f"first {keep} characters", partial(_cut, keep)) for keep in range(length - 1, 0, -1)]
    return [*ways, ("left out", lambda v: None)]


def _stepped(width: float, value: float | None) -> int | None:
    return None if value is None else math.floor(value / width)


def _cut(keep: int, text: str | None) -> str | None:
    return text and text[:keep]


def suggest(people: Codes, data: dict[str, list[Any]], coded: dict[str, Codes], target: float) -> tuple[Coarsening, ...]:
    """The finest tables in which few enough people are alone: every mixture of ways, the three that keep most bits."""
    if judge(crowds(people, list(coded.values())))[0] <= target:
        return ()
    ways = {name: _distinct(coded[name], column) for name, column in data.items()}
    if math.prod(map(len, ways.values())) > _LARGEST:
        ways = {name: [found[0], found[-1]] for name, found in ways.items()}  # as it is, or left out
    found = []
    for mixture in islice(product(*ways.values()), 1, _LARGEST):
        unique, bits = judge(crowds(people, [column for _, column in mixture]))
        if unique <= target:
            changes = tuple((name, how) for name, (how, _) in zip(ways, mixture, strict=True) if how)
            found.append(Coarsening(changes, unique, bits))
    return tuple(sorted(found, key=lambda c: -c.bits)[:3])


def _distinct(plain: Codes, column: Sequence[Any]) -> list[tuple[str, Codes]]:
    """The column as it is and each way that says less than the one before."""
    kept = [("", plain)]
    for how, less in _coarser(column):
        found = codes([less(value) for value in column])
        if found.max() < kept[-1][1].max() and (found.max() or how == "left out"):
            kept.append((how, found))
    return kept


_MODAL, _SLOPE = 85.0, 0.1  # ages of a place: a stationary population whose deaths peak at 85 and whose hazard grows by a tenth a year
_SEXES = {"f": 0.495, "m": 0.495}


@dataclass(frozen=True)
class Crowd:
    """The people who share their combination with k - 1 others."""

    k: int
    people: int
    share: float


@dataclass(frozen=True)
class KnownFacts:
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
    combinations: tuple[KnownFacts, ...]
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
    known = [KnownFacts(part, *judge(crowds(people, [coded[name] for name in part]))) for part in parts]
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


@dataclass(frozen=True, repr=False)
class Linkage:
    """How many rows of the secret table were given an owner, and for how many it was the right one (None when the truth is unknown)."""

    on: tuple[str, ...]
    truth: str | None
    rows: int
    matched: int
    right: int | None
    pairs: tuple[tuple[int, int], ...]  # (row of the public table, row of the secret one)

    @property
    def share_matched(self) -> float:
        return self.matched / self.rows if self.rows else 0.0

    @property
    def share_right(self) -> float | None:
        """Of the matched rows, the share matched with their owner."""
        return None if self.right is None or not self.matched else self.right / self.matched

    def __repr__(self) -> str:
        out = [f"linkage: {self.matched:,} of {self.rows:,} rows matched ({self.share_matched:.1%})", f"  by {', '.join(self.on)}"]
        if self.right is not None:
            out.append(f"  {self.right:,} of them to the right person, judged by {self.truth}")
        return say(out)

    def plot(self) -> Picture:
        counts = [("matched", self.matched), ("not matched", self.rows - self.matched)]
        if self.right is not None:
            counts = [("matched, right", self.right), ("matched, wrong", self.matched - self.right), counts[1]]
        return bars([name for name, _ in counts], [n for _, n in counts], title=f"Linked by {', '.join(self.on)}", x="rows")

    def to_json(self) -> str:
        return as_json(self, share_matched=self.share_matched, share_right=self.share_right)

    def _repr_html_(self) -> str:
        return as_html(self)


def linkage(public: Any, secret: Any, on: Sequence[str], *, truth: str | None = None) -> Linkage:
    """Match every row of the secret table whose combination of the `on` columns belongs to one person of the public table.

    `truth` is a column of both tables that says who is who. It is used to judge, never to match, except that several public rows with
    the same truth are one person. When it is not given and the tables share exactly one column besides `on`, that one is taken.
    A missing value matches nothing.
    """
    chosen = (on,) if isinstance(on, str) else tuple(on)
    if not chosen:
        raise QueryError("SRD-103", "`on` names no column.", "Name the columns both tables share.")
    if truth is None:
        shared = [name for name in names(public) if name in names(secret) and name not in chosen]
        truth = shared[0] if len(shared) == 1 else None
    owners: dict[tuple[Any, ...], dict[Any, int]] = {}
    keys = list(zip(*(cells(public, name) for name in chosen), strict=True))
    people = cells(public, truth) if truth is not None else list(range(len(keys)))
    for row, (key, person) in enumerate(zip(keys, people, strict=True)):
        owners.setdefault(key, {}).setdefault(person, row)
    pairs, right = [], 0
    hidden = list(zip(*(cells(secret, name) for name in chosen), strict=True))
    judged = cells(secret, truth) if truth is not None else hidden
    for row, (key, person) in enumerate(zip(hidden, judged, strict=True)):
        found = owners.get(key, {})
        if len(found) == 1 and None not in key:
            (owner, where), *_ = found.items()
            pairs.append((where, row))
            right += owner == person
    return Linkage(chosen, truth, len(hidden), len(pairs), right if truth is not None else None, tuple(pairs))
