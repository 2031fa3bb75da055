"""Every rule of a declaration, and every refusal with its fix, before anything is read."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import pytest

from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.declaration import complete, declare


def test_the_example_of_the_documentation():
    columns = declare(
        columns={
            "admitted": "date",
            "weight": {"type": "float", "bounds": (0, 300), "resolution": 0.1, "nulls": "drop", "shape": "symmetric"},
        },
        bounds={"income": (0, 1_000_000), "age": (0, 120)},
        keys={"sex": ["f", "m", "x"]},
        unit="person_id",
    )
    assert columns == {
        "admitted": Column("admitted", "date"),
        "weight": Column("weight", "float", (0, 300), resolution=Fraction(1, 10), shape="symmetric"),
        "income": Column("income", "float", (0, 1_000_000)),
        "age": Column("age", "float", (0, 120)),
        "sex": Column("sex", "cat", keys=("f", "m", "x")),
        "person_id": Column("person_id", "id"),
    }


@pytest.mark.parametrize(
    ("facts", "column"),
    [
        ("int", Column("c", "int")),
        ("string", Column("c", "cat")),
        ("Decimal( 10 , 2 )", Column("c", "decimal", scale=2)),
        ("timestamp", Column("c", "timestamp")),
        ("bool", Column("c", "bool", keys=(False, True))),
        ("id", Column("c", "id")),
        ({"access": "never"}, Column("c", "never")),
        ({"type": "cat", "access": "never"}, Column("c", "never")),
        ({"bounds": (dt.date(2020, 1, 1), dt.date(2021, 1, 1))}, Column("c", "date", (dt.date(2020, 1, 1), dt.date(2021, 1, 1)))),
        ({"type": "date", "bounds": ["2020-01-01", "2021-01-01"]}, Column("c", "date", (dt.date(2020, 1, 1), dt.date(2021, 1, 1)))),
        (
            {"bounds": (dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1))},
            Column("c", "timestamp", (dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2021, 1, 1, tzinfo=dt.UTC))),
        ),
        ({"type": "cat", "keys": "private"}, Column("c", "cat")),
        ({"keys": "private"}, Column("c", "cat")),
        ({"values": ["a", None]}, Column("c", "cat", keys=("a", None))),
        ({"values": [3, 1]}, Column("c", "int", keys=(3, 1))),
        ({"values": [True]}, Column("c", "bool", keys=(True,))),
        ({"type": "bool", "keys": "private"}, Column("c", "bool")),
        ({"type": "int", "bounds": (0.0, 1e3), "nulls": 7}, Column("c", "int", (0, 1000), nulls=7)),
        (
            {"type": "decimal(4,2)", "bounds": ("-9.99", Decimal("9.99"))},
            Column("c", "decimal", (Fraction(-999, 100), Fraction(999, 100)), scale=2),
        ),
        ({"type": "float", "bounds": (0.5, 1.5), "nulls": 0.5}, Column("c", "float", (0.5, 1.5), nulls=0.5)),
        ({"type": "float", "bounds": (0.1, 1.5), "nulls": "0.1"}, Column("c", "float", (0.1, 1.5), nulls=Fraction(1, 10))),
        ({"type": "cat", "values": ["a", "b"], "nulls": "b"}, Column("c", "cat", keys=("a", "b"), nulls="b")),
        ({"type": "bool", "nulls": False}, Column("c", "bool", keys=(False, True), nulls=False)),
        ({"type": "int", "bounds": None, "shape": None}, Column("c", "int")),
        ({"type": "float", "bounds": (0, 1), "resolution": Fraction(1, 3)}, Column("c", "float", (0, 1), resolution=Fraction(1, 3))),
    ],
)
def test_a_type_is_declared_or_follows_from_the_declaration(facts, column):
    assert declare({"c": facts}) == {"c": column}


REFUSED = {
    "unknown key": ({"type": "int", "bound": (0, 1)}, "Did you mean 'bounds'?"),
    "unknown type": ("integer", "Did you mean 'int'?"),
    "no such type": ({"type": 5}, "Known types"),
    "never is an access": ("never", "Known types"),
    "decimal without digits": ("decimal", "decimal(10,2)"),
    "decimal with too many digits": ("decimal(39,2)", "1 to 38"),
    "decimal with more decimals than digits": ("decimal(3,4)", "1 to 38"),
    "no type": ({"shape": "symmetric"}, "Give it one of"),
    "empty": ({}, "Give it one of"),
    "not a declaration": (5, "Give a type"),
    "unknown access": ({"access": "read"}, "never"),
    "unknown shape": ({"type": "int", "shape": "symetric"}, "Did you mean 'symmetric'?"),
    "reversed bounds": ({"type": "int", "bounds": (5, 1)}, "below"),
    "equal bounds": ({"type": "float", "bounds": (5, 5.0)}, "below"),
    "reversed dates": ({"type": "date", "bounds": ("2021-01-01", "2020-01-01")}, "below"),
    "nan bound": ({"type": "float", "bounds": (0, float("nan"))}, "finite"),
    "infinite bound": ({"type": "float", "bounds": (0, float("inf"))}, "finite"),
    "absurd bound": ({"type": "float", "bounds": (0, 10**400)}, "finite"),
    "absurd decimal bound": ({"type": "float", "bounds": (0, Decimal("1e999999999"))}, "finite"),
    "absurd text bound": ({"type": "decimal(5,0)", "bounds": (0, "1e999999999")}, "digits"),
    "decimal bound with too many digits": ({"type": "decimal(4,2)", "bounds": (0, 100)}, "digits"),
    "huge int bound": ({"type": "int", "bounds": (0, 2**62)}, "whole"),
    "fractional int bound": ({"type": "int", "bounds": (0, 1.5)}, "whole"),
    "bool bound": ({"type": "int", "bounds": (False, True)}, "whole"),
    "too wide": ({"type": "decimal(38,20)", "bounds": (0, 10**17)}, "narrower"),
    "too fine": ({"type": "float", "bounds": (0, 1), "resolution": 1e-30}, "coarser"),
    "bounds a double cannot tell apart": ({"type": "float", "bounds": (10**16, 10**16 + 1)}, "further apart"),
    "bounds closer than anything": ({"type": "float", "bounds": (0, 1e-290)}, "further apart"),
    "one bound": ({"type": "int", "bounds": (5,)}, "two bounds"),
    "three bounds": ({"type": "int", "bounds": (1, 2, 3)}, "two bounds"),
    "a bound": ({"type": "int", "bounds": 5}, "two bounds"),
    "text bounds": ({"type": "int", "bounds": "ab"}, "two bounds"),
    "set bounds": ({"type": "int", "bounds": {1, 2}}, "two bounds"),
    "private bounds": ({"type": "int", "bounds": "private"}, "on a query"),
    "text bounds without a type": ({"bounds": ("2020-01-01", "2021-01-01")}, "Say what they are"),
    "number bounds of a date": ({"type": "date", "bounds": (1, 2)}, "days"),
    "moment bounds of a date": ({"type": "date", "bounds": (dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1))}, "days"),
    "bad timestamps": ({"type": "timestamp", "bounds": ("2020", "2021")}, "moments"),
    "bool with bounds": ({"type": "bool", "bounds": (0, 1)}, "false and true"),
    "text with bounds": ({"type": "cat", "bounds": (0, 1)}, "number type"),
    "id with bounds": ({"type": "id", "bounds": (0, 1)}, "no more"),
    "id with nulls": ({"type": "id", "nulls": 1}, "no more"),
    "resolution zero": ({"type": "float", "bounds": (0, 1), "resolution": 0}, "positive"),
    "resolution negative": ({"type": "float", "bounds": (0, 1), "resolution": -1}, "positive"),
    "resolution nan": ({"type": "float", "bounds": (0, 1), "resolution": float("nan")}, "positive"),
    "resolution wider than bounds": ({"type": "float", "bounds": (0, 1), "resolution": 2}, "below their distance"),
    "resolution of an int": ({"type": "int", "bounds": (0, 1), "resolution": 1}, "Only float"),
    "values and keys": ({"values": ["a"], "keys": "private"}, "private"),
    "a word for keys": ({"type": "cat", "keys": "secret"}, "private"),
    "private values": ({"type": "cat", "values": "private"}, "list"),
    "no keys": ({"type": "cat", "values": []}, "non-empty"),
    "keys that are no list": ({"type": "cat", "values": 5}, "non-empty"),
    "duplicate keys": ({"type": "cat", "values": ["a", "b", "a"]}, "once"),
    "duplicate nulls": ({"type": "cat", "values": [None, None]}, "once"),
    "number keys of text": ({"type": "cat", "values": [1, 2]}, "text"),
    "mixed keys": ({"values": ["a", 1]}, "text"),
    "mixed numbers and bools": ({"values": [1, True]}, "text"),
    "bool keys of an int": ({"type": "int", "values": [True]}, "whole"),
    "text keys of an int": ({"type": "int", "values": ["1"]}, "whole"),
    "int keys of a bool": ({"type": "bool", "values": [0, 1]}, "true and false"),
    "float keys": ({"type": "float", "bounds": (0, 1), "values": [0.5]}, "Only cat"),
    "private keys of an int": ({"type": "int", "keys": "private"}, "cat"),
    "key outside the bounds": ({"type": "int", "bounds": (0, 5), "values": [6]}, "Widen"),
    "key with a NUL": ({"type": "cat", "values": ["a\x00"]}, "text"),
    "key that is half a letter": ({"type": "cat", "values": ["\ud800"]}, "text"),
    "nulls outside bounds": ({"type": "int", "bounds": (0, 5), "nulls": 6}, "inside"),
    "nulls below bounds": ({"type": "date", "bounds": ("2020-01-01", "2021-01-01"), "nulls": "2019-01-01"}, "inside"),
    "nulls of another type": ({"type": "int", "bounds": (0, 5), "nulls": "x"}, "drop"),
    "nulls of a bool": ({"type": "bool", "nulls": 1}, "drop"),
    "nulls among no values": ({"type": "cat", "values": ["a"], "nulls": "b"}, "among the values"),
    "nulls nan": ({"type": "float", "bounds": (0, 5), "nulls": float("nan")}, "drop"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_declaration_is_refused_with_the_fix(case):
    facts, fix = REFUSED[case]
    with pytest.raises(QueryError) as caught:
        declare({"c": facts})
    error = caught.value
    assert error.code == "SRD-204"
    assert fix in str(error)
    assert "'c'" in error.what
    assert error.facts["column"] == "c"
    assert not error.spent


@pytest.mark.parametrize(
    "arguments",
    [
        {"columns": {"a": {"bounds": (0, 1)}}, "bounds": {"a": (0, 1)}},
        {"columns": {"a": {"values": ["x"]}}, "keys": {"a": ["x"]}},
        {"columns": {"a": "int"}, "unit": "a"},
        {"bounds": {"a": (0, 1)}, "unit": "a"},
        {"columns": ["a"]},
        {"bounds": (0, 1)},
        {"columns": {5: "int"}},
        {"columns": {"": "int"}},
        {"columns": {"a\x00": "int"}},
        {"columns": {"\ud800": "int"}},
        {"unit": ""},
        {"unit": 5},
        {"columns": {"a" * 1001: "int"}},
    ],
)
def test_contradictions_and_impossible_names_are_refused(arguments):
    with pytest.raises(QueryError) as caught:
        declare(**arguments)
    assert caught.value.code == "SRD-204"
    assert caught.value.fix


def test_names_are_any_text_and_case_counts():
    names = ["Age", "age", "größe 😀", 'say "hi"', "it's", " ", "select", "a\nb", "drop table x; --"]
    assert list(declare(dict.fromkeys(names, "int"))) == names


def test_bounds_and_keys_complete_a_declared_type():
    assert declare({"a": "int"}, {"a": (0, 5)}, {"a": [1, 2]}) == {"a": Column("a", "int", (0, 5), (1, 2))}


def test_the_unit_may_also_be_declared_as_an_id():
    assert declare({"p": "id"}, unit="p") == declare({"p": {"type": "id"}}, unit="p") == declare(unit="p") == {"p": Column("p", "id")}


def test_what_nobody_declared_is_text_with_private_keys():
    declared = declare({"age": "int"})
    assert complete(declared, ["zip", "age"]) == {"zip": Column("zip", "cat"), "age": Column("age", "int")}


def test_a_declared_column_must_be_in_the_source():
    with pytest.raises(QueryError, match=r"SRD-201.*Did you mean 'age'"):
        complete(declare({"agee": "int"}), ["age"])
    with pytest.raises(QueryError, match="SRD-204"):
        complete({}, ["a", "a"])


def test_nothing_declared_is_nothing():
    assert declare() == {}
