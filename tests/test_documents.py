"""Every example in the documents runs, every generated page is the one the generator writes, and the site needs nobody's server."""

import doctest
import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

import sordino
import sordino.session.owned
from sordino.cli import app, main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]
BLOCK = re.compile(r"^```(python|py|console|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FRAME = {"patient": [1, 2, 3], "cost": [10, 20, 30]}  # what `df` is where a page speaks of a frame one has
DOCUMENTS = sorted(path for path in PAGES if BLOCK.search(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_of_a_document_runs(path, tmp_path, monkeypatch):
    """In order and in one namespace: Python as it stands, and of consoles the lines that call sordino, with the exit code they name.

    What a shell block says to sordino may run for ever, so it is only understood: its verb and its options exist.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    namespace: dict[str, object] = {"__name__": "document", "df": FRAME}
    for number, (kind, block) in enumerate(BLOCK.findall(path.read_text(encoding="utf-8"))):
        if kind in ("python", "py"):
            exec(compile(block, f"{path.name} block {number}", "exec"), namespace)
            continue
        if kind == "sh":
            for line in re.findall(r"^sordino (.*)", block, re.MULTILINE):
                understood(shlex.split(line, comments=True))
            continue
        for line in re.findall(r"^\$ sordino (.*)", block, re.MULTILINE):
            told = re.search(r"# exit (\d)", line)
            assert main(shlex.split(line, comments=True)) == (int(told[1]) if told else 0), line
    namespace.clear()  # tables nobody closed are closed here and not when the interpreter dies


def understood(words):
    """Parse a command without running it; an option or a verb that does not exist raises."""
    at = words.index("--config") if "--config" in words else len(words)
    words = words[:at] + words[at + 2 :]  # a global option, taken before the verb sees it
    verb = typer.main.get_command(app)
    while hasattr(verb, "commands"):
        verb, words = verb.commands[words[0]], words[1:]
    assert verb.make_context("sordino", words).params


def test_no_block_is_in_a_language_that_is_neither_run_nor_plain_text():
    used = {kind for page in PAGES for kind in re.findall(r"^```(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)}
    assert used <= {"python", "py", "console", "sh", "text"}


def test_the_generated_pages_are_the_ones_the_generator_writes():
    subprocess.run([sys.executable, "tools/pages.py", "--check"], cwd=ROOT, check=True)


def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path):
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)], cwd=ROOT, check=True)
    fetched = re.compile(r"""<(?:script|img|iframe|link[^>]*rel="(?:stylesheet|preconnect|icon)")[^>]*(?:src|href)="(?:https?:)?//""")
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) >= len(PAGES) - 1
    assert not [page.name for page in pages if fetched.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("module", [sordino, sordino.session.owned], ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_rooms_of_the_documents_are_the_rooms_of_the_package():
    root = Path(sordino.__file__).parent
    there = {path.stem for path in root.iterdir() if path.suffix in ("", ".py") and not path.stem.startswith("_")}
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]["layers"]
    order = [re.findall(r"\w+", layer) for layer in layers if layer != "__main__"]
    drawn = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").split("```")[1].strip().splitlines()
    told = re.search(r"downwards only: `(.*?)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)
    assert {room for layer in order for room in layer} == there
    assert [re.findall(r"\w+", re.split(r"\s{2,}", line)[0]) for line in drawn] == order
    assert [re.findall(r"\w+", layer) for layer in told[1].split(",")] == order


def test_the_figures_of_the_front_page_follow_the_results_and_losses_are_counted(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    front = importlib.import_module("front")
    found = {"mean": (100.0, 120.0), "median": (30.0, 10.0), "unheard of": (1.0, 2.0)}
    facts = {"measure": front.AT_ONE, "unit": "", "lower_is_better": True}
    lost = {"median": "lost"}
    rows = [
        {"task": task, **facts, "values": {"sordino": own, "opendp": peer}, "verdict": lost.get(task, "won")}
        for task, (own, peer) in found.items()
    ]
    text = front.peers({"rows": rows})
    assert f"| mean: {front.AT_ONE} | 100 | opendp: 120 |" in text
    assert f"| median: {front.AT_ONE} | 30 | opendp: 10 |" in text
    assert "unheard of" not in text
    sure = front.peers({"rows": [{**rows[0], "errors": {"sordino": 2.345, "opendp": 3}}]})
    assert f"| mean: {front.AT_ONE} | 100 ± 2.3 | opendp: 120 ± 3 |" in sure
    assert "A peer is ahead in 1 of 3 rows, " in text
    assert f" The widest: median, {front.AT_ONE}." in text
    assert "docs/benchmarks.md" in text
    assert "bench/peers.py" in front.peers(None)


def test_links_between_documents_lead_somewhere():
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), target


def test_every_page_is_in_the_contents_of_the_site():
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    listed = re.findall(r": (\S+\.md)$", contents, re.MULTILINE)
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").glob("**/*.md") if path.parent.name != "decisions"}
    assert len(listed) == len(set(listed))
    assert pages ^ set(listed) <= {"audit.md", "benchmarks.md"}, "tools/site.py lists what a long run writes, where it was run"
