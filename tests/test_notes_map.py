"""The map from the lecture notes to the code: every name in it resolves, and what it says that no other test shows."""

import ast
import tomllib
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import sordino as sd
from sordino.cli import main
from sordino.course.writing import SITE
from sordino.sensitivity import influence
from sordino.sensitivity.location import Location, Ramps, read_curve

ROOT = Path(__file__).parent.parent
ITEMS = tomllib.loads((ROOT / "docs/notes.toml").read_text(encoding="utf-8"))["item"]


def resolve(name):
    """The thing a dotted name means, loading modules on the way."""
    parts, thing = name.split("."), import_module(name.split(".")[0])
    for i, part in enumerate(parts[1:], 2):
        thing = getattr(thing, part) if hasattr(thing, part) else import_module(".".join(parts[:i]))
    return thing


def test_every_item_of_the_notes_is_there_once_and_says_where_it_lives():
    assert [item["number"] for item in ITEMS] == list(range(1, 117))
    for item in ITEMS:
        assert set(item) == {"number", "note", "section", "item", "function", "test", "page", "learn"}, item["number"]
        assert all(item.values()), item["number"]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: str(item["number"]))
def test_every_function_test_and_page_of_the_map_exists(item):
    assert resolve(item["function"]) is not None
    file, _, name = item["test"].partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert (ROOT / "docs" / item["page"]).exists()
    assert (SITE / f"{item['learn']}.html").exists()


def test_a_name_that_means_nothing_is_noticed():
    for name in ("sordino.sensitivity.smooth.medain", "sordino.no_such_room"):
        with pytest.raises((AttributeError, ModuleNotFoundError)):
            resolve(name)


def test_every_work_the_notes_point_to_is_in_the_bibliography_and_put_to_use():
    entries = (ROOT / "docs/bibliography.md").read_text(encoding="utf-8").split("\n- ")
    cited = [" ".join(entry.partition("\n\n")[0].split()) for entry in entries if "*Notes.*" in entry]
    used = sd.course.notes.references()
    assert len(cited) == len(used)
    for work, name in used.items():
        assert [entry for entry in cited if work in entry], work
        assert resolve(name) is not None


def test_at_epsilon_zero_a_report_is_pure_chance():
    for options in (2, 3, 10):
        coin = sd.mechanisms.RandomizedResponse(0, options)
        assert coin.keep == coin.lie == Fraction(1, options)
        assert sd.privacy.loss([float(coin.keep)] * options, [float(coin.lie)] * options).sup == 0
    with pytest.raises(sd.errors.QueryError, match="pure chance"):
        sd.mechanisms.RandomizedResponse(0, 2).estimate([0, 1])
    for encoding in ("direct", "unary"):
        release = sd.release(sd.mechanisms.RandomizedResponse(0, 2, encoding), 1)
        assert (release.cost.epsilon, release.cost.delta) == (0, 0)
        assert release.card["information"].startswith("no information")
        assert release.card["ledger"] == "not charged to any ledger"
    heads = sum(float(sd.release(sd.mechanisms.RandomizedResponse(0), 1)) for _ in range(2_000))
    assert 850 < heads < 1_150, "a fair coin, whatever the answer"


def test_the_loss_of_laplace_noise_is_the_distance_over_the_scale_by_the_triangle_inequality():
    """|y - f'| - |y - f| <= |f - f'| at every y, with equality outside the two: the loss is that over b, and no smaller."""
    law, scale = sd.privacy.LaplaceLaw(), 8
    for near, far in ((0, 1), (0, 8), (-3, 21)):
        found = sd.privacy.loss(law.at(near, scale), law.at(far, scale))
        y = np.linspace(near - 50, far + 50, 2_001)
        pointwise = (np.abs(y - far) - np.abs(y - near)) / scale
        assert found.sup == pytest.approx((far - near) / scale)
        assert pointwise.max() == pytest.approx(found.sup)
        assert found.delta(found.sup) == pytest.approx(0, abs=1e-12)
        assert found.delta(0.9 * found.sup) > 0


