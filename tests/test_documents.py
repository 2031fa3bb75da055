"""Every example in the documents runs, every generated page is the one the generator writes, and the site needs nobody's server."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import sordino
import sordino.session.own
from sordino.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
DOCUMENTS = sorted(path for path in PAGES if BLOCK.search(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_of_a_document_runs(path, tmp_path, monkeypatch):
    """In order and in one namespace: Python as it stands, and of consoles the lines that call sordino, with the exit code they name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    namespace: dict[str, object] = {"__name__": "document"}
    for number, (kind, block) in enumerate(BLOCK.findall(path.read_text(encoding="utf-8"))):
        if kind == "python":
            exec(compile(block, f"{path.name} block {number}", "exec"), namespace)
            continue
        for line in re.findall(r"^\$ sordino (.*)", block, re.MULTILINE):
            told = re.search(r"# exit (\d)", line)
            assert main(shlex.split(line, comments=True)) == (int(told[1]) if told else 0), line
    namespace.clear()  # tables nobody closed are closed here and not when the interpreter dies


def test_the_generated_pages_are_the_ones_the_generator_writes():
    subprocess.run([sys.executable, "tools/pages.py", "--check"], cwd=ROOT, check=True)


def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path):
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)], cwd=ROOT, check=True)
    fetched = re.compile(r"""<(?:script|img|iframe|link[^>]*rel="(?:stylesheet|preconnect|icon)")[^>]*(?:src|href)="(?:https?:)?//""")
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) >= len(PAGES) - 1
    assert not [page.name for page in pages if fetched.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("module", [sordino, sordino.session.own], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
