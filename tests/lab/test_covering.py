"""Intervals cover what their answers are about, on real tables nobody made for the purpose; and the check sees one that does not."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.lab.covering import LEAST, coverage, covered, quantile_of
from sordino.session.twin import conversations

ROOT = Path(__file__).parents[2]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_coverage", ROOT / "bench" / "coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


BENCH = load()
SLICE = ("count", "sum", "mean", "std", "median", "count by", "mean by", "two-stage mean")


@pytest.mark.parametrize("place", range(len(BENCH.TABLES)), ids=[real.name for real in BENCH.TABLES])
def test_intervals_cover_what_they_are_about(place):
    """A slice of the whole, which `make audit` measures: declarations, sizes and prices take turns."""
    how, size, epsilon = ("tight", "loose")[place % 2], BENCH.SIZES[place % 3], BENCH.EPSILONS[place // 2 % 3]
    rows = list(BENCH.cells(BENCH.TABLES[place], hows=(how,), sizes=(size,), epsilons=(epsilon,), wanted=lambda label: label in SLICE))
    assert len(rows) >= len(SLICE) - 1
    assert {(row["statistic"], BENCH.missed(row)) for row in rows if BENCH.missed(row)} == set()


def incomes(**more):
    x = np.random.default_rng(5).lognormal(10, 1, 2_000)
    return x, sd.table({"income": x}, bounds={"income": (0, 1_000_000)}, budget=sd.Budget(epsilon=99), ledger=":memory:", **more)


def test_an_interval_that_is_too_short_is_seen():
    x, table = incomes()
    with table:
        answers = [found["mean(income)"][0] for _, found in conversations(table.mean("income").settle(1), table.engine, 1, 2_000)]
    assert covered(answers, float(x.mean()))[0] >= LEAST
    short = [replace(a, low=a.value - 0.7 * (a.value - a.low), high=a.value + 0.7 * (a.high - a.value)) for a in answers]
    assert covered(short, float(x.mean()))[0] < LEAST
    moved = [replace(a, low=a.low + 0.7 * (a.high - a.value), high=a.high + 0.7 * (a.high - a.value)) for a in answers]
    assert covered(moved, float(x.mean()))[0] < LEAST


def test_ranks_that_are_too_few_are_seen():
    from sordino.lab.covering import _Judged, _Values

    x, table = incomes()
    with table:
        query = table.median("income", interval=False)
        plan = query.settle("0.05")
        answers = [found["median(income)"][0] for _, found in conversations(plan, table.engine, 1, 500)]
        grid = table.columns["income"].grid()
    steps = np.sort(np.floor(x / float(grid.step)).astype(np.int64))
    judged = _Judged(plan, "median(income)", query.asked.statistics["median(income)"], _Values(len(x), len(x), (), {"income": steps}))
    assert judged.ranked(answers) >= 0.95
    assert judged.ranked([replace(a, ranks=(-2, 2)) for a in answers]) < LEAST


def test_a_moved_value_is_another_number_and_the_plain_one_is_missed():
    x = np.concatenate([np.full(900, 10.0), np.full(100, 5_000.0)])
    with sd.table({"x": x}, bounds={"x": (0, 100)}, budget=sd.Budget(epsilon=99), ledger=":memory:") as table:
        (found,) = coverage(table.mean("x"), epsilon=1, plain={("mean(x)",): float(x.mean())})
    assert found.truth == pytest.approx(19)
    assert found.share >= LEAST
    assert found.plain == 0
    assert "NOT PRIVATE" in str(found)


def test_what_a_cut_table_is_about_are_the_rows_that_count():
    rows = {"who": [f"p{i // 10}" for i in range(2_000)], "x": [float(i % 10) for i in range(2_000)], "k": [i % 2 for i in range(2_000)]}
    words = {"unit": "who", "max_rows": 4, "max_groups": 2, "bounds": {"x": (0, 10)}, "keys": {"k": [0, 1]}}
    with sd.table(rows, **words, budget=sd.Budget(epsilon=99), ledger=":memory:") as table:
        (count,) = coverage(table.count(), epsilon=1, plain={("count",): 2_000})
        (people,) = coverage(table.count_units(), epsilon=1)
        by = coverage(table.group_by("k").agg(n=sd.count(), m=sd.mean("x")), epsilon=1)
        (bins,) = coverage(table.histogram("x", bins=[0, 5, 10]), epsilon=1)
    assert (count.truth, count.plain) == (800, 0)
    assert people.truth == 200
    assert sum(one.truth for one in by if one.name == "n") == 800
    assert len(by) == 4
    assert sum(bins.truth.values()) <= 800
    assert min(one.share for one in (count, people, bins, *by)) >= LEAST


def test_what_cannot_be_judged_is_refused_with_a_fix():
    with sd.table({"k": ["a", "b"] * 50}, budget=sd.Budget(epsilon=9, delta=1e-6), ledger=":memory:") as table:
        with pytest.raises(QueryError, match="private keys"):
            coverage(table.group_by("k").count(), epsilon=1)
        with pytest.raises(QueryError, match="not a query"):
            coverage(table, epsilon=1)
    assert quantile_of(np.array([], np.int64), 1) is None


def test_the_page_is_written_from_the_result():
    rows = BENCH.unpacked(json.loads(BENCH.RESULTS.read_text(encoding="utf-8")))
    assert BENCH.PAGE.read_text(encoding="utf-8") == BENCH.text(rows)
    assert len({row["table"] for row in rows if not row["stranger"]}) == 12
