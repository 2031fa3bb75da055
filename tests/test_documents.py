"""Every Python block in the documents runs, in order, in one namespace per document."""

import doctest
import re
from pathlib import Path

import pytest

import sordino
import sordino.session.own

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]
DOCUMENTS = sorted(path for path in PAGES if "```python" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_python_block_of_a_document_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    namespace: dict[str, object] = {"__name__": "document"}
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)):
        exec(compile(block, f"{path.name} block {number}", "exec"), namespace)


@pytest.mark.parametrize("module", [sordino, sordino.session.own], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
