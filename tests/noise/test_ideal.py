"""Float quantiles and their refinements against tails integrated in mpmath."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp

from sordino.errors import SordinoError
from sordino.noise import ideal
from sordino.noise.ideal import SLACK, exactly, magnitude, self_check
from sordino.privacy.families import GeneralizedCauchy, PowerLaw
from sordino.privacy.law import Law

from .oracle import LAWS, named, tail

EXTREME = [2.0**-52, 3 * 2.0**-52, 2.0**-45, 1 - 2.0**-52, 1 - 3 * 2.0**-52, 1 - 2.0**-30]


@pytest.mark.parametrize("law", LAWS, ids=named)
def test_float_quantiles_are_within_a_quarter_of_the_slack_everywhere(law: Any) -> None:
    rng = np.random.default_rng(5)
    cells = np.concatenate([rng.integers(1, 2**52, 200), 2 ** rng.uniform(0, 52, 60), 2**52 - 2 ** rng.uniform(0, 52, 60)])
    tails = np.concatenate([np.floor(cells) * 2.0**-52, EXTREME])
    tails = tails[(tails > 0) & (tails < 1)]
    assert len(tails) > 300
    allowed = mp.mpf(SLACK) / 4
    with mp.workprec(160):
        for v, value in zip(tails.tolist(), law.magnitude(tails).tolist(), strict=True):
            z = mp.mpf(value)
            assert tail(law, z * (1 + allowed)) <= v <= tail(law, z * (1 - allowed)), (v, z)


@pytest.mark.parametrize("law", LAWS, ids=named)
def test_the_quantile_starts_at_zero_and_ends_at_infinity(law: Any) -> None:
    assert law.magnitude(np.array([1.0, 0.0])).tolist() == [0.0, np.inf]


@pytest.mark.parametrize("bits", [52, 116])
@pytest.mark.parametrize("law", LAWS, ids=named)
def test_refined_magnitudes_bracket_the_truth_tightly(law: Any, bits: int) -> None:
    rng = np.random.default_rng(bits)
    cells = [0, 1, 2**bits - 1, 2**bits - 2, 2 ** (bits - 1), *(int.from_bytes(rng.bytes(32), "big") % 2**bits for _ in range(4))]
    for cell in cells:
        near, far = magnitude(law, cell, bits)
        with mp.workprec(3 * bits + 200):
            unit = mp.mpf(2) ** -bits
            assert tail(law, mp.mpf(near)) >= (cell + 1) * unit * (1 - mp.mpf(2) ** (-2 * bits))
            if cell == 0:
                assert far == mp.inf
                continue
            assert tail(law, mp.mpf(far)) <= cell * unit
            if 2 < cell < 2**bits - 2:
                assert tail(law, mp.mpf(near)) - tail(law, mp.mpf(far)) < unit * (1 + mp.mpf(2) ** -4)


@pytest.mark.parametrize("law", LAWS, ids=named)
@pytest.mark.parametrize("error", [1e-12, -1e-12])
def test_the_self_check_refuses_a_quantile_that_is_off_by_a_millionth_of_a_millionth(
    law: Any, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = type(law).magnitude
    self_check.cache_clear()
    self_check(law)
    monkeypatch.setattr(type(law), "magnitude", lambda self, v: true(self, v) * (1 + error))
    self_check.cache_clear()
    with pytest.raises(SordinoError, match="not accurate enough"):
        self_check(law)
    self_check.cache_clear()


@pytest.mark.parametrize("share", ["0.000001", "0.01", "0.1", "0.5", "0.9", "0.99", "0.999"])
@pytest.mark.parametrize("epsilon", ["0.000001", "0.01", "1", "30", "1000"])
def test_every_legal_power_law_passes_its_self_check(epsilon: str, share: str) -> None:
    self_check(PowerLaw(Fraction(epsilon), Fraction(epsilon) * Fraction(share)))


@pytest.mark.parametrize("gamma", ["1.01", "1.05", "1.2", "2.5", "20", "50", "1000"])
def test_every_sampled_generalised_cauchy_passes_its_self_check(gamma: str) -> None:
    self_check(GeneralizedCauchy(Fraction(gamma)))


def test_a_law_of_ones_own_has_no_second_opinion() -> None:
    own = Law(density=lambda z: np.exp(-np.abs(z)) / 2, cdf=lambda z: np.exp(-np.abs(z)) / 2, quantile=lambda u: np.log(2 * u), label="own")
    with pytest.raises(SordinoError, match="no exact sampler"):
        magnitude(own, 5, 52)


def test_precision_belongs_to_one_thread_at_a_time() -> None:
    wrong = []

    def work(bits: int) -> None:
        for _ in range(60):
            with exactly(bits) as context:
                third = context.mpf(1) / 3
                if context.prec != bits or abs(context.exp(context.log(third)) - third) > context.mpf(2) ** (5 - bits):
                    wrong.append(bits)

    threads = [threading.Thread(target=work, args=(200 + 37 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_precision_of_the_callers_own_mpmath_is_left_alone() -> None:
    before = mpmath.mp.prec
    with exactly(999) as context:
        assert mpmath.mp.prec == before
        assert context.prec == 999
    assert ideal.in_floats(Fraction(1, 3)) == 1 / 3
