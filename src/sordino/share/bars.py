r"""How wide the bars of an error report are, so that nearly all of them hold together.

A bar that holds with 95% on its own misses more than one in twenty of a few hundred every other time. A reader of a whole report wants to
hear more: that with 95% confidence at least 95% of its bars hold.

Theorem. Let K distances |x - n' s|_1 be reported, each with its own Gaussian noise of scale sigma, where n' is the drawn number of rows, s
the law of the file and n the true number of rows, |n - n'| <= r but for a chance of `ROWS`. Then with probability at least 95% at least
95% of the K intervals [e - h, e + h] hold the total variation |x/n - s|_1 / 2, where e is the reported distance over 2n',
h = (z sigma + r)/(2n'), and z leaves out a chance p, at most 5% - `ROWS`, with P(Binomial(K, p) > K/20) <= 5% - `ROWS`. Each of them
alone holds with at least 95%.
Proof. |x/n - s|_1 and |x/n' - s|_1 differ by at most |x/n - x/n'|_1 = |n - n'|/n'. The noises are independent, so that given the rows
within r the number of intervals whose noise exceeds z sigma is Binomial(K, p). One alone misses with at most p + ROWS. QED
The drawn number of rows is the mean of all drawn totals by their precision, and r a multiple of the standard deviation of that.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

__all__ = ["LEVEL", "half_width", "noise_width"]

LEVEL = 0.05
ROWS = 0.005  # of that chance, for the number of rows


def half_width(sigma: float, rows_sigma: float, rows: float, sets: int) -> float:
    """That of every bar of a report of so many sets; `sigma` is of the distances, in rows."""
    return (noise_width(sets) * sigma + _z(ROWS) * rows_sigma) / (2 * rows)


@lru_cache(maxsize=64)
def noise_width(sets: int) -> float:
    """How many standard deviations of its noise a bar reaches to each side."""
    return _z(chance(max(sets, 1)))


@lru_cache(maxsize=64)
def chance(sets: int) -> float:
    """The largest chance of one miss at which more than a twentieth of so many misses has a chance of at most 5% less that of the rows."""
    most, low, high = sets // 20, 0.0, LEVEL - ROWS  # a twentieth of the sets
    if _more_than(most, sets, high) <= LEVEL - ROWS:
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _more_than(most, sets, middle) <= LEVEL - ROWS else (low, middle)
    return low


def _more_than(most: int, sets: int, chance: float) -> float:
    """P(Binomial(sets, chance) > most), also for tens of thousands of sets."""
    from scipy.special import bdtrc

    return float(bdtrc(most, sets, chance))


def _z(chance: float) -> float:
    return NormalDist().inv_cdf(1 - chance / 2)
