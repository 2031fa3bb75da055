"""The peers beside us, in one run: accuracy, speed, memory, import and install, each package in an environment of its own.

    python bench/peers.py [--only NAME ...] [--quick] [--build build/peers] [--rows 10000000]

Installs what is not there yet, runs every task of every package one after the other, and writes bench/results/peers.json,
docs/benchmarks.md and its pictures. Every package gets the same data sets from disk and hands back what it released; errors are computed
here. A package that cannot be installed or a task that fails stays in the report, with the last thing it said.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import data
import environment
import measure
import page
from environment import PEERS, Installed
from measure import Ran
from work import RICH

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "peers.json"
TASKS = {  # who can do what; the order is the order of the report
    "start": ("sordino", *PEERS),
    "income": ("sordino", "opendp", "diffprivlib", "python-dp", "pipeline-dp", "tmlt.analytics", "smartnoise-sql", "pyqrlew"),
    "outliers": ("sordino", "opendp", "diffprivlib", "python-dp", "pipeline-dp", "tmlt.analytics", "smartnoise-sql", "pyqrlew"),
    "keys": ("sordino", "opendp", "pipeline-dp", "tmlt.analytics", "smartnoise-sql", "pyqrlew"),
    "regression": ("sordino", "diffprivlib"),
    "slope": ("sordino", "opendp", "diffprivlib"),
    "logistic": ("sordino", "diffprivlib"),
    "accounting": ("sordino", "dp-accounting"),
    "noise": ("sordino", "opendp", "diffprivlib", "python-dp"),
    "median": ("sordino", "opendp", "diffprivlib", "python-dp"),
    "zips": ("sordino", "opendp", "pipeline-dp", "tmlt.analytics"),
    "small groups": ("sordino", "opendp", "pipeline-dp", "tmlt.analytics", "smartnoise-sql", "pyqrlew"),
    "groups": ("sordino", "opendp", "pyqrlew"),
}
ROWS = {False: 10_000_000, True: 200_000}  # of the largest table; the second when it has to be quick
Found = dict[tuple[str, str], Ran]
Row = dict[str, Any]


def row(task: str, measured: str, unit: str, values: dict[str, float], *, lower: bool = True, draws: dict[str, int] | None = None) -> Row:
    """One figure of everybody. `draws`: how many releases stand behind each, where it is a median of releases."""
    kept = {name: float(f"{value:.4g}") for name, value in values.items() if np.isfinite(value)}
    known = {"draws": draws} if draws else {}
    return {"task": task, "measure": measured, "unit": unit, "lower_is_better": lower, "values": kept, **known}


def settings(rows: int, quick: bool) -> dict[str, dict[str, Any]]:
    """What each task is told; the slow ones stop drawing when their time is over."""
    draws, seconds = (20, 5.0) if quick else (200, 10.0)
    number = 200 if quick else 10_000
    ratios = [10 ** (i / max(1, number - 1)) for i in range(number)]
    return {
        "start": {},
        "income": {"draws": draws, "seconds": seconds},
        "outliers": {"draws": draws, "seconds": seconds / 3},
        "keys": {"draws": 1 if quick else 3},
        "regression": {"tables": 2 if quick else 20},
        "slope": {"draws": draws, "seconds": seconds / 3},
        "logistic": {"splits": 2 if quick else 5},
        "accounting": {"gaussians": [200 / r for r in ratios], "laplaces": []},
        "noise": {"count": 10_000 if quick else 100_000},
        "median": {},
        "zips": {},
        "small groups": {"file": "visits_small.parquet", "rows": rows // 20},
        "groups": {"file": "visits.parquet", "rows": rows},
    }


def errors(values: list[float], truth: float) -> float:
    return float(np.median(np.abs(np.array(values) - truth)))


def drawn(found: Found, task: str, truths: dict[str, float], label: str, unit: str) -> Iterator[Row]:
    """Median absolute errors of the questions of a task, one row for each epsilon."""
    for question, truth in truths.items():
        for epsilon in ("0.1", "0.5", "1.0"):
            values, draws = {}, {}
            for (peer, of), ran in found.items():
                released = (ran.found or {}).get(question, {}).get(epsilon) if of == task else None
                if isinstance(released, list):
                    values[peer], draws[peer] = errors(released, truth), len(released)
            yield row(label.format(question), f"median absolute error, epsilon {float(epsilon):g}", unit, values, draws=draws)


def accuracy(found: Found) -> Iterator[Row]:
    x, (_, clean) = data.incomes(), data.outliers()
    q = {level: float(np.quantile(x, level)) for level in (0.25, 0.5, 0.75, 0.9)}
    truths = {
        "count": float((x >= RICH).sum()), "sum": float(x.sum()), "mean": float(x.mean()), "mean, replace": float(x.mean()),
        "median": q[0.5], "quantile .9": q[0.9], "iqr": q[0.75] - q[0.25], "variance": float(x.var()), "variance, replace": float(x.var()),
    }  # fmt: skip
    yield from drawn(found, "income", truths, "{}", "of 1,000 incomes")
    centres = dict.fromkeys(("mean", "median", "huber mean", "trimmed mean"), clean)
    for each in drawn(found, "outliers", centres, "centre with 1% gross outliers: {}", "of 10,000 rows, from the clean mean"):
        if each["values"]:
            yield each
    best: dict[str, dict[str, float]] = {}
    for each in drawn(found, "outliers", centres, "{}", ""):
        for peer, value in each["values"].items():
            best.setdefault(each["measure"], {})[peer] = min(value, best.get(each["measure"], {}).get(peer, np.inf))
    for measured, values in best.items():
        yield row("centre with 1% gross outliers: the best a package has", measured, "of 10,000 rows, from the clean mean", values)
    yield from unknown_keys(found)
    yield from models(found)


def unknown_keys(found: Found) -> Iterator[Row]:
    names, counts = np.unique(data.keys(), return_counts=True)
    truth = {str(name): int(count) for name, count in zip(names, counts, strict=True)}
    number, far = {}, {}
    for (peer, task), ran in found.items():
        if task == "keys" and ran.found:
            number[peer] = float(np.mean([len(shown) for shown in ran.found]))
            far[peer] = float(np.mean([sum(abs(shown.get(key, 0) - n) for key, n in truth.items()) for shown in ran.found]))
    yield row("unknown keys, Zipf", "keys released, epsilon 1, delta 1e-6", "keys", number, lower=False)
    yield row("unknown keys, Zipf", "sum of absolute errors over all keys", "rows", far)


def models(found: Found) -> Iterator[Row]:
    for epsilon in ("0.1", "0.5", "1.0"):
        values = {
            peer: float(np.median([np.linalg.norm(np.array(fit) - data.BETA) for fit in ran.found[epsilon]]))
            for (peer, task), ran in found.items()
            if task == "regression" and ran.found
        }
        yield row("regression, 10 coefficients", f"median distance, epsilon {float(epsilon):g}", "of 10,000 rows", values)
    x, y = data.diabetes()
    yield from drawn(found, "slope", {"slope": float(np.polyfit(x, y, 1)[0])}, "slope of bmi in diabetes", "of 442 rows")
    scores = {
        peer: float(np.mean([np.mean(np.array(said) == data.digits(split)[3]) for split, said in enumerate(ran.found)]))
        for (peer, task), ran in found.items()
        if task == "logistic" and ran.found
    }
    yield row("logistic regression, digits", "accuracy on held-out rows, epsilon 1", "share", scores, lower=False)


def of(found: Found, task: str, field: str) -> dict[str, float]:
    return {peer: float(ran.found[field]) for (peer, what), ran in found.items() if what == task and ran.found}


def speed(found: Found, rows: int, count: int) -> Iterator[Row]:
    yield row(f"{count:,} distinct Gaussians composed", "epsilon at delta 1e-6", "epsilon", of(found, "accounting", "epsilon"))
    yield row(f"{count:,} distinct Gaussians composed", "time", "s", of(found, "accounting", "seconds"))
    for law in ("laplace", "gaussian"):
        yield row("noise", f"{law}, samples a second", "1/s", of(found, "noise", law), lower=False)
    timed = {
        "median": f"median of {rows:,} values",
        "zips": "median by zip, 80,000 rows of 20,000 people, 50 zips",
        "small groups": f"counts and sums of 10,000 groups, {rows // 20:,} rows, people bounded",
        "groups": f"counts and sums of 10,000 groups, {rows:,} rows, people bounded",
    }
    for task, label in timed.items():
        yield row(label, "time", "s", of(found, task, "seconds"))
        held = {peer: ran.megabytes for (peer, what), ran in found.items() if what == task and ran.found}
        yield row(label, "memory at most", "MB", held)


def carried(found: Found, installs: dict[str, Installed], imports: dict[str, float]) -> Iterator[Row]:
    ready = {name: made for name, made in installs.items() if not made.failed}
    cold = {name: ran.seconds for (name, task), ran in found.items() if task == "start" and not ran.failed}
    yield row("start", "a count of 1,000 rows from a cold process", "s", cold)
    yield row("import", "seconds added to the start of python", "s", imports)
    yield row("install", "time", "s", {name: made.seconds for name, made in ready.items()})
    yield row("install", "size", "MB", {name: made.megabytes for name, made in ready.items()})


def asked(only: list[str] | None, build: Path, rows: int, quick: bool) -> dict[str, Any]:
    clock = time.perf_counter()

    def say(text: str) -> None:
        print(f"[{time.perf_counter() - clock:6.0f} s] {text}", flush=True)

    chosen = {name: peer for name, peer in PEERS.items() if not only or name in only}
    everybody = {"sordino": environment.ourselves(), **chosen}
    installs: dict[str, Installed] = {}
    for name, peer in everybody.items():
        installs[name] = made = environment.install(peer, build)
        say(f"{name}: {made.failed or f'{made.megabytes:.0f} MB, installed in {made.seconds:.0f} s'}")
    ready = {name: peer for name, peer in everybody.items() if not installs[name].failed}
    imports = {name: measure.importing(environment.python_of(name, build), peer.module) for name, peer in ready.items()}
    found: Found = {}
    told = settings(rows, quick)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data.write(folder, tables=told["regression"]["tables"], splits=told["logistic"]["splits"], large=rows, middle=rows // 20)
        say(f"data sets of up to {rows:,} rows")
        for task, peers in TASKS.items():
            for name in (name for name in peers if name in ready):
                python = Path(sys.executable) if name == "sordino" else environment.python_of(name, build)
                verb, limit = "groups" if task.endswith("groups") else task, 25.0 if quick else 60.0
                times = 2 if task == "start" else 1  # the first one also compiles
                (folder / "told.json").write_text(json.dumps(told[task]))  # ten thousand noise scales are no argument
                words = [str(ready[name].script), verb, str(folder), str(folder / "told.json")]
                runs = [measure.run(python, words, limit) for _ in range(times)]
                found[name, task] = ran = min(runs, key=lambda one: (bool(one.failed), one.seconds))
                say(f"{task}: {name} {ran.failed or f'{ran.seconds:.1f} s'}")
    figures = (*accuracy(found), *speed(found, rows, len(told["accounting"]["gaussians"])), *carried(found, installs, imports))
    return {
        "versions": {name: environment.version(peer, build) for name, peer in ready.items()},
        "made": f"{os.cpu_count()} processors ({platform.machine()}), {platform.system()}, Python {platform.python_version()}",
        "command": "python bench/peers.py" + (" --quick" if quick else "") + (f" --rows {rows}" if rows != ROWS[quick] else ""),
        "minutes": round((time.perf_counter() - clock) / 60, 1),
        "rows": [each for each in figures if each["values"]],
        "not installed": {name: made.failed for name, made in installs.items() if made.failed},
        "failed": {f"{name}: {task}": ran.failed for (name, task), ran in found.items() if ran.failed} | refusals(found),
    }


def refusals(found: Found) -> dict[str, str]:
    """Single questions a package could not answer."""
    said = {}
    for (name, task), ran in found.items():
        if task in ("income", "outliers", "slope") and ran.found:
            for question, by in ran.found.items():
                said |= {f"{name}: {question} at epsilon {e}": environment.plain(why) for e, why in by.items() if isinstance(why, str)}
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=tuple(PEERS), help="these peers, beside us")
    parser.add_argument("--quick", action="store_true", help="few draws and small tables: does everything still run?")
    parser.add_argument("--rows", type=int, help="of the largest table, 10,000,000 unless quick")
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "peers")
    parser.add_argument("--page", action="store_true", help="only write the page again from the last results")
    options = parser.parse_args()
    if not options.page:
        rows = options.rows or ROWS[options.quick]
        result = asked(options.only, options.build, rows, options.quick)
        for each in result["rows"]:
            each["verdict"] = page.verdict(each)[0]  # the README counts them too
        place = options.build / "some.json" if options.only else RESULTS
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(page.summary(result))
        if options.only:
            print(f"not everybody: kept in {place.name} of the build folder, the page stays")
            return 0
    page.write(json.loads(RESULTS.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
