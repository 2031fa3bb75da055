"""A standalone Spark cluster of our own on the loopback: one master, two workers, and a driver that asks one slow question.

Every process is started here, in a process group of its own, and ended here.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
HERE = "127.0.0.1"
PEOPLE = 4_000


class Cluster:
    """A master and two workers of one core each. `kill` takes a worker and the executor it started."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder, self.home = folder, Path(pyspark.__file__).parent
        self.processes: list[subprocess.Popen[bytes]] = []
        try:
            self._start("master", "org.apache.spark.deploy.master.Master", "--host", HERE, "--port", "0", "--webui-port", "0")
            self.address = self._said("master", r"Starting Spark master at (spark://\S+)")
            for name in ("worker0", "worker1"):
                options = ["--host", HERE, "--cores", "1", "--memory", "600m", "--webui-port", "0", "-d", str(folder / name)]
                self._start(name, "org.apache.spark.deploy.worker.Worker", self.address, *options)
            for name in ("worker0", "worker1"):
                self._said(name, r"(Successfully registered with master)")
        except BaseException:
            self.close()
            raise

    def _start(self, name: str, kind: str, *options: str) -> None:
        lean = {
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{LEAN} -Dspark.deploy.maxExecutorRetries=1",
            "SPARK_LOCAL_IP": HERE,
            "SPARK_LOCAL_DIRS": str(self.folder),
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes.append(
                subprocess.Popen(
                    [self.home / "bin" / "spark-class", kind, *options],
                    env={**os.environ, **lean, "SPARK_HOME": str(self.home)},
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    cwd=self.folder,
                )
            )

    def _said(self, name: str, pattern: str, patience: float = 120) -> str:
        """What a process wrote to its log, as soon as it is there."""
        until = time.monotonic() + patience
        while time.monotonic() < until:
            if found := re.search(pattern, (self.folder / f"{name}.log").read_text(errors="replace")):
                return found[1]
            time.sleep(0.1)
        raise RuntimeError(f"{name} did not say {pattern!r}: {(self.folder / f'{name}.log').read_text(errors='replace')[-2000:]}")

    def kill(self, worker: int) -> None:
        """The worker and its executor, at once and for good."""
        end(self.processes[1 + worker])

    def kill_executors(self) -> int:
        """Every executor; the workers live, but the master gives the application up."""
        groups = {process.pid for process in self.processes[1:]}
        found = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _is_executor(entry, groups)]
        for process in found:
            os.kill(process, signal.SIGKILL)
        return len(found)

    def close(self) -> None:
        for process in reversed(self.processes):
            end(process)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _is_executor(entry: Path, groups: set[int]) -> bool:
    try:
        return os.getpgid(int(entry.name)) in groups and b"ExecutorBackend" in (entry / "cmdline").read_bytes()
    except (ProcessLookupError, FileNotFoundError):
        return False


def end(process: subprocess.Popen[Any]) -> None:
    """The process and its children: they are the group we made for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


def ask(address: str, ledger: str, folder: str) -> dict[str, Any]:
    """The driver: one count of slow rows, and what came of it."""
    from pyspark.sql import SparkSession

    import sordino as sd
    from sordino.errors import ReleaseFailed

    settings = {
        "spark.master": address, "spark.ui.enabled": "false", "spark.driver.host": HERE, "spark.driver.bindAddress": HERE,
        "spark.executor.memory": "512m", "spark.executor.extraJavaOptions": LEAN, "spark.driver.extraJavaOptions": LEAN,
        "spark.sql.shuffle.partitions": "2", "spark.local.dir": folder, "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": f"{folder}/warehouse", "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    }  # fmt: skip
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    tracker = spark.sparkContext.statusTracker()

    def watch() -> None:
        """Say so when rows are being read on both workers."""
        while not any((info := tracker.getStageInfo(stage)) and info.numActiveTasks >= 2 for stage in tracker.getActiveStageIds()):
            time.sleep(0.02)
        print("running", flush=True)

    # forty tasks, each of them asleep for a moment: there is a middle to be killed in
    slow = spark.range(0, PEOPLE, 1, 40).selectExpr(
        "id AS person", "id % 7 AS v", "IF(id % 100 = 0, reflect('java.lang.Thread', 'sleep', 250L), 'x') AS pause"
    )
    table = sd.table(
        slow, unit="person", max_rows=1, max_groups=1, bounds={"v": (0, 6)}, columns={"pause": "string"},
        budget=sd.Budget(epsilon=40), ledger=ledger,
    )  # fmt: skip
    threading.Thread(target=watch, daemon=True).start()
    try:
        outcome: dict[str, Any] = {"value": table.where("pause <> 'y' OR pause IS NULL").count().release(epsilon=20).value}
    except ReleaseFailed as error:
        outcome = {"failed": error.code, "text": str(error)}
    spark.stop()
    return outcome


if __name__ == "__main__":
    print(json.dumps(ask(*sys.argv[1:])), flush=True)
    os._exit(0)
