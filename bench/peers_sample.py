"""Releases of a real package, written to disk: run by peers_audit.py with the python of the package's own environment.

    python bench/peers_sample.py opendp|diffprivlib FOLDER

Every sampler leaves one array per dataset and its claim as the package prints it. Columns of an array: was it an error, and the value.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

Sample = tuple[list[Any], tuple[Callable[[], float], Callable[[], float]], int]  # the claim, a release on either dataset, trials


def opendp() -> dict[str, Callable[[], Sample]]:
    import opendp.prelude as dp

    dp.enable_features("contrib")

    def threshold() -> Sample:
        counts = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
        release = dp.m.make_laplace_threshold(counts, dp.l01inf_distance(dp.absolute_distance(T=int)), scale=1.0, threshold=5)
        return list(release.map((1, 1, 1))), (lambda: float(len(release({}))), lambda: float(len(release({"new": 1})))), 40_000

    def squares() -> Sample:
        low, n = 2.0**50, 4096
        rows = dp.vector_domain(dp.atom_domain(bounds=(low, low + 1), nan=False), size=n)
        total = dp.t.make_sum_of_squared_deviations(rows, dp.symmetric_distance())
        release = total >> dp.m.then_laplace(scale=total.map(2))
        flat = [low + 0.25] * n
        moved = max(([low + k / 4, *flat[1:]] for k in range(5)), key=lambda x: abs(total(x) - total(flat)))
        return [release.map(2), 0.0], (lambda: release(flat), lambda: release(moved)), 1_200

    def noisy_max() -> Sample:
        scores = dp.vector_domain(dp.atom_domain(T=float, nan=False))
        release = dp.m.make_noisy_max(scores, dp.linf_distance(T=float), dp.zero_concentrated_divergence(), scale=1.0)
        return [release.map(1.0)], (lambda: float(release([0.0, 0.0])), lambda: float(release([1.0, -1.0]))), 20_000

    def saturated() -> Sample:
        total = dp.t.make_sum(dp.vector_domain(dp.atom_domain(bounds=(0, 2**30), T="i32")), dp.symmetric_distance())
        return [float(4 * 2**30)], (lambda: float(total([2**30] * 4)), lambda: float(total([2**30] * 5))), 1

    return {"threshold": threshold, "squares": squares, "noisy_max": noisy_max, "saturated": saturated}


def diffprivlib() -> dict[str, Callable[[], Sample]]:
    from diffprivlib import tools
    from diffprivlib.accountant import BudgetAccountant
    from diffprivlib.mechanisms import Laplace
    from diffprivlib.models import LinearRegression

    def regression() -> Sample:
        tables = np.array([[0.01], [0.02]]), np.array([[0.01], [0.02], [1.0]])

        def fit(x: Any) -> float:
            model = LinearRegression(epsilon=1.0, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False)
            return float(model.fit(x, np.zeros(len(x))).coef_[0])

        return [1.0, 0.0], (lambda: fit(tables[0]), lambda: fit(tables[1])), 1_800

    def missing() -> Sample:
        def total(*rows: float) -> float:
            return float(tools.sum(np.array(rows), bounds=(0, 1), epsilon=1.0))

        return [1.0, 0.0], (lambda: total(0.5, 0.5), lambda: total(0.5, 0.5, np.nan)), 3_000

    def bits() -> Sample:
        laplace = Laplace(epsilon=1.0, sensitivity=1.0)
        return [1.0, 0.0], (lambda: laplace.randomise(0.0), lambda: laplace.randomise(1.0)), 20_000

    def ties() -> Sample:
        def middle(n: int) -> float:
            return float(tools.median(np.full(n, 0.5), bounds=(0, 1), epsilon=1.0))

        last = next(n for n in range(2_900, 3_100) if drawn(lambda n=n: middle(n + 1), 1)[0, 0])
        return [1.0, 0.0], (lambda: middle(last), lambda: middle(last + 1)), 600

    def ledger() -> Sample:
        def spent(*rows: float) -> float:
            accountant = BudgetAccountant()
            tools.median(np.array(rows), bounds=(0, 1), epsilon=0.5, accountant=accountant)
            return float(accountant.total()[0])

        return [0.5, 0.0], (lambda: spent(0.2, 0.4), lambda: spent(0.2, 0.4, np.nan)), 600

    return {"regression": regression, "missing": missing, "bits": bits, "ties": ties, "ledger": ledger}


def drawn(release: Callable[[], float], trials: int) -> np.ndarray:
    found = np.zeros((trials, 2))
    for i in range(trials):
        try:
            found[i, 1] = release()
        except Exception:  # what an analyst sees is that it failed
            found[i, 0] = 1
    return found


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    warnings.simplefilter("ignore")
    claims = {}
    for sampler, make in {"opendp": opendp, "diffprivlib": diffprivlib}[name]().items():
        try:
            claim, pair, trials = make()
        except Exception as error:
            claims[sampler] = {"skipped": f"{type(error).__name__}: {error}".splitlines()[0][:100]}
            continue
        for side, release in enumerate(pair):
            np.save(folder / f"{sampler}_{side}.npy", drawn(release, trials))
        claims[sampler] = {"claim": claim}
    (folder / "claims.json").write_text(json.dumps({"version": version(name), "claims": claims}))


if __name__ == "__main__":
    main()
