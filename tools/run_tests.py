"""All tests: those of Spark share one session and one process, and run beside the others; what they said is shown when those are done.

python tools/run_tests.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

PYTEST = [sys.executable, "-m", "pytest"]


def main() -> int:
    with tempfile.TemporaryFile() as said:
        spark = subprocess.Popen([*PYTEST, "tests/spark"], stdout=said, stderr=subprocess.STDOUT)
        try:
            rest = subprocess.run([*PYTEST, "-n", "2", "--ignore=tests/spark"], check=False).returncode
            alone = spark.wait()
        except KeyboardInterrupt:
            alone = rest = spark.wait() or 1
        said.seek(0)
        print("tests/spark:", flush=True)
        sys.stdout.buffer.write(said.read())
    return rest or alone


if __name__ == "__main__":
    sys.exit(main())
