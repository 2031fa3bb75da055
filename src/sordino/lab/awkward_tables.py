"""Rows of everything that has ever gone wrong between a file and a number, and the frames asked of them."""

from __future__ import annotations

import datetime as dt
import random
from fractions import Fraction
from typing import Any

from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import And, Between, Compare, In, IsNull, Like, Literal, Name, Not, Or
from sordino.schema.frame import Frame

NAN, INF = float("nan"), float("inf")
PERSON = Column("person", "id")
AGE = Column("age", "int", bounds=(0, 120))
WEIGHT = Column("weight", "float", bounds=(-3, 97))
FINE = Column("fine", "float", bounds=(0.1, 3.3), resolution=Fraction(1, 10))
PRICE = Column("price", "decimal", bounds=("-0.50", "99.99"), scale=2)
SMOKER = Column("smoker", "bool")
BORN = Column("born", "date", bounds=("1950-01-01", "2020-12-31"))
SEEN = Column("seen", "timestamp", bounds=("2020-01-01", "2021-01-01T00:00:00"))
CITY = Column("city", "cat")
WARD = Column("ward", "int", bounds=(0, 9))
COLUMNS = (PERSON, AGE, WEIGHT, FINE, PRICE, SMOKER, BORN, SEEN, CITY, WARD)
NUMBERS = (AGE, WEIGHT, FINE, PRICE, SMOKER, BORN, SEEN)

POOL: dict[str, list[Any]] = {
    "person": [1, 2, 3, 4, 5, 6, 7, 8, None],
    "age": [0, 1, 35, 35, 36, 120, 121, -4, 10**30, -(10**30), None, 2**53 + 1, "17", " 18 ", "x", "", 41.7, -0.5, NAN, INF, -INF, b"19",
            True, "1e3"],
    "weight": [0.0, -0.0, 1.5, 1e308, -1e308, 5e-324, NAN, INF, -INF, None, "2.25", "heavy", 3, 96.99999999999999, 97, "inf", "-inf",
               "nan", b"4.5"],
    "fine": [0.1, 0.3, 0.30000000000000004, 1, 3.2, 3.3, 9.9, -1, None, NAN, "0.7", "?"],
    "price": [0.29, "0.29", "12.345", -0.5, -7, 99.99, "99.994", 1e300, "-1e300", None, NAN, INF, 5, "five", "1e1"],
    "smoker": [True, False, None, 1, 0, "yes", "no", "maybe", 2, -1, 0.5, NAN],
    "born": ["1970-05-06", "1949-12-31", "2021-01-01", "not a date", None, dt.date(1999, 9, 9), dt.datetime(1980, 1, 1, 23, 59),
             "2000-02-30", 7],
    "seen": ["2020-06-01 12:00:00.999999", "2020-06-01T12:00:00+02:00", dt.datetime(2020, 3, 1, 1, 2, 3, 500_000), "2019-01-01", None,
             "soon", "2022-01-01"],
    "city": ["Ulm", "ulm", " Ulm", "Öhringen", "", "a'b", 'q"q', "100%", "a_b", None, "x\ny", "😀", "None", NAN, 7],
    "ward": [0, 1, 2, 3, None, "2", "two", 11],
}  # fmt: skip


def awkward(rows: int, seed: int = 1) -> dict[str, list[Any]]:
    """Random rows of everything that has ever gone wrong, in plain Python lists."""
    rng = random.Random(seed)
    return {name: [rng.choice(pool) for _ in range(rows)] for name, pool in POOL.items()}


def person(max_rows: int, max_groups: int, max_rows_per_group: int | None = None) -> PrivacyUnit:
    return PrivacyUnit("person", max_rows=max_rows, max_groups=max_groups, max_rows_per_group=max_rows_per_group)


CITIES = Column("city", "cat", keys=("ulm", "Ulm", "a'b", "nowhere", None, "😀"))
WARDS = Column("ward", "int", bounds=(0, 9), keys=(3, 1, 0))
SMOKES = Column("smoker", "bool", keys=(True, False))
FILLED = Column("age", "int", bounds=(0, 120), nulls=40)
NAMED = Column("city", "cat", nulls="unknown")
ADULT = Compare(">=", Name("age"), Literal(18))
ODD = Or((Like(Name("city"), "_lm"), And((Not(IsNull(Name("weight"))), Compare("<", Name("weight"), Literal(Fraction(3, 2)))))))
CALENDAR = Or(
    (
        Between(Name("born"), Literal(dt.date(1960, 1, 1)), Literal(dt.date(1999, 9, 9))),
        Compare(">", Name("seen"), Literal(dt.datetime(2020, 5, 1, tzinfo=dt.UTC))),
    )
)
HALVES = Not(In(Name("ward"), (Literal(1), Literal(Fraction(5, 2)), Literal(3))))
BETWEEN_STEPS = And((Compare("<", Name("age"), Literal(Fraction(71, 2))), Compare("<>", Name("age"), Literal(Fraction(1, 3)))))
SIDES = Or(
    (
        Compare("<", Name("age"), Name("weight")),
        Compare("=", Literal(Fraction(29, 100)), Name("price")),
        Compare("=", Name("smoker"), Literal(True)),
    )
)
HOSTILE = Or(
    (Compare("=", Name("city"), Literal("a'b")), Compare("=", Name("city"), Literal("'; DROP TABLE x; --\0")), Like(Name("city"), '%"%'))
)

FRAMES = {
    "rows": Frame(PrivacyUnit(), columns=NUMBERS, counted=(ADULT, ODD, CALENDAR, HALVES, BETWEEN_STEPS, SIDES, HOSTILE)),
    "rows where": Frame(PrivacyUnit(), where=ODD, columns=NUMBERS),
    "nothing but rows": Frame(PrivacyUnit()),
    "rows by": Frame(PrivacyUnit(), by=(CITY,), columns=(AGE, WEIGHT)),
    "rows by public": Frame(PrivacyUnit(), by=(CITIES, WARDS), columns=(AGE,), counted=(ADULT,)),
    "people": Frame(person(2, 1), PERSON, columns=NUMBERS, counted=(ODD, SIDES)),
    "one row each": Frame(person(1, 1), PERSON, columns=(AGE,)),
    "people where": Frame(person(3, 1), PERSON, where=CALENDAR, columns=(PRICE, SEEN)),
    "people by": Frame(person(4, 3, 2), PERSON, by=(CITY,), columns=(AGE, WEIGHT), counted=(ADULT,)),
    "people by public": Frame(person(3, 2, 2), PERSON, by=(CITIES,), columns=(AGE, FINE)),
    "people by two": Frame(person(3, 4, 1), PERSON, by=(CITIES, WARD), columns=(PRICE,)),
    "people by flags": Frame(person(1, 1), PERSON, by=(SMOKES, WARDS), columns=(WEIGHT,)),
    "people by day": Frame(person(2, 2), PERSON, by=(Column("born", "date"),), columns=(AGE,)),
    "people by moment": Frame(person(2, 2), PERSON, by=(Column("seen", "timestamp"),), columns=(AGE,)),
    "nulls filled": Frame(person(6, 3, 2), PERSON, by=(NAMED,), columns=(FILLED,), where=Compare(">", Name("age"), Literal(30))),
    "all groups fit": Frame(person(3, 99, 2), PERSON, by=(SMOKES,), columns=(AGE,)),
}
