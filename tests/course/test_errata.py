"""The errata page says what the code computes, and the computations say what is known."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import sordino as sd
from sordino.course import errata, misprint
from sordino.course.errata import ORDER, figure
from sordino.course.textbook import verdicts
from sordino.course.textbook.estimator import descent, plug_in, ridge_bound

ROWS = errata.rows()
KNOWN = {
    "leaks": ["000 Lemma 13.2", "000 last formula", "001 2.1", "002 mode", "004 descent, noise", "004 smooth, p-D"],
    "leaks beyond ε 66.78": ["001 5, sigma"],
    "leaks beyond ε 9.733": ["004 Gaussian mechanism"],
    "leaks beyond ε 11.17": ["004 smooth, 1-D"],
    "false": ["001 2, 2.2", "001 5, meaning of delta", "002 mode, success"],
    "conditional": ["004 Laplace mean", "004 Avella-Medina"],
    "incomplete": ["000 13.1.2 bound"],
    "slip": [
        "000 13.1.2 solution", "000 13.3.1 (ii)", "000 13.3.2", "000 13.3.2 last line", "001 5, definition",
        "002 propose-test-release, step 2", "003 lemma", "003 Gaussian proof", "004 small changes", "004 definition",
        "004 influence function", "004 descent, direction",
        "004 deviation of F_n",
    ],
    "scan": ["000 Definition 13.3.1", "000 Lemmas 13.3, 13.4", "002 propose-test-release, symbols"],
    "holds": [
        "000 13.2", "001 5, delta below 1/n", "001 5, risk", "002 propose-test-release", "002 stable histogram", "003 Gaussian claim",
        "004 tracing", "004 vector query", "004 Chaudhuri-Hsu",
    ],
}  # fmt: skip


def test_the_page_is_the_one_the_code_writes():
    assert (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8") == errata.page()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.note} {row.place}")
def test_every_row_has_the_verdict_it_is_known_by(row):
    name = f"{row.note} {row.place}"
    assert name in KNOWN[row.verdict()]
    assert row.printed != row.right
    assert 1 <= len(row.quote.split()) <= 12
    assert all(math.isfinite(found.holds) for found in (*row.verdicts(), *row.asides()))


def test_a_formula_that_leaks_does_so_at_an_ordinary_price_or_says_from_which_on():
    for row in ROWS:
        for found in row.verdicts():
            if found.word == "leaks":
                assert found.claimed[0] <= 3
            if found.word == "leaks beyond":
                assert 3 < found.beyond <= found.claimed[0]
        if row.verdict().startswith("leaks beyond"):
            assert {found.word for found in row.verdicts() if found.claimed[0] <= 3} == {"holds"}


def test_what_is_not_claimed_does_not_count():
    asides = {row.place: [found.word for found in row.asides()] for row in ROWS if row.aside}
    assert asides == {"stable histogram": ["conditional"], "Chaudhuri-Hsu": ["conditional"]}


def test_rows_are_in_the_order_of_the_notes_and_named_once():
    assert [row.note for row in ROWS] == sorted(row.note for row in ROWS)
    assert len({(row.note, row.place) for row in ROWS}) == len(ROWS)
    assert sorted(name for names in KNOWN.values() for name in names) == sorted(f"{row.note} {row.place}" for row in ROWS)


def test_every_printed_formula_that_leaks_or_is_false_has_an_erratum():
    judged = {(found.note, found.section) for row in ROWS for found in (*row.verdicts(), *row.asides())}
    assert {(found.note, found.section) for found in verdicts() if not found.sound} <= judged


def test_a_verdict_is_the_gravest_of_its_evidence():
    row = next(row for row in ROWS if row.place == "Lemma 13.2")
    assert [figure(found).split()[0] for found in row.verdicts()] == ["holds", "leaks"]
    assert row.verdict() == min(("holds", "leaks"), key=ORDER.index)


def test_the_shelf_is_open_to_users():
    assert sd.course.errata.rows() == ROWS


def huber(rows, c=1.0):
    low, high = min(rows), max(rows)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(np.asarray(rows) - middle, -c, c).sum() > 0 else (low, middle)
    return low


@pytest.mark.parametrize("n", [11, 101])
def test_the_plug_in_noise_by_solving_the_two_tables(n):
    half = (n - 1) // 2
    sides = []
    for middle in (0.0, 100.0):
        rows = [-100.0] * half + [100.0] * half + [middle]
        place = huber(rows)
        sensitivity = 1 / np.mean(np.abs(np.asarray(rows) - place) <= 1 + 1e-9)
        sides.append((place, sensitivity * 5 * math.sqrt(2 * math.log(n) * math.log(2e6)) / n))
    z = np.linspace(-2_000, 2_000, 4_000_001)
    p, q = (norm.pdf(z, *side) * (z[1] - z[0]) for side in sides)
    again = max(np.maximum(p - math.e * q, 0).sum(), np.maximum(q - math.e * p, 0).sum())
    assert plug_in(n=n).holds == pytest.approx(again, rel=1e-4)


def test_plug_in_noise_gets_no_better_with_more_people():
    found = [plug_in(n=n).holds for n in (101, 1_001, 100_001)]
    assert found == sorted(found)
    assert found[0] > 0.98
    assert found[-1] > 0.9999


def test_descent_costs_two_epsilons_whatever_the_number_of_steps():
    assert [descent(0.5, steps).holds for steps in (1, 7, 50)] == pytest.approx([1.0] * 3)


def test_the_influence_of_a_row_by_solving_the_regression_twice():
    x, y = np.array([0.1] * 1000), np.ones(1000)
    before, after = (float(a @ b / (a @ a)) for a, b in ((x, y), (np.append(x, 1), np.append(y, -1))))
    assert abs(after - before) == pytest.approx(1.0)
    assert ridge_bound().holds == pytest.approx(10.0)


def test_a_new_row_by_solving_the_regression_of_three_rows():
    solved, *_ = np.linalg.lstsq(np.array([[1, 0], [0, 1], [1, 0]]), np.array([0, 1, 1]), rcond=None)
    assert misprint.ridge_row().holds == pytest.approx(solved[1])


def test_tracing_by_playing_it():
    draw = np.random.default_rng(3)
    m, plain, centred = np.full(1000, 10.0), [], []
    for _ in range(40):
        inside, outside = (m + draw.normal(size=(100, 1000)) for _ in range(2))
        for r, found in ((0, plain), (m, centred)):
            one, other = ((rows - r) @ (inside.mean(axis=0) - r) for rows in (inside, outside))
            found.append(np.mean(one[:, None] > other[None, :]))
    found = misprint.tracing()
    assert np.mean(centred) == pytest.approx(found.holds, abs=0.03)
    assert np.mean(plain) == pytest.approx(float(found.evidence.split("; ")[1].split()[0]), abs=0.03)


def test_the_mass_of_the_printed_density():
    found = misprint.growing_density()
    z = np.linspace(-20, 20, 400_001)
    assert found.says == pytest.approx(float(np.trapezoid(np.exp(np.abs(z)) / 2, z)), rel=1e-6)
    assert found.holds == pytest.approx(float(np.trapezoid(np.exp(-np.abs(z)) / 2, z)), rel=1e-6)


def test_the_slips_added_last_by_counting_again():
    """Each number of a slip once more, by simulation or by listing."""
    draw = np.random.default_rng(5)
    assert misprint.answer_without_noise().holds == pytest.approx(np.mean(draw.laplace(0, 2, 400_000) >= 1), abs=0.005)
    one = draw.uniform(size=400_000)
    assert misprint.one_point_deviation().holds == pytest.approx(np.mean(np.maximum(one, 1 - one) > 0.6), abs=0.005)
    coins = {(0, 0): 0.75, (0, 1): 0.25, (1, 0): 0.25, (1, 1): 0.75}
    assert misprint.event_forgotten().holds == pytest.approx(3 * (coins[1, 0] + coins[1, 1]))
    assert misprint.event_forgotten().says == pytest.approx(3 * coins[1, 0])
    assert misprint.identical_results().holds == pytest.approx(max(math.log(coins[a, 1] / coins[b, 1]) for a in (0, 1) for b in (0, 1)))
    tables = [(a, b) for a in range(4) for b in range(4 - a)]
    pairs = [(x, y) for x in tables for y in tables if x < y and abs(x[0] - y[0]) + abs(x[1] - y[1]) == 1]
    assert misprint.neighbours_of_rows().holds == len(pairs)


def test_the_chaudhuri_hsu_bound_holds_for_samples_and_not_for_every_table():
    assert misprint.sample_bound().sound
    assert misprint.sample_bound().slack < 20
    assert not misprint.deviation_bound().sound


def test_delta_below_one_over_n_is_necessary_and_not_enough():
    found = [math.exp(1000 * math.log1p(-share / 1000)) for share in (1, 0.99)]
    row = next(row for row in ROWS if row.place == "5, delta below 1/n").verdicts()[0]
    assert row.holds == pytest.approx(1 - found[0])
    assert f"{1 - found[1]:.3f}" in row.evidence
