"""Spark reads a value as every container does."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa

from engines.test_length import LEAF, PARTS, in_python, put_together
from engines.test_value_text import COLUMNS, DECLARED, KINDS, PLACE, arrow, columns, read, told
from sordino.engines.spark import Spark, SparkCursor
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.frame import Frame


def test_spark_reads_a_value_as_every_container_does(spark: Any) -> None:
    rows = Frame(PrivacyUnit(), by=tuple(DECLARED), columns=(PLACE,))
    for name, values in COLUMNS.items():
        if name == "single":
            continue
        for alien in (None, 2.5) if name == "whole" else (None,):
            table = arrow([*values, alien])
            table = table.cast(
                pa.schema([pa.field(f.name, pa.timestamp("us") if pa.types.is_timestamp(f.type) else f.type) for f in table.schema])
            )
            engine, alone = Spark(spark.createDataFrame(table), (*DECLARED, PLACE)), [read(columns([value])) for value in values]
            with engine._scanned(rows) as (session, _):
                found = told(SparkCursor(session, engine._stored(rows)), engine._text(rows, 0).scan)
            for kind, (place, value) in itertools.product(KINDS, enumerate(values)):
                if kind in ("cat", "id") and isinstance(value, float) and value != int_or_none(value):
                    continue  # a number that is not whole is as the database writes it
                assert found[kind][place] == alone[place][kind][0], (name, kind, value)


def test_text_that_is_put_together_is_cut_on_spark_too(spark: Any) -> None:
    with Spark(spark.createDataFrame(pa.table({"note": PARTS})), (LEAF.column,)) as engine:
        assert put_together(engine) == in_python()


def int_or_none(value: float) -> int | None:
    return int(value) if abs(value) < 9e18 else None
