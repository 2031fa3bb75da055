"""Every rounded draw is the rounding of an ideal one: by law, by bits, at boundaries, on grids, at the ends of 64 bits."""

from __future__ import annotations

import sys
import threading
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from numpy.typing import NDArray
from scipy import integrate, stats

from sordino.noise import draw
from sordino.noise.rounding import rounded
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT

from .oracle import CAUCHYS, LAWS, POWER_LAWS, PRECISION, QUICK, Tape, digits, is_rounding, named, tail, uniform

SILENT = 1e-6
DRAWS = 2**20


def cdf(law: Any, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """The law's cdf from scipy, or from integrating the density as the textbook writes it."""
    match law:
        case LaplaceLaw():
            return stats.laplace.cdf(z)
        case GaussianLaw():
            return stats.norm.cdf(z)
        case StudentT():
            return stats.t.cdf(z, law.nu)
        case GeneralizedCauchy():
            g = float(law.gamma)
            half = np.pi / (g * np.sin(np.pi / g))

            def density(x: float) -> float:
                return 1 / (1 + x**g) / (2 * half)

        case PowerLaw():
            e, b = float(law.epsilon), float(law.beta)
            a = e / b
            c = (1 - 1 / a) ** (a - 1) * (1 + 1 / a) ** (a + 1)

            def bare(x: float) -> float:
                return (1 - b * x) ** (a - 1) if x <= 1 / e else c * (1 + b * x) ** -(a + 1)

            half = integrate.quad(bare, 0, 1 / e)[0] + integrate.quad(bare, 1 / e, np.inf)[0]

            def density(x: float) -> float:
                return bare(x) / (2 * half)

    points = np.abs(z)
    ladder = np.geomspace(1e-3, 10, 20)  # a heavy tail is integrated a piece at a time
    order = np.unique(
        np.concatenate(
            [
                [0.0],
                points,
                ladder[ladder < points.max()],
                ladder * points.max() / 10,
                [1 / float(law.epsilon)] if isinstance(law, PowerLaw) else [],
            ]
        )
    )
    pieces = [integrate.quad(density, p, q, epsabs=1e-13)[0] for p, q in pairwise(order.tolist())]
    mass = np.interp(points, order, np.concatenate([[0.0], np.cumsum(pieces)]))
    return np.where(z < 0, 0.5 - mass, 0.5 + mass)


def fit(law: Any, outcomes: NDArray[np.int64], location: int, scale: float) -> float:
    """The p-value of a chi-square test of the distance to the location, with six cells of about equal probability."""
    distance = np.abs(outcomes - location)
    edges = np.unique(np.quantile(distance[: 2**16], np.linspace(0, 1, 7)[1:-1]).astype(np.int64))
    expected = np.diff(np.concatenate([[0.0], 2 * cdf(law, (edges + 0.5) / scale) - 1, [1.0]])) * len(outcomes)
    seen = np.bincount(np.searchsorted(edges, distance, side="left"), minlength=len(edges) + 1)
    return float(stats.chi2.sf(np.sum((seen - expected) ** 2 / expected), len(edges)))


def shape_fit(law: Any, outcomes: NDArray[np.int64], location: int, scale: float) -> float:
    """The same on the whole line with sixteen cells: less powerful against a wrong scale, open to every other fault."""
    edges = np.unique(np.round(np.quantile(outcomes[: 2**16], np.linspace(0, 1, 17)[1:-1]))).astype(np.int64)
    expected = np.diff(np.concatenate([[0.0], cdf(law, (edges + 0.5 - location) / scale), [1.0]])) * len(outcomes)
    seen = np.bincount(np.searchsorted(edges, outcomes, side="left"), minlength=len(edges) + 1)
    return float(stats.chi2.sf(np.sum((seen - expected) ** 2 / expected), len(edges)))


def tail_fit(law: Any, outcomes: NDArray[np.int64], location: int, scale: float) -> float:
    """The p-value of the number of outcomes in the outer thousandth."""
    far = np.ceil(law.magnitude(np.array(1e-3)).item() * scale)
    outside = int(np.count_nonzero(np.abs(outcomes - location) > far))
    return float(stats.binomtest(outside, len(outcomes), 2 * cdf(law, np.array([-(far + 0.5) / scale])).item()).pvalue)


@pytest.mark.parametrize("law", LAWS, ids=named)
def test_draws_fit_their_law_and_would_not_fit_it_at_two_percent_more(law: Any) -> None:
    scale, location = Fraction(173, 10) * (1 if isinstance(law, StudentT | GaussianLaw | LaplaceLaw) else 3), -5
    size = DRAWS // 2 if law in CAUCHYS[:2] else DRAWS  # slow to draw, and informative enough
    outcomes = draw(law.at(np.full(size, location, np.int64), scale))
    b = float(scale)
    assert shape_fit(law, outcomes, location, b) > SILENT
    assert fit(law, outcomes, location, b) > SILENT
    assert fit(law, outcomes, location, b / 1.02) < SILENT
    assert fit(law, outcomes, location, b * 1.02) < SILENT
    assert tail_fit(law, outcomes, location, b) > SILENT
    assert tail_fit(law, outcomes, location, b / 4) < SILENT


@pytest.mark.parametrize("law", QUICK, ids=named)
def test_a_sampler_whose_scale_is_two_percent_too_large_is_caught_at_a_million_steps(law: Any) -> None:
    scale = Fraction(10**6)
    right = draw(law.at(np.zeros(DRAWS, np.int64), scale))
    wrong = draw(law.at(np.zeros(DRAWS, np.int64), scale * Fraction(102, 100)))
    assert fit(law, right, 0, 1e6) > SILENT
    assert fit(law, wrong, 0, 1e6) < SILENT


@pytest.mark.parametrize("law", QUICK, ids=named)
@pytest.mark.parametrize("scale", [10**6, 10**9])
def test_low_bits_are_at_chance_and_do_not_tell_the_location(law: Any, scale: int) -> None:
    size = 2**18 if scale < 10**9 else 2**16
    counts = []
    for location in (0, 1):
        outcomes = draw(law.at(np.full(size, location, np.int64), Fraction(scale)))
        low = np.bincount(outcomes & 255, minlength=256)
        assert stats.chisquare(low).pvalue > SILENT
        counts.append(np.bincount(outcomes & 1, minlength=2))
    assert stats.chi2_contingency(np.array(counts)).pvalue > SILENT


def test_the_sign_is_fair_and_independent_of_the_size() -> None:
    outcomes = draw(LaplaceLaw().at(np.zeros(2**18, np.int64), Fraction(1000)))
    size, up = np.abs(outcomes) > 693, outcomes > 0
    table = np.array(
        [[np.count_nonzero(size & up), np.count_nonzero(size & ~up)], [np.count_nonzero(~size & up), np.count_nonzero(~size & ~up)]]
    )
    assert stats.chi2_contingency(table).pvalue > SILENT
    assert stats.binomtest(int(up.sum()), int(np.count_nonzero(outcomes))).pvalue > SILENT


@pytest.mark.parametrize("law", LAWS, ids=named)
@pytest.mark.parametrize("grid", [1, 2, 1024])
@pytest.mark.parametrize("scale", [Fraction(3, 7), Fraction(12345, 10), Fraction(10**9)])
def test_each_draw_is_the_rounding_of_the_ideal_draw_its_bits_spell_out(law: Any, grid: int, scale: Fraction) -> None:
    rng = np.random.default_rng(grid)
    with mp.workprec(PRECISION):
        for location in (0, -7, 1023, -(2**40) + 513, 2**40 + 1):
            for _ in range(2):
                word = int(rng.integers(0, 2**64, dtype=np.uint64))
                tape = Tape([word], seed=int(rng.integers(2**32)))
                outcome = rounded(law.at(location, scale, grid=grid), tape)
                assert outcome % grid == 0
                u = uniform(word, [*tape.refinements, *(tape.bits(64) for _ in range(3))])
                assert is_rounding(law, u, outcome, negative=bool(word & 1), location=location, scale=scale, grid=grid)


@pytest.mark.parametrize("law", LAWS, ids=named)
@pytest.mark.parametrize(("grid", "rounds", "negative"), [(1, 0, 1), (256, 0, 0), (1, 1, 0), (256, 1, 1), (256, 2, 0)])
def test_a_draw_on_a_rounding_boundary_is_decided_by_the_bit_that_leaves_it(law: Any, grid: int, rounds: int, negative: int) -> None:
    """The tape follows the bits of a boundary for so many refinements, then steps to one side."""
    scale, location = Fraction(1001, 10) * grid, 12 * grid + grid // 4
    sign = -1 if negative else 1
    with mp.workprec(PRECISION + 300):
        edge = mp.mpf(grid) * (12 + sign * (mp.mpf(31) + mp.mpf(1) / 2))  # between two multiples of the grid
        z = sign * (edge - location) / (mp.mpf(scale.numerator) / scale.denominator)
        boundary = digits(tail(law, z), 52, rounds + 1)
    inside, outside = (12 + sign * 31) * grid, (12 + sign * 32) * grid
    for step, expected in ((-1, outside), (1, inside)):  # a smaller uniform is a larger magnitude
        extra = [*boundary[1:-1], (boundary[-1] + step * 2**40) % 2**64]
        tape = Tape([(boundary[0] << 12) | negative], extra)
        assert rounded(law.at(location, scale, grid=grid), tape) == expected
        assert len(tape.refinements) > rounds


@pytest.mark.parametrize("law", LAWS, ids=named)
@pytest.mark.parametrize("zeros", [0, 1])
def test_the_outermost_cell_has_no_end_and_is_refined_until_it_has(law: Any, zeros: int) -> None:
    tape = Tape([1], [0] * zeros, seed=3)
    scale = Fraction(1, 10**9)
    outcome = rounded(law.at(0, scale), tape)
    with mp.workprec(PRECISION):
        u = uniform(1, [*tape.refinements, tape.bits(64)])
        assert outcome == -(2**62) or is_rounding(law, u, outcome, negative=True, location=0, scale=scale, grid=1)
        if outcome == -(2**62):
            assert tail(law, mp.mpf(2**62) * 10**9) > u


@pytest.mark.parametrize("law", LAWS, ids=named)
def test_the_innermost_cell_on_a_half_grid_step_falls_to_the_side_of_its_sign(law: Any) -> None:
    last = (2**52 - 1) << 12
    for sign, expected in ((0, 1024), (1, 0)):
        tape = Tape([last | sign], [2**64 - 1, 2**64 - 1], seed=1)
        assert rounded(law.at(512, Fraction(1), grid=1024), tape) == expected


@pytest.mark.parametrize("law", QUICK, ids=named)
def test_one_tape_gives_one_ideal_draw_on_every_grid(law: Any) -> None:
    words = np.random.default_rng(9).integers(0, 2**64, 3000, dtype=np.uint64).tolist()
    location, scale = np.arange(-1500, 1500, dtype=np.int64) * 37, Fraction(98765, 10)
    fine = rounded(law.at(location, scale), Tape(words))
    for grid in (2, 64, 4096):
        coarse = rounded(law.at(location, scale, grid=grid), Tape(words))
        assert np.all(coarse % grid == 0)
        assert np.all(np.abs(coarse - fine) <= grid // 2 + 1)
        clear = np.abs((fine % grid) - grid // 2) > 1  # where the fine rounding settles the coarse one
        assert np.array_equal(coarse[clear], (np.floor_divide(fine + grid // 2, grid) * grid)[clear])


def test_scales_may_differ_by_location_and_each_is_the_scalar_draw() -> None:
    words = np.random.default_rng(2).integers(0, 2**64, 50, dtype=np.uint64).tolist()
    scales = tuple(Fraction(i + 1, 3) for i in range(50))
    location = np.arange(50, dtype=np.int64) - 25
    together = rounded(LaplaceLaw().at(location, scales), Tape(words))
    alone = [rounded(LaplaceLaw().at(int(location[i]), scales[i]), Tape([words[i]])) for i in range(50)]
    assert together.tolist() == alone


def test_outcomes_are_clamped_to_the_multiples_inside_the_public_range() -> None:
    law = LaplaceLaw()
    outcomes = draw(law.at(np.zeros(20_000, np.int64), Fraction(100), low=-37, high=41))
    assert outcomes.min() == -37
    assert outcomes.max() == 41
    coarse = draw(law.at(np.zeros(20_000, np.int64), Fraction(100), grid=16, low=-37, high=41))
    assert sorted(set(coarse.tolist())) == [-32, -16, 0, 16, 32]
    tape = Tape([1], [0, 0])
    assert rounded(StudentT(1).at(0, Fraction(10**9), low=-5, high=5), tape) == -5


def test_clamping_is_applied_to_the_same_ideal_draw() -> None:
    words = np.random.default_rng(4).integers(0, 2**64, 5000, dtype=np.uint64).tolist()
    free = rounded(GaussianLaw().at(np.zeros(5000, np.int64), Fraction(50)), Tape(words))
    held = rounded(GaussianLaw().at(np.zeros(5000, np.int64), Fraction(50), low=-20, high=60), Tape(words))
    assert np.array_equal(held, np.clip(free, -20, 60))


@pytest.mark.parametrize("end", [2**62, -(2**62), 2**62 - 1, 1 - 2**62])
@pytest.mark.parametrize("grid", [1, 4096, 2**40])
def test_locations_at_the_ends_of_the_range_do_not_wrap(end: int, grid: int) -> None:
    outcomes = draw(StudentT(1).at(np.full(20_000, end, np.int64), Fraction(10**6), grid=grid))
    assert np.all(np.abs(outcomes) <= 2**62)
    assert stats.binomtest(int(np.count_nonzero(np.sign(outcomes) == np.sign(end))), 20_000).statistic > 0.99


@pytest.mark.parametrize("end", [2**63 - 1, -(2**63)])
def test_locations_beyond_the_range_are_held_at_its_end(end: int) -> None:
    outcomes = draw(LaplaceLaw().at(np.full(1000, end, np.int64), Fraction(10)))
    assert np.all(np.sign(outcomes) == np.sign(end))
    assert np.abs(outcomes).max() == 2**62
    assert np.abs(outcomes.astype(float)).min() > 2.0**61


@pytest.mark.parametrize("law", [LaplaceLaw(), StudentT(1), POWER_LAWS[0], GaussianLaw()], ids=named)
@pytest.mark.parametrize("power", [-400, -30, 13, 18, 25, 300, 400])
def test_absurd_scales_neither_warn_nor_fail(law: Any, power: int) -> None:
    outcomes = draw(law.at(np.full(40, 3, np.int64), Fraction(10) ** power))
    assert np.all(np.abs(outcomes) <= 2**62)
    if power <= -30:
        assert np.all(outcomes == 3)
    if power >= 300:  # at 10^25 one draw in two million still falls inside
        assert set(outcomes.tolist()) == {-(2**62), 2**62}


def test_a_wide_generalised_cauchy_draws_without_failing() -> None:
    for gamma in ("1.05", "60"):
        outcomes = draw(GeneralizedCauchy(Fraction(gamma)).at(np.zeros(30, np.int64), Fraction(10)))
        assert np.all(np.abs(outcomes) <= 2**62)


def test_scalars_give_python_integers_and_arrays_give_arrays() -> None:
    assert type(draw(LaplaceLaw().at(5, Fraction(1)))) is int
    assert draw(LaplaceLaw().at(np.array([5]), Fraction(1))).dtype == np.int64
    assert len(draw(LaplaceLaw().at(np.zeros(0, np.int64), Fraction(1)))) == 0


@pytest.mark.parametrize("law", [LaplaceLaw(), GaussianLaw(), POWER_LAWS[0]], ids=named)
def test_eight_threads_refining_at_once_agree_with_one(law: Any) -> None:
    size = 30

    def run(seed: int) -> list[int]:
        return rounded(law.at(np.zeros(size, np.int64), Fraction(10**14)), Tape(seed=seed)).tolist()

    alone = [run(seed) for seed in range(8)]
    together: dict[int, list[int]] = {}
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads interrupt one another all the time
    threads = [threading.Thread(target=lambda seed=seed: together.update({seed: run(seed)})) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(usual)
    assert [together[seed] for seed in range(8)] == alone
