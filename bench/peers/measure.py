"""Running one task in a process of its own: its answer, its time on the clock, and the memory of all it started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environment import last_line

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Ran:
    """What a task printed, or why it printed nothing."""

    found: Any
    seconds: float
    megabytes: float
    failed: str = ""


def run(python: Path, words: list[str], limit: float) -> Ran:
    """A script with its arguments; killed with all it started when the limit is over."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))}
    start = time.perf_counter()
    process = subprocess.Popen([python, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own, start_new_session=True)
    peak = [0]
    watcher = threading.Thread(target=_watch, args=(process, peak), daemon=True)
    watcher.start()
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        out, err = "", ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    seconds = time.perf_counter() - start
    process.communicate()
    watcher.join()
    megabytes = peak[0] / 1e6
    if process.returncode == 0 and out.strip():
        return Ran(json.loads(out.strip().splitlines()[-1]), seconds, megabytes)
    late = "used up its processor time" if process.returncode == -signal.SIGXCPU else f"did not end within {limit:.0f} s"
    return Ran(None, seconds, megabytes, last_line(err) if err else late)


def _watch(process: subprocess.Popen[str], peak: list[int]) -> None:
    """The largest sum of resident pages of the session, looked at twenty times a second."""
    while process.poll() is None:
        peak[0] = max(peak[0], resident(process.pid))
        time.sleep(0.05)


def resident(session: int) -> int:
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session:
                    total += int(fields[21]) * PAGE
    return total


def importing(python: Path, module: str, times: int = 3) -> float:
    """Seconds that an import adds to the start of an interpreter."""

    def shortest(code: str) -> float:
        spent = []
        for _ in range(times):
            start = time.perf_counter()
            subprocess.run([python, "-c", code], check=True, capture_output=True)
            spent.append(time.perf_counter() - start)
        return min(spent)

    return max(0.0, shortest(f"import {module}") - shortest("pass"))
