"""How many files a newcomer has to open to follow one release."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import walk  # noqa: E402

MOST = 45


def test_a_median_walks_few_files_and_the_page_says_which():
    found = walk.walked(walk.median)
    assert {"session/verbs.py", "session/execute.py", "mechanisms/quantile_exponential.py", "ledger/book.py"} <= set(found.files)
    assert len(found.files) <= MOST
    assert f"A median, {walk.median.__doc__}: {len(found.files)} files" in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_a_switch_is_a_call_from_another_file_and_module_bodies_do_not_count():
    found = walk.walked(lambda folder: lambda: None)
    assert (found.files, found.switches) == ([], 0)
