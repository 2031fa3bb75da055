"""The peers beside us, in one run: accuracy, speed, memory, import and install, each package in an environment of its own.

    python bench/peers.py [--only NAME ...] [--quick] [--build build/peers] [--rows 10000000] [--seconds 15]

Installs what is not there yet, runs every task of every package one after the other, and writes bench/results/peers.json,
docs/benchmarks.md and its pictures. Every package gets the same data sets from disk and hands back what it released; errors are computed
here, each with its standard error, and ours are compared with the law they are drawn from where that has a closed form: a figure that is
far from it is MISSED. A package that cannot be installed or a task that fails stays in the report, with the last thing it said.
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
import figure
import laws
import measure
import page
from environment import PEERS, Installed
from figure import Figure
from measure import Ran
from work import EPSILONS, LONGER, RICH

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
OUTLIERS = "centre with 1% gross outliers"
ROWS = {False: 10_000_000, True: 200_000}  # of the largest table; the second when it has to be quick
DRAWS = {False: 2_000, True: 20}  # releases behind a figure, where a package is quick enough
SECONDS = {False: 15.0, True: 1.0}  # for these, of one question at one epsilon
CELLS = {"income": 27, "outliers": 12, "keys": 3, "regression": 3, "slope": 3, "logistic": 3}  # questions by epsilons, at most
LIMIT = 60.0  # seconds of a task that is done once, and of what a task does beside its releases
Found = dict[tuple[str, str], Ran]
Row = dict[str, Any]


def row(
    task: str, measured: str, unit: str, figures: dict[str, float] | dict[str, Figure], *, lower: bool = True, law: float | None = None
) -> Row:
    """One figure of everybody: plain numbers were measured once. `law`: what ours is by the law it is drawn from."""
    of = {name: it if isinstance(it, Figure) else Figure(float(it)) for name, it in figures.items()}
    of = {name: it for name, it in of.items() if np.isfinite(it.value)}
    found: Row = {"task": task, "measure": measured, "unit": unit, "lower_is_better": lower}
    found["values"] = {name: short(it.value) for name, it in of.items()}
    if errors := {name: short(it.error, 3) for name, it in of.items() if it.error is not None}:
        found |= {"errors": errors, "draws": {name: of[name].draws for name in errors}}
    return found if law is None or "sordino" not in of else {**found, "law": short(law)}


def short(value: float, digits: int = 4) -> float:
    return float(f"{value:.{digits}g}")


def settings(rows: int, quick: bool, seconds: float) -> dict[str, dict[str, Any]]:
    """What each task is told; the slow ones stop drawing when their time is over."""
    drawn = {"draws": DRAWS[quick], "seconds": seconds}
    longer = {**drawn, "seconds": 3 * seconds}  # one question at one epsilon
    number = 200 if quick else 10_000
    ratios = [10 ** (i / max(1, number - 1)) for i in range(number)]
    return {
        "start": {},
        "income": drawn,
        "outliers": drawn,
        "keys": longer,
        "regression": {"tables": 2 if quick else 20, **drawn},
        "slope": drawn,
        "logistic": {"splits": 2 if quick else 20, **longer},
        "accounting": {"gaussians": [200 / r for r in ratios], "laplaces": []},
        "noise": {"count": 10_000 if quick else 100_000},
        "median": {},
        "zips": {},
        "small groups": {"file": "visits_small.parquet", "rows": rows // 20},
        "groups": {"file": "visits.parquet", "rows": rows},
    }


def far(question: str) -> tuple[str, Any]:
    """How errors become one figure: a median of whole numbers is a whole number, so that counts have the mean."""
    return ("mean absolute error", figure.mean) if question == "count" else ("median absolute error", figure.median)


def questions(
    found: Found, task: str, truths: dict[str, float], label: str, unit: str, *, known: dict[str, dict[str, float]] | None = None
) -> Iterator[Row]:
    """The errors of the questions of a task, one row for each epsilon."""
    for question, truth in truths.items():
        said, of = far(question)
        for epsilon in EPSILONS:
            figures = {}
            for (peer, what), ran in found.items():
                released = (ran.found or {}).get(question, {}).get(str(epsilon)) if what == task else None
                if isinstance(released, list):
                    errors = np.abs(np.array(released) - truth)
                    figures[peer] = of(errors[np.isfinite(errors)])  # `refusals` counts the others
            law = (known or {}).get(str(epsilon), {}).get(question)
            yield row(label.format(question), f"{said}, epsilon {epsilon:g}", unit, figures, law=law)


def accuracy(found: Found, splits: int) -> Iterator[Row]:
    x, (rows, clean) = data.incomes(), data.outliers()
    q = {level: float(np.quantile(x, level)) for level in (0.25, 0.5, 0.75, 0.9)}
    truths = {
        "count": float((x >= RICH).sum()), "sum": float(x.sum()), "mean": float(x.mean()), "mean, replace": float(x.mean()),
        "median": q[0.5], "quantile .9": q[0.9], "iqr": q[0.75] - q[0.25], "variance": float(x.var()), "variance, replace": float(x.var()),
    }  # fmt: skip
    known = {str(epsilon): laws.income(x, 1e6, truths, epsilon) for epsilon in EPSILONS}
    yield from questions(found, "income", truths, "{}", "of 1,000 incomes", known=known)
    centres = dict.fromkeys(("mean", "median", "huber mean", "trimmed mean"), clean)
    known = {str(epsilon): laws.outliers(rows, 1e4, clean, epsilon) for epsilon in EPSILONS}
    best: dict[str, dict[str, Figure]] = {}
    for each in questions(found, "outliers", centres, OUTLIERS + ": {}", "of 10,000 rows, from the clean mean", known=known):
        if each["values"]:
            yield each
        for peer, value in each["values"].items():
            mine = best.setdefault(each["measure"], {})
            if peer not in mine or value < mine[peer].value:
                mine[peer] = Figure(value, each["errors"][peer], each["draws"][peer])
    for measured, figures in best.items():
        yield row(OUTLIERS + ": the best a package has", measured, "of 10,000 rows, from the clean mean", figures)
    yield from unknown_keys(found)
    yield from models(found, splits)


def unknown_keys(found: Found) -> Iterator[Row]:
    names, counts = np.unique(data.keys(), return_counts=True)
    truth = {str(name): int(count) for name, count in zip(names, counts, strict=True)}
    number, errors = {}, {}
    for (peer, task), ran in found.items():
        if task == "keys" and isinstance(ran.found, list):
            number[peer] = figure.mean([len(shown) for shown in ran.found])
            errors[peer] = figure.mean([sum(abs(shown.get(key, 0) - n) for key, n in truth.items()) for shown in ran.found])
    yield row("unknown keys, Zipf", "keys released, epsilon 1, delta 1e-6", "keys", number, lower=False)
    yield row("unknown keys, Zipf", "sum of absolute errors over all keys", "rows", errors)


def models(found: Found, splits: int) -> Iterator[Row]:
    """Fits of the same tables by turns: their standard errors are about these tables."""
    for epsilon in EPSILONS:
        figures = {
            peer: figure.median(np.linalg.norm(np.array(fits) - data.BETA, axis=1))
            for (peer, task), ran in found.items()
            if task == "regression" and ran.found and isinstance(fits := ran.found[str(epsilon)], list)
        }
        yield row("regression, 10 coefficients", f"median distance, epsilon {epsilon:g}", "of 10,000 rows", figures)
    x, y = data.diabetes()
    yield from questions(found, "slope", {"slope": float(np.polyfit(x, y, 1)[0])}, "slope of bmi in diabetes", "of 442 rows")
    held = [data.digits(split)[3] for split in range(splits)]
    scores = {
        peer: figure.mean([np.mean(np.array(said) == held[turn % splits]) for turn, said in enumerate(ran.found)])
        for (peer, task), ran in found.items()
        if task == "logistic" and isinstance(ran.found, list)
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


def asked(only: list[str] | None, build: Path, rows: int, quick: bool, seconds: float) -> dict[str, Any]:
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
    told = settings(rows, quick, seconds)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data.write(folder, tables=told["regression"]["tables"], splits=told["logistic"]["splits"], large=rows, middle=rows // 20)
        say(f"data sets of up to {rows:,} rows")
        for task, peers in TASKS.items():
            for name in (name for name in peers if name in ready):
                verb, limit = "groups" if task.endswith("groups") else task, LIMIT + LONGER * seconds * CELLS.get(task, 0)
                times = 3 if task == "start" else 1  # the first one also compiles
                (folder / "told.json").write_text(json.dumps(told[task]))  # ten thousand noise scales are no argument
                words = [str(ready[name].script), verb, str(folder), str(folder / "told.json")]
                runs = [measure.run(environment.python_of(name, build), words, limit) for _ in range(times)]
                found[name, task] = ran = min(runs, key=lambda one: (bool(one.failed), one.seconds))
                say(f"{task}: {name} {ran.failed or f'{ran.seconds:.1f} s'}")
    splits = told["logistic"]["splits"]
    figures = (*accuracy(found, splits), *speed(found, rows, len(told["accounting"]["gaussians"])), *carried(found, installs, imports))
    return {
        "versions": {name: environment.version(peer, build) for name, peer in ready.items()},
        "made": f"{os.cpu_count()} processors ({platform.machine()}), {platform.system()}, Python {platform.python_version()}",
        "command": "python bench/peers.py"
        + (" --quick" if quick else "")
        + (f" --rows {rows}" if rows != ROWS[quick] else "")
        + (f" --seconds {seconds:g}" if seconds != SECONDS[quick] else ""),
        "draws": DRAWS[quick],
        "seconds": seconds,
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
                said |= {f"{name}: {question} at epsilon {e}": why for e, what in by.items() if (why := lacking(what))}
        elif task in ("keys", "logistic", "regression") and ran.found:
            by = ran.found if isinstance(ran.found, dict) else {"1.0": ran.found}
            said |= {f"{name}: {task} at epsilon {e}": why for e, what in by.items() if isinstance(what, str) and (why := lacking(what))}
    return said


def lacking(released: list[float] | str) -> str:
    """What was missing of the releases of one question at one epsilon."""
    if isinstance(released, str):
        return environment.plain(released)
    none = int(np.sum(~np.isfinite(released)))
    return f"{none} of {len(released)} releases were no number" if none else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=tuple(PEERS), help="these peers, beside us")
    parser.add_argument("--quick", action="store_true", help="few draws and small tables: does everything still run?")
    parser.add_argument("--rows", type=int, help="of the largest table, 10,000,000 unless quick")
    parser.add_argument("--seconds", type=float, help="for the releases of one question at one epsilon, 15 unless quick")
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "peers")
    parser.add_argument("--page", action="store_true", help="only write the page again from the last results")
    options = parser.parse_args()
    if not options.page:
        rows, seconds = options.rows or ROWS[options.quick], options.seconds or SECONDS[options.quick]
        result = asked(options.only, options.build, rows, options.quick, seconds)
        for each in result["rows"]:
            each["verdict"] = figure.verdict(each).kind  # the README counts them too
        place = options.build / "some.json" if options.only else RESULTS
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        print(page.summary(result))
        missed = [f"{each['task']}, {each['measure']}" for each in result["rows"] if not figure.follows(each)]
        print(f"MISSED, not the figure of its law: {'; '.join(missed)}" if missed else "every figure of ours is that of its law")
        if options.only:
            print(f"not everybody: kept in {place.name} of the build folder, the page stays")
            return int(bool(missed))
    result = json.loads(RESULTS.read_text(encoding="utf-8"))
    page.write(result)
    return int(not all(map(figure.follows, result["rows"])))


if __name__ == "__main__":
    sys.exit(main())
