"""The first answer in the browser, as the tutorial tells it: with a wheel built here, its commands in order, its clicks by their names."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorials" / "first-server.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|console|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)
RUN = "from sordino.cli import main; raise SystemExit(main())"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package from its wheel, and not from here; what it needs is what is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("sordino-*.whl")
    subprocess.run([*pip, "install", "-q", "--no-deps", "--target", str(folder / "site"), str(wheel)], check=True)
    return folder / "site"


def test_the_tutorial_leads_from_a_wheel_to_a_first_answer(page, installed, tmp_path):
    around = {**os.environ, "PYTHONPATH": str(installed), "SORDINO_STATE": str(tmp_path / "state"), "COLUMNS": "200"}
    here = {"cwd": tmp_path, "env": around, "text": True}
    token, served = "", None
    where = subprocess.run([sys.executable, "-c", "import sordino; print(sordino.__file__)"], capture_output=True, check=True, **here)
    assert where.stdout.startswith(str(installed)), "the wheel is what runs"
    try:
        for kind, block in BLOCK.findall(TUTORIAL):
            if kind == "python":
                subprocess.run([sys.executable, "-c", block], check=True, **here)
            for line in re.findall(r"^(?:\$ )?sordino (.*)", block, re.MULTILINE) if kind != "python" else ():
                words = shlex.split(line)
                if words[0] == "serve":
                    command = [sys.executable, "-c", RUN, *words, "--port", "0", "--log", "owner.log"]
                    served = subprocess.Popen(command, stderr=subprocess.PIPE, **here)
                    continue
                said = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, check=True, **here)
                token = token or next(iter(re.findall(r"srd_[\w-]+", said.stdout)), "")
        address = ""
        while not address and (line := served.stderr.readline()):
            address = next(iter(re.findall(r"http://127\.0\.0\.1:\d+/\w+", line)), "")
        page.goto(address)
        page.get_by_label("Your token").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("link", name="Ask visits").click()
        page.get_by_label("Statistic", exact=True).select_option(label="mean")
        page.get_by_label("of column", exact=True).select_option("age")
        page.get_by_role("button", name=re.compile("Pay epsilon .* and ask")).click()
        page.locator("p.about").wait_for()
        assert page.locator("figure svg:visible").count() == 1
        assert "with 95% between" in page.locator("p.figure").inner_text()
        page.get_by_role("link", name="Ask", exact=True).click()
        page.get_by_label("Statistic", exact=True).select_option(label="mean")
        page.get_by_label("of column", exact=True).select_option("age")
        page.get_by_role("link", name="Show the recorded answer, free").click()
        page.get_by_role("heading", name="Claim card").wait_for()
    finally:
        if served is not None:
            served.terminate()
            served.communicate(timeout=60)
    clicks = re.findall(r"\*\*([^*…]+)", TUTORIAL)
    assert {"Log in", "Ask visits", "mean", "age", "Pay epsilon ", "Ask", "Show the recorded answer, free"} <= set(clicks)
