"""The lab catches every planted bug and stays silent on every clean twin.

SORDINO_AUDIT=full repeats the clean twins until a thousand sampled runs were silent; the gate stops at two hundred.
"""

import os
from pathlib import Path

import pytest
from planted import BUGS, page
from planted_kit import RARE, Audited, Bitwise, Differenced, Exploited

FULL = os.environ.get("SORDINO_AUDIT") == "full"
RUNS = 1_000 if FULL else 200
SAMPLED = tuple(bug for bug in BUGS if isinstance(bug.tool, Audited | Bitwise | Differenced | Exploited) and bug.clean is not None)
ROUNDS = -(-RUNS // len(SAMPLED))


@pytest.mark.parametrize("bug", BUGS, ids=repr)
def test_the_lab_catches_the_bug(bug):
    assert bug.run()


@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug not in SAMPLED], ids=repr)
def test_the_lab_is_silent_on_the_clean_twin(bug):
    assert bug.clean is not None
    assert not bug.false_alarm()


@pytest.mark.parametrize("bug", SAMPLED, ids=repr)
def test_no_clean_run_raises_an_alarm(bug):
    assert not any(bug.false_alarm() for _ in range(ROUNDS))


def test_there_are_enough_silent_runs_and_a_false_alarm_among_them_is_rarer_than_one_in_a_million():
    assert ROUNDS * len(SAMPLED) >= RUNS
    assert ROUNDS * len(SAMPLED) * RARE < 1e-6


def test_there_are_sixty_bugs_and_every_tool_is_needed():
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 60
    assert {bug.tool.name for bug in BUGS} == {
        "audit",
        "certificate",
        "conformance",
        "differencing",
        "exact law",
        "falsify",
        "low bits",
        "noise exploitation",
        "replay",
        "small universe",
    }


def test_the_bugs_of_released_peers_are_among_them():
    sources = " ".join(bug.source for bug in BUGS)
    assert all(peer in sources for peer in ("opendp", "diffprivlib", "dp-accounting", "qrlew", "smartnoise", "Lomas"))


def test_the_page_is_the_one_the_registry_writes():
    assert (Path(__file__).parents[2] / "docs" / "planted.md").read_text(encoding="utf-8") == page()
