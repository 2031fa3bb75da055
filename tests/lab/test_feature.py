"""What can be read off an output, for outputs of every sort."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sordino.lab.feature import PARTS, features, read


@dataclass(frozen=True)
class Answer:
    value: float
    refused: bool


class Plain:
    def __repr__(self):
        return "<plain>"


ODD = [
    None,
    True,
    3,
    10**400,
    -(10**400),
    2.5,
    -0.0,
    float("nan"),
    float("inf"),
    5e-324,
    "text",
    "12.5",
    b"\xff",
    1 + 2j,
    (1, None, "a"),
    [],
    {"a": 1, "b": [2, 3]},
    {3, 1},
    np.float32(0.1),
    np.int8(4),
    np.array([1.0, 2.0]),
    np.array(7),
    np.array(["a"]),
    np.datetime64("2020-01-01"),
    Fraction(1, 3),
    Decimal("0.1"),
    ValueError("bad"),
    Answer(1.0, False),
    Plain(),
]


def column(name, first, second):
    return next(f for f in features(read(first, second)) if f.name == name)


@pytest.mark.parametrize("output", ODD, ids=[repr(x)[:20] for x in ODD])
def test_every_sort_of_output_becomes_columns(output):
    found = list(features(read([output] * 60, [0.5] * 60)))
    assert found
    for feature in found:
        assert feature.column.shape == (2, 60)
        assert isinstance(feature.say(">=", 0.0), str)


def test_all_sorts_may_come_together():
    mixed = ODD * 5
    for feature in features(read(mixed, mixed[::-1])):
        assert feature.column.shape == (2, len(mixed))


def test_equal_numbers_of_different_types_differ_only_in_type():
    found = {f.name: f.column for f in features(read([1] * 60, [1.0] * 60))}
    assert found["type"][0, 0] < found["type"][1, 0]
    assert np.array_equal(*found["value"])


def test_arrays_of_different_dtype_or_shape_differ_in_type():
    for other in (np.ones(60, dtype=np.float32), np.ones((60, 2)), np.ones(60, dtype=np.int64)):
        kind = column("type", np.ones(60), other).column
        assert kind[0, 0] < kind[1, 0]


def test_a_plain_list_and_the_same_array_give_the_same_columns():
    x = np.random.default_rng(0).normal(size=(2, 300))
    taken, walked = (list(features(read(*pair))) for pair in ((x[0], x[1]), ([*x[0].tolist()], [*x[1].tolist()])))
    assert [f.name for f in taken] == [f.name for f in walked]
    assert all(np.array_equal(a.column, b.column, equal_nan=True) for a, b in zip(taken, walked, strict=True))


def test_the_walk_sees_what_the_array_path_sees():
    x = np.random.default_rng(0).normal(size=(2, 300))
    taken = {f.name: f.column for f in features(read(x[0], x[1]))}
    walked = {f.name: f.column for f in features(read([Fraction(v) for v in x[0]], [Fraction(v) for v in x[1]]))}
    assert all(np.array_equal(taken[name], walked[name], equal_nan=True) for name in taken)


@pytest.mark.parametrize(("value", "bit"), [(1.0, 0), (0.75, -2), (6.0, 1), (1 + 2**-52, -52), (2**-30, -30), (5e-324, -1074), (-0.1, -55)])
def test_the_last_set_bit_is_found(value, bit):
    assert column("exponent of the last set bit of value", [value] * 60, [value] * 60).column[0, 0] == bit
    assert value == np.ldexp(np.ldexp(value, -bit) // 1, bit)


def test_whole_numbers_beyond_double_precision_keep_their_residue():
    big = [2**70 + 2 * (k // 6) for k in range(3_000)]
    rest = column("value modulo 64 steps of 2^0", big, [v + 1 for v in big]).column
    assert rest[0].max() < 0 < rest[1].min()


def test_nan_belongs_to_no_tail_but_to_a_class():
    values = [float("nan"), 1.0] * 60
    assert np.isnan(column("value", values, values).column).sum() == 120
    found = [f for f in features(read(values, [1.0] * 120)) if "NaN" in f.say("<=", -0.1)]
    assert found


@pytest.mark.parametrize(
    "later", [[99.0], [0.0, float("nan"), float("inf")], [None, "text", (1, 2, 3), ValueError("bad"), 10**400]], ids=str
)
def test_only_the_teaching_trials_shape_a_column(later):
    x = np.random.default_rng(0).normal(size=(2, 600))
    taught = np.arange(600) % PARTS == 0
    y = [[v if t else later[i % len(later)] for i, (v, t) in enumerate(zip(side.tolist(), taught, strict=True))] for side in x]
    for a, b in zip(features(read(*x.tolist())), features(read(*y)), strict=True):
        assert a.name == b.name
        assert np.array_equal(a.column[:, taught], b.column[:, taught], equal_nan=True)


def test_huge_numbers_raise_no_warning():
    for values in ([1.7e308, -1.7e308] * 60, [(1.7e308, 1.7e308)] * 120, [10**400, -(10**400)] * 60):
        assert all(feature.column.shape == (2, 120) for feature in features(read(values, values)))
