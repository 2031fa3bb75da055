"""Base measures against their definition, point by point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.mechanisms.quantile_exponential import Measure


def mass_of(measure: Measure, y: int) -> int:
    """By the definition: equal octaves of the distance from the origin, even inside each and below the second, and one for the origin."""
    if measure.origin is None:
        return 1
    if y == measure.origin:
        return measure.unit << measure.octaves
    octave = max((abs(y - measure.origin) // measure.unit).bit_length() - 1, 0)
    return 1 << (measure.octaves - octave)


@given(st.integers(-300, 300), st.integers(1, 400), st.none() | st.integers(-700, 700), st.sampled_from((1, 2, 4, 32)))
def test_totals_and_points_follow_from_the_definition(low: int, width: int, origin: int | None, unit: int) -> None:
    measure = Measure(low, low + width, origin, unit)
    points = np.arange(low, low + width + 1)
    totals = np.cumsum([mass_of(measure, int(y)) for y in points])
    assert measure.total(points).tolist() == totals.tolist()
    assert int(measure.total(low - 1)) == 0
    for mass in {1, int(totals[-1]), int(totals[-1]) // 2 + 1, int(totals[0]) + 1}:
        if mass <= totals[-1]:
            assert measure.locate(mass) == points[np.searchsorted(totals, mass)]


@pytest.mark.parametrize("unit", [1, 2**12])
def test_wide_grids_are_exact_at_both_ends(unit: int) -> None:
    measure = Measure(-(2**52), 2**52, 0, unit)
    assert measure.locate(1) == -(2**52)
    assert measure.locate(int(measure.total(2**52))) == 2**52
    assert measure.locate(int(measure.total(-1)) + 1) == 0
