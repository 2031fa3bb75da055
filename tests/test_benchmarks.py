"""The page of benchmarks says what the last run measured, and nothing about the machine it ran on."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results" / "peers.json"


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_page", ROOT / "bench" / "peers" / "page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return dict(json.loads(RESULTS.read_text(encoding="utf-8")))


def test_the_page_and_its_pictures_are_written_from_the_results(page: ModuleType, result: dict[str, Any]) -> None:
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == page.text(result)
    for file, drawn in page.pictures(result).items():
        assert (ROOT / "docs" / "img" / file).read_text(encoding="utf-8") == drawn.svg + "\n"


def test_every_package_is_there_or_the_reason_why_not(page: ModuleType, result: dict[str, Any]) -> None:
    known = "opendp diffprivlib python-dp pipeline-dp tmlt.analytics smartnoise-sql pyqrlew dp-accounting sordino"
    assert set(result["versions"]) | set(result["not installed"]) == set(known.split())
    shown = {name for row in result["rows"] for name in row["values"]}
    assert shown == set(result["versions"])
    for row in result["rows"]:
        assert set(row) - {"draws"} == {"task", "measure", "unit", "lower_is_better", "values", "verdict"}
        assert row["verdict"] == page.verdict(row)[0]


def test_results_name_no_place_of_a_machine_and_no_host() -> None:
    text = RESULTS.read_text(encoding="utf-8") + (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(?:\w+/)+|\w+://|\.(?:org|com|io)\b", text)


def test_a_loss_is_shown_first_and_a_close_figure_is_a_tie(page: ModuleType) -> None:
    def row(own: float, other: float, lower: bool = True) -> dict[str, Any]:
        return {"task": "t", "measure": "m", "unit": "s", "lower_is_better": lower, "values": {"sordino": own, "opendp": other}}

    assert page.verdict(row(2, 1)) == ("lost", "opendp", 2)
    assert page.verdict(row(1, 2)) == ("won", "opendp", 2)
    assert page.verdict(row(2, 1, lower=False)) == ("won", "opendp", 2)
    assert page.verdict(row(1.05, 1))[0] == "tied"
    assert page.verdict(row(1, 0))[0] == "lost"
    few, many = ({**row(2, 1), "draws": {"sordino": n, "opendp": n}} for n in (5, 200))
    assert page.verdict(few)[0] == "tied", "medians of five releases differ by chance"
    assert page.verdict(many)[0] == "lost"
    made = {"versions": {"sordino": "1", "opendp": "2"}, "made": "here", "minutes": 9, "command": "python", "rows": [row(2, 1), row(1, 2)],
            "not installed": {"x": "why"}, "failed": {}}  # fmt: skip
    text = page.text(made)
    assert text.index("Where a peer is better") < text.index("| t | m (s) | opendp: 1 | 2 | 2 |") < text.index("All rows")
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
