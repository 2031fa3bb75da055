"""The lecture notes' own data sets, and the releases they warn about. NOT PRIVATE: for demonstrations and tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.sensitivity import local

__all__ = ["local_noise", "median_leak"]


def median_leak(n: int = 100, *, high: int = 10**6) -> tuple[list[int], list[int]]:
    """Two neighbouring tables with the same median, 0, whose local sensitivities are 0 and `high`: one person decides (n even)."""
    return [0] * (n // 2 + 1) + [high] * (n - n // 2 - 1), [0] * (n // 2) + [high] * (n - n // 2)


def local_noise(data: list[int], bounds: tuple[int, int], count: int, *, epsilon: float = 1.0, seed: Any = None) -> NDArray[np.float64]:
    """Medians with Laplace noise scaled by the local sensitivity: the leaking release the notes warn about."""
    scale = float(local.median(data, bounds=bounds, relation="replace")) / epsilon
    noise = np.random.default_rng(seed).laplace(0.0, 1.0, count) * scale
    return np.asarray(float(np.sort(data)[(len(data) - 1) // 2]) + noise + 0.0)
