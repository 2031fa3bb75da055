"""The pictures of the documents, drawn by the package itself: `python tools/drawings.py` writes docs/img."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sordino as sd
from sordino.pictures import Picture, lines

HERE = Path(__file__).parent.parent / "docs" / "img"
BOUNDS = (0, 1_000_000)


def incomes(n: int) -> list[float]:
    """Log-normal incomes without chance: the quantiles of the law at n evenly spaced levels."""
    from scipy.stats import norm

    return np.exp(np.log(40_000) + 0.8 * norm.ppf((np.arange(n) + 0.5) / n)).tolist()


def laplace_gaussian() -> Picture:
    """The densities of both noises for one number at epsilon 1 (delta 1e-6 for the Gaussian)."""
    z = np.linspace(-12, 12, 241)
    mu = float(sd.mechanisms.Gaussian(epsilon=1, delta=1e-6, sensitivity=1).certificate().cost.mu_squared) ** 0.5
    sigma = 1 / mu
    gaussian = np.exp(-(z**2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi))
    series = {"Laplace": (z.tolist(), (np.exp(-np.abs(z)) / 2).tolist()), "Gaussian, delta 1e-6": (z.tolist(), gaussian.tolist())}
    return lines(series, title="Noise for one number at epsilon 1", x="noise, in units of the sensitivity", y="density")


def smooth_envelope() -> Picture:
    """The rungs of a median, and the same decayed: the smooth sensitivity is the peak."""
    return sd.sensitivity.position.median(incomes(1_001), bounds=BOUNDS, relation="replace").plot(0.1, 80)


def sensitivities() -> Picture:
    """What one person can do to a median: in the worst case, here, and near here, as the table grows."""
    sizes = [11, 31, 101, 301, 1_001, 3_001, 10_001, 30_001]
    options = {"bounds": BOUNDS, "relation": "replace"}
    worst = [sd.sensitivity.worst_case.median(n=n, **options) for n in sizes]
    smooth = [sd.sensitivity.smooth.median(incomes(n), beta=0.3, **options) for n in sizes]
    local = [sd.sensitivity.local.median(incomes(n), **options) for n in sizes]
    series = {"worst case: too wide": (sizes, worst), "smooth: safe, fits": (sizes, smooth), "local: fits, leaks": (sizes, local)}
    title = "How far one person moves a median income"
    return lines(series, title=title, x="people", y="sensitivity, of a million", log_x=True, log_y=True)


DRAWINGS = {
    "laplace-gaussian": laplace_gaussian,
    "smooth-envelope": smooth_envelope,
    "sensitivities": sensitivities,
    "influence": lambda: sd.course.influence().plot(),
    "leverage": lambda: sd.course.leverage().plot(),
    "plug-in": lambda: sd.course.plug_in().plot(),
    "efficiency": lambda: sd.course.efficiency().plot(),
}

if __name__ == "__main__":
    HERE.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        draw().save(HERE / f"{name}.svg")
        print(f"wrote docs/img/{name}.svg")
