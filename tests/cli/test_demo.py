"""The first thing a newcomer runs: quick, narrow, and the same figures for machines."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from sordino.cli import main

ACTS = ["'anonymous' table", "Averages tell", "local sensitivity", "smooth bound", "price first", "formulas, as printed"]


@pytest.fixture
def alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_the_demo_attacks_repairs_prices_and_ends_with_what_to_type_next(alone, capsys):
    start = time.process_time()
    assert main(["demo"]) == 0
    assert time.process_time() - start < 30  # of work: how busy the machine is, it cannot help
    out = capsys.readouterr().out
    assert [act for act in ACTS if act not in out] == []
    told, _, next_steps = out.partition("Next, on your own file:")
    assert all(len(line) <= 80 for line in told.splitlines())
    assert next_steps.split("\n")[1].strip() == "sordino init yours.csv"
    assert "sordino learn --open" in next_steps
    assert Path(urlsplit(re.search(r"file://\S+", next_steps)[0]).path).name == "median.html"
    for sign in ("of the budget, before any row", "recalled at no price", "SRD-301", "the book on disk: 3 charges", "chain whole"):
        assert sign in " ".join(told.split())


def test_the_demo_gives_machines_the_same_figures(alone, capsys):
    assert main(["demo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["linkage"]["share_matched"] > 0.9
    assert found["tracing"]["exact"] > 0.9
    assert found["tracing"]["private"] < 0.75
    assert found["local noise"]["right"] > 0.9
    assert found["audit"]["epsilon_lower"] < 1
    table = found["table"]
    assert (table["charges"], table["whole"], table["recalled"]) == (3, True, True)
    assert table["spent"] + table["left"] == pytest.approx(2)
    mean, medians, mode = table["answers"]
    assert mean["mean(cost)_low"][0] < mean["mean(cost)"][0] < mean["mean(cost)_high"][0]
    assert len(medians["zip"]) == 12
    assert mode["mode(diagnosis)"] == ["diabetes"] or mode["mode(diagnosis)"] == ["refused"]
    assert found["errata"] > 5
