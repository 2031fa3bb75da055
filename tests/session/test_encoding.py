from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.session.encoding import decode, encode
from sordino.summaries import Refused

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(st.characters()), st.dates(), st.binary(max_size=8),
    st.datetimes(timezones=st.just(dt.UTC)).map(lambda moment: moment.replace(fold=0)), st.builds(Refused, st.text(max_size=5)),
)  # fmt: skip
KEYS = st.one_of(st.text(max_size=5), st.integers(), st.booleans(), st.none(), st.tuples(st.integers(), st.integers()))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple), st.dictionaries(KEYS, inner, max_size=3),
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=4))
def test_what_is_recorded_comes_back_as_it_was_in_value_type_and_order(record):
    back = decode(encode({"answers": record}))["answers"]
    assert back == record
    assert repr(back) == repr(record)
    assert encode({"answers": back}) == encode({"answers": record})


def test_the_order_of_keys_is_part_of_the_answer():
    assert list(decode(encode({"h": {"m": 1, "f": 2, "a": 3}}))["h"]) == ["m", "f", "a"]


def test_endless_numbers_and_half_letters_are_recorded_too():
    odd = {"a": [float("inf"), -float("inf")], "b": "\ud800", "c": -0.0}
    back = decode(encode(odd))
    assert back == odd
    assert str(back["c"]) == "-0.0"
    assert str(decode(encode({"x": float("nan")}))["x"]) == "nan"


def test_a_set_is_recorded_the_same_way_whatever_order_it_is_met_in():
    assert encode({"x": frozenset([4, 308])}) == encode({"x": frozenset([308, 4])})
    assert decode(encode({"x": frozenset([4, 308])}))["x"] == {4, 308}


def test_numpy_scalars_become_plain_numbers():
    assert decode(encode({"x": [np.int64(3), np.float64(0.5), np.bool_(True)]}))["x"] == [3, 0.5, True]


def test_what_has_no_place_in_a_record_is_refused():
    with pytest.raises(TypeError):
        encode({"x": object()})
