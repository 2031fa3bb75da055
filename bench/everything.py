"""Every bench, one after the other, unattended; then what each took and which missed a figure.

    python bench/everything.py [NAME ...]

A bench that misses a figure does not stop the others; the exit code says so at the end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ORDER = (
    "noise", "sensitivity", "accounting", "ledger", "engine", "bounding", "spark", "scale", "tables", "planner", "means", "quantiles",
    "histograms", "groups", "accuracy", "models", "inference", "regressions", "share", "server", "load", "peers",
)  # fmt: skip
WORDS = {"scale": ("--page", "docs/scale.md"), "groups": ("--page", "docs/groups.md"), "share": ("--page", "docs/shared.md")}
LIMIT = 25 * 60  # seconds; no bench comes near, one that hangs must not take the night
LIMITS = {"share": 4 * 3600, "peers": 2 * 3600}  # for other packages, which take minutes for every table or install first


def measured(name: str) -> tuple[str, float]:
    print(f"== {name}", flush=True)
    start = time.perf_counter()
    try:
        code = subprocess.run(
            [sys.executable, HERE / f"{name}.py", *WORDS.get(name, ())], check=False, timeout=LIMITS.get(name, LIMIT)
        ).returncode
    except subprocess.TimeoutExpired:
        return "MISSED: did not end", time.perf_counter() - start
    return "met" if code == 0 else "MISSED", time.perf_counter() - start


def main() -> int:
    wanted = sys.argv[1:] or [name for name in ORDER if (HERE / f"{name}.py").exists()]
    found = {name: measured(name) for name in wanted}
    print("\n== summary")
    for name, (verdict, seconds) in found.items():
        print(f"{name:14s}{seconds:8.0f} s   {verdict}")
    print(f"{'together':14s}{sum(seconds for _, seconds in found.values()) / 60:8.1f} min")
    return int(any(verdict != "met" for verdict, _ in found.values()))


if __name__ == "__main__":
    sys.exit(main())
