"""Intervals of formulas by simulation: they cover as often as they say, follow from the release alone, and say where there are none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sordino as sd
from sordino.plan.formula import parse_formula
from sordino.session.derivation import _ends
from sordino.session.noise_weight import NoiseWeight, uniforms

TIMES = 1_500
LAWS = {
    "laplace": NoiseWeight(20.0),
    "gaussian": NoiseWeight(15.0, gaussian=True),
    "whole": NoiseWeight(3.0, discrete=True),
    "grid": NoiseWeight(40.0, unit=1.0, slop=0.5),
}


def covered(text: str, truth: dict[str, float], laws: dict[str, NoiseWeight], exact: float) -> tuple[float, float]:
    """How often the interval holds the formula of the noiseless numbers, and how often there is one; a table is a row."""
    noise = {name: law.draws(b"the drawn noise of " + name.encode(), (TIMES, 1))[:, 0] for name, law in laws.items()}
    answers = {name: (truth[name] + noise[name]).tolist() for name in laws}
    release: Any = SimpleNamespace(keys={}, answers=answers, level=0.95)
    found = _ends(parse_formula(text, list(laws)), release, list(range(TIMES)), {name: (name, law) for name, law in laws.items()})
    there = [pair for pair in found if pair is not None]
    slack = 1e-9 * abs(exact)
    return sum(low - slack <= exact <= high + slack for low, high in there) / max(1, len(there)), len(there) / TIMES


@pytest.mark.parametrize(
    ("text", "truth", "exact", "laws"),
    [
        ("s - n", {"s": 5_000, "n": 900}, 4_100, ("laplace", "grid")),
        ("s / n", {"s": 5_000, "n": 900}, 5_000 / 900, ("laplace", "laplace")),
        ("s / n", {"s": 500, "n": 300}, 500 / 300, ("gaussian", "gaussian")),
        ("s / (s + n)", {"s": 400, "n": 600}, 0.4, ("whole", "whole")),
        ("100 * (s - n) / n", {"s": 1_100, "n": 1_000}, 10.0, ("laplace", "whole")),
        ("round(s / n, 3)", {"s": 1_000, "n": 3_000}, 0.333, ("gaussian", "laplace")),
        ("ln(s) - ln(n)", {"s": 5_000, "n": 2_000}, float(np.log(2.5)), ("laplace", "gaussian")),
        ("sqrt(s) * n", {"s": 2_500, "n": 800}, 40_000.0, ("laplace", "gaussian")),
        ("case when s > n then s - n else 0 end", {"s": 5_000, "n": 900}, 4_100, ("laplace", "whole")),
    ],
)  # fmt: skip
def test_it_holds_the_noiseless_formula_as_often_as_it_says(
    text: str, truth: dict[str, float], exact: float, laws: tuple[str, str]
) -> None:
    share, there = covered(text, truth, {"s": LAWS[laws[0]], "n": LAWS[laws[1]]}, exact)
    assert there == 1
    assert share > 0.95 - 3 * (0.05 * 0.95 / TIMES) ** 0.5
    assert share < (1.0 if "case" in text or "round" in text or "whole" in laws else 0.975)


def test_a_divisor_near_zero_has_no_such_interval() -> None:
    truth = {"s": 500, "n": 30}
    _, there = covered("s / n", truth, {"s": LAWS["laplace"], "n": LAWS["laplace"]}, 500 / 30)
    assert there < 0.02


def test_windows_over_groups_cover_jointly() -> None:
    truth, law = np.array([300.0, 500, 200, 1_000]), LAWS["laplace"]
    wrong = {"n / sum(n) over ()": 0, "sum(n) over (order by k)": 0, "n - lag(n) over (order by k)": 0, "rank() over (order by n)": 0}
    exact = {"n / sum(n) over ()": truth / truth.sum(), "sum(n) over (order by k)": truth.cumsum(),
             "n - lag(n) over (order by k)": np.array([np.nan, 200, -300, 800]),
             "rank() over (order by n)": np.array([2.0, 3, 1, 4])}  # fmt: skip
    for turn in range(25):
        drawn = truth + law.draws(f"turn {turn}".encode(), (4, 1))[:, 0]
        release: Any = SimpleNamespace(keys={"k": ["a", "b", "c", "d"]}, answers={"n": drawn.tolist()}, level=0.95)
        for text in wrong:
            found = _ends(parse_formula(text, ["n", "k"]), release, [0, 1, 2, 3], {"n": ("n", law)})
            pairs = [(pair, right) for pair, right in zip(found, exact[text], strict=True) if not np.isnan(right)]
            assert all(pair is not None for pair, _ in pairs)
            wrong[text] += sum(not pair[0] <= right <= pair[1] for pair, right in pairs if pair is not None)
    assert all(count <= 0.05 * 100 + 3 * (100 * 0.05 * 0.95) ** 0.5 for count in wrong.values()), wrong


def test_draws_follow_their_laws_and_a_seed_is_a_draw() -> None:
    assert uniforms(b"a", (5,)).tolist() == uniforms(b"a", (5,)).tolist() != uniforms(b"b", (5,)).tolist()
    for law in LAWS.values():
        drawn = law.draws(b"seed", (1, 200_000))
        spread = (law.variance if not law.discrete else 1 / (2 * np.sinh(1 / 6) ** 2)) + law.slop**2 / 3
        assert abs(drawn.mean()) < 5 * spread**0.5 / 200_000**0.5
        assert drawn.var() == pytest.approx(spread, rel=0.03)


@pytest.fixture(scope="module")
def table() -> Any:
    return sd.table(
        {"ward": ["x", "y", "z", "x"] * 300, "cost": [10, 20, 30, 40] * 300},
        bounds={"cost": (0, 50)}, keys={"ward": ["x", "y", "z", "empty"]}, budget=sd.Budget(epsilon=1_000), ledger=":memory:",
    )  # fmt: skip


def test_it_is_narrower_than_interval_arithmetic_and_the_same_every_time(table: Any) -> None:
    both = table.agg(s=sd.sum("cost"), n=sd.count()).release(epsilon=1)
    made = both.derive(rate="s / n", twice="n - n")
    assert made.card["simulated"] == {"of": ["rate", "twice"], "draws": 10_000}
    assert "by 10,000 draws" in made.about
    low, high = made.answers["rate_low"][0], made.answers["rate_high"][0]
    s, n = ((both.answers[f"{name}_low"][0], both.answers[f"{name}_high"][0]) for name in ("s", "n"))
    assert high - low < 0.9 * (s[1] / n[0] - s[0] / n[1])
    assert (made.answers["twice_low"], made.answers["twice_high"]) == ([0.0], [0.0])  # one draw, however often it is named
    assert both.derive(rate="s / n").answers["rate_low"][0] == low
    assert made.at(0.8).answers["rate_low"][0] > low


def test_a_rate_of_an_empty_group_says_that_there_is_no_interval(table: Any) -> None:
    made = table.sql("SELECT ward, SUM(cost) / COUNT(*) AS rate, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM t GROUP BY ward")
    answer = made.release(epsilon=1)
    rows = dict(zip(answer.to_dict()["ward"], answer.to_dict()["rate_low"], strict=True))
    assert rows["x"] is not None
    assert rows["empty"] is None
    assert "no interval of rate where what it divides by may be zero" in answer.about
    assert all(low is not None for low in answer.to_dict()["share_low"])


def test_where_the_law_is_not_known_interval_arithmetic_stays(table: Any) -> None:
    made = table.agg(m=sd.mean("cost"), n=sd.count()).release(epsilon=1).derive(all="m * n")
    assert "simulated" not in made.card
    assert made.answers["all_low"][0] < made.answers["all"][0] < made.answers["all_high"][0]
