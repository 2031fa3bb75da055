"""The long version of the crash tests, outside the gate: python tests/ledger/soak.py [--kills 2000] [--seed 1]."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from writer import STEPS, moments, steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sordino-soak-") as name:
        folder, start = Path(name), time.monotonic()
        half = options.kills // 2
        first = steps(str(folder / "steps.ledger"), "people", str(folder / "state"), str(folder / "steps.log"), -(-half // len(STEPS)))
        second = moments(str(folder), str(folder / "state"), 10 * -(-half // 30), options.seed)
        taken = time.monotonic() - start
        print(f"{first['killed']} kills at named steps, {second['kills']} at random moments, no violation, {taken:.0f} s; {second}")


if __name__ == "__main__":
    main()
