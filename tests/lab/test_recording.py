"""Record and replay: what counts as a difference, and what does not."""

from fractions import Fraction

import numpy as np
import pytest

from sordino.lab import replay
from sordino.lab.recording import record, seen
from sordino.mechanisms import Laplace, PublishedBound, QuantileExponential, Smooth, Stability, StableHistogram
from sordino.noise import draw
from sordino.privacy.discrete import Bernoulli
from sordino.privacy.families import LaplaceLaw
from sordino.session.own import owned
from sordino.summaries import Near, Nearness, Rung, Stair, Value

SMALL = Fraction(1, 10**6)
MEDIAN = {"statistic": "median", "bounds": (0, 100), "resolution": 1}
ONE, TWO = [0] * 4 + [50] + [100] * 4, [0] * 4 + [50] * 2 + [100] * 4


def test_a_recording_holds_every_request_and_every_draw_in_order():
    mechanism = PublishedBound(1, SMALL)
    found = record(mechanism, owned(mechanism, ONE, **MEDIAN), draw)
    assert [step.kind for step in found.steps] == ["ask", "draw", "draw"]
    assert found.requests == (repr(Stair(mechanism.beta)),)
    assert found.draws[0].public.startswith("DiscreteLaplace")
    assert "LaplaceLaw" in found.draws[1].public
    assert found.visible.startswith("Published")


def test_private_parts_do_not_show_in_the_text_of_a_step():
    mechanism = Laplace(1)
    found = record(mechanism, owned(mechanism, 123456), lambda law: 7)
    assert "123456" not in repr(found)


def test_pinned_outcomes_are_the_recorded_ones():
    found = replay(Laplace(1), 5, 6)
    assert found.ok
    assert found.recording.visible == seen(found.recording.draws[0].outcome)
    assert "nothing visible differs" in repr(found)


def test_a_choice_among_private_cells_is_pinned_by_what_leaves():
    for _ in range(50):
        assert replay(QuantileExponential(1, high=50), [], [25] * 3).ok


def test_different_lengths_and_families_are_differences():
    found = replay(StableHistogram(1, SMALL), {"a": 5}, {"a": 5, "b": 1})
    assert "1 outcomes" in found.differences[0]
    assert "2 outcomes" in found.differences[0]


class Talkative(Laplace):
    def release(self, ask, draw):
        value = ask(Value())
        if value > 5:
            raise ValueError(f"{value} is too much")
        return super().release(ask, draw)


class TwoDraws(Laplace):
    def release(self, ask, draw):
        for _ in range(ask(Value())):
            draw(LaplaceLaw().at(0, Fraction(1)))
        return 0


class OwnLaw(Laplace):
    def release(self, ask, draw):
        return draw(Bernoulli.of(Fraction(1, 2)) if ask(Value()) else LaplaceLaw().at(0, Fraction(1)))


@pytest.mark.parametrize(("mechanism", "word"), [(Talkative(1), "raised ValueError: 6"), (TwoDraws(1), "no"), (OwnLaw(1), "Bernoulli")])
def test_errors_draws_and_laws_that_follow_the_data_are_differences(mechanism, word):
    pair = (5, 6) if isinstance(mechanism, Talkative) else (0, 1) if isinstance(mechanism, OwnLaw) else (2, 1)
    for d0, d1 in (pair, pair[::-1]):
        found = replay(mechanism, d0, d1)
        assert not found.ok
        assert word in repr(found)


class Jumps(Smooth):
    """A ladder that moves by more than a theorem allows."""

    def release(self, ask, draw):
        def jumping(request):
            rung = ask(request)
            return Rung(rung.location, rung.index if rung.location < 75 else rung.index - 9, rung.scales, rung.low, rung.high, rung.step)

        return super().release(jumping, draw)


def test_a_scale_that_moves_too_far_is_a_difference():
    found = replay(Jumps(1), [50] * 9, [50] * 4 + [100] * 5, **MEDIAN)
    assert any("ln S moves" in difference for difference in found.differences)


def test_a_distance_that_moves_too_far_is_a_difference():
    assert replay(Stability(1, SMALL), Near(3, "x"), Near(4, "x")).ok
    found = replay(Stability(1, SMALL), Near(3, "x"), Near(6, "x"))
    assert found.differences == ("turn 1: the distance moves from 3 to 6",)
    assert replay(Stability(1, SMALL), Near(3, "x"), Near(3, "x", step=Fraction(2))).differences == (
        "turn 1: step should be public, but differs",
    )
    assert repr(Nearness()) in found.recording.requests


def test_arrays_are_compared_bit_by_bit():
    assert seen(np.array([0.0])) != seen(np.array([-0.0]))
    assert seen(1) != seen(1.0)
    assert seen(np.arange(3)) != seen(np.arange(3, dtype=np.int32))
