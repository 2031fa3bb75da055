"""The k most frequent of public keys: which way the planner takes, that it follows from public facts, and the truth at a huge price."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from statistics_world import World, context, seeded

from sordino import statistics as st
from sordino.mechanisms import JointTop, PermuteAndFlip
from sordino.schema.column import Column
from sordino.statistics.top_values import PodiumStep, predicted_losses

ONE, NONE = Fraction(1), Fraction(0)


def keys(number: int) -> Column:
    return Column("city", "cat", keys=tuple(f"c{i:04}" for i in range(number)))


def world(column: Column, counts: Any) -> World:
    assert column.keys is not None
    rows = [(key,) for key, often in zip(column.keys, counts, strict=True) for _ in range(often)]
    return World({}, {}, group=rows, public=tuple((key,) for key in column.keys))


def test_at_a_huge_price_the_answer_is_the_truth_in_order() -> None:
    column = keys(6)
    step = st.top_k("city", 3).ways(Fraction(400), NONE, context(column))["joint_exponential"]()
    (answer,) = step.release(world(column, [1, 9, 0, 30, 20, 2]).ask, seeded(), None)
    assert answer.value == ("c0003", "c0004", "c0001")
    assert step.cost.epsilon == 400
    assert all(certificate.check().sound for certificate in step.certificates())


def ways(number: int, k: int, epsilon: Any, **facts: Any) -> list[str]:
    return list(st.top_k("city", k).ways(Fraction(epsilon), NONE, context(keys(number), **facts)))


def test_the_planner_takes_the_way_of_less_predicted_loss() -> None:
    assert ways(10, 1, 1) == ["permute_and_flip", "exponential", "noisy_max"]
    assert ways(100, 10, 1)[0] == "joint_exponential"
    assert ways(50, 3, "0.1", rows=1000)[0] == "permute_and_flip"
    assert ways(50, 3, "0.1", rows=1000)[-1] == "joint_exponential"
    assert ways(1000, 100, 1)[0] == "permute_and_flip"  # too deep to be drawn together


@pytest.mark.parametrize(("number", "k", "rows", "epsilon"), [(100, 10, 10_000, 1), (50, 3, 1000, "0.1"), (200, 8, 5000, "0.5")])
def test_predicted_losses_are_what_the_mechanisms_lose_on_the_codebook(number: int, k: int, rows: int, epsilon: Any) -> None:
    joint, single = JointTop(epsilon, monotone=True, k=k), PermuteAndFlip(Fraction(epsilon) / k, monotone=True)
    shares = 1 / np.arange(1, number + 1)
    counts = np.floor(rows * shares / shares.sum()).astype(np.int64)
    draw, found = seeded(5), []
    for _ in range(60):
        left, one_by_one = list(range(number)), []
        for _ in range(k):
            one_by_one.append(left.pop(single.release(lambda _, left=left: counts[left], draw)))  # type: ignore[misc]
        together = joint.release(lambda _: counts, draw)
        found.append([(counts[:k] - counts[list(chosen)]).max() for chosen in (together, one_by_one)])
    predicted, spread = np.array(predicted_losses(joint, single, number, rows)), np.std(found, axis=0) / np.sqrt(60)
    assert np.all(np.abs(np.mean(found, axis=0) - predicted) <= 6 * spread + 0.12 * predicted + 1)


def test_the_choice_and_the_conversation_are_the_same_for_wildly_different_tables() -> None:
    column, asked = keys(5), []
    step = st.top_k("city", 2).ways(ONE, NONE, context(column))["joint_exponential"]()
    assert isinstance(step, PodiumStep)
    for counts in ([0, 0, 0, 0, 0], [9, 9, 9, 9, 9], [500, 0, 0, 0, 1]):
        rows, requests = world(column, counts), []

        def ask(request: Any, rows: World = rows, requests: list[str] = requests) -> Any:
            requests.append(repr(request))
            return rows.ask(request)

        step.release(ask, seeded(), None)
        asked.append(requests)
    assert asked[0] == asked[1] == asked[2]
