"""Ten thousand mechanisms with distinct scales, Gaussian and Laplace mixed: ours against dp-accounting, in one run.

    python bench/accounting.py [number of mechanisms, 10000 unless given]

Prints both times and both figures; exits with an error unless ours takes at most a tenth of the time and is at most 1% higher.
"""

from __future__ import annotations

import math
import sys
import time
import warnings

from sordino.privacy.composition import compose
from sordino.privacy.cost import Cost, gaussian_epsilon
from sordino.privacy.number import round_up

DELTA = 1e-6


def scales(number: int) -> tuple[list[float], list[float]]:
    """Laplace epsilons and Gaussian mus, each from 0.005 to 0.05 in equal ratios."""
    half = number // 2
    laplace = [round(0.005 * 10 ** (i / max(1, half - 1)), 12) for i in range(half)]
    gaussian = [round(0.0049 * 10 ** (i / max(1, number - half - 1)), 12) for i in range(number - half)]
    return laplace, gaussian


def ours(laplace: list[float], gaussian: list[float]) -> float:
    own = 1e-9
    costs = [Cost.laplace(epsilon) for epsilon in laplace]
    costs += [Cost.gaussian(mu**2, round_up(gaussian_epsilon(math.sqrt(mu**2), own) * (1 + 1e-9)), own * 1.001) for mu in gaussian]
    return float(compose(costs, rule="pld", delta=DELTA).epsilon)


def theirs(laplace: list[float], gaussian: list[float]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import dp_accounting
        from dp_accounting.pld import PLDAccountant

        accountant = PLDAccountant()
        for epsilon in laplace:
            accountant.compose(dp_accounting.LaplaceDpEvent(1 / epsilon))
        for mu in gaussian:
            accountant.compose(dp_accounting.GaussianDpEvent(1 / mu))
        return float(accountant.get_epsilon(DELTA))


def main() -> int:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    laplace, gaussian = scales(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs(laplace[:1], gaussian[:1])  # imports are not part of the comparison
    ours(laplace[:1], gaussian[:1])
    began = time.perf_counter()
    mine = ours(laplace, gaussian)
    middle = time.perf_counter()
    print(f"{number} mechanisms, delta {DELTA:g}\nsordino        epsilon {mine:.6f}   {middle - began:9.2f} s", flush=True)
    other = theirs(laplace, gaussian)
    end = time.perf_counter()
    time_ratio, ratio = (middle - began) / (end - middle), mine / other
    print(f"dp-accounting  epsilon {other:.6f}   {end - middle:9.2f} s")
    print(f"time ratio     {time_ratio:.4f} (at most 0.1)\nepsilon ratio  {ratio:.6f} (at most 1.01)")
    return 0 if time_ratio <= 0.1 and ratio <= 1.01 else 1


if __name__ == "__main__":
    sys.exit(main())
