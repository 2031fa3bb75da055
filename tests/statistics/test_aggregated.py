"""Any function, on parts that share nobody: whatever it does, there is one answer, and one person changes one part of it."""

from __future__ import annotations

import os
import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sordino as sd
from sordino import statistics as st
from sordino.errors import QueryError
from sordino.lab import check_statistic
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit, Relation
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.statistics.aggregated import AggregateStep, usual_parts
from sordino.statistics.port import Context
from sordino.statistics.sandbox import ForkServer
from sordino.summaries.records import Records

RNG = np.random.default_rng(7)
N = 900
X = np.clip(RNG.normal(50, 10, N), 0, 100)
FRAME = {"id": np.arange(N) // 3, "x": X, "y": 100 - X, "g": np.where(np.arange(N) % 2, "a", "b")}
SEEN: list[Any] = []


def table(**facts: Any) -> Any:
    limits = {"unit": "id", "max_rows": 3, "max_groups": 2, "max_rows_per_group": 3}
    bounds, budget = {"x": (0, 100), "y": (0, 100)}, sd.Budget(epsilon=1000, delta=1e-2)
    return sd.table(FRAME, bounds=bounds, keys={"g": ["a", "b"]}, budget=budget, ledger=":memory:", **{**limits, **facts})


def hostile(rows: Any) -> Any:
    """Does by the first number of its rows what a function must not be able to do to anybody else."""
    kind = int(rows[0, 0])
    SEEN.append(kind)
    if kind == 1:
        raise ValueError("a row: 12345")
    if kind == 2:
        time.sleep(60)
    if kind == 3:
        return float(np.ones(10 * 2**30 // 8).sum())
    if kind == 4:
        print("a row: 12345", file=sys.stderr, flush=True)
        print("a row: 12345", flush=True)
        os.write(1, b"a row: 12345")
        os.system("echo a row: 12345")
    if kind == 5:
        os._exit(3)
    if kind == 7:
        return "a row: 12345"
    if kind == 8:
        return [1.0, 2.0]
    if kind == 9:
        return float("nan")
    if kind == 10:
        sys.setrecursionlimit(10**8)
        return hostile.__wrapped__  # type: ignore[attr-defined]
    return 100.0 * len(SEEN) + kind


def test_whatever_a_function_does_there_is_one_answer_and_parts_know_nothing_of_each_other(capfd: Any) -> None:
    kinds = [0, 1, 3, 4, 5, 7, 8, 9, 10, 11, 2, 12]
    with ForkServer(hostile, seconds=1.0, megabytes=128, dimension=1) as forks:
        found = [float(forks.answer(np.full((2, 2), float(kind)))[0]) for kind in kinds]
    silent = [kind for kind, value in zip(kinds, found, strict=True) if np.isnan(value)]
    assert silent == [1, 3, 5, 7, 8, 9, 10, 2]
    assert [value for value in found if not np.isnan(value)] == [100.0, 104.0, 111.0, 112.0]  # every part is the first one it sees
    assert capfd.readouterr() == ("", "")
    assert SEEN == []


def test_a_part_that_is_too_slow_costs_its_limit_and_no_more() -> None:
    started = time.monotonic()
    with ForkServer(hostile, seconds=0.5, megabytes=128, dimension=1) as forks:
        forks.answer(np.full((1, 1), 2.0))
        assert forks.answer(np.full((1, 1), 0.0))[0] == 100.0
    assert time.monotonic() - started < 10


def test_files_opened_before_and_files_on_disk_are_out_of_reach(tmp_path: Any) -> None:
    kept = open(tmp_path / "kept", "wb", buffering=0)  # noqa: SIM115

    def writes(rows: Any) -> float:
        done = 0.0
        for place in (kept.fileno(), None):
            try:
                os.write(place if place is not None else os.open(tmp_path / "new", os.O_CREAT | os.O_WRONLY), b"a row")
                done += 1
            except OSError:
                continue
        return done

    with kept, ForkServer(writes, seconds=5, megabytes=128, dimension=1) as forks:
        assert forks.answer(np.zeros((1, 1)))[0] == 0
    assert (tmp_path / "kept").read_bytes() == b""


def middle(x: Any) -> float:
    return float(np.median(x))


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_middle_of_the_parts_is_near_and_costs_what_was_said(relation: str) -> None:
    with table(relation=relation, size=300) as people:
        answer = people.apply(middle, "x", method="aggregate", range=(0, 100), parts=40).release(epsilon=4)
        assert abs(answer.value - np.median(X)) < 5
        assert answer.cost.epsilon == 4
        assert "40 parts" in answer.mechanism
        card = str(answer.card)
        assert "10 s and 512 MB" in card
        assert "hostile" in card
        assert "counts as 50" in card


def test_groups_vectors_and_a_fitted_model() -> None:
    def line(rows: Any) -> Any:
        return np.polyfit(rows["x"], rows["y"], 1)

    with table(size=300) as people:
        grouped = people.group_by("g").apply(middle, "x", method="aggregate", range=(0, 100), parts=15).release(epsilon=20)
        assert np.abs(np.array(grouped.to_dict()[grouped.names[0]]) - 50).max() < 10
        slope = people.apply(line, ["x", "y"], method="aggregate", range=(-200, 200), parts=15, dimension=2).release(epsilon=800)
        assert np.abs(np.array(slope.value) - (-1, 100)).max() < 5


def test_a_statistic_with_a_range_may_be_aggregated_and_parts_follow_from_public_sizes() -> None:
    custom = sd.statistic(columns=("x", "y"), range=(0, 100))(lambda rows: float(rows["y"].mean()))
    with table(size=300) as people:
        plan = people.apply(custom, {"x": "y", "y": "x"}, method="aggregate").settle(1)
        assert f"{usual_parts(300)} parts" in plan.mechanism
    assert [usual_parts(n) for n in (10, 10_000, 10**7)] == [20, 100, 200]


def step(context: Context, parts: int = 6, way: str = "aggregate", **facts: Any) -> AggregateStep:
    asked = st.aggregate(middle, "x", range=(0, 100), parts=parts, **facts)
    return asked.ways(Fraction(1), Fraction(0), context)[way]()  # type: ignore[return-value]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_one_person_changes_as_many_answers_as_are_paid_for(relation: str) -> None:
    columns = (Column("x", "int", (0, 100)),)
    unit, name = PrivacyUnit("id", Relation.of(relation), 3, 1, 3), Column("id", "id")
    made = step(Context(unit, {"x": columns[0]}))
    rows = {"id": [i // 3 for i in range(30)], "x": [i * 37 % 101 for i in range(30)]}

    def answers(change: Any) -> Any:
        kept = [(change(i), x) for i, x in zip(rows["id"], rows["x"], strict=True) if change(i) is not None]
        held = {"id": [i for i, _ in kept], "x": [x for _, x in kept]}
        with Reference(held, (name, *columns)).bounded(Frame(unit, name, columns=columns), 11) as table:
            (found,) = table.ask(Records(("x",), parts=6))
        return made._answers(found, lambda part: np.array([np.median(part[:, 0])]))

    everyone, most = answers(lambda i: i), 0
    for person in range(10):
        other = answers(lambda i, p=person: (None if relation == "add_remove" else 1000 + p) if i == p else i)
        most = max(most, int((everyone != other).sum()))
    assert 1 <= most <= made.changed
    assert made.mechanism.max_rows == made.changed == (1 if relation == "add_remove" else 2)


def test_the_error_is_told_on_a_twin() -> None:
    with table(size=300, twin=FRAME) as people:
        prices = people.apply(middle, "x", method="aggregate", range=(0, 100), parts=20).preview(epsilons=[1, 4])
    told = [line.split() for line in str(prices).splitlines() if line.strip().startswith(("1 ", "4 "))]
    assert [0.0 < float(line[1]) < 60.0 for line in told] == [True, True]
    assert "guess" not in str(prices)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({}, "range="),
        ({"range": (0, 100), "parts": 1}, "parts is 1"),
        ({"range": (0, 100), "parts": 10, "limit_s": 0}, "limit_s"),
        ({"range": (0, 100), "parts": 10, "failed": 200}, "failed is 200"),
        ({"range": (0, 100)}, "how many rows"),
        ({"range": (0, 100), "parts": 10, "colour": 1}, "colour"),
    ],
)
def test_what_cannot_be_planned_is_refused_before_anything_is_spent(options: Any, word: str) -> None:
    with table() as people:
        with pytest.raises(QueryError, match=word):
            people.apply(middle, "x", method="aggregate", **options).release(epsilon=1)
        with pytest.raises(QueryError, match="aggregation"):
            people.apply(middle, "x", parts=3)
        with pytest.raises(QueryError, match="method is"):
            people.apply(middle, "x", method="guess")
        assert people.budget.spent == 0


def test_private_keys_and_too_many_runs_are_refused() -> None:
    column, keys = {"x": Column("x", "int", (0, 100))}, tuple((i,) for i in range(10))
    with pytest.raises(QueryError, match="private keys"):
        step(Context(PrivacyUnit(), column, grouped=True))
    with pytest.raises(QueryError, match="runs of the function"):
        step(Context(PrivacyUnit(), column, grouped=True, keys=keys), 1_000)


def test_nobody_draws_more_than_is_charged() -> None:
    found = check_statistic(st.aggregate(np.median, "income", range=(0, 10**6), parts=3), places=("",))
    assert found.ok, found
