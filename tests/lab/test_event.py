"""Events are chosen on some trials and counted on others."""

import math

import numpy as np

from sordino.lab.auditing import weigh
from sordino.lab.feature import read

ALPHA = 1e-6


def test_the_bound_is_that_of_clopper_and_pearson_for_the_chosen_event():
    """A coin that lands 1 on d1 always and on d0 half of the time: the event "0" never happens on d1."""
    n = 6_000
    d0, d1 = np.arange(n) // 6 % 2, np.ones(n, int)
    events, curve = weigh(read(d0, d1), ALPHA, (0.1, 0.0))
    best = max(events, key=lambda event: event.epsilon_lower)
    assert best.likelier == "d0"
    assert 0.4 < best.low < 0.5
    assert best.high < 0.01
    assert best.epsilon_lower == math.log(best.low / best.high)
    assert str(best).endswith("on d1")
    assert {point.likelier for point in curve} == {"d0", "d1"}


def test_a_delta_is_taken_off_before_the_ratio():
    n = 6_000
    d0, d1 = np.zeros(n, int), (np.arange(n) // 6 % 20 == 0).astype(int)
    pure, _ = weigh(read(d0, d1), ALPHA, (1.0, 0.0))
    approximate, _ = weigh(read(d0, d1), ALPHA, (1.0, 0.05))
    assert max(event.epsilon_lower for event in pure) > 1
    assert max(event.epsilon_lower for event in approximate) == 0
    assert 0.02 < max(event.delta_lower for event in pure) < 0.05


def test_outputs_that_are_all_alike_have_events_that_show_nothing():
    events, _ = weigh(read([None] * 60, [None] * 60), ALPHA, (0.0, 0.0))
    assert events
    assert all(event.epsilon_lower == 0 == event.delta_lower for event in events)
