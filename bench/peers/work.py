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
FEWEST = 20  # releases behind a median: of five, neither it nor its standard error says much
FEW = 5  # releases behind a mean
LONGER = 2  # times the seconds, until there are so many
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
    """Releases of every question at every epsilon, so many or as many as the seconds allow each; a failing one says what it said."""
    return {
        name: {str(epsilon): drawn(lambda _, ask=ask, epsilon=epsilon: float(ask(epsilon)), draws, seconds) for epsilon in epsilons}
        for name, ask in questions.items()
    }


def drawn(ask: Callable[[int], Any], draws: int, seconds: float, least: int = FEWEST) -> list[Any] | str:
    """`ask(0), ask(1), ...` until there are enough or the time is over, which is longer for the first few; or why there are none.

    The first may build what the others use again, so its time is not counted.
    """
    least = min(least, draws)
    try:
        found = [ask(0)]
        start = time.perf_counter()
        while len(found) < draws and time.perf_counter() - start < (seconds if len(found) >= least else LONGER * seconds):
            found.append(ask(len(found)))
    except Exception as error:
        return reason(error)
    return found if len(found) >= least else f"only {len(found)} releases in the time there was"


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
