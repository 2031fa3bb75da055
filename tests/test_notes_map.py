"""The map from the lecture notes to the code: every name in it resolves, and what it says that no other test shows."""

import ast
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import sordino as sd
from sordino.cli import main
from sordino.sensitivity import influence
from sordino.sensitivity.location import Location
from sordino.sensitivity.psi import Ramps, read_curve

ROOT = Path(__file__).parent.parent
ITEMS = tomllib.loads((ROOT / "docs/notes.toml").read_text(encoding="utf-8"))["item"]
BUILT = [item for item in ITEMS if "status" not in item]


def resolve(name):
    """The thing a dotted name means, loading modules on the way."""
    parts, thing = name.split("."), import_module(name.split(".")[0])
    for i, part in enumerate(parts[1:], 2):
        thing = getattr(thing, part) if hasattr(thing, part) else import_module(".".join(parts[:i]))
    return thing


def test_every_item_of_the_notes_is_there_once_and_says_where_it_lives():
    assert [item["number"] for item in ITEMS] == list(range(1, 109))
    for item in ITEMS:
        cells = ("status", "reason") if "status" in item else ("function", "test", "page")
        assert set(item) == {"number", "note", "section", "item", *cells}, item["number"]
        assert all(item.values()), item["number"]
        assert item.get("status", "not yet") == "not yet", item["number"]


@pytest.mark.parametrize("item", BUILT, ids=lambda item: str(item["number"]))
def test_every_function_test_and_page_of_the_map_exists(item):
    assert resolve(item["function"]) is not None
    file, _, name = item["test"].partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert (ROOT / "docs" / item["page"]).exists()


def test_a_name_that_means_nothing_is_noticed():
    for name in ("sordino.sensitivity.smooth.medain", "sordino.no_such_room"):
        with pytest.raises((AttributeError, ModuleNotFoundError)):
            resolve(name)


def test_the_references_of_the_notes_are_in_the_bibliography():
    page = (ROOT / "docs/bibliography.md").read_text(encoding="utf-8")
    named = "Dwork and Roth 2014", "Nissim, Raskhodnikova and Smith 2007", "Chaudhuri and Hsu 2012", "Avella-Medina 2021", "Huber 1981"
    assert [work for work in named if work not in page] == []


def test_the_smooth_sensitivity_of_hubers_mean_has_the_order_of_its_gross_error_sensitivity():
    step = 10**8
    for n in (1_000, 10_000, 100_000):
        x = np.sort(np.random.default_rng(n).normal(50, 1, n))
        column = np.floor(x * step).astype(np.int64)
        smooth = Location(column, 100 * step, Ramps.through(*read_curve("huber"), step)).ladder().smooth(0.3) / step
        limit = influence.location(x, influence.huber()).gross_error_sensitivity(1)
        assert 0.5 < n * smooth / limit < 2


def test_a_delta_near_one_over_n_is_called_unsafe(tmp_path, capsys):
    head = '[dataset]\nname = "d"\nledger = "d.ledger"\n[privacy]\n[budget]\nepsilon = 1\n'
    rest = '[tables.t]\nsource = "t.csv"\nsize = 1000\n[tables.t.columns]\nx = { type = "bool" }\n'
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
