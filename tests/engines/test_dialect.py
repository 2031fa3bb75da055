"""What a dialect says: constants as bytes, integers as BIGINT, and nothing it was not taught."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.engines.database import PLAIN, Dialect, render
from sordino.engines.postgres import PostgresDialect, _vanishing
from sordino.engines.spark import SparkDialect
from sordino.engines.value_text import quoted
from sordino.errors import QueryError

DIALECTS = [PostgresDialect(), SparkDialect()]
WORDS = re.compile(r"[A-Za-z_]+|[0-9]+|\S")


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
def test_no_character_of_an_odd_text_is_part_of_a_statement(text: str) -> None:
    for dialect in DIALECTS:
        for statement in (f"SELECT x = {quoted(text)} FROM t", f"SELECT x LIKE {quoted(text)} FROM t"):
            said = render(statement, dialect)
            if not PLAIN.fullmatch(text):
                kept = text.replace("\0", "\uffff") if dialect.name == "postgres" else text  # type: ignore[attr-defined]
                assert kept.encode().hex() in said or kept.replace("\\", "\\\\").encode().hex() in said
                assert said.isascii()
                assert set(said) <= set("SELECTLIKFROMANDTING xtabcdefghijklmnopqrsuvwyz'()=,:_\\0123456789UPBCDEX8-")
            else:
                assert f"'{text}'" in said


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(
    "call",
    ["random()", "now()", "current_user", "pg_sleep(1)", "read_csv('x')", "age(x)", "getenv('HOME')", "list(x)", "uuid()"],
)
def test_a_function_nobody_taught_is_refused(dialect: Dialect, call: str) -> None:
    with pytest.raises(QueryError, match="SRD-106"):
        render(f"SELECT {call} FROM t", dialect)


def test_small_constants_are_not_computed_in_32_bits() -> None:
    for dialect in DIALECTS:
        assert render("SELECT 100000 * 100000, CASE WHEN b THEN 1 END FROM t LIMIT 5", dialect).count("AS BIGINT") == 3


@pytest.mark.parametrize("divisor", [1.5, 2.0, 10.0, 1e6, 2.0**60, 1e300])
def test_the_largest_vanishing_numerator_is_the_largest(divisor: float) -> None:
    found = _vanishing(divisor)
    assert found / divisor == 0.0
    assert math.nextafter(found, math.inf) / divisor > 0.0
