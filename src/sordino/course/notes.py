"""The lecture notes' own data sets, and the releases they warn about. NOT PRIVATE: for demonstrations and tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.sensitivity import local

__all__ = ["four_neighbours", "local_noise", "median_leak", "median_worst_case", "mode_race", "people", "references"]


def references() -> dict[str, str]:
    """The works the notes point to, and the name in this package under which each is put to use."""
    return {
        "Dwork and Roth 2014": "sordino.mechanisms.Laplace",
        "Georgian Impact Blog": "sordino.mechanisms.TwoCoins",
        "Machanavajjhala, He and Hay 2017": "sordino.lab.linkage",
        "Gadotti, Houssiau, Rocher, Livshits and de Montjoye 2019": "sordino.lab.exploitation.Sticky",
        "Nissim, Raskhodnikova and Smith 2007": "sordino.mechanisms.Smooth",
        "Chaudhuri and Hsu 2012": "sordino.sensitivity.influence.planning_bound",
        "Avella-Medina 2021": "sordino.course.textbook.estimator.plug_in",
        "Huber 1981": "sordino.sensitivity.influence.huber",
    }


def people() -> dict[str, list[object]]:
    """The statistical database of three people: name, whether they vape, age and income."""
    return {"name": ["John", "Kate", "David"], "vape": ["yes", "no", "yes"], "age": [18, 22, 21], "income": [1000, 2000, 5000]}


def median_worst_case(n: int = 101, *, high: int = 10**6) -> tuple[list[int], list[int]]:
    """Two neighbouring tables whose medians are 0 and `high`: nothing smaller than the whole range protects every table (n odd)."""
    if n < 1 or n % 2 == 0:
        raise QueryError("SRD-103", f"n is {n!r}.", "Give an odd number of people.")
    return [0] * (n // 2 + 1) + [high] * (n // 2), [0] * (n // 2) + [high] * (n // 2 + 1)


def four_neighbours(n: int = 10, k: int = 4) -> tuple[list[int], tuple[list[int], ...]]:
    """n - k ones and k zeros, and the neighbours with a one or a zero less or more: four, unless there is nothing to take away."""
    if not 0 <= k <= n:
        raise QueryError("SRD-103", f"k is {k!r} of {n!r}.", "Give from 0 to n zeros.")
    sizes = [(n - k - 1, k), (n - k + 1, k), (n - k, k - 1), (n - k, k + 1)]
    return [1] * (n - k) + [0] * k, tuple([1] * ones + [0] * zeros for ones, zeros in sizes if ones >= 0 and zeros >= 0)


def mode_race(k: int = 100, *, count: int = 50, gap: int = 1) -> dict[int, int]:
    """Counts of k elements: one is ahead by `gap`, all others share the second place. Noise on every count loses the leader."""
    return {0: count + gap} | dict.fromkeys(range(1, k), count)


def median_leak(n: int = 100, *, high: int = 10**6) -> tuple[list[int], list[int]]:
    """Two neighbouring tables with the same median, 0, whose local sensitivities are 0 and `high`: one person decides (n even)."""
    return [0] * (n // 2 + 1) + [high] * (n - n // 2 - 1), [0] * (n // 2) + [high] * (n - n // 2)


def local_noise(data: list[int], bounds: tuple[int, int], count: int, *, epsilon: float = 1.0, seed: Any = None) -> NDArray[np.float64]:
    """Medians with Laplace noise scaled by the local sensitivity: the leaking release the notes warn about."""
    scale = float(local.median(data, bounds=bounds, relation="replace")) / epsilon
    noise = np.random.default_rng(seed).laplace(0.0, 1.0, count) * scale
    return np.asarray(float(np.sort(data)[(len(data) - 1) // 2]) + noise + 0.0)
