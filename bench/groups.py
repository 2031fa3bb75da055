"""What group-by costs and shows: half-widths of totals by group, prices on a ledger that adds rho, keys that are named.

    python bench/groups.py [--page docs/groups.md] [--runs 5] [--people 50000] [--peers build/peers] [--before FOLDER]

Everything but the keys follows from public facts. With --peers other packages name keys of the same tables, each in an environment under
that folder. With --before processor seconds of releases stand beside those of an earlier tree, see groups_speed.py. Laplace noise is what
every total by group had; coins are how keys were named.
"""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import groups_peers
import sordino as sd
from sordino.mechanisms import PartitionSelection, WeightedSelection
from sordino.mechanisms.stability import UNIT
from sordino.noise import draw
from sordino.statistics.private_keys import FEW
from sordino.summaries import Counts, KeyWeights, Tally
from sordino.summaries.request import weight_of

SMALL = Fraction(1, 10**6)
HOLDERS = {"8 yearly rows": 8, "12 months": 12, "64 tags": 64}
MANY = (1, 5, 10, 20, 64)
BESIDE = """Keys alone at the whole price, or with their counts, as a package offers it; a failure stands as such. Keys alone are named by
people, keys with counts by rows: where 80 rows of a person count, the noise of a count that is shown hides keys which coins for people
would name. So a package that names carriers and counts nothing may name more of them than a noisy count does, ours included."""
SPEED = """Before: the tree in which bounding had become what it is (0bff7d5). Both take turns in one run; the least of three turns counts.
Where keys are named without their counts, a release now names them in four looks instead of one and bounds people again inside them."""


def opened(groups: int, accounting: str = "pure") -> Any:
    keys = [f"k{i}" for i in range(100)]
    limits = {"max_rows": groups, "max_groups": groups, "max_rows_per_group": 1}
    budget = sd.Budget(epsilon=10, delta=1e-6, accounting=accounting)
    data = {"person": ["p"], "k": ["k0"], "x": [1]}
    return sd.table(data, unit="person", **limits, keys={"k": keys}, bounds={"x": (0, 100)}, budget=budget, ledger=":memory:")


def widths() -> list[str]:
    out = ["| a person with | statistic | before | now | noise |", "|---|---|---|---|---|"]
    for name, groups in HOLDERS.items():
        with opened(groups) as table:
            by = table.group_by("k")
            asked = {"count": by.count(), "sum in [0, 100]": by.sum("x"), "mean of 1,000 rows": by.mean("x"), "people": by.count_units()}
            for label, query in asked.items():
                (old,) = query.by_mechanism("laplace").settle(1, SMALL).steps.values()
                (new,) = query.settle(1, SMALL).steps.values()
                out.append(f"| {name} | {label} | {old.width(1000):,.4g} | {new.width(1000):,.4g} | {new.name} |")
    return out


def prices() -> list[str]:
    out = ["| groups of one row | Laplace noise | now | times less |", "|---|---|---|---|"]
    for groups in MANY:
        with opened(groups, "zcdp") as table:
            query = table.group_by("k").count()
            old, new = (float(ask.priced(within=100).cost.rho) for ask in (query.by_mechanism("laplace"), query))
            out.append(f"| {groups} | {old:.2g} | {new:.2g} | {old / new:.2g} |")
    return out


def thresholds() -> list[str]:
    out = ["| groups a person | coins | weights, people with as many keys | weights, people with one |", "|---|---|---|---|"]
    for groups in MANY:
        table = PartitionSelection(1, SMALL, groups).table
        coins = next(i for i, chance in enumerate(table) if 2 * chance >= UNIT)
        found = WeightedSelection(1, SMALL, groups)
        out.append(f"| {groups} | {coins} | {found.people(groups)} | {found.people(1)} |")
    return out


