"""Expressions of every kind over the awkward tables, and frames made of them.

Public tables, and frames that lay them beside the awkward ones.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction

from sordino.lab.awkward_tables import AGE, BORN, CITIES, FINE, PERSON, PRICE, SEEN, SMOKER, WARD, WEIGHT, person
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import (
    PARTS,
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Compare,
    Constant,
    DatePart,
    Expression,
    IsNull,
    Leaf,
    Like,
    Literal,
    Name,
    Not,
    Or,
    Truth,
)
from sordino.schema.frame import Frame, Join, Public
from sordino.schema.interval import derive

__all__ = ["BEDS", "BESIDE", "DERIVED", "EXPRESSIONS", "GROUPS", "JOINED", "SOLO", "WARD_TABLE", "WITHIN", "name"]

AGES, WEIGHTS, FINES, PRICES, WARDS, DAYS, MOMENTS, FLAGS, TOWNS = map(Leaf, (AGE, WEIGHT, FINE, PRICE, WARD, BORN, SEEN, SMOKER, CITIES))
FILLED = Leaf(Column("age", "int", bounds=(0, 120), nulls=40))
HALF, NOTHING = Constant(Fraction(1, 2)), Constant(None)
OLD = Compare(">=", Name("age"), Literal(36))


def minus(a: Expression, b: Expression) -> Expression:
    return Arithmetic("-", a, b)


def name(expression: Expression) -> Name:
    return Name(derive(expression).name, expression)


SUM = Arithmetic("+", AGES, PRICES)
RATE = Arithmetic("/", PRICES, AGES)
STAY = minus(Cast(MOMENTS, "date"), DAYS)
NESTED = Case(((Compare(">", name(RATE), Literal(Fraction(1, 3))), RATE), (IsNull(Name("city")), WEIGHTS)), minus(AGES, HALF))
EXPRESSIONS: list[Expression] = [
    SUM,
    minus(AGES, WARDS),
    minus(PRICES, Constant(Fraction(1, 8))),
    Arithmetic("*", PRICES, PRICES),
    Arithmetic("*", AGES, Constant(-3)),
    Arithmetic("*", AGES, WEIGHTS),
    Arithmetic("+", FINES, WEIGHTS),
    Arithmetic("*", WEIGHTS, Constant(Fraction(1, 10**40))),
    RATE,
    Arithmetic("/", AGES, WARDS),
    Arithmetic("/", WEIGHTS, FINES),
    Arithmetic("/", minus(AGES, Constant(60)), minus(PRICES, HALF)),
    Arithmetic("/", Constant(1), Call("greatest", (WEIGHTS, Constant(Fraction(1, 4))))),
    Arithmetic("/", Constant(1), Call("least", (WEIGHTS, Constant(Fraction(-1, 4))))),
    STAY,
    minus(DAYS, Constant(dt.date(2000, 1, 1))),
    Call("abs", (minus(AGES, Constant(40)),)),
    Call("abs", (WEIGHTS,)),
    *(Call(word, (item,)) for word in ("floor", "ceil", "round") for item in (AGES, PRICES, WEIGHTS, minus(Constant(0), PRICES), RATE)),
    *(Call("round", (item,), 1) for item in (PRICES, WEIGHTS, minus(Constant(0), PRICES), Arithmetic("*", FINES, WEIGHTS))),
    Call("round", (PRICES,), 5),
    Call("least", (AGES, PRICES, Constant(50))),
    Call("greatest", (AGES, WEIGHTS, NOTHING)),
    Call("greatest", (DAYS, Constant(dt.date(1980, 1, 1)))),
    Call("coalesce", (AGES, WARDS, Constant(7))),
    Call("coalesce", (PRICES, AGES)),
    Call("coalesce", (SUM, WEIGHTS)),
    *(DatePart(word, MOMENTS) for word in PARTS),
    *(DatePart(word, DAYS) for word in PARTS[:6]),
    *(Cast(item, "int") for item in (PRICES, WEIGHTS, FLAGS, minus(Constant(0), PRICES), Arithmetic("*", WEIGHTS, HALF))),
    *(Cast(item, "float") for item in (AGES, PRICES, FLAGS)),
    *(Cast(item, "decimal", 1) for item in (AGES, PRICES, WEIGHTS, FLAGS)),
    *(Cast(item, "bool") for item in (AGES, WEIGHTS, PRICES)),
    Cast(MOMENTS, "date"),
    Cast(DAYS, "timestamp"),
    Truth(OLD),
    Truth(And((OLD, Or((Like(Name("city"), "%lm"), Not(IsNull(Name("price")))))))),
    Case(((OLD, Constant(1)),), Constant(0)),
    Case(((OLD, AGES), (IsNull(Name("ward")), PRICES))),
    NESTED,
    Case(((OLD, MOMENTS),), Constant(dt.datetime(2020, 6, 1, tzinfo=dt.UTC))),
    Case(((Compare(">", name(STAY), Literal(0)), STAY),), NOTHING),
    FILLED,
    Arithmetic("+", FILLED, WARDS),
    Call("exp", (Arithmetic("/", AGES, Constant(20)),)),
    Call("exp", (minus(Constant(0), AGES),)),
    *(Call("move", (item, Constant(count), Constant(step))) for item in (DAYS, MOMENTS) for count, step in ((30, "day"), (-13, "month"))),
    Call("move", (MOMENTS, Constant(-5_400), Constant("second"))),
    *(DatePart("hour", Call("zone", (MOMENTS, Constant(zone)))) for zone in ("Europe/Zurich", "Australia/Lord_Howe")),
    Call("zone", (MOMENTS, Constant("America/Sao_Paulo"))),
    *(Call("length", (Call("digits", (DatePart(word, MOMENTS), Constant(width))),)) for word, width in (("month", 2), ("day", 0))),
    Call("length", (Call("trim", (Call("concat", (TOWNS, Constant(" x "), Call("right", (TOWNS, Constant(2))))),)),)),
    *(Call("length", (Call(word, (Call("concat", (Constant(" "), TOWNS, Constant("  "))),)),)) for word in ("ltrim", "rtrim")),
    Call("length", (Call("concat", (TOWNS,) * 45),)),  # declared longer than a text may be
]
SOLO = [derive(item) for item in EXPRESSIONS]
BANDS = derive(Case(((OLD, Constant("old")), (Compare(">=", Name("age"), Literal(1)), Constant("young")))))
TENS = derive(Call("floor", (Arithmetic("/", AGES, Constant(10)),)))
WHOLE = derive(Truth(OLD))
YEARS = derive(DatePart("year", DAYS))
PLACES = derive(Call("coalesce", (TOWNS, Constant("unknown"))))
SLASHED = derive(Call("concat", (Case(((OLD, Constant("old")),), Constant("new")), Constant("/"), TOWNS)))
SPLIT = derive(Case(((OLD, TOWNS),), Constant("young")))
GROUPS = {
    "bands": (BANDS,),
    "tens": (TENS,),
    "truth": (WHOLE,),
    "years": (YEARS,),
    "places": (PLACES, WHOLE),
    "split": (SPLIT,),
    "joined": (SLASHED,),
}
SMALL = Compare("<", name(SUM), Literal(Fraction(307, 2)))
LATER = Call("greatest", (DAYS, Cast(MOMENTS, "date")))
DERIVED = {
    "numbers": Frame(PrivacyUnit(), columns=(derive(SUM), derive(NESTED), derive(Arithmetic("*", AGES, WEIGHTS))), counted=(OLD,)),
    "people": Frame(person(2, 1), PERSON, where=SMALL, columns=(derive(RATE), derive(Call("round", (WEIGHTS,), 1)))),
    "calendar": Frame(person(2, 1), PERSON, columns=(derive(STAY), derive(DatePart("isodow", MOMENTS)), derive(LATER))),
    "bands": Frame(person(2, 2), PERSON, by=(BANDS,), columns=(AGE, derive(SUM))),
    "places": Frame(PrivacyUnit(), by=(PLACES, WHOLE), columns=(AGE,)),
}


WARD_TABLE = Public(
    "wards",
    {
        "ward": Column("ward", "int", bounds=(0, 9)),
        "beds": Column("beds", "int", bounds=(0, 40)),
        "kind": Column("kind", "cat", keys=("eye", "ear", None)),
        "rate": Column("rate", "decimal", bounds=(0, 10), scale=2),
        "town": Column("town", "cat"),
        "open": Column("open", "bool"),
    },
    ("ward",),
    {
        "ward": [0, 1, 2, 7, None],
        "beds": [10, 99, None, 5, 1],
        "kind": ["eye", "ear", None, "eye", "ear"],
        "rate": ["1.25", "3.999", "-4", None, "1"],
        "town": ["Ulm", "ulm", "a'b", None, "Ulm"],
        "open": [1, 0, None, 1, 1],
    },
)
TOWN_TABLE = Public(
    "towns",
    {"town": Column("town", "cat"), "open": Column("open", "bool"), "size": Column("size", "float", bounds=(0, 1000))},
    ("town", "open"),
    {"town": ["Ulm", "Ulm", "ulm", "Öhringen"], "open": [0, 1, 0, 1], "size": ["17.5", "120000", "1e-3", None]},
)
BESIDE, WITHIN = Join("wards", WARD_TABLE, (("ward", "ward"),), outer=True), Join("wards", WARD_TABLE, (("ward", "ward"),))
CHAIN = Join("towns", TOWN_TABLE, (("wards.town", "town"), ("wards.open", "open")), outer=True)
OWN = Join("towns 2", TOWN_TABLE, (("city", "town"), ("smoker", "open")))
WARD_RATE, BEDS, KIND, SIZE = (
    join.columns[name] for join, name in ((BESIDE, "wards.rate"), (BESIDE, "wards.beds"), (BESIDE, "wards.kind"), (CHAIN, "towns.size"))
)
SHARE = derive(Arithmetic("*", Leaf(WARD_RATE), Leaf(AGE)))
MANY = Compare(">", Name("wards.beds"), Literal(7))
JOINED = {
    "beside": Frame(PrivacyUnit(), columns=(WARD_RATE, BEDS, AGE), counted=(MANY,), joins=(BESIDE,)),
    "within": Frame(PrivacyUnit(), columns=(AGE,), joins=(WITHIN,)),
    "by kind": Frame(person(2, 2), PERSON, by=(KIND,), columns=(BEDS, SHARE), joins=(WITHIN,)),
    "where": Frame(person(2, 1), PERSON, where=MANY, columns=(PRICE, SHARE), joins=(BESIDE,)),
    "chain": Frame(
        person(3, 1),
        PERSON,
        columns=(SIZE, BEDS),
        joins=(BESIDE, CHAIN),
        counted=(Compare("<", Name("towns.size"), Literal(Fraction(20))),),
    ),
    "twice": Frame(person(3, 1), PERSON, columns=(OWN.columns["towns 2.size"], SIZE), joins=(BESIDE, CHAIN, OWN)),
    "unused": Frame(person(3, 1), PERSON, columns=(AGE,), joins=(BESIDE, CHAIN)),
}
