"""The page of benchmarks says what the last run measured, and nothing about the machine it ran on.

What decides a row: standard errors that are right, and a verdict that chance seldom makes.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results" / "peers.json"


@pytest.fixture(scope="module")
def modules() -> Iterator[Callable[[str], ModuleType]]:
    """The bench's own modules by name; their folder is on the path while they are tested, as it is when they run."""
    folder, before = str(ROOT / "bench" / "peers"), set(sys.modules)
    sys.path.insert(0, folder)
    yield importlib.import_module
    sys.path.remove(folder)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "") or "").startswith(folder):
            del sys.modules[name]


@pytest.fixture(scope="module")
def page(modules: Callable[[str], ModuleType]) -> ModuleType:
    return modules("page")


@pytest.fixture(scope="module")
def figure(modules: Callable[[str], ModuleType]) -> ModuleType:
    return modules("figure")


@pytest.fixture(scope="module")
def laws(modules: Callable[[str], ModuleType]) -> ModuleType:
    return modules("laws")


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return dict(json.loads(RESULTS.read_text(encoding="utf-8")))


def test_the_page_and_its_pictures_are_written_from_the_results(page: ModuleType, result: dict[str, Any]) -> None:
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == page.text(result)
    for file, drawn in page.pictures(result).items():
        assert (ROOT / "docs" / "img" / file).read_text(encoding="utf-8") == drawn.svg + "\n"


def test_every_package_is_there_or_the_reason_why_not(figure: ModuleType, result: dict[str, Any]) -> None:
    known = "opendp diffprivlib python-dp pipeline-dp tmlt.analytics smartnoise-sql pyqrlew dp-accounting sordino"
    assert set(result["versions"]) | set(result["not installed"]) == set(known.split())
    shown = {name for row in result["rows"] for name in row["values"]}
    assert shown == set(result["versions"])
    for row in result["rows"]:
        assert set(row) - {"draws", "errors", "law"} == {"task", "measure", "unit", "lower_is_better", "values", "verdict"}
        assert row["verdict"] == figure.verdict(row).kind


def test_every_error_has_its_standard_error_and_ours_are_of_hundreds_of_releases(result: dict[str, Any]) -> None:
    errors = [row for row in result["rows"] if "error" in row["measure"] or "distance" in row["measure"]]
    assert len(errors) > 30
    for row in errors:
        assert set(row["errors"]) == set(row["draws"]) == set(row["values"]), row["measure"]
        if "median absolute error" in row["measure"] or "mean absolute error" in row["measure"]:
            assert 300 <= row["draws"]["sordino"] <= result["draws"], row["task"]  # as many as fifteen seconds allow
    assert result["draws"] >= 2_000


def test_our_figures_are_those_of_the_laws_we_claim_to_draw_from(figure: ModuleType, result: dict[str, Any]) -> None:
    known = [row for row in result["rows"] if "law" in row]
    assert {row["task"] for row in known} >= {"count", "sum", "mean", "mean, replace", "median", "quantile .9"}
    assert [row["task"] for row in known if not figure.follows(row)] == []