def zipf(people: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a person and a key, keys by a heavy tail, about 13 different ones a person."""
    sizes = 1 + rng.poisson(14, people)
    who = np.repeat(np.arange(people), sizes)
    pairs = np.unique(np.stack([who, np.minimum(rng.zipf(1.3, len(who)), 10**6)]), axis=1)
    return pairs[0], pairs[1]


def bounded(who: np.ndarray, key: np.ndarray, groups: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    order = np.lexsort((rng.random(len(who)), who))
    who, key = who[order], key[order]
    place = np.arange(len(who)) - np.searchsorted(who, who)
    return who[place < groups], key[place < groups]


def tally(key: np.ndarray, weights: np.ndarray) -> Tally:
    names, place = np.unique(key, return_inverse=True)
    return Tally(tuple(names.tolist()), np.bincount(place, weights).astype(np.int64))


def named(who: np.ndarray, key: np.ndarray, mechanism: Any) -> int:
    def ask(request: Any) -> Tally:
        if isinstance(request, Counts):
            return tally(key, np.ones(len(key)))
        assert isinstance(request, KeyWeights)
        left = ~np.isin(key, np.array(request.without, key.dtype)) if request.without else np.ones(len(key), bool)
        mine, held = who[left], key[left]
        _, place, many = np.unique(mine, return_inverse=True, return_counts=True)
        each = np.array([weight_of(k) for k in range(1, int(many.max()) + 1)], float)
        return tally(held, each[many[place] - 1])

    return len(mechanism.release(ask, draw))


def keys(runs: int, people: int) -> list[str]:
    out = ["| groups a person | coins | weights |", "|---|---|---|"]
    for groups in (1, 2, 5, 20, 64):
        found: list[list[int]] = [[], []]
        for run in range(runs):
            rng = np.random.default_rng(run)
            who, key = bounded(*zipf(people, rng), groups, rng)
            for place, kind in enumerate((PartitionSelection, WeightedSelection)):
                found[place].append(named(who, key, kind(1, SMALL, groups)))
        out.append(f"| {groups} | {np.mean(found[0]):.0f} | {np.mean(found[1]):.0f} |")
    return out


def beside(runs: int, people: int, build: Path) -> list[str]:
    """Other packages on the same tables."""

    def alone(pairs: tuple[np.ndarray, np.ndarray], asked: dict[str, Any]) -> int:
        """Keys by themselves at the whole price, as a release of private keys names them: coins for two groups a person, then weights."""
        _, who = np.unique(pairs[0], return_inverse=True)
        names, place = np.unique(pairs[1], return_inverse=True)
        once = np.unique(np.stack([who, place]), axis=1)
        mine = bounded(once[0], once[1], asked["groups"], np.random.default_rng())
        kind = PartitionSelection if asked["groups"] <= FEW else WeightedSelection
        return named(mine[0], names[mine[1]], kind(Fraction(str(asked["epsilon"])), Fraction(str(asked["delta"])), asked["groups"]))

    return groups_peers.page(lambda: zipf(people, np.random.default_rng(0)), alone, build, runs)


def bounds_of_rows() -> list[str]:
    """Totals of people with few rows under a loose limit: the declared limit, and one that is drawn."""
    out = [
        "| rows of a person | rows | within, declared limit of 10,000 | drawn limit | error with it | within |",
        "|---|---|---|---|---|---|",
    ]
    for name, sizes in (
        ("Poisson of 5", np.random.default_rng(1).poisson(5, 20_000)),
        ("one each, three of 10,000", [1] * 20_000 + [10_000] * 3),
    ):
        who = np.repeat(np.arange(len(sizes)), sizes)
        limits = {"max_rows": 10_000, "max_groups": 1, "max_rows_per_group": 10_000}
        with sd.table({"who": who}, unit="who", **limits, budget=sd.Budget(epsilon=100), ledger=":memory:") as table:
            old = table.count().settle(1).steps["count"].width(None)
            found = table.limit(rows="private").count().release(epsilon=1)
            cap, wide = found.card["privacy unit"]["max_rows"], (found.high - found.low) / 2
            out.append(f"| {name} | {len(who):,} | {old:,.0f} | {cap:,} | {abs(found.value - len(who)):,} | {wide:,.0f} |")
    return out


def page(runs: int, people: int, build: Path | None = None, before: Path | None = None) -> str:
    more = (" --peers build/peers" if build else "") + (" --before build/before" if before else "")
    parts = [
        "# Groups, before and after",
        f"Written by `python bench/groups.py --page docs/groups.md --runs {runs} --people {people}{more}`.",
        "## 95% half-widths of totals by group, one row a group, at (1, 1e-6)",
        "Before: Laplace noise for all rows of a person.",
        *["\n".join(widths())],
        "## rho of a count within 100 in every group, on a ledger that adds rho",
        *["\n".join(prices())],
        "## People a private key needs to be named half of the time, at (1, 1e-6)",
        *["\n".join(thresholds())],
        f"## Private keys named, heavy-tailed keys of {people:,} people, about 13 a person, at (1, 1e-6), mean of {runs}",
        "Up to two groups a person coins are used, from three on weights.",
        *["\n".join(keys(runs, people))],
        "## A count of all rows at epsilon 1, by the declared limit and by a drawn one",
        *["\n".join(bounds_of_rows())],
    ]
    if build is not None:
        parts.append(f"## Keys named beside other packages, mean of {runs}")
        parts.append(f"{BESIDE} Ours alone are of {groups_peers.ALONE} runs, with the standard error of their mean.")
        parts.append("\n".join(beside(runs, people, build)))
    if before is not None:
        import groups_speed

        parts.append("## Processor seconds of a release by group, 300,000 rows of 30,000 people in 200 groups")
        parts.append(SPEED)
        parts.append("\n".join(groups_speed.lines(before, 300_000, 3)))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--people", type=int, default=50_000)
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--before", type=Path)
    asked = parser.parse_args()
    text = page(asked.runs, asked.people, asked.peers, asked.before)
    print(text)
    if asked.page is not None:
        asked.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
