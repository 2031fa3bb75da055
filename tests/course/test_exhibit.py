"""The exhibits show what they are named for."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import sordino as sd
from sordino.errors import QueryError


def test_influence_is_a_straight_line_for_the_mean_and_flat_beyond_the_clip_for_huber():
    found = sd.course.influence()
    mean, robust, middle, real = found.series.values()
    assert np.diff(mean) == pytest.approx(np.diff(found.points))
    assert robust[0] == pytest.approx(robust[5])
    assert robust[-1] == pytest.approx(found.facts["gross error sensitivity, Huber"])
    assert middle[-1] == pytest.approx(1 / (2 * stats.norm.pdf(0)), rel=0.1)
    assert real == pytest.approx(robust, abs=0.1)
    assert found.facts["gross error sensitivity, mean"] == math.inf
    closer = sd.course.influence(points=[3.0, 5.0], share=1e-4)
    assert closer.series["Huber, 0.0001 bad"] == pytest.approx(closer.series["Huber"], rel=0.01)


def test_one_leverage_point_moves_least_squares_without_limit():
    found = sd.course.leverage()
    plain, median = (np.array(values) for values in found.series.values())
    assert plain[3:] / plain[2:-1] == pytest.approx(np.full(4, 10.0), rel=0.1)  # ten times the height, ten times the change
    assert plain[-1] > 1e5
    assert median.max() < 0.01
    assert found.facts["slope without the row"] > 0.9 > -0.5 > found.facts["slope with it at h = 1"]


def release(rows, n):
    """Huber's location with c = 1, by bisection, and the plug-in noise of note 004 at (1, 1e-6)."""
    low, high = rows.min(), rows.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(rows - middle, -1, 1).sum() > 0 else (low, middle)
    sensitivity = 1 / np.mean(np.abs(rows - low) <= 1 + 1e-9)
    scale = 5 * math.sqrt(2 * math.log(len(rows)) * math.log(2e6)) / len(rows)
    return np.round(low + sensitivity * scale * np.random.default_rng().normal(size=n), 6)


def test_the_pair_breaks_the_plug_in_noise_by_formula_and_by_audit():
    found = sd.course.plug_in()
    assert min(found.series["true"]) > 0.9
    assert np.all(np.diff(found.series["true"]) > 0)
    assert set(found.series["claimed"]) == {1e-6}
    one, other = sd.course.plug_in_tables(101)
    assert np.sum(one != other) == 1
    seen = sd.lab.audit(release, one, other, claimed=(1.0, 1e-6), trials=2_000, vectorised=True)
    assert seen.verdict == "refuted"
    assert seen.delta_lower > 0.8


def test_n_times_the_error_of_the_private_estimator_tends_to_the_asymptotic_variance():
    """A hundred pinned tables of each size: what noise adds to their plain error fades, and that error is V up to its own chance."""
    found = sd.course.efficiency(sizes=(200, 8_000), repeats=100)
    limit, private, public = found.facts["V"], *(np.array(found.series[name]) for name in ("private", "not private"))
    assert limit == pytest.approx(1 / 0.95, rel=0.01)
    assert private[0] > 1.2 * public[0]
    assert private[1] == pytest.approx(public[1], rel=0.4)
    assert public == pytest.approx([limit] * 2, rel=0.3)


@pytest.mark.parametrize("made", [sd.course.influence, sd.course.leverage, sd.course.plug_in], ids=lambda f: f.__name__)
def test_an_exhibit_speaks_as_text_picture_json_and_html(made):
    found = made()
    assert all(len(line) <= 80 for line in repr(found).splitlines())
    assert found.title in str(found.plot())
    assert json.loads(found.to_json())["title"] == found.title
    assert "<svg" in found._repr_html_()


def test_bad_parameters_are_refused():
    for call in (lambda: sd.course.leverage(2), lambda: sd.course.efficiency(repeats=1), lambda: sd.course.plug_in_tables(1)):
        with pytest.raises(QueryError):
            call()
