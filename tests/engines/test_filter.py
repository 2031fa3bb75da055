"""Filters become SQL of our own making: strings are data, types are checked, unknown stays unknown."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.engines.expression_text import names
from sordino.engines.source import open_source
from sordino.engines.text import check
from sordino.errors import QueryError
from sordino.lab.awkward_tables import COLUMNS, HOSTILE, SIDES, awkward
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import And, Between, Compare, In, IsNull, Like, Literal, Name, Not, Or, Predicate
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Totals

from .everything import everything

TEXTS = [
    "",
    "a'b",
    "' OR 1=1 --",
    "'; DROP TABLE bounded; --",
    '"',
    "\\",
    "\\'",
    "%",
    "_",
    "a\0b",
    "\0",
    "\u202e",
    "😀",
    "\ud800",
    "$$x$$",
    "{x}",
    "--",
    "/*",
]


def counts(table: dict[str, list[Any]], columns: tuple[Column, ...], predicates: tuple[Predicate, ...]) -> list[int]:
    with open_source(table, columns) as engine, engine.bounded(Frame(PrivacyUnit(), counted=predicates), 0) as bounded:
        items = tuple(Item("counted", index=i) for i in range(len(predicates)))
        found = bounded.ask(Totals(items)).values
        return [int(found[item][0]) for item in items]


def test_hostile_strings_are_data_only() -> None:
    city = Column("city", "cat")
    equal = tuple(Compare("=", Name("city"), Literal(text)) for text in TEXTS)
    assert counts({"city": TEXTS}, (city,), equal) == [1] * len(TEXTS)
    assert counts({"city": TEXTS}, (city,), tuple(Like(Name("city"), text) for text in TEXTS if not {"%", "_"} & set(text))) == [1] * (
        len(TEXTS) - 2
    )


def test_hostile_column_names_and_keys_are_data_only(tmp_path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = "x\"; DROP TABLE bounded; --'"
    column = Column(name, "cat", keys=tuple(text for text in TEXTS if text != "\ud800"))
    pq.write_table(pa.table({name: list(column.keys)}), tmp_path / "it's.parquet")
    frame = Frame(PrivacyUnit(), by=(column,), where=Not(IsNull(Name(name))))
    for source in ({name: list(column.keys)}, tmp_path / "it's.parquet"):
        with open_source(source, (column,)) as engine:
            assert everything(engine, frame)[1][0] == (Item("rows"), [1] * len(column.keys))


NUMBERS = st.sampled_from([0, 1, 35, Fraction(71, 2), Fraction(1, 3), -4, 10**30, 2**53 + 1, 120])
ATOMS = st.one_of(
    st.builds(Compare, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.just(Name("age")), st.builds(Literal, NUMBERS)),
    st.builds(Compare, st.sampled_from(["<", ">="]), st.builds(Literal, NUMBERS), st.just(Name("price"))),
    st.builds(Compare, st.sampled_from(["=", "<"]), st.sampled_from([Name("ward"), Name("age"), Name("price")]), st.just(Name("price"))),
    st.builds(
        Between, st.just(Name("weight")), st.builds(Literal, st.just(Fraction(-1))), st.builds(Literal, NUMBERS.filter(lambda x: x < 1000))
    ),
    st.builds(In, st.sampled_from([Name("age"), Name("ward")]), st.lists(st.builds(Literal, NUMBERS | st.none()), max_size=3).map(tuple)),
    st.builds(Like, st.just(Name("city")), st.sampled_from(["%", "_lm", "%m", "100%", "a_b", "", "%\n%"])),
    st.builds(IsNull, st.sampled_from([Name("age"), Name("weight"), Name("city"), Name("born")])),
    st.builds(
        Compare, st.sampled_from(["<", "<=", "="]), st.just(Name("born")), st.sampled_from([Name("seen"), Literal(dt.date(1999, 9, 9))])
    ),
    st.builds(Compare, st.just("="), st.just(Name("smoker")), st.sampled_from([Literal(True), Literal(False), Literal(None)])),
    st.builds(Compare, st.sampled_from(["=", ">"]), st.builds(Literal, NUMBERS), st.builds(Literal, NUMBERS)),
)
TREES = st.recursive(
    ATOMS,
    lambda part: st.one_of(st.builds(Not, part), *(st.builds(kind, st.lists(part, max_size=3).map(tuple)) for kind in (And, Or))),
    max_leaves=6,
)


@settings(max_examples=15, deadline=None)
@given(st.lists(TREES, min_size=8, max_size=12))
def test_any_tree_of_filters_is_decided_as_the_oracle_decides_it(trees: list[Predicate]) -> None:
    table = awkward(150, seed=9)
    frame = Frame(PrivacyUnit(), counted=(*trees, *map(Not, trees)))
    with open_source(table, COLUMNS) as engine:
        assert everything(engine, frame) == everything(Reference(table, COLUMNS), frame)


@pytest.mark.parametrize(
    "predicate",
    [
        Compare("=", Name("age"), Literal("x")),
        Compare("=", Name("city"), Literal(5)),
        Compare("<", Name("city"), Name("age")),
        Compare("~", Name("age"), Literal(5)),
        Compare("=", Name("age"), Literal(float("nan"))),
        Compare("=", Name("born"), Literal(5)),
        Compare("=", Name("seen"), Literal("2020")),
        Compare("<", Literal("a"), Literal(1)),
        Like(Name("age"), "1%"),
        IsNull(Name("nobody")),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_read(predicate: Predicate) -> None:
    with pytest.raises(QueryError, match=r"SRD-20[16]"):
        check(Frame(PrivacyUnit(), where=predicate), {column.name: column for column in COLUMNS})


def test_names_are_listed_once() -> None:
    assert names(None) == ()
    assert names(And((SIDES, Not(HOSTILE), Between(Name("x"), Literal(0), Literal(1))))) == (
        "age",
        "weight",
        "price",
        "smoker",
        "city",
        "x",
    )
