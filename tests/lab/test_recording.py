"""A recording: every turn in order, and nothing private in its text."""

from fractions import Fraction

import numpy as np

from sordino.lab.recording import record, seen
from sordino.mechanisms import Laplace, PublishedBound
from sordino.noise import draw
from sordino.session.owned import owned
from sordino.summaries import Stair

SMALL = Fraction(1, 10**6)
MEDIAN = {"statistic": "median", "bounds": (0, 100), "resolution": 1}
ONE = [0] * 4 + [50] + [100] * 4


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


def test_arrays_are_compared_bit_by_bit():
    assert seen(np.array([0.0])) != seen(np.array([-0.0]))
    assert seen(1) != seen(1.0)
    assert seen(np.arange(3)) != seen(np.arange(3, dtype=np.int32))
