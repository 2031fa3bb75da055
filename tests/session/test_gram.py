"""One paid matrix: correlations, components and regressions are those of the rows up to a noise that is known, and cost nothing more."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.statistics.second_moment import SecondMoments

NAMES = [f"c{i}" for i in range(14)]


def people(n=5_000, seed=1):
    """Fourteen columns with a few common causes, spread over their bounds."""
    rng = np.random.default_rng(seed)
    causes = rng.normal(size=(n, 3))
    mixed = np.tanh(causes @ rng.normal(0, 0.6, (3, 14)) + rng.normal(0, 0.6, (n, 14)))
    return {name: 50 + 50 * column for name, column in zip(NAMES, mixed.T, strict=True)}


def opened(rows, names=NAMES, **more):
    return sd.table(rows, bounds=dict.fromkeys(names, (0, 100)), budget=sd.Budget(epsilon=100, delta=1e-3), ledger=":memory:", **more)


def test_ninety_one_correlations_for_one_price():
    rows = people()
    truth = np.corrcoef(np.array([rows[name] for name in NAMES]))
    with opened(rows) as held:
        found = held.gram(NAMES).release(epsilon=1, delta=1e-6)
        assert held.budget.spent == 1
        ours = np.array([[found.correlation[a][b] for b in NAMES] for a in NAMES])
        upper = np.triu_indices(14, 1)
        assert np.abs(ours - truth)[upper].mean() < 0.04
        ends = [(found.interval(NAMES[i], NAMES[j]), truth[i, j]) for i, j in zip(*upper, strict=True)]
        assert np.mean([low <= r <= high for (low, high), r in ends]) > 0.85
        assert found.rows == pytest.approx(5_000, rel=0.1)
        first = found.pca(2)
        values = np.linalg.eigvalsh(np.cov(np.array([rows[name] for name in NAMES]) / 50))[::-1]
        assert first.variances[0] == pytest.approx(values[0], abs=5 * first.noise[0])
        line = found.regress("c0 ~ c1 + c2")
        design = np.column_stack([np.ones(5_000), rows["c1"], rows["c2"]])
        own = np.linalg.lstsq(design, rows["c0"], rcond=None)[0]
        assert list(line.value) == ["intercept", "c1", "c2"]
        assert all(line.low[name] - 1e-9 <= value <= line.high[name] for name, value in zip(line.value, line.value.values(), strict=True))
        assert line.value["c1"] == pytest.approx(own[1], abs=0.15)
        assert line.total[0]["c1"] < line.low["c1"]
        assert held.budget.spent == 1
        for call in (lambda: found.regress("c0 ~ I(c1**2)"), lambda: found.regress("c0 ~ nobody"), lambda: found.pca(15),
                     lambda: found.interval("c0", "x"), lambda: held.gram(["c0", "c0"]),
                     lambda: found.interval("c0", "c1", kind="x")):  # fmt: skip
            with pytest.raises(QueryError):
                call()


def test_partial_correlations_and_covariances_are_those_of_the_rows_when_noise_is_small():
    rng = np.random.default_rng(3)
    z = rng.normal(size=20_000)
    rows = {"a": z + rng.normal(size=20_000), "b": z + rng.normal(size=20_000), "z": z}
    facts = {"bounds": dict.fromkeys(rows, (-6, 6)), "budget": sd.Budget(epsilon=1000, delta=1e-3), "ledger": ":memory:"}
    with sd.table(rows, **facts) as held:
        found = held.gram(["a", "b", "z"]).release(epsilon=100, delta=1e-6)
    assert found.correlation["a"]["b"] == pytest.approx(0.5, abs=0.03)
    assert found.partial["a"]["b"] == pytest.approx(0, abs=0.05)
    assert found.covariance["a"]["a"] == pytest.approx(2, abs=0.1)
    low, high = found.interval("a", "b", kind="total")
    assert low < 0.5 < high
    assert "correlations within" in repr(found)


def test_the_noise_of_a_correlation_is_what_its_bar_says():
    """2,000 draws around one table: the whitened errors have unit variance, within five standard errors."""
    rng = np.random.default_rng(4)
    x = rng.multivariate_normal([0.3, -0.2], [[0.1, 0.05], [0.05, 0.08]], 3_000)
    rows = np.column_stack([np.ones(3_000), x])
    square, noise = rows.T @ rows, 12.0
    truth = SecondMoments(square, noise)
    errors = []
    for _ in range(2_000):
        upper = rng.normal(0, noise, (3, 3))
        drawn = square + (upper + upper.T) / math.sqrt(2)
        errors.append(SecondMoments(drawn, noise).correlation[0, 1] - truth.correlation[0, 1])
    assert np.std(errors) == pytest.approx(truth.correlation_noise(0, 1), rel=0.1)


def test_sql_knows_correlation_covariance_and_lines():
    rng = np.random.default_rng(5)
    x = rng.uniform(0, 10, 20_000)
    rows = {"x": x, "y": 3 + 2 * x + rng.normal(0, 4, 20_000), "g": rng.choice(["u", "v"], 20_000)}
    facts = {"bounds": {"x": (0, 10), "y": (-20, 50)}, "keys": {"g": ["u", "v"]}, "ledger": ":memory:", "name": "t"}
    with sd.table(rows, **facts, budget=sd.Budget(epsilon=1000, delta=1e-3)) as held:
        for text, truth, far in (
            ("CORR(y, x)", np.corrcoef(rows["x"], rows["y"])[0, 1], 0.01), ("COVAR_POP(x, y)", np.cov(rows["x"], rows["y"])[0, 1], 0.5),
            ("COVAR_SAMP(x, y)", np.cov(rows["x"], rows["y"])[0, 1], 0.5), ("REGR_SLOPE(y, x)", 2.0, 0.1),
            ("REGR_INTERCEPT(y, x)", 3.0, 0.6),
        ):  # fmt: skip
            found = held.sql(f"SELECT {text} AS v FROM t").release(epsilon=20, delta=1e-6)
            assert found.value == pytest.approx(truth, abs=far), text
            assert found.low < found.value < found.high
            assert found.interval(0.5)[0] > found.low
        by = held.sql("SELECT g, CORR(x, y) AS r FROM t GROUP BY g").release(epsilon=20, delta=1e-6)
        assert by.to_dict()["r"] == pytest.approx([0.82, 0.82], abs=0.03)
        with pytest.raises(QueryError):
            held.sql("SELECT CORR(x, x) AS r FROM t")
        with pytest.raises(QueryError, match="SRD-102"):
            held.sql("SELECT CORR(x, y) AS r FROM t").release(epsilon=1, delta=0)
