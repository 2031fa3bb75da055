"""A server in a process of its own, on the loopback, that can be stopped, or killed without a word."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

RUN = "from sordino.cli import main; raise SystemExit(main())"
AT_ONCE = "import functools, sordino.server.app as app; app.ServerLimits = functools.partial(app.ServerLimits, deadline=0)"


class Process:
    """`sordino serve` as its owner starts it; answers leave when they are ready, unless deadlines are what it is about."""

    def __init__(self, file: Path, *more: str, deadlines: bool = False) -> None:
        run = RUN if deadlines else f"{AT_ONCE}; {RUN}"
        command = [sys.executable, "-c", run, "serve", str(file), "--port", "0", "--log", str(file.with_suffix(".log")), *more]
        self.running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        line = found = ""
        while not found and (line := self.running.stderr.readline()):
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found
        self.url = found[0]

    def ask(self, method: str, path: str, token: str, body: Any = None, key: str | None = None) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def kill(self) -> None:
        self.running.send_signal(signal.SIGKILL)
        self.close()

    def stop(self) -> int:
        self.running.send_signal(signal.SIGTERM)
        return self.close()

    def close(self) -> int:
        if self.running.poll() is None and self.running.returncode is None:
            try:
                self.running.wait(30)
            except subprocess.TimeoutExpired:
                self.running.kill()
                self.running.wait()
        self.running.stderr.close()
        return self.running.returncode
