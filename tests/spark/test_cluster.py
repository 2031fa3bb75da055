"""Executors and workers die in the middle of a release: one charge, and at most one answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sordino as sd
from sordino.errors import ReleaseFailed
from sordino.ledger import open_ledger
from sordino.privacy.relation import PrivacyUnit
from sordino.session.execute import AGAIN, LOST

from .cluster import PEOPLE, Cluster, end
from .conftest import WHY, has_java


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: Any) -> Iterator[Cluster]:
    assert has_java(), WHY
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def release(cluster: Cluster, folder: Path, strike: Callable[[], object]) -> dict[str, Any]:
    """What a driver was told that asked once, while `strike` happened in the middle; and that its ledger agrees."""
    ledger, said = folder / "people.ledger", folder / "driver.log"
    command = [sys.executable, str(Path(__file__).with_name("cluster.py")), cluster.address, str(ledger), str(folder)]
    own = {**os.environ, "PYTHONWARNINGS": "ignore"}
    own.pop("PYSPARK_SUBMIT_ARGS", None)
    with said.open("wb") as log:
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=own, start_new_session=True)
        try:
            assert driver.stdout is not None
            assert driver.stdout.readline().strip() == "running", said.read_text()[-3000:]
            strike()
            rest, _ = driver.communicate(timeout=400)
        finally:
            end(driver)
    outcome: dict[str, Any] = json.loads(rest.splitlines()[-1])
    unit = PrivacyUnit("person", max_rows=1, max_groups=1)
    with open_ledger(str(ledger), budget=sd.Budget(epsilon=40), relation="add_remove", unit=unit, dataset="t", version="1") as book:
        entries = list(book.entries())
        assert len(entries) == 1
        assert book.budget.exact["spent"] == 20
        assert (entries[0].answer is not None) == ("value" in outcome)
    return outcome


def settled(outcome: dict[str, Any]) -> None:
    """Spark may recompute what a dead executor held, or give up: an answer near the truth, or the one constant failure."""
    if "value" in outcome:
        assert abs(outcome["value"] - PEOPLE) <= 3  # beyond with probability below 1e-26
    else:
        assert outcome == {"failed": "SRD-401", "text": str(ReleaseFailed("SRD-401", LOST, AGAIN))}


def test_executors_killed_in_the_middle_of_a_query_are_one_charge_and_at_most_one_answer(cluster: Cluster, tmp_path: Path) -> None:
    settled(release(cluster, tmp_path, cluster.kill_executors))


def test_a_worker_killed_in_the_middle_of_a_query_is_one_charge_and_at_most_one_answer(cluster: Cluster, tmp_path: Path) -> None:
    settled(release(cluster, tmp_path, lambda: cluster.kill(1)))
