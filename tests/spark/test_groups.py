"""Groups, ranges and drawn limits on Spark: the same integers as in DuckDB."""

from __future__ import annotations

import os
from typing import Any

from engines.group_questions import answered, opened, rows
from sordino.engines.spark import Spark


def test_spark_says_the_same_about_groups(spark: Any) -> None:
    table, few = rows(people=25), os.environ.get("SORDINO_AUDIT") != "full"
    with opened(table) as here, opened(spark.createDataFrame(table)) as there:
        assert isinstance(there.engine, Spark)
        expected, found = answered(here, few), answered(there, few)
        for name, answer in expected.items():
            assert found[name] == answer, name
