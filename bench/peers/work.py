"""What the scripts of all peers share: one task is one process, its last line is one JSON value.

    python bench/peers/ask_opendp.py TASK FOLDER SETTINGS

FOLDER holds the data sets that data.py wrote, SETTINGS is a JSON object. A script imports its package and this module only, so that it runs
with whatever python the package has. It returns what the package released; errors are computed by peers.py, for all by the same yardstick.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

EPSILONS = (0.1, 0.5, 1.0)
DELTA = 1e-6
FEWEST = 20  # releases behind a median; of five, the luckiest package wins
RICH = 40_000  # the count is of incomes of at least this much: some packages cut a count of all rows at their number
Task = Callable[..., Any]


def serve(tasks: Mapping[str, Task]) -> None:
    """Do the task named on the command line and print what came of it."""
    warnings.simplefilter("ignore")
    found = tasks[sys.argv[1]](Path(sys.argv[2]), **json.loads(Path(sys.argv[3]).read_text()))
    print(json.dumps(found))


def repeated(
    questions: Mapping[str, Callable[[float], Any]], draws: int, seconds: float, epsilons: Sequence[float] = EPSILONS
) -> dict[str, Any]:
    """Releases of every question at every epsilon; a slow one has fewer, a failing one says what it said.

    The first release of each may build what the others use again, so its time is not counted.
    """
    found: dict[str, Any] = {}
    last = time.perf_counter() + 3 * seconds
    for name, ask in questions.items():
        found[name] = {}
        for epsilon in epsilons:
            least = min(FEWEST, draws)
            try:
                values = [float(ask(epsilon))]
                end = time.perf_counter() + seconds / len(questions) / len(epsilons)
                while len(values) < draws and time.perf_counter() < (end if len(values) >= least else last):
                    values.append(float(ask(epsilon)))
                found[name][str(epsilon)] = values if len(values) >= least else f"only {len(values)} releases in the time there was"
            except Exception as error:
                found[name][str(epsilon)] = reason(error)
    return found


def reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]


def timed(action: Callable[[], Any], times: int = 1) -> float:
    """Seconds of the shortest run."""
    return min(_once(action) for _ in range(times))


def _once(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def shown(released: Iterable[tuple[Any, float]]) -> dict[str, float]:
    """Keys and their counts, as JSON wants them."""
    return {str(key): float(count) for key, count in released}
