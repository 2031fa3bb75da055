"""Ridge regression in a ball: the solution is the minimiser, and no neighbour moves it beyond its bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import optimize

from sordino.errors import QueryError
from sordino.sensitivity.ridge import Ridge

VALUES = (-1.0, 0.0, 0.6, 1.0)


def sums(table: tuple[tuple[float, float], ...]) -> tuple[np.ndarray, np.ndarray, float]:
    rows = np.array([(1.0, x) for x, _ in table]).reshape(-1, 2)
    square, moment = rows.T @ rows, rows.T @ np.array([y for _, y in table])
    return square, moment, float(np.linalg.eigvalsh(square)[0])


POINTS = list(itertools.product(VALUES, (-1.0, 1.0)))
TABLES = [t for n in range(4) for t in itertools.combinations_with_replacement(POINTS, n)]


@pytest.mark.parametrize(("radius", "penalty"), [(1.0, 0.5), (0.3, 0.1), (5.0, 2.0)])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_no_neighbour_in_the_small_world_moves_the_solution_beyond_the_ladder(radius: float, penalty: float, relation: str) -> None:
    ridge = Ridge(2, radius, penalty, relation)
    known = {t: (ridge.solution(*sums(t)[:2]), ridge.ladder(sums(t)[2]).rungs(6)) for t in TABLES}
    for table in TABLES:
        theta, rungs = known[table]
        near = [(*table, p) for p in POINTS] if relation == "add_remove" else [(*table[:-1], p) for p in POINTS] if table else []
        for other in (tuple(sorted(n, key=POINTS.index)) for n in near):
            if other not in known:
                continue
            moved, theirs = np.linalg.norm(known[other][0] - theta), known[other][1]
            assert moved <= min(rungs[0], theirs[0]) + 1e-9
            assert (rungs[:-1] <= theirs[1:] + 1e-12).all()
            assert (theirs[:-1] <= rungs[1:] + 1e-12).all()


def test_the_solution_is_the_minimiser_in_the_ball() -> None:
    rng = np.random.default_rng(4)
    for radius in (0.2, 1.0, 10.0):
        rows, y = rng.uniform(-1, 1, (30, 3)), rng.uniform(-1, 1, 30)
        ridge = Ridge(3, radius, 0.7)
        found = ridge.solution(rows.T @ rows, rows.T @ y)
        assert np.linalg.norm(found) <= radius * (1 + 1e-12)

        def loss(t: np.ndarray, rows: np.ndarray = rows, y: np.ndarray = y) -> float:
            return float(((rows @ t - y) ** 2).sum() / 2 + 0.7 * t @ t / 2)

        ball = {"type": "ineq", "fun": lambda t, r=radius: r**2 - t @ t}
        best = optimize.minimize(loss, np.zeros(3), constraints=ball, tol=1e-14)
        assert loss(found) <= best.fun + 1e-9


def test_the_smooth_bound_is_the_larger_of_here_and_where_the_curvature_is_used_up() -> None:
    ridge, beta = Ridge(3, 2.0, 0.5), 0.01
    for smallest in (0.0, 10.0, 500.0):
        formula = max(ridge.local(smallest), np.exp(-beta * smallest / 3) * ridge.worst_case)
        assert ridge.smooth(smallest, beta=beta) == pytest.approx(formula, rel=0.05)


def test_half_the_bound_would_be_wrong() -> None:
    """The twin whose gradient forgets the coefficients: many rows (0.1, 1), then one far away."""
    rows, y = np.array([[1.0, 0.1]] * 1000 + [[1.0, -0.1]] * 1000), np.array([1.0] * 1000 + [-1.0] * 1000)
    ridge = Ridge(2, 20.0, 0.01)
    square, moment = rows.T @ rows, rows.T @ y
    far = np.array([1.0, 1.0])
    moved = np.linalg.norm(ridge.solution(square + np.outer(far, far), moment - far) - ridge.solution(square, moment))
    smallest = float(np.linalg.eigvalsh(square)[0])
    assert np.sqrt(2) / (0.01 + smallest) < moved <= ridge.local(smallest)


def test_bad_parameters_are_refused() -> None:
    for arguments in ((0,), (2, -1.0), (2, 1.0, 0.0), (2, 1.0, 1.0, "x"), (2, float("nan")), (True,)):
        with pytest.raises(QueryError):
            Ridge(*arguments)