def test_the_number_of_steps_is_fixed_beforehand_and_matters():
    """At one price few steps have not arrived, and many share the price among so much noise that the paths fan out."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (400, 1))
    rows, goal = np.column_stack([x, x[:, 0] / 2]), 0.5
    fans = {t: sd.lab.descent(sd.mechanisms.NoisyDescent(1, rounds=t, dimension=2, size=400), rows, repeats=40) for t in (2, 20, 120)}
    assert {t: fan.steps for t, fan in fans.items()} == {2: 2, 20: 20, 120: 120}
    left = {t: abs(fan.calm[-1][1] - goal) for t, fan in fans.items()}
    spread = {t: fan.spread(1)[-1] for t, fan in fans.items()}
    assert left[2] > 10 * left[20]
    assert spread[120] > 2 * spread[20] > 2 * spread[2]


def test_an_estimate_robust_at_a_law_may_be_fragile_near_it():
    """Both samples have a bounded influence; a fifth of bad rows moves the one by its limit and the other by several times as much."""
    together = np.linspace(-0.5, 0.5, 401)
    apart = np.concatenate([np.linspace(-0.4, 0.4, 41), np.full(180, -10.0), np.full(180, 10.0)])
    bad = [[1.0, 100.0]]
    for sample, few in ((together, 1.5), (apart, 6)):
        fit = influence.location(sample, influence.huber(1))
        limit = fit.gross_error_sensitivity(1)
        assert fit.fixed_scale_sensitivity(bad, 1e-4) == pytest.approx(limit, rel=0.01)
        assert fit.fixed_scale_sensitivity(bad, 0.2) < few * limit
    assert fit.fixed_scale_sensitivity(bad, 0.2) > 4 * limit


def test_the_smooth_sensitivity_of_hubers_mean_has_the_order_of_its_gross_error_sensitivity():
    step = 10**8
    for n in (1_000, 10_000, 100_000):
        x = np.sort(np.random.default_rng(n).normal(50, 1, n))
        column = np.floor(x * step).astype(np.int64)
        smooth = Location(column, 100 * step, Ramps.through(*read_curve("huber"), step)).ladder().smooth(0.3) / step
        limit = influence.location(x, influence.huber()).gross_error_sensitivity(1)
        assert 0.5 < n * smooth / limit < 2


def test_a_delta_near_one_over_n_is_called_unsafe(tmp_path, capsys):
    head = '[dataset]\nformat = 2\nname = "d"\nledger = "d.ledger"\n[privacy]\n[budget]\nepsilon = 1\n'
    rest = '[tables.t]\nsource = "t.csv"\nsize = 1000\n[tables.t.columns]\nx = { type = "bool" }\n'
    (tmp_path / "t.csv").write_text("x\n")
    for delta, code in (("1e-3", 5), ("1e-8", 0)):
        (tmp_path / "d.toml").write_text(f"{head}delta = {delta}\n{rest}")
        assert main(["check", str(tmp_path / "d.toml")]) == code
        assert ("not far below 1/1,000" in capsys.readouterr().out) == (code == 5)


def test_the_approaches_of_the_notes_stand_side_by_side():
    @sd.statistic(bounds=(0, 1_000), relation="replace")
    def median(x):
        return float(x[(len(x) - 1) // 2]) if len(x) else 0.0

    @median.sensitivity_at
    def _(x, k):
        return float(sd.sensitivity.rungs.median(x, bounds=(0, 1_000), relation="replace", count=k + 1)[k])

    found = sd.lab.compare(median, np.linspace(400, 600, 501), epsilon=1, repeats=40)
    errors = {one.name: one.typical for one in found.approaches}
    named = {"smooth sensitivity", "propose-test-release", "privately bounded sensitivity", "stability"}
    assert set(errors) == {"global sensitivity", *named}
    assert errors["smooth sensitivity"] < errors["global sensitivity"] / 3
    assert all(one.epsilon == 1 for one in found.approaches)


def test_any_function_with_a_bounded_sensitivity_gets_laplace_noise_of_its_size():
    @sd.statistic(sensitivity=3, relation="replace", range=(-(10**6), 10**6))
    def odd(x):
        return 3 * int((x % 2).sum())

    declared = {"columns": {"x": {"type": "int", "bounds": (0, 9), "nulls": 0}}, "relation": "replace", "size": 300}
    with sd.table({"x": [1, 2, 3] * 100}, **declared, budget=sd.Budget(epsilon=1), ledger=":memory:") as table:
        release = table.apply(odd, "x").release(epsilon=1)
    assert "Laplace" in release.mechanism
    assert (release.high - release.low) / 2 == pytest.approx(3 * np.log(20), abs=1)
    assert "supplied by the user" in " ".join(release.card["assumes"])
