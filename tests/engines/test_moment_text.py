"""Products and gradients: the engine, the array reference and the oracle agree to the last digit."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from sordino.engines.source import open_source
from sordino.lab.awkward_tables import COLUMNS, FRAMES, awkward
from sordino.lab.engine_check import moments
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.session.settled import Nobody
from sordino.summaries.array_table import direction, lengths, outer, products, quantised
from sordino.summaries.moment import FINE, GRAIN, LINK, ONE, Gradient, Gram, Lengths, MomentTerm, Outer, link

CHOSEN = ("rows", "rows by", "rows by public", "people", "people by", "people by public", "one row each", "nothing but rows")


def plain(answer: object) -> tuple[object, ...]:
    return answer.keys, answer.values.tolist(), getattr(answer, "octaves", np.zeros(0)).tolist()  # type: ignore[attr-defined]


@pytest.mark.parametrize("rows", [0, 1, 300])
@pytest.mark.parametrize("name", CHOSEN)
def test_every_product_and_gradient_of_an_awkward_table_is_the_oracles(name: str, rows: int) -> None:
    table, frame = awkward(rows), FRAMES[name]
    engine, reference = open_source(table, COLUMNS, portable=True, threads=2), Reference(table, COLUMNS)
    with engine, engine.bounded(frame, 12345) as bounded, reference.bounded(frame, 12345) as oracle:
        for request in moments(frame):
            assert plain(bounded.ask(request)) == plain(oracle.ask(request)), request


def test_the_array_reference_is_the_engine() -> None:
    rng = np.random.default_rng(2)
    step = Fraction(1, 2**12)  # a grid of 14 bits, which engines do not cut
    table = {name: np.floor(rng.uniform(-1.2, 1.2, 9_000) / float(step)) * float(step) for name in "aby"} | {"s": rng.random(9_000) < 0.4}
    table["b"][::7] = np.nan
    columns = (*(Column(name, "float", (-1, 1), resolution=step) for name in "aby"), Column("s", "bool"))
    frame = Frame(PrivacyUnit(), columns=columns)
    rows = np.column_stack([np.full(9_000, float(ONE)), *(quantised(table[n].astype(float), -1.0, 1.0) for n in "ab")])
    y, flag = quantised(table["y"], -1.0, 1.0), np.where(table["s"], float(ONE), -float(ONE))
    whole = ~np.isnan(rows).any(axis=1)
    rows, y, flag = rows[whole], y[whole], flag[whole]
    terms, target = (MomentTerm(), MomentTerm("a"), MomentTerm("b")), MomentTerm("y")
    theta = (FINE // 3, -FINE, 2 * FINE)
    with open_source(table, columns) as engine, engine.bounded(frame, 1) as bounded:
        found = bounded.ask(Gram((*terms, target))).values[0]
        assert found.tolist() == products(np.column_stack([rows, y])).tolist()
        for request in (
            Gradient(terms, target, theta, clip=ONE // 5, octaves=14),
            Gradient(terms, target, theta, norm=ONE // 2),
            Gradient(terms, target, theta, norm=ONE // 2, order=1),
            Gradient(terms, MomentTerm("s"), theta, "logistic", norm=ONE),
        ):
            slope = bounded.ask(request)
            vector, cells = direction(rows, y if request.loss == "huber" else flag, request)
            assert (slope.values[0].tolist(), slope.octaves[0].tolist()) == (vector.tolist(), cells.tolist())
        cells = Lengths(terms, target, tuple(ONE * j // 5 for j in range(1, 12)), theta)
        assert bounded.ask(cells).values[0].tolist() == lengths(rows, y, cells).tolist()
        for asked in (Outer(terms, target, "rows", ONE, cap=ONE), Outer(terms, target, "residual", ONE // 2, theta)):
            assert bounded.ask(asked).values[0].tolist() == outer(rows, y, asked).tolist()


def test_more_rows_than_doubles_add_up_are_added_as_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    table, frame = awkward(300), FRAMES["people by"]
    found = []
    for limit in (2**25, 0):
        monkeypatch.setattr("sordino.engines.answer.EXACT", limit)
        with open_source(table, COLUMNS, portable=True) as engine, engine.bounded(frame, 12345) as bounded:
            found.append([plain(bounded.ask(request)) for request in moments(frame) if isinstance(request, Gram)])
    assert found[0] == found[1]


def test_products_of_wide_columns_are_exact() -> None:
    """Sums near the end of what a double holds: every product at its largest."""
    column = Column("x", "float", (0, 1))
    rows = 70_001
    with open_source({"x": np.ones(rows)}, (column,)) as engine, engine.bounded(Frame(PrivacyUnit(), columns=(column,)), 0) as bounded:
        found = bounded.ask(Gram((MomentTerm(), MomentTerm("x")))).values[0]
    assert found.tolist() == [[rows * ONE**2] * 2] * 2


def test_rows_in_any_order_and_any_company_add_the_same() -> None:
    rng = np.random.default_rng(3)
    rows = np.column_stack([np.full(5_000, float(ONE)), quantised(rng.uniform(-1, 1, (5_000, 7)), -1.0, 1.0)])
    y = quantised(rng.uniform(-1, 1, 5_000), -1.0, 1.0)
    theta = tuple(int(t) for t in rng.integers(-FINE, FINE, 8))
    for request in (
        Gradient((), MomentTerm(), theta, clip=ONE // 4, octaves=14),
        Gradient((), MomentTerm(), theta, "logistic", norm=ONE // 2),
    ):
        total, cells = direction(rows, y, request)
        order = rng.permutation(5_000)
        again = direction(rows[order], y[order], request)
        assert (total.tolist(), cells.tolist()) == (again[0].tolist(), again[1].tolist())
        for i in range(0, 5_000, 613):
            rest = direction(np.delete(rows, i, 0), np.delete(y, i), request)
            alone = direction(rows[i : i + 1], y[i : i + 1], request)
            assert (rest[0] + alone[0]).tolist() == total.tolist()
            if request.norm is not None:
                assert np.linalg.norm(alone[0].astype(float)) <= request.norm * ONE


@pytest.mark.parametrize("of", ["rows", "curvature", "residual"])
def test_no_row_adds_more_than_the_longest_vector_to_an_outer_product(of: str) -> None:
    rng = np.random.default_rng(4)
    rows = np.column_stack([np.full(400, float(ONE)), quantised(rng.uniform(-2, 2, (400, 4)), -1.0, 1.0)])
    y = quantised(rng.uniform(-2, 2, 400), -1.0, 1.0)
    request = Outer((), MomentTerm(), of, ONE // 3, tuple(int(t) for t in rng.integers(-3 * FINE, 3 * FINE, 5)), cap=ONE + ONE // 4)
    largest = max(float(np.trace(outer(rows[i : i + 1], y[i : i + 1], request).astype(float))) for i in range(400))
    assert 0.99 * GRAIN**2 <= largest <= (GRAIN + 1) ** 2


def test_no_point_of_the_link_is_near_a_tie() -> None:
    points = np.arange(-16 * LINK, 16 * LINK + 1).astype(float)
    exact = ONE / (1 + np.exp(-points / LINK)) + 0.5
    away = np.abs(exact - np.rint(exact))
    assert np.delete(away, 16 * LINK).min() > 1e-6  # the middle point is exactly one half of ONE, a whole number
    worst = np.argsort(away)[:20]
    with mpmath.workdps(40):
        for i in worst:
            truth = mpmath.floor(ONE / (1 + mpmath.exp(-mpmath.mpf(float(points[i])) / LINK)) + mpmath.mpf(1) / 2)
            assert int(truth) == int(link(points[i : i + 1])[0])


def test_nobody_answers_in_the_same_shapes() -> None:
    for name in CHOSEN:
        frame = FRAMES[name]
        with open_source(awkward(0), COLUMNS) as engine, engine.bounded(frame, 1) as bounded:
            for request in moments(frame):
                there, nobody = bounded.ask(request), Nobody(frame).ask(request)
                assert there.values.shape[1:] == nobody.values.shape[1:]
                assert repr(there) == repr(nobody)
