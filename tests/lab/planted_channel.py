"""Things besides the value that follow the data: types, shapes, errors, order, precision, metadata."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
from planted_kit import HAND, NOISE, Audited, Listed, Replayed, planted, whole_noise

from sordino.mechanisms import Laplace, LaplaceHistogram, StableHistogram
from sordino.privacy.discrete import DiscreteLaplace
from sordino.privacy.families import LaplaceLaw
from sordino.session.owned import owned
from sordino.summaries import Counts, Value


def noisy_sum(data, n, high=10):
    """Values that are no numbers count as 0, the rest is clamped into [0, high]."""
    numbers = [x if isinstance(x, int | float) and not math.isnan(x) else 0 for x in data]
    return int(sum(min(max(x, 0), high) for x in numbers)) + whole_noise(n, high)


def one_sum(data):
    return int(noisy_sum(data, 1)[0])


@planted("diffprivlib 0.6.6", Audited([1, 2], [1, 2, math.nan]), noisy_sum)
def nan_passes_through(data, n):
    """One NaN in the table makes every answer NaN."""
    return float(np.clip(data, 0, 10).sum()) + whole_noise(n, 10)


@planted(HAND, Audited([1, 2], [1, 2, math.nan]), noisy_sum)
def nan_takes_a_branch(data, n):
    """Tables with a NaN are answered with a default, without noise and for free."""
    return np.zeros(n, int) if any(math.isnan(x) for x in data) else noisy_sum(data, n)


@planted(HAND, Audited([1, 2], [1, 2, None], trials=1_200, singly=True), one_sum)
def none_raises(data):
    """A missing value raises, and the error is an answer: somebody has a missing value."""
    return int(sum(min(max(x, 0), 10) for x in data)) + int(whole_noise(1, 10)[0])


@planted(HAND, Audited([1, 2], [1, 2, 99], trials=1_200, singly=True), one_sum)
def errors_name_the_value(data):
    """A value out of bounds raises an error that quotes it."""
    for x in data:
        if x > 10:
            raise ValueError(f"{x} is above the upper bound 10")
    return one_sum(data)


def underflowing(data, n, shift):
    """The exponential mechanism over the two gaps beside a value that everybody holds, at epsilon 1."""
    score = -np.full(2, len(data) / 4)
    weights = np.exp(score - (score.max() if shift else 0))
    with np.errstate(invalid="ignore"):
        chance = weights[0] / weights.sum()
    return np.full(n, math.nan) if math.isnan(chance) else (NOISE.random(n) < chance).astype(float)


@planted("diffprivlib 0.6.6, median", Audited([5] * 2980, [5] * 2981), lambda data, n: underflowing(data, n, True))
def median_of_ties_underflows(data, n):
    """The weights of a median of ties underflow to zero from 2,981 rows on, and the answer turns into NaN."""
    return underflowing(data, n, False)


@planted(HAND, Audited([5] * 9, [5] * 9 + [99], trials=3_000), lambda data, n: [{"sum": int(v)} for v in noisy_sum(data, n)])
def clipped_share_in_the_metadata(data, n):
    """The share of clipped rows is reported beside the answer."""
    return [{"sum": int(v), "clipped": sum(x > 10 for x in data) / len(data)} for v in noisy_sum(data, n)]


def twenty_steps(data, n):
    return [{"sum": int(v), "steps": 20} for v in noisy_sum(data, n)]


@planted(HAND, Audited([0] * 9, [0] * 9 + [10], trials=3_000), twenty_steps)
def iterations_in_the_metadata(data, n):
    """A solver reports after how many steps it converged, and that depends on the rows."""
    place, steps = 8.1, 0
    while abs(gap := float(np.mean(data)) - place) > 0.5:
        place, steps = place + gap / 2, steps + 1
    return [{"sum": int(v), "steps": steps} for v in noisy_sum(data, n)]


@planted(HAND, Audited([5] * 9, [5] * 10, trials=3_000), lambda data, n: [{"sum": int(v)} for v in noisy_sum(data, n)])
def exact_size_in_the_metadata(data, n):
    """The number of rows behind the answer is printed with it."""
    return [{"sum": int(v), "rows": len(data)} for v in noisy_sum(data, n)]


@planted(HAND, Audited([5] * 9, [5] * 10, trials=3_000), lambda data, n: [("laplace", int(v)) for v in noisy_sum(data, n)])
def mechanism_chosen_by_the_data(data, n):
    """Small tables get other noise than large ones, and the answer says which."""
    name = "laplace" if len(data) < 10 else "geometric"
    return [(name, int(v)) for v in noisy_sum(data, n)]


MANY, FEWER = [0] * 90 + [10] * 11, [0] * 91 + [10] * 10


@planted(HAND, Audited(MANY, FEWER, trials=3_000), lambda data, n: [(int(v), 23.0) for v in noisy_sum(data, n)])
def error_bar_from_the_data(data, n):
    """The bar beside the answer is the spread of the rows, computed without noise."""
    return [(int(v), float(np.std(data) / math.sqrt(len(data)))) for v in noisy_sum(data, n)]


def parsed(data):
    return [int(x) if x.isdigit() else 0 for x in data]


@planted(HAND, Audited(["1", "2"], ["1", "2", "n/a"], trials=3_000), lambda data, n: noisy_sum(parsed(data), n).tolist())
def type_inferred_from_the_values(data, n):
    """One `n/a` turns a column of numbers into text, and the answer changes its type."""
    whole = all(x.isdigit() for x in data)
    return [v if whole else str(v) for v in noisy_sum(parsed(data), n).tolist()]


def binned(data, n, bins):
    counts = np.bincount([min(x // 10, bins - 1) for x in data], minlength=bins)
    return list(counts + whole_noise(bins * n, 2).reshape(n, bins))


@planted(HAND, Audited([1, 2, 3], [1, 2, 30], trials=3_000), lambda data, n: binned(data, n, 4))
def as_many_bins_as_the_data_need(data, n):
    """A histogram has one bin per ten units up to the largest value: its length is the largest value."""
    return binned(data, n, max(data) // 10 + 1)


def thresholded(counts, draw):
    return StableHistogram(1, Fraction(1, 1000)).release(owned(StableHistogram(1, Fraction(1, 1000)), counts), draw)


@planted("note 002, its own warning", Listed({"a": 3}, {"a": 3, "b": 1}, (1.0, 0.001), span=12), thresholded)
def nonzero_counts_only(counts, draw):
    """Every key that occurs is shown with its noisy count: a key nobody else holds shows its holder."""
    keys = tuple(sorted(counts))
    return tuple(zip(keys, draw(DiscreteLaplace(Fraction(1), np.array([counts[k] for k in keys]))).tolist(), strict=True))


def in_order(rows, n, order):
    counts = Counter(rows)
    noise = whole_noise(n * len(counts), 1).reshape(n, -1)
    return [tuple((key, counts[key] + int(z)) for key, z in zip(order(counts), row, strict=True)) for row in noise]


@planted(HAND, Audited(list("abab"), list("babab"), trials=3_000), lambda rows, n: in_order(rows, n, sorted))
def keys_in_order_of_arrival(rows, n):
    """Keys come out in the order in which the rows first mention them, and that order names the first row."""
    return in_order(rows, n, list)


@planted(HAND, Audited(list("aabb"), list("aabbb"), trials=3_000), lambda rows, n: in_order(rows, n, sorted))
def keys_in_order_of_their_true_counts(rows, n):
    """Keys come out by their true counts, and only the printed counts are noisy."""
    return in_order(rows, n, lambda counts: sorted(counts, key=lambda key: (-counts[key], key)))


@planted(HAND, Audited(100, 101), lambda f, n: 8 * np.round((f + whole_noise(n, 8)) / 8).astype(int))
def grid_from_the_smooth_sensitivity(f, n):
    """The answer is rounded to a grid that follows S(x), so the last digits name S(x)."""
    scale = 8 if f % 2 else 6
    return scale * np.round((f + whole_noise(n, scale)) / scale).astype(int)


@planted(HAND, Audited(999, 1000), lambda f, n: 10 * ((f + whole_noise(n, 20)) // 10))
def rounded_by_the_size_of_the_truth(f, n):
    """The answer is rounded to as many digits as the true value has."""
    step = 10 ** (len(str(f)) - 2)
    return step * np.round((f + whole_noise(n, 20)) / step).astype(int)


class QuietZero(Laplace):
    """Draws only where there is something to hide."""

    def release(self, ask, draw):
        value = ask(Value(self.step, self.dimension))
        return draw(LaplaceLaw().at(value, self.scale)) if value else 0


@planted(HAND, Replayed(0, 1), lambda: Laplace(1))
def no_noise_for_zero():
    """An empty answer is returned as zero without a draw."""
    return QuietZero(1)


class Tidy(LaplaceHistogram):
    """Looks once more at who is there before it prints."""

    def release(self, ask, draw):
        noisy = super().release(ask, draw)
        held = set(ask(Counts()).keys)
        return {key: count for key, count in noisy.items() if key in held}


@planted(HAND, Replayed({"a": 3}, {"a": 3, "b": 1}), lambda: LaplaceHistogram(1, ("a", "b")))
def empty_groups_dropped():
    """Public groups that nobody is in are left out of the answer."""
    return Tidy(1, ("a", "b"))