def test_results_name_no_place_of_a_machine_and_no_host() -> None:
    text = RESULTS.read_text(encoding="utf-8") + (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(?:\w+/)+|\w+://|\.(?:org|com|io)\b", text)


def row(own: float, other: float, lower: bool = True, **more: Any) -> dict[str, Any]:
    return {"task": "t", "measure": "m", "unit": "s", "lower_is_better": lower, "values": {"sordino": own, "opendp": other}, **more}


def compared(figure: ModuleType, own: Any, other: Any) -> str:
    """The verdict on two figures."""
    return str(figure.verdict(row(own.value, other.value, errors={"sordino": own.error, "opendp": other.error})).kind)


@pytest.mark.parametrize("draws", [2_000, 100])
@pytest.mark.parametrize("kind", ["median", "mean"])
def test_two_samples_of_one_law_are_tied_nineteen_times_in_twenty(figure: ModuleType, kind: str, draws: int) -> None:
    rng, of, number = np.random.default_rng(5), getattr(figure, kind), 500
    found = [compared(figure, *(of(np.abs(rng.laplace(size=draws))) for _ in range(2))) for _ in range(number)]
    assert 0.93 <= found.count("tied") / number <= 0.98, "a standard error that is too large ties everything"
    assert found.count("lost") > 0 < found.count("won")


def test_three_tenths_more_noise_is_told_from_the_same_noise(figure: ModuleType) -> None:
    rng = np.random.default_rng(6)
    for scale, verdict in ((1.3, "won"), (1 / 1.3, "lost")):
        found = [compared(figure, *(figure.median(np.abs(rng.laplace(scale=s, size=2_000))) for s in (1, scale))) for _ in range(50)]
        assert found == [verdict] * 50


def test_counts_are_decided_by_the_mean_of_their_errors_because_their_medians_are_whole_numbers(figure: ModuleType) -> None:
    rng = np.random.default_rng(7)

    def errors(epsilon: float) -> Any:
        share = -np.expm1(-epsilon)
        return np.abs(rng.geometric(share, 2_000) - rng.geometric(share, 2_000))

    assert figure.median(errors(1)).value == figure.median(errors(0.85)).value == 1, "a median does not see it"
    assert compared(figure, figure.mean(errors(1)), figure.mean(errors(0.85))) == "won"


def test_the_standard_error_of_a_median_is_that_of_its_bootstrap(figure: ModuleType) -> None:
    rng = np.random.default_rng(8)
    for x in (rng.exponential(size=201), np.round(rng.exponential(size=200), 1), np.array([1.0] * 60 + [2.0] * 60 + [9.0])):
        resampled = np.median(rng.choice(x, (20_000, len(x))), axis=1)
        assert figure.median(x).error == pytest.approx(float(resampled.std()), rel=0.1), x[:3]
    assert figure.median([3.0] * 50) == figure.Figure(3.0, 0.0, 50)
    assert figure.mean([1.0, 3.0]) == figure.Figure(2.0, 1.0, 2)
    assert figure.mean([7.0]).error is None


def test_measured_once_a_tenth_decides(figure: ModuleType) -> None:
    def said(*given: Any, **more: Any) -> tuple[str, str, float]:
        found = figure.verdict(row(*given, **more))
        assert found.apart is None
        return found.kind, found.rival, found.factor

    assert said(2, 1) == ("lost", "opendp", 2)
    assert said(1, 2) == ("won", "opendp", 2)
    assert said(2, 1, lower=False) == ("won", "opendp", 2)
    assert said(1.05, 1)[0] == said(1, 1)[0] == "tied"
    assert said(1, 0)[0] == "lost"
    assert figure.verdict({**row(1, 2), "values": {"sordino": 1}}).kind == "alone"


def test_two_standard_errors_of_the_difference_decide(figure: ModuleType) -> None:
    for own, other, verdict in ((13, 10, "lost"), (12.7, 10, "tied"), (10, 12.7, "tied"), (10, 13, "won")):
        found = figure.verdict(row(own, other, errors={"sordino": 1.0, "opendp": 1.0}))
        assert found.kind == verdict
        assert found.apart == pytest.approx(abs(own - other) / 2**0.5)


def test_a_lucky_figure_of_few_releases_hides_no_loss_and_makes_no_win(figure: ModuleType) -> None:
    errors = {"sordino": 0.1, "opendp": 0.1, "few": 5.0}
    lost = {**row(10, 9), "values": {"sordino": 10, "opendp": 9, "few": 5}, "errors": errors}
    assert figure.verdict(lost).kind == "lost"
    assert figure.verdict(lost).rival == "opendp"
    even = {**row(10, 12), "values": {"sordino": 10, "opendp": 12, "few": 13}, "errors": errors}
    assert figure.verdict(even).kind == "tied", "not better than each of them beyond chance"
    assert figure.verdict(even).rival == "few"


def test_a_figure_far_from_its_law_is_missed(figure: ModuleType, page: ModuleType) -> None:
    near = row(10.3, 11, errors={"sordino": 0.1, "opendp": 0.1}, draws={"sordino": 2_000, "opendp": 50}, law=10.0)
    assert figure.follows(near)
    far = {**near, "law": 9.8}
    assert not figure.follows(far)
    assert figure.follows(row(1, 2)), "no law is known"
    made = {"versions": {"sordino": "1", "opendp": "2"}, "made": "here", "minutes": 9, "command": "python", "draws": 2_000, "seconds": 9.0,
            "not installed": {}, "failed": {}}  # fmt: skip
    text = page.text({**made, "rows": [near]})
    assert "| t | m, s | **10.3 ± 0.10** | 10 | 11 ± 0.10 (50) |" in text
    assert "1 of our 1 figures" in text
    assert "MISSED" not in text
    missed = page.text({**made, "rows": [far]})
    assert "| t | m, s | **10.3 ± 0.10** MISSED | 9.8 | 11 ± 0.10 (50) |" in missed
    assert "0 of our 1 figures" in missed


def test_closed_forms_are_the_laws_that_are_simulated(laws: ModuleType) -> None:
    rng, number, top = np.random.default_rng(9), 200_000, 100.0
    x = np.clip(rng.lognormal(3, 0.7, 200), 0, top)
    for epsilon in (0.1, 1.0):
        z = rng.laplace(scale=1 / epsilon, size=(2, number))
        mean = np.clip((x.sum() / top + z[0]) / np.maximum(len(x) + z[0] + z[1], 1e-9), 0, 1) * top
        share = -np.expm1(-epsilon)
        counts = rng.geometric(share, number) - rng.geometric(share, number)
        assert laws.count(epsilon) == pytest.approx(np.abs(counts).mean(), rel=0.02)
        assert laws.typical(laws.halves(x, top, epsilon), x.mean()) == pytest.approx(np.median(np.abs(mean - x.mean())), rel=0.02)
        assert laws.typical(laws.laplace(5.0, 3.0), 5.0) == pytest.approx(3 * np.log(2))
        points = np.linspace(0, top, 100_001)[1:]
        for level in (0.5, 0.9):
            score = np.abs(np.searchsorted(np.sort(x), points) - level * len(x))
            weight = np.exp(-epsilon * score / (2 * max(level, 1 - level)))
            drawn = points[np.searchsorted(np.cumsum(weight) / weight.sum(), rng.random(number))]
            truth = float(np.quantile(x, level))
            assert laws.typical(laws.quantile(x, top, level, epsilon), truth) == pytest.approx(np.median(np.abs(drawn - truth)), rel=0.02)


def test_a_loss_is_shown_first(page: ModuleType) -> None:
    made = {"versions": {"sordino": "1", "opendp": "2"}, "made": "here", "minutes": 9, "command": "python", "draws": 9, "seconds": 1.0,
            "rows": [row(2, 1), row(1, 2)], "not installed": {"x": "why"}, "failed": {}}  # fmt: skip
    text = page.text(made)
    assert text.index("Where a peer is better") < text.index("| t | m (s) | opendp: 1 | 2 | 2 |  |") < text.index("All rows")
    assert "Not installed: x. pip said: why" in text


def test_the_page_of_shared_tables_has_the_figures_of_the_results() -> None:
    spec = importlib.util.spec_from_file_location("share_page", ROOT / "bench" / "share_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = json.loads((ROOT / "bench" / "results" / "share.json").read_text(encoding="utf-8"))
    written, said = (text[text.index("\n## ") :] for text in (module.page(found, "", 0), (ROOT / "docs" / "shared.md").read_text("utf-8")))
    assert said == written


def test_figures_and_their_standard_errors_are_written_at_one_power_of_ten(page: ModuleType) -> None:
    def said(value: float, error: float) -> str:
        return str(page.shown(row(value, 1, errors={"sordino": error}), "sordino"))

    assert said(6_931_472, 123_456) == "(6.93 ± 0.12)e6"
    assert said(4_852, 90.4) == "4,852 ± 90"
    assert said(0.0137, 0.00031) == "0.0137 ± 0.00031"
    assert said(3, 0) == "3 ± 0"
    assert said(33_500, 1_234) == "33,500 ± 1,200"
    assert page.shown(row(2.5, 1), "sordino") == "2.5"
