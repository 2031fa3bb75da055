"""A small typed world: columns, every kind of filter over them, and the three-valued meaning of filters and of their normal forms."""

import datetime as dt
import random
import re
from fractions import Fraction

from hypothesis import strategies as st

from sordino.schema.column import Column
from sordino.schema.expression import And, Between, Compare, In, IsNull, Like, Literal, Name, Not, Or

D = dt.date
M = lambda text: dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)  # noqa: E731  a constructor in one letter, as for D

COLUMNS = {
    "age": Column("age", "int", (0, 120)),
    "kids": Column("kids", "int", (0, 20), (0, 1, 2)),
    "income": Column("income", "float", (0, 1_000_000)),
    "price": Column("price", "decimal", (0, 999), scale=2),
    "sex": Column("sex", "cat", keys=("f", "m")),
    "odd 'name\"": Column("odd 'name\"", "cat"),
    "born": Column("born", "date", (D(1900, 1, 1), D(2030, 1, 1))),
    "seen": Column("seen", "timestamp", (M("2000-01-01"), M("2030-01-01"))),
    "smoker": Column("smoker", "bool", keys=(False, True)),
    "person": Column("person", "id"),
    "note": Column("note", "never"),
}
VALUES = {
    "age": [None, -3, 0, 17, 18, 19, 200],
    "kids": [None, 0, 1, 7],
    "income": [None, Fraction(0), Fraction(1, 10), Fraction(5, 2), Fraction(10**6)],
    "price": [None, Fraction(1, 100), Fraction(99, 10), Fraction(3)],
    "sex": [None, "f", "m", "it's", "f%", ""],
    "odd 'name\"": [None, "f", "fm", "é_"],
    "born": [None, D(1999, 12, 31), D(2000, 1, 1), D(2001, 5, 5)],
    "seen": [None, M("2020-01-01"), M("2020-01-01T10:00:00.5"), M("2021-01-01")],
    "smoker": [None, False, True],
}
ORDERED = ["age", "kids", "income", "price", "born", "seen"]
MATES = [("age", "kids"), ("age", "income"), ("income", "price"), ("sex", "odd 'name\"")]
PATTERNS = ["f", "f%", "%", "_", "f_", "%'%", "é\\_", ""]


def literal(dice, name):
    return Literal(dice.choice([value for value in VALUES[name] if value is not None]))


def leaf(dice):
    """One comparison over the world."""
    if dice.random() < 0.1:
        pair = dice.choice(MATES)
        return Compare(dice.choice(["=", "<>"] if pair[0] == "sex" else list(COMPARE)), Name(pair[0]), Name(pair[1]))
    name = dice.choice(sorted(VALUES))
    kinds = ["compare", "in", "null"] + ["between"] * (name in ORDERED) + ["like"] * (COLUMNS[name].type == "cat")
    match dice.choice(kinds):
        case "compare":
            return Compare(dice.choice(list(COMPARE) if name in ORDERED else ["=", "<>"]), Name(name), literal(dice, name))
        case "in":
            return In(Name(name), tuple(dict.fromkeys(literal(dice, name) for _ in range(dice.randint(1, 3)))))
        case "between":
            return Between(Name(name), literal(dice, name), literal(dice, name))
        case "like":
            return Like(Name(name), dice.choice(PATTERNS))
    return IsNull(Name(name))


def grow(dice, depth=3):
    """A filter of any legal shape."""
    kind = dice.choice(["leaf", "not", "and", "or"]) if depth else "leaf"
    if kind == "leaf":
        return leaf(dice)
    if kind == "not":
        return Not(grow(dice, depth - 1))
    return (And if kind == "and" else Or)(tuple(grow(dice, depth - 1) for _ in range(dice.randint(2, 3))))


# one integer per filter: a strategy of strategies is a hundred times slower and shrinks no better here
predicates = st.integers(0, 2**64 - 1).map(lambda seed: grow(random.Random(seed)))
rows = st.integers(0, 2**64 - 1).map(lambda seed: roll(random.Random(seed)))


def roll(dice):
    """A row of the world."""
    return {name: dice.choice(values) for name, values in VALUES.items()}


COMPARE = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _not(truth):
    return None if truth is None else not truth


def _all(truths):
    return False if False in truths else None if None in truths else True


def _any(truths):
    return True if True in truths else None if None in truths else False


def like(text, pattern):
    return re.fullmatch("".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern), text, re.DOTALL) is not None


def holds(predicate, row):
    """SQL's meaning of a filter on one row: True, False or None."""
    match predicate:
        case Not(part):
            return _not(holds(part, row))
        case And(parts):
            return _all([holds(part, row) for part in parts])
        case Or(parts):
            return _any([holds(part, row) for part in parts])
        case IsNull(Name(name)):
            return row[name] is None
        case Between(item, low, high):
            return _all([holds(Compare(">=", item, low), row), holds(Compare("<=", item, high), row)])
        case In(item, values):
            return _any([holds(Compare("=", item, value), row) for value in values])
        case Like(Name(name), pattern):
            return None if row[name] is None else like(row[name], pattern)
        case Compare(op, left, right):
            a, b = (row[side.column] if isinstance(side, Name) else side.value for side in (left, right))
            return None if a is None or b is None else COMPARE[op](a, b)
    raise AssertionError(predicate)


def form_holds(form, row):
    """The same for a normal form, written from its description and not from its code."""
    word = form[0]
    if word in ("and", "or"):
        return (_all if word == "and" else _any)([form_holds(part, row) for part in form[1]])
    if word in ("null", "not null"):
        return (row[form[1]] is None) == (word == "null")
    if word == "columns":
        a, b = row[form[2]], row[form[3]]
        return None if a is None or b is None else COMPARE[form[1]](a, b)
    value = row[form[1]]
    if value is None:
        return None
    if word in ("like", "not like"):
        return like(value, form[2]) == (word == "like")
    if word in ("in", "not in"):
        return (value in [_read(item) for item in form[2]]) == (word == "in")
    return COMPARE[word](value, _read(form[2]))


def _read(item):
    kind, value = item
    return {"number": Fraction, "day": D.fromisoformat, "moment": dt.datetime.fromisoformat}.get(kind, lambda same: same)(value)
