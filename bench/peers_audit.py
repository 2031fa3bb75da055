"""The lab turned on released packages: what they claim, what is found, at the version that installs today.

    python bench/peers_audit.py [--build build/peers] [--only opendp|diffprivlib|dp-accounting]

Each package gets an environment of its own under the build folder. Its python draws releases on two neighbouring datasets and leaves them
on disk as numbers; the lab here reads them. A package that cannot be installed is skipped in one line. Refuted: at confidence 1 - 1e-9.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import tempfile
import venv
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from sordino.lab import audit
from sordino.lab.finding import lower, upper
from sordino.privacy.certificate import Finite

HERE = Path(__file__).parent
NEEDS = {"opendp": ("opendp", "numpy"), "diffprivlib": ("diffprivlib", "scikit-learn<1.8")}
CONFIDENCE = 1 - 1e-9
RESULTS = HERE / "results" / "peers_audit.json"  # the README shows what is refuted there


@dataclass(frozen=True)
class Row:
    """One claim of a package beside what the lab found."""

    package: str
    claim: str
    found: str
    verdict: str


def environment(name: str, build: Path) -> Path:
    """The python of the package's own environment, made on first use."""
    python = build / name / "bin" / "python"
    if not python.exists():
        venv.create(build / name, with_pip=True)
    ready = subprocess.run([python, "-c", f"import {name}"], capture_output=True, text=True, check=False)
    if ready.returncode:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *NEEDS[name]], check=True, capture_output=True, text=True)
    return python


def sampled(name: str, build: Path, folder: Path) -> dict[str, Any]:
    python = environment(name, build)
    subprocess.run([python, HERE / "peers_sample.py", name, folder], check=True, capture_output=True, text=True)
    return dict(json.loads((folder / "claims.json").read_text()))


def watched(sides: list[np.ndarray], claim: list[float]) -> tuple[str, str]:
    """What the auditor makes of the arrays: errors and values are what an analyst sees."""
    trials = len(sides[0])
    columns = sides if any(side[:, 0].any() for side in sides) else [side[:, 1] for side in sides]
    found = audit(lambda side, n: columns[side], 0, 1, claimed=tuple(claim), trials=trials, confidence=CONFIDENCE, vectorised=True)
    figures = f"epsilon >= {found.epsilon_lower:.2f}, delta >= {found.delta_lower:.3g} in {trials:,} trials"
    failed = [f"{side[:, 0].mean():.0%}" for side in sides]
    errors = f"; errors {failed[0]} against {failed[1]}" if any(side[:, 0].any() for side in sides) else ""
    return f"{figures}{errors}\n           {found.event[:120]}", found.verdict


def divergence(sides: list[np.ndarray], claim: list[float]) -> tuple[str, str]:
    """A lower bound on the Kullback-Leibler divergence of two coins; rho-zCDP allows at most rho."""
    n = len(sides[0])
    first, second = (int(side[:, 1].sum()) for side in sides)
    p = float(lower(first, n, 1e-9 / 2))
    q = float(upper(second, n, 1e-9 / 2))
    least = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q)) if p > q else 0.0
    law = "exponential" if abs(second / n - 1 / (1 + math.e**2)) < abs(second / n - math.e**-2 / 2) else "permute-and-flip"
    verdict = "refuted" if least > claim[0] else "consistent (charged and drawn as the exponential mechanism: fixed)"
    return f"rho >= {least:.3f}; the loser wins {second / n:.4f} of {n:,}, the law of {law}", verdict


def clamped(sides: list[np.ndarray], claim: list[float]) -> tuple[str, str]:
    shown = sides[0][0, 1]
    verdict = "wrong answer, no leak: stopping at an end moves no further than a row" if shown != claim[0] else "consistent"
    return f"four rows of 2^30 add up to {shown:,.0f} (true: {claim[0]:,.0f})", verdict


Judge = Callable[[list[np.ndarray], list[float]], tuple[str, str]]
CASES: dict[str, dict[str, tuple[str, Judge]]] = {
    "opendp": {
        "threshold": ("make_laplace_threshold, scale 1, threshold 5", watched),
        "squares": ("sum of squared deviations + Laplace, rows near 2^50", watched),
        "noisy_max": ("make_noisy_max under zCDP, scale 1", divergence),
        "saturated": ("make_sum of 32-bit integers", clamped),
    },
    "diffprivlib": {
        "regression": ("LinearRegression, bounds_X = (0, 1)", watched),
        "missing": ("tools.sum with one NaN in the table", watched),
        "bits": ("mechanisms.Laplace, its low bits", watched),
        "ties": ("tools.median of equal rows, one row more", watched),
        "ledger": ("what the accountant says after a median with a NaN", watched),
    },
}


def said(claim: list[float]) -> str:
    return f"rho {claim[0]:.3g}" if len(claim) == 1 else f"epsilon {claim[0]:.4g}" + (f", delta {claim[1]:.3g}" if claim[1] else "")


def package(name: str, build: Path) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            record = sampled(name, build, folder)
        except (subprocess.CalledProcessError, OSError) as error:
            reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
            print(f"skipped {name}: {reason[:160]}")
            return
        for case, (what, judge) in CASES[name].items():
            told = record["claims"][case]
            if "skipped" in told:
                yield Row(f"{name} {record['version']}", what, told["skipped"], "skipped")
                continue
            sides = [np.load(folder / f"{case}_{side}.npy") for side in (0, 1)]
            found, verdict = judge(sides, told["claim"])
            head = what if judge is clamped else f"{what}: {said(told['claim'])}"
            yield Row(f"{name} {record['version']}", head, found, verdict)


def accounting(times: int = 10, delta: float = 1e-6) -> Iterator[Row]:
    """Ten randomized responses at epsilon 1, declared with a count; the truth is the law of how many were honest."""
    try:
        import dp_accounting
        from dp_accounting.pld import PLDAccountant
    except ImportError as error:
        print(f"skipped dp-accounting: {error}")
        return
    from importlib.metadata import version

    keep, count = 1 / (1 + math.exp(-1)), np.arange(times + 1)
    truth = Finite(binom.pmf(count, times, keep), binom.pmf(count, times, 1 - keep))
    event = dp_accounting.RandomizedResponseDpEvent(2 * (1 - keep), 2)
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    accountant.compose(event, times)
    billed = float(accountant.get_epsilon(delta))
    real = truth.delta(billed)
    claim = f"{times} randomized responses at epsilon 1, composed with a count: epsilon {billed:.4g}, delta {delta:g}"
    verdict = "refuted" if real > delta * (1 + 1e-6) else "consistent"
    yield Row(f"dp-accounting {version('dp-accounting')}", claim, f"delta is {real:.4g} there, by summing {times + 1} outcomes", verdict)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=HERE.parent / "build" / "peers")
    parser.add_argument("--only", choices=(*NEEDS, "dp-accounting"))
    options = parser.parse_args()
    parts = {**{name: package(name, options.build) for name in NEEDS}, "dp-accounting": accounting()}
    rows = []
    for row in (row for name, part in parts.items() if options.only in (None, name) for row in part):
        print(f"{row.package}: {row.claim}\n    found: {row.found}\n    {row.verdict}", flush=True)
        rows.append(asdict(row))
    print(f"{len(rows)} claims looked at, {sum(row['verdict'] == 'refuted' for row in rows)} refuted")
    if options.only is None and {row["package"].split()[0] for row in rows} == set(parts):
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
