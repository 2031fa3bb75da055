"""Noise on every possible key against a threshold for the keys that occur: the largest error of any count, from ten keys to ten million.

    python bench/histograms.py [repeats, 40 unless given]

Ten thousand rows in ten keys, three of them rare, among k possible ones, at epsilon 1 (delta 1e-6). The Laplace histogram has to cover
all k keys and errs by about ln k; the stable histogram withholds the rare ones, whatever k is. Prints both beside their exact laws and the
count without privacy, draws docs/img/histogram-crossing.svg, and exits with an error if the first does not grow with ln k, the second
grows, or they do not cross.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sordino.mechanisms import LaplaceHistogram, StableHistogram
from sordino.noise import draw
from sordino.pictures import lines
from sordino.privacy.discrete import DiscreteLaplace
from sordino.summaries import Tally

HELD = {"a": 4000, "b": 2500, "c": 1500, "d": 1000, "e": 600, "f": 250, "g": 119, "h": 16, "i": 10, "j": 5}
POSSIBLE = [10**j for j in range(1, 8)]
PICTURE = Path(__file__).parent.parent / "docs" / "img" / "histogram-crossing.svg"
FARTHEST = 200  # errors beyond it have probability below 1e-80
CHUNK = 10**6
NOISY = LaplaceHistogram(Fraction(1), tuple(HELD))
STABLE = StableHistogram(Fraction(1), Fraction(1, 10**6))
missed: list[str] = []


def check(label: str, holds: bool) -> str:
    missed.extend([] if holds else [label])
    return "" if holds else "   MISSED"


def within(scale: Fraction) -> np.ndarray[Any, Any]:
    """P(|noise| <= t) for t = 0, 1, ..."""
    law = DiscreteLaplace(scale).probability(np.arange(FARTHEST))
    return np.minimum(np.cumsum(law) * 2 - law[0], 1.0)


def laplace_law(keys: float) -> float:
    """The expected largest of k noises: the sum of P(largest > t)."""
    return float((1 - within(NOISY.scale) ** keys).sum())


def stable_law() -> float:
    """The expected largest error: a key that is shown errs by its noise, one that is withheld by its count."""
    law = DiscreteLaplace(STABLE.scale)
    t, noise = np.arange(FARTHEST), np.arange(-FARTHEST, FARTHEST + 1)
    mass, below = law.probability(noise), np.ones(FARTHEST)
    for count in HELD.values():
        error = np.where(count + noise >= STABLE.threshold, np.abs(noise), count)
        below *= np.array([mass[error <= far].sum() for far in t])
    return float((1 - np.minimum(below, 1.0)).sum())


def laplace_error(keys: int) -> int:
    """One Laplace histogram over k keys, drawn in pieces: the very law of `LaplaceHistogram`."""
    counts = np.array(list(HELD.values()))
    largest = int(np.abs(draw(DiscreteLaplace(NOISY.scale, counts)) - counts).max())
    for start in range(len(counts), keys, CHUNK):
        empty = np.zeros(min(CHUNK, keys - start), np.int64)
        largest = max(largest, int(np.abs(draw(DiscreteLaplace(NOISY.scale, empty))).max()))
    return largest


def stable_error() -> int:
    tally = Tally(tuple(HELD), np.array(list(HELD.values())))
    shown = STABLE.release(lambda _: tally, draw)
    return max(abs(shown.get(key, 0) - count) for key, count in HELD.items())


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    flat, found = stable_law(), []
    print(f"largest error of any count, n = {sum(HELD.values()):,}, epsilon 1; the stable histogram shows keys from {STABLE.threshold} on")
    print(f"{'keys':>12}{'Laplace':>10}{'its law':>10}{'stable':>10}{'its law':>10}{'not private':>13}")
    for keys in POSSIBLE:
        number = max(3, repeats if keys <= 10**5 else repeats * 10**5 // keys)
        one, other = (np.array([error() for _ in range(number)], float) for error in (lambda keys=keys: laplace_error(keys), stable_error))
        law, spread = laplace_law(keys), 6 * 4 / np.sqrt(number)  # six standard errors: neither error spreads by more than four
        good = abs(one.mean() - law) <= spread and abs(other.mean() - flat) <= spread
        bad = check(f"{keys:,} keys", good)
        found.append((keys, one.mean(), other.mean()))
        print(f"{keys:12,}{one.mean():10.2f}{law:10.2f}{other.mean():10.2f}{flat:10.2f}{0:13}{bad}", flush=True)
    laws = [laplace_law(keys) for keys in POSSIBLE]
    slope = float(np.polyfit(np.log(POSSIBLE), laws, 1)[0] * float(NOISY.epsilon))
    crossing = next((10 ** (j / 100) for j in range(100, 701) if laplace_law(10 ** (j / 100)) > flat), np.inf)
    print(f"Laplace grows by {slope:.3f}/epsilon per unit of ln k{check('growth with ln k', 0.9 < slope < 1.1)}")
    measured = np.polyfit(np.log(POSSIBLE), [row[1:] for row in found], 1)[0]
    print(f"measured: Laplace {measured[0]:.3f}, stable {measured[1]:.3f}{check('stable is flat', abs(measured[1]) < measured[0] / 3)}")
    print(f"they cross at about {crossing:,.0f} keys{check('crossing', 10 < crossing < 10**7)}")
    fine = [10 ** (j / 4) for j in range(4, 29)]
    series = {"Laplace histogram": (fine, [laplace_law(k) for k in fine]), "stable histogram": (fine, [flat] * len(fine))}
    lines(series, title="Largest error of any count, 10,000 rows", x="possible keys", y="rows", log_x=True).save(PICTURE)
    print(f"wrote docs/img/{PICTURE.name}")
    print("\nmissed: " + ", ".join(missed) if missed else "\nevery figure is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
