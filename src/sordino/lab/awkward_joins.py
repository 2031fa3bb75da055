"""Public tables, and frames that lay them beside the awkward ones."""

from __future__ import annotations

from fractions import Fraction

from sordino.lab.awkward_tables import AGE, PERSON, PRICE, person
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import Arithmetic, Compare, Leaf, Literal, Name
from sordino.schema.frame import Frame, Join, Public
from sordino.schema.interval import derive

__all__ = ["BEDS", "BESIDE", "JOINED", "WARDS", "WITHIN"]

WARDS = Public(
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
TOWNS = Public(
    "towns",
    {"town": Column("town", "cat"), "open": Column("open", "bool"), "size": Column("size", "float", bounds=(0, 1000))},
    ("town", "open"),
    {"town": ["Ulm", "Ulm", "ulm", "Öhringen"], "open": [0, 1, 0, 1], "size": ["17.5", "120000", "1e-3", None]},
)
BESIDE, WITHIN = Join("wards", WARDS, (("ward", "ward"),), outer=True), Join("wards", WARDS, (("ward", "ward"),))
CHAIN = Join("towns", TOWNS, (("wards.town", "town"), ("wards.open", "open")), outer=True)
OWN = Join("towns 2", TOWNS, (("city", "town"), ("smoker", "open")))
RATE, BEDS, KIND, SIZE = (
    join.columns[name] for join, name in ((BESIDE, "wards.rate"), (BESIDE, "wards.beds"), (BESIDE, "wards.kind"), (CHAIN, "towns.size"))
)
SHARE = derive(Arithmetic("*", Leaf(RATE), Leaf(AGE)))
MANY = Compare(">", Name("wards.beds"), Literal(7))
JOINED = {
    "beside": Frame(PrivacyUnit(), columns=(RATE, BEDS, AGE), counted=(MANY,), joins=(BESIDE,)),
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
