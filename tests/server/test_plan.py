"""A plan's id is the plan: it comes back whole, equal plans have equal ids, and nothing else is taken for one."""

from __future__ import annotations

import json
import zlib
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.server.datasets import PlannedQuestion
from sordino.server.problem import Refusal


@given(st.text(min_size=1, max_size=80), st.text(max_size=2_000))
def test_every_statement_comes_back_from_its_id(dataset, sql):
    plan = PlannedQuestion(dataset, sql)
    assert PlannedQuestion.of(plan.id) == plan
    assert plan.id.isascii()
    assert all(letter.isalnum() or letter in "-_" for letter in plan.id)


def packed(content: bytes) -> str:
    return urlsafe_b64encode(zlib.compress(content, 9)).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "id",
    ["", "x", "é", "=" * 9, "A" * 20_000, packed(b"[1]"), packed(b'["a","b","c"]'), packed(b"null"), packed(b"\xff"),
     packed(json.dumps(["a", " " * 10**7]).encode()), packed(b"[" * 5_000),
     PlannedQuestion("a", "b").id + "A", PlannedQuestion("a", "b").id[:-2]],
    ids=range(13),
)  # fmt: skip
def test_whatever_this_server_did_not_give_is_no_plan(id):
    with pytest.raises(Refusal, match="there is no such plan"):
        PlannedQuestion.of(id)


def test_another_packing_of_the_same_plan_is_refused():
    """One plan, one id: otherwise a log or a cache could be fooled by spelling."""
    loose = urlsafe_b64encode(zlib.compress(b'["a", "SELECT 1"]', 1)).rstrip(b"=").decode()
    assert loose != PlannedQuestion("a", "SELECT 1").id
    with pytest.raises(Refusal):
        PlannedQuestion.of(loose)
