"""Which share of the lines the tests run, in all processes they start; the figure goes into the README.

    python tools/line_coverage.py [--report]

Takes about one and a half times as long as the tests. `--report` reads the last run again, and lists what was not run.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from pathlib import Path
from subprocess import run

import coverage

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
MARKED = re.compile(r"(<!-- coverage -->).*?(<!-- /coverage -->)", re.DOTALL)
PYTEST = [sys.executable, "-m", "coverage", "run", "-m", "pytest"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true", help="only read the last run again")
    options = parser.parse_args()
    failed = 0
    if not options.report:
        run([sys.executable, "-m", "coverage", "erase"], cwd=ROOT, check=True)
        for words in (["-n", "2", "--ignore=tests/spark"], ["tests/spark"]):
            failed |= run([*PYTEST, *words], cwd=ROOT, check=False).returncode
        run([sys.executable, "-m", "coverage", "combine", "--quiet"], cwd=ROOT, check=True)
    data, said = coverage.Coverage(), io.StringIO()
    data.load()
    share = data.report(file=said, show_missing=True, skip_covered=True, sort="cover")
    print(said.getvalue())
    text = f"\\1\nThe tests run {share:.1f}% of all lines (`make coverage`).\n\\2"
    README.write_text(MARKED.sub(text, README.read_text(encoding="utf-8")), encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main())
