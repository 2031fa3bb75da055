"""Exact samples per second beside numpy's, and opendp's where it is installed, in one run on one core.

    python bench/noise.py

Prints a table of millions of samples per second by scale and the ratio to numpy; exits with an error unless Laplace and power-law noise
reach 5 M/s at scales of 1e1 to 1e6 grid steps and 1 M/s at 1e9, and Laplace noise a tenth of numpy's speed.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.noise import draw
from sordino.privacy.families import GaussianLaw, LaplaceLaw, PowerLaw, StudentT

SCALES = (10, 10**2, 10**3, 10**4, 10**5, 10**6, 10**9)
DRAWS = 2**20
ROUNDS = 3


def rate(sample: Callable[[], Any], count: int) -> float:
    """The best of a few runs, in millions per second."""
    sample()
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        sample()
        best = min(best, time.perf_counter() - start)
    return count / best / 1e6


def numpy_power_law(generator: np.random.Generator, law: PowerLaw, scale: float) -> Any:
    """The same quantile on numpy's uniforms and in floats only: what a library without exactness would write."""
    return scale * law.magnitude(generator.random(DRAWS)) * generator.choice((-1.0, 1.0), DRAWS)


def opendp_laplace(scale: float, count: int) -> Callable[[], Any] | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    measurement = dp.m.make_laplace(*space, scale=float(scale))
    zeros = [0] * count
    return lambda: measurement(zeros)


def main() -> int:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    generator = np.random.default_rng()
    zeros, power = np.zeros(DRAWS, np.int64), PowerLaw()
    peers: dict[str, tuple[Any, Callable[[float], Any]]] = {
        "laplace": (LaplaceLaw(), lambda b: generator.laplace(0, b, DRAWS)),
        "power law": (power, lambda b: numpy_power_law(generator, power, b)),
        "gaussian": (GaussianLaw(), lambda b: generator.normal(0, b, DRAWS)),
        "student t(4)": (StudentT(4), lambda b: b * generator.standard_t(4, DRAWS)),
    }
    ours: dict[tuple[str, int], float] = {}
    theirs: dict[tuple[str, int], float] = {}
    print(f"{'law':<14}{'scale':>8}{'exact M/s':>12}{'numpy M/s':>12}{'ratio':>8}{'opendp M/s':>12}")
    for name, (law, peer) in peers.items():
        for scale in SCALES:
            placed = law.at(zeros, Fraction(scale))
            ours[name, scale] = rate(lambda placed=placed: draw(placed), DRAWS)
            theirs[name, scale] = rate(lambda peer=peer, scale=scale: peer(float(scale)), DRAWS)
            other = opendp_laplace(scale, 2**12) if name == "laplace" else None
            third = f"{rate(other, 2**12):12.3f}" if other else f"{'-':>12}"
            ratio = ours[name, scale] / theirs[name, scale]
            print(f"{name:<14}{scale:>8.0e}{ours[name, scale]:>12.1f}{theirs[name, scale]:>12.1f}{ratio:>8.2f}{third}", flush=True)
    gates = {
        "laplace and power law >= 5 M/s at 1e1..1e6": min(ours[n, s] for n in ("laplace", "power law") for s in SCALES if s <= 10**6) >= 5,
        "laplace and power law >= 1 M/s at 1e9": min(ours[n, 10**9] for n in ("laplace", "power law")) >= 1,
        "laplace >= 1/10 of numpy at every scale": min(ours["laplace", s] / theirs["laplace", s] for s in SCALES) >= 0.1,
    }
    for gate, holds in gates.items():
        print(f"{'holds' if holds else 'FAILS'}: {gate}")
    return 0 if all(gates.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
