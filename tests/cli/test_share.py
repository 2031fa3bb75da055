"""`sordino share`: sets, bins and rho on the command line, Ctrl-C while it works, and a bar on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sordino.cli import main

TOML = """[dataset]
format = 2
name = "t"
ledger = "t.ledger"
[privacy]
[budget]
epsilon = 10
delta = 1e-4
{accounting}
[tables.t]
source = "t.csv"
size = 300
[tables.t.columns]
"""
SHARE = ["share", "t.toml", "--delta", "1e-6", "--output", "o.csv", "--yes"]
INTERRUPTED = """
import contextlib, os, signal, sys
import sordino.session.share_preview as preview
from sordino.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background of a shell ignores interrupts
sent = []
def tell(done):
    if not sent:
        sent.append(done)
        os.kill(os.getpid(), signal.SIGINT)
@contextlib.contextmanager
def bar(text):
    yield tell
preview.bar = bar
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(params=[""])
def ready(tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    codes = np.random.default_rng(1).integers(0, 4, (300, 3)).tolist()
    Path("t.csv").write_text("a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in codes))
    columns = "".join(f'{name} = {{ type = "int", bounds = [0, 3] }}\n' for name in "abc")
    Path("t.toml").write_text(TOML.format(accounting=request.param) + columns)


def told(capsys, *words):
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_sets_of_a_given_workload_and_bins_are_said_on_the_line(ready, capsys):
    given = ["--method", "given", "--workload", "a,b", "--workload", "b,c", "--bins", "c=2", "--bins", "a=0,1,3"]
    code, found = told(capsys, *SHARE, "--epsilon", "2", *given)
    assert code == 0
    assert found["card"]["measured"] == ["a, b", "b, c"]
    code, found = told(capsys, *SHARE, "--epsilon", "2", "--method", "given", "--workload", "2")
    assert found["card"]["measured"] == ["a, b", "a, c", "b, c"]
    for wrong in (["--bins", "8"], ["--bins", "a=many"], ["--workload", "a,nobody"]):
        assert told(capsys, *SHARE, "--epsilon", "2", *wrong)[1]["spent"] is False


@pytest.mark.parametrize("ready", ['accounting = "zcdp"'], indirect=True)
def test_a_ledger_that_adds_rho_takes_rho_on_the_line(ready, capsys):
    code, found = told(capsys, *SHARE, "--rho", "0.02", "--method", "tree")
    assert code == 0, found
    assert Path("o.csv").is_file()


def test_ctrl_c_waits_for_the_seal_and_says_that_it_is_sealed(ready):
    words = [*SHARE, "--epsilon", "2", "--method", "tree"]
    stopped = subprocess.run([sys.executable, "-c", INTERRUPTED, *words], check=False, capture_output=True, text=True, timeout=120)
    assert stopped.returncode == 130, stopped
    assert "sealed; the same command writes it at no price" in stopped.stderr
    assert "stopped; nothing more was spent" in stopped.stderr
    assert not Path("o.csv").exists()
    assert main(words) == 0
    assert Path("o.csv").is_file()


def test_any_command_says_that_it_was_stopped(monkeypatch, capsys):
    from sordino.cli import console

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(console.door.__class__, "opened", interrupted)
    assert main(["budget"]) == 130
    assert "stopped; nothing more was spent" in capsys.readouterr().err


def test_a_bar_is_shown_on_a_terminal_and_nowhere_else():
    script = "from sordino.session.share_preview import bar\nwith bar('measuring') as tell:\n    tell is None or (tell(0.25), tell(0.75))"
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    subprocess.run([sys.executable, "-c", script], stderr=theirs, stdout=subprocess.DEVNULL, check=True, env=environment, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "measuring" in shown
    assert "75%" in shown
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60).stderr == ""
