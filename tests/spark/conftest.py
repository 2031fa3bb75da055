"""One Spark session for all of these tests, so they run in one process: `pytest tests/spark`, without -n."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

# a short-lived machine: compile little, collect simply
OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss4m"
WHY = "no Java: the Spark tests were not run"


def has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java") is not None or (home is not None and os.path.exists(f"{home}/bin/java"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not has_java() and os.environ.get("CI") != "true":
        for item in items:
            if item.path.parent.name == "spark":
                item.add_marker(pytest.mark.skip(reason=WHY))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if any(WHY in str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(WHY)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """The session the engine makes for itself where nobody has one."""
    assert has_java(), WHY
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers of another version are refused
    os.environ["PYSPARK_SUBMIT_ARGS"] = f'--conf "spark.driver.extraJavaOptions={OPTIONS}" --conf spark.driver.memory=1g pyspark-shell'
    from sordino.engines.spark_session import active_session

    session = active_session()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()
