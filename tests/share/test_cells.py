"""Cells: every value has one, whatever was drawn they join to a partition, and a number of a cell is a value of the column again."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.share.cells import BINS, FineCells, joined, nearest_law

KINDS = {
    "listed": FineCells.of(Column("c", "cat", keys=("a", "b", "c", "d"))),
    "one": FineCells.of(Column("c", "cat", keys=("a",))),
    "none": FineCells.of(Column("c", "cat"), keys=()),
    "truth": FineCells.of(Column("c", "bool")),
    "short": FineCells.of(Column("c", "int", (3, 9))),
    "two": FineCells.of(Column("c", "int", (0, 1))),
    "long": FineCells.of(Column("c", "int", (0, 10**6))),
    "float": FineCells.of(Column("c", "float", (0, 1), resolution=Fraction(1, 1000))),
    "date": FineCells.of(Column("c", "date", (dt.date(2020, 1, 1), dt.date(2020, 12, 31)))),
    "bins": FineCells.of(Column("c", "int", (0, 100)), [0, 10, 50, 100]),
    "spikes": FineCells.of(Column("c", "int", (0, 10**6)), {"bins": 8, "spikes": [0]}),
}


@pytest.mark.parametrize("name", KINDS)
def test_whatever_was_drawn_the_cells_are_a_partition_with_a_law_inside_each(name):
    cells, rng = KINDS[name], np.random.default_rng(1)
    for sigma in (1.0, 30.0, 1e6):
        for scale in (0.0, 10.0, 1e5):
            for sign in (1, -1):
                found = joined(cells, np.round(sign * rng.exponential(1, cells.places) * scale + rng.normal(0, sigma, cells.places)), sigma)
                assert len(found.cells) == cells.places
                assert set(found.cells) == set(range(found.size))
                assert found.inside.min() >= 0
                assert np.allclose(found.summed(found.inside), 1)
                axis = cells.axis(found.cells)
                assert axis.size == found.size
                assert len(axis.cells) == (cells.places if axis.edges is None else len(axis.edges))
                chance = rng.random(50)
                fine = found.fine(rng.integers(0, found.size, 50), chance)
                values = cells.decoded(fine, chance)
                assert all(v is None or not cells.edges or _inside(cells, v) for v in values)


def _inside(cells, value):
    low, high = cells.column.bounds
    return low <= value <= high


def test_a_long_range_is_joined_to_a_few_intervals_of_many_rows_and_a_spike_stays_alone():
    cells, rng = KINDS["long"], np.random.default_rng(2)
    values = np.concatenate([np.zeros(3_000), np.exp(rng.normal(10, 1, 7_000)).clip(0, 10**6)]).astype(int)
    places = np.searchsorted(cells.edges, values, side="right") - 1
    found = joined(cells, np.bincount(places, minlength=cells.places).astype(float), 10.0)
    assert 8 <= found.size <= BINS + 2
    assert found.cells.count(found.cells[0]) == 1, "zero"


def test_null_and_other_that_hardly_occur_do_not_occur():
    found = joined(KINDS["listed"], np.array([500.0, 300.0, 200.0, 100.0, 12.0, -3.0]), 10.0)
    assert found.inside[4] == found.inside[5] == 0
    kept = joined(KINDS["listed"], np.array([500.0, 300.0, 200.0, 100.0, 80.0, 90.0]), 10.0)
    assert kept.size == 6


def test_the_law_nearest_to_noisy_counts():
    assert nearest_law(np.array([3.0, 1.0])).tolist() == [0.75, 0.25]
    assert nearest_law(np.array([3.0, -1.0])).tolist() == [1.0, 0.0]
    assert nearest_law(np.array([-5.0, -9.0])).tolist() == [1.0, 0.0]


def test_what_has_no_cells_is_refused_with_a_fix():
    with pytest.raises(QueryError, match="no cells"):
        FineCells.of(Column("c", "id"))
    with pytest.raises(QueryError, match="no public bounds"):
        FineCells.of(Column("c", "int"))
    with pytest.raises(QueryError, match="ascend"):
        FineCells.of(Column("c", "int", (0, 100)), [50, 10])
    with pytest.raises(QueryError, match="lists"):
        FineCells.of(Column("c", "cat", keys=tuple(map(str, range(1_001)))))


def test_an_empty_tail_stays_empty_and_a_spike_far_out_stays() -> None:
    """The last interval of a long tail is joined for want of rows; the fine cells that do not stand out of noise hold nobody."""
    rng = np.random.default_rng(5)
    cells = FineCells.of(Column("visits", "int", (0, 77)))
    truth = np.append(20_000 * 0.26 * 0.74 ** np.arange(78), 0.0)
    truth[60] += 400
    tails, spikes = [], []
    for _ in range(40):
        drawn = truth + 25 * rng.standard_normal(len(truth))
        made = joined(cells, drawn, 25.0)
        law = np.bincount(made.cells, weights=drawn)[list(made.cells)] * made.inside
        tails.append(float(law[30:60].sum() + law[61:78].sum()))
        spikes.append(float(law[60]))
    assert np.mean(tails) < 60  # evenly spread the tail would hold hundreds
    assert 300 < np.mean(spikes) < 500


def test_both_bounds_of_a_long_range_are_values_of_their_own() -> None:
    """Values pile up at the bounds, where they are clamped; a 0 or a 1 declared as a number comes out as 0 or 1."""
    cells = FineCells.of(Column("flag", "float", (0.0, 1.0)))
    places = np.array([0, cells.places - 2, cells.places - 1])
    assert cells.decoded(places, np.full(3, 0.99)) == [0.0, 1.0, None]
    assert cells.label(cells.places - 2) in ("1", "1.0")
    steps = {*cells.edges}
    assert {0, 1, cells.column.grid().width, cells.column.grid().width + 1} <= steps


@pytest.mark.parametrize(
    "column",
    [
        Column("a", "int", (-3, 12)), Column("b", "int", (0, 100_000)), Column("c", "float", (-1.5, 8.25), resolution=Fraction(1, 100)),
        Column("d", "float", (0.1, 70.3)), Column("e", "decimal", ("-2.50", "900.25"), scale=2), Column("f", "bool"),
        Column("g", "date", (dt.date(1950, 3, 1), dt.date(2024, 2, 29))), Column("h", "timestamp", ("2020-01-01", "2024-05-06T07:08:09")),
        Column("i", "cat", keys=("x", "y", None)), Column("j", "int", (0, 5), keys=(1, 2, 5)),
    ],
    ids=lambda column: column.name,
)  # fmt: skip
def test_cells_that_were_written_down_make_the_same_values_elsewhere(column):
    own = FineCells.of(column)
    found = FineCells.from_record(own.to_record())
    places, chance = np.arange(own.places).repeat(5), np.tile([0, 0.2, 0.5, 0.9, 0.999], own.places)
    assert found.decoded(places, chance) == own.decoded(places, chance)
    assert [found.label(i) for i in range(found.places)] == [own.label(i) for i in range(own.places)]
    assert (found.places, found.single, found.ordered) == (own.places, own.single, own.ordered)
