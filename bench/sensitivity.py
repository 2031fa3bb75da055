"""The smooth sensitivity of a median beside the sort it needs anyway, in one run."""

from __future__ import annotations

import time

import numpy as np

from sordino.sensitivity import smooth


def seconds(function: object, repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function()  # type: ignore[operator]
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    values = np.clip(np.random.default_rng(1).lognormal(np.log(40_000), 0.8, 1_000_000), 0, 1e6)
    ordered = np.sort(values)
    sort = seconds(lambda: np.sort(values), 5)
    print(f"np.sort of 1e6 values: {sort * 1e3:.1f} ms")
    worst = 0.0
    for relation in ("add_remove", "replace"):
        for beta in (0.3, 0.03, 0.003):
            took = seconds(lambda b=beta, r=relation: smooth.median(ordered, bounds=(0, 1e6), beta=b, relation=r), 5)
            worst = max(worst, took / sort)
            print(f"  smooth median, {relation}, beta {beta}: {took * 1e3:6.2f} ms = {took / sort:6.1%} of the sort")
    print(f"gate (under 10% of the sort): {'holds' if worst < 0.1 else 'FAILS'}, worst {worst:.1%}")


if __name__ == "__main__":
    main()
