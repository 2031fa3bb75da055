"""Summaries hide themselves: nothing they hold is printed, pickled or copied away."""

import copy
import pickle

import numpy as np
import pytest

from sordino.summaries import Near, Rung, Tally, Window
from sordino.summaries.totals import GroupTotals, Item

SECRET = 271_828
HELD = [
    Window(np.array([SECRET]), 1, SECRET),
    Tally(("key",), np.array([SECRET])),
    Rung(SECRET, 3, ()),
    Near(SECRET, SECRET),
    GroupTotals((("key",),), {Item("rows"): np.array([SECRET])}),
]


@pytest.mark.parametrize("summary", HELD, ids=lambda summary: type(summary).__name__)
def test_a_summary_prints_as_its_name_and_does_not_travel(summary):
    for text in (repr(summary), str(summary), f"{summary}"):
        assert text == f"{type(summary).__name__}(private)"
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never leaves"):
            leave(summary)
