"""Note 002 as printed: propose-test-release, the mode by its gap, the stable histogram."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.course.textbook.verdict import TextbookVerdict, judge, parameters
from sordino.privacy.certificate import weighted_laplace

__all__ = ["rows"]

ADD_REMOVE = ((1, 0), (0, 1))
REPLACE = ((1, -1),)


def _threshold(epsilon: float, delta: float) -> float:
    return math.log(1 / delta) / epsilon


def _passes(gap: Any, epsilon: float, delta: float) -> NDArray[np.float64]:
    """P(gap + Lap(1/eps) > ln(1/delta)/eps)."""
    over = epsilon * (np.asarray(gap, float) - _threshold(epsilon, delta))
    half = np.exp(-np.abs(over)) / 2
    return np.where(over < 0, half, 1 - half)


def _tested_delta(p: NDArray[np.float64], q: NDArray[np.float64], epsilon: float) -> float:
    """The hockey stick of two tables whose answers lie within B of each other and whose tests pass with probability p and q."""
    refused = np.maximum(1 - p - math.exp(2 * epsilon) * (1 - q), 0.0)
    return float(np.max(weighted_laplace(p, q, epsilon, 2 * epsilon) + refused))


def propose_test_release(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """Only two tables at distance 0 may differ by more than B, and each passes with probability e^{-eps T}/2 = delta/2."""
    e, d = parameters(epsilon, delta)
    pi = _passes(np.arange(math.ceil(_threshold(e, d) + 60 / e)), e, d)
    pairs = ((pi, pi), (pi[1:], pi[:-1]), (pi[:-1], pi[1:]))
    true = max(float(pi[0]), *(_tested_delta(p, q, e) for p, q in pairs))
    evidence = f"all pairs of distances up to {len(pi)}; T = ln(1/(2 delta))/eps would spend delta exactly"
    printed, right = "test LS >= B, T = ln(1/delta)/eps, Lap(B/eps): (2 eps, delta)", "LS > B, T = ln(1/(2 delta))/eps"
    return judge(("002", "propose-test-release"), printed, right, evidence, claimed=(2 * e, d), true=(2 * e, true))


def propose_nothing(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """The mode proposes B = 0, but LS >= 0 always: every table is at distance 0 and the test passes by luck only."""
    e, d = parameters(epsilon, delta)
    luck = float(_passes(0, e, d))
    where, printed, right = ("002", "mode as PTR with B = 0"), "distance to LS >= B with B = 0 is the gap", "LS > B"
    return judge(
        where,
        printed,
        right,
        "distance 0 for every table, whatever its gap",
        claimed=(e, d),
        true=(e, luck),
        compares="P(answer)",
        says=1 - d,
        holds=luck,
        want="above",
        reading="slip",
    )


def _mode_delta(epsilon: float, delta: float, moves: tuple[tuple[int, int], ...]) -> float:
    """Every table of two keys with counts past the threshold, every neighbour, both directions; ties go to the first key."""
    size = math.ceil(_threshold(epsilon, delta) + 6 / epsilon) + 3
    a, b = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    shown = _passes(abs(a - b), epsilon, delta)
    law = np.stack([np.where(a >= b, shown, 0.0), np.where(a >= b, 0.0, shown), 1 - shown])
    worst = 0.0
    for up, down in moves:
        x = law[:, : size - up, max(-down, 0) : size - max(down, 0)]
        y = law[:, up:, max(down, 0) : size + min(down, 0)]
        for p, q in ((x, y), (y, x)):
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum(axis=0).max()))
    return worst


MODE = "gap of the two largest counts + Lap(1/eps) > ln(1/delta)/eps"


def mode_add_remove(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """A table with gap 1 can lose its mode to a neighbour with gap 0: the gap is one more than the distance."""
    e, d = parameters(epsilon, delta)
    evidence = f"two keys, every count; e^eps delta/2 = {math.exp(e) * d / 2:.3g}, over delta from eps = ln 2 on"
    right, true = "distance = gap - 1 (tie broken by a public order), a phantom key included", (e, _mode_delta(e, d, ADD_REMOVE))
    return judge(("002", "mode, add or remove"), MODE, right, evidence, claimed=(e, d), true=true)


def mode_replace(epsilon: Any = 1, delta: Any = 1e-4) -> TextbookVerdict:
    """Moving one row from key to key changes the gap by two, and the noise covers one."""
    e, d = parameters(epsilon, delta)
    true = _mode_delta(e, d, REPLACE)
    right = "distance = ceil(gap/2) - 1 in replacements, a phantom key included"
    evidence = f"two keys, every count: {true / d:,.0f} times the claim"
    return judge(("002", "mode, replace"), MODE, right, evidence, claimed=(e, d), true=(e, true))


def mode_success(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """At a gap equal to the threshold the noise decides: half of the answers are refusals."""
    e, d = parameters(epsilon, delta)
    holds = float(_passes(_threshold(e, d), e, d))
    return judge(
        ("002", "mode, success"),
        "the mode with probability 1 - delta at gap >= ln(1/delta)/eps",
        "gap >= T + ln(1/(2 delta))/eps",
        "Laplace noise above 0",
        claimed=(e, d),
        true=(e, _mode_delta(e, d, ADD_REMOVE)),
        compares="P(answer)",
        says=1 - d,
        holds=holds,
        want="above",
    )


HISTOGRAM = "nonzero counts + Lap(1/eps), shown from 1 + ln(1/delta)/eps on"


def histogram_add_remove(epsilon: Any = 1, delta: Any = 1e-3) -> TextbookVerdict:
    """A key with one row shows with probability delta/2; every other change is a slide of one bin by eps scales."""
    e, d = parameters(epsilon, delta)
    evidence = "a new key of count 1 clears the threshold with this probability"
    right, true = "1 + ln(1/(2 delta))/eps is enough (continuous noise)", (e, float(_passes(0, e, d)))
    return judge(("002", "histogram, add or remove"), HISTOGRAM, right, evidence, claimed=(e, d), true=true)


def histogram_replace(epsilon: Any = 1, delta: Any = 1e-3) -> TextbookVerdict:
    r"""One row leaves a bin and enters another: two slides of eps scales where the noise pays for one.

    For large counts the threshold never bites, and the hockey stick of two slides at eps is
    int h(eps - l) dP(l) = (1 - e^{-eps/2})/2 + int_0^{eps/2} e^{-z} (1 - e^{z - eps/2})/2 dz = 1 - e^{-eps/2} (1 + eps/4).
    """
    e, d = parameters(epsilon, delta)
    true = 1 - math.exp(-e / 2) * (1 + e / 4)
    right, evidence = "Lap(2/eps) and the threshold of that scale", "two large bins, one row moved between them; not claimed"
    where = ("002", "histogram, replace")
    return judge(where, HISTOGRAM, right, evidence, claimed=(e, d), true=(e, true), reading="conditional")


def rows() -> list[TextbookVerdict]:
    """Every row of this file, at the parameters its evidence is usually quoted at."""
    return [
        propose_test_release(),
        propose_nothing(),
        mode_add_remove(),
        mode_replace(),
        mode_success(),
        histogram_add_remove(),
        histogram_replace(),
    ]
