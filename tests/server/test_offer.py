"""What the demo offers at its end works when it is typed: a token, a server, a page."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import urllib.request

import pytest

from sordino import demo


@pytest.fixture
def offered(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    demo.offer(tmp_path)
    return [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]


def test_the_offered_commands_put_the_hospital_on_a_page(offered):
    token, serve, page = offered
    assert page == demo.PAGE
    made = subprocess.run(shlex.split(f"{token} --json"), capture_output=True, text=True, check=True)
    secret = json.loads(made.stdout)["token"]
    server = subprocess.Popen([*shlex.split(serve), "--port", "0"], stderr=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+", server.stderr.readline())[0]
        with urllib.request.urlopen(f"{address}/login", timeout=30) as answer:
            assert "Your token" in answer.read().decode()
        asked = urllib.request.Request(f"{address}/v1/datasets", headers={"Authorization": f"Bearer {secret}"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            assert [item["name"] for item in json.loads(answer.read())] == ["hospital"]
    finally:
        server.terminate()
        server.wait(30)
        server.stderr.close()


def test_a_terminal_is_asked_and_a_script_is_not(tmp_path, monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(demo.subprocess, "run", lambda command, **_: ran.append(command[1]))
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("a script was asked"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    demo.offer(tmp_path)
    assert ran == []
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: "")
    demo.offer(tmp_path)
    assert ran == []
    monkeypatch.setattr("builtins.input", lambda _: "y")
    demo.offer(tmp_path)
    assert ran == ["token", "serve"]
    capsys.readouterr()
