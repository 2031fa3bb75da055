"""Every argument of every verb is refused when the question is built: a malformed call raises QueryError and charges nothing."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sordino as sd
from sordino.session.batch import Batch, Member
from sordino.session.release import Release


class Unprintable:
    """What can neither be shown nor compared."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __repr__(self) -> str:
        raise ValueError


ODD: list[Any] = [
    True, False, 0, -1, 1.5, float("nan"), float("inf"), 10**400, "", "x", "nope", "a'b", "\0", b"x", [], [True], [None], {}, {"x": 1}, (),
    ("x", "x"), lambda x: x, np.array([True, False]), object(), type, slice(1), Unprintable(), 1j, "x;DROP", "a" * 10_000, ["x"], [["x"]],
    {"a": {}}, sd.count, pd.Series([True]), pd.DataFrame({"x": [1]}),
]  # fmt: skip
GOOD = {"column": "x", "columns": ["x"], "q": 0.5, "k": 1, "predicates": ["x > 1"], "formula": "x ~ b"}
WISHES = ("epsilon", "rho", "delta", "within", "within_rank", "mechanism", "propose", "otherwise", "analyst", "request", "fresh")
CALLS = 2_000


@pytest.fixture(scope="module")
def table() -> Any:
    rows = {"x": [1, 2, 3] * 50, "k": ["a", "b", "c"] * 50, "b": [True, False, True] * 50}
    facts = {"bounds": {"x": (0, 10)}, "keys": {"k": ["a", "b"]}, "columns": {"b": "bool"}, "size": 150, "ledger": ":memory:"}
    with sd.table(rows, **facts, budget=sd.Budget(epsilon=10**5, delta=0.1)) as opened:
        yield opened


def call(table: Any, rng: random.Random) -> Callable[[], Any]:
    """One call with an odd argument somewhere."""
    odd = rng.choice(ODD)
    verbs = [
        name
        for name in dir(table)
        if not name.startswith("_") and name in sd.__all__ and name not in ("dataset", "open", "release", "table")
    ]

    def verb() -> Any:
        method = getattr(table, rng.choice(verbs))
        names = list(inspect.signature(method).parameters)
        wrong = rng.choice(names) if names else ""
        given = {name: odd if name == wrong else GOOD[name] for name in names if name == wrong or name in GOOD}
        return method(**given).release(epsilon=1)

    aggregates = [
        lambda: odd, lambda: sd.counts(odd), lambda: sd.counts([odd]), lambda: sd.sum(odd), lambda: sd.quantile("x", odd),
        lambda: sd.histogram("x", bins=odd), lambda: sd.top_k("k", odd),
    ]  # fmt: skip
    return rng.choice([
        verb, verb,
        lambda: table.where(odd).count().release(epsilon=1),
        lambda: table.group_by(odd).count().release(epsilon=1),
        lambda: table.agg(a=rng.choice(aggregates)()).release(epsilon=1),
        lambda: table.count().release(**{"epsilon": 1, "fresh": True, rng.choice(WISHES): odd}),
        lambda: table.count().preview(**{rng.choice(("epsilons", "within", "within_rank", "delta")): odd}),
        lambda: table.sql(odd).release(epsilon=1),
        lambda: table.batch(epsilon=odd).ask(table.count()),
    ])  # fmt: skip


def test_two_thousand_malformed_calls_raise_only_query_errors_and_charge_nothing(table: Any) -> None:
    rng, refused = random.Random(7), 0
    for number in range(CALLS):
        before, wrong = table.budget.naive, call(table, rng)
        try:
            answer = wrong()
        except sd.errors.QueryError:
            refused += 1
            assert table.budget.naive == before, number
        except sd.errors.BudgetExceeded:  # a price that is legal and beyond the cap
            assert table.budget.naive == before, number
        else:
            if table.budget.naive > before:
                assert isinstance(answer, Release), number  # what is charged is answered
    assert refused > 0.8 * CALLS


MASKS = [np.array([True] * 150), pd.Series([True] * 150), True, None, lambda row: True, [True] * 150, 1, {"x": 1}, ("x", 1)]


@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_is_not_a_condition(table: Any, mask: Any) -> None:
    for start in (table, table.where("x > 1")):
        with pytest.raises(sd.errors.QueryError, match="condition is"):
            start.where(mask)


def test_a_verb_says_what_it_could_not_read(table: Any) -> None:
    with pytest.raises(sd.errors.QueryError, match=r"quantiles cannot be asked .*TypeError.*help\(quantiles\)"):
        table.quantiles("x", 0.5)
    with pytest.raises(sd.errors.QueryError, match="a predicate is True"):
        table.agg(c=sd.counts([True]))


class Unreadable:
    """What fails in every way Python asks it."""

    def __str__(self) -> str:
        raise RuntimeError(self)  # whose own text fails too

    def __eq__(self, other: object) -> bool:
        raise RuntimeError(self)

    def __bool__(self) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        return 1

    __repr__ = __str__
    __len__ = __float__ = __iter__ = __bool__  # type: ignore[assignment]


class Unhashable(Unreadable):
    """The same, and no key of anything."""

    def __hash__(self) -> int:
        raise RuntimeError


ODDER: list[Callable[[], Any]] = [
    *(lambda odd=odd: odd for odd in (
        True, None, float("nan"), float("inf"), 10**400, -1, "", "\0", "\ud800", b"x", "a" * 50_000, [], [True], {}, {"nope": 1},
        ("nope", "x"), lambda x: x, np.array([True, False]), np.array([1.5, -1.5]), pd.Series([True]), pd.Series([1.5, -1.5]),
        pd.DataFrame({"nope": [1]}), object(), type, slice(1), 1j, [["x"]], {"a": {}}, sd.count,
    )),
    Unreadable, Unhashable, lambda: [Unreadable()], lambda: {"nope": Unreadable()}, lambda: {Unreadable(): 1}, lambda: (n for n in [1j]),
]  # fmt: skip
SAID = GOOD | {
    "by": "b", "first": "b", "second": "k", "outcome": "b", "condition": "x > 1", "text": "SELECT COUNT(*) AS n FROM t", "low": 0,
    "edge": 5, "within": 5, "level": 0.9, "function": abs, "name": "laplace", "chances": [0.5],
}  # fmt: skip
INSIDE = {  # called by other modules, with what those have checked; and files, whose errors are the system's
    "alone", "ends", "guess_rows", "p_values", "recall", "recall_sealed", "said", "sealed", "settle", "steps_of", "under", "ways",
    "to_csv", "to_parquet",
}  # fmt: skip
PRICES = ("epsilon", "rho", "within", "within_rank")
EACH = 2  # odd values for each argument of each method


@pytest.fixture(scope="module")
def subjects() -> Any:
    """Everything a caller holds, by what it is; whatever is public about it is found by looking at its class."""
    rows = {"x": [1, 2, 3] * 50, "k": ["a", "b", "c"] * 50, "b": [True, False, True] * 50, "p": [f"p{n % 75}" for n in range(150)]}
    facts = {"bounds": {"x": (0, 10)}, "keys": {"k": ["a", "b", "c"]}, "columns": {"b": "bool"}, "size": 75, "ledger": ":memory:"}
    unit = {"unit": "p", "max_rows": 2, "max_groups": 2, "max_rows_per_group": 1}
    with sd.table(rows, **facts, **unit, budget=sd.Budget(epsilon=10**5, delta=0.1)) as opened:
        count, kinds = opened.count(), {"sum": sd.sum("x"), "n": sd.count()}
        asked: dict[str, Any] = {
            "ranges": opened.cdf("x"), "moments": opened.gram(["x", "b"]), "comparison": opened.compare("x", by="b"),
            "describing": opened.describe(["x"]), "rank test": sd.tests.mann_whitney(opened, "x", by="b"),
            "counts test": sd.tests.independence(opened, "b", "k"), "mean test": sd.tests.t(opened, "x", by="b"),
        }  # fmt: skip
        queries = {"count": count, "median": opened.median("x"), "two": opened.agg(**kinds), "grouped": opened.group_by("k").count()}
        fits = {"fit": opened.regress("x ~ b"), "bins": opened.histogram("x", bins=5)}
        released = {f"released {name}": query.release(epsilon=3) for name, query in (queries | fits).items()}
        derived = {f"paid {name}": asked[name].release(epsilon=1) for name in ("ranges", "moments", "comparison")}
        with opened.batch(epsilon=1) as batch:
            member = batch.ask(opened.mean("x"))
        held = {"table": opened, "filtered": opened.where("x > 1"), "batch": opened.batch(epsilon=1), "member": member}
        yield opened, {**held, **queries, **asked, **released, **derived, "tests": sd.tests, "reconcile": sd.reconcile}


def public(thing: Any) -> list[Callable[..., Any]]:
    """Its public methods, or functions, that take something."""
    if inspect.isfunction(thing):
        return [thing]
    kind = thing if inspect.ismodule(thing) else type(thing)
    names = thing.__all__ if inspect.ismodule(thing) else dir(kind)
    found = [name for name in names if name[0] != "_" and name not in INSIDE and inspect.isfunction(inspect.getattr_static(kind, name))]
    return [method for name in found if inspect.signature(method := getattr(thing, name)).parameters]


def legal(wrong: inspect.Parameter, odd: Any) -> bool:
    """Whether an odd value is right there after all: it may be left out, it is a switch, a function is wanted, it names
    nothing, or any size is as good."""
    if odd is None:
        return wrong.default is None or wrong.name in ("interval", "price")
    if odd is True:
        return isinstance(wrong.default, bool) or wrong.name == "interval"
    if callable(odd):
        return wrong.name in ("function", "progress", "psi", "statistic")
    if type(odd) in (str, list, dict) and not odd:
        return wrong.name in ("bins", "columns", "forbid", "workload")
    return isinstance(odd, int) and odd > 0 and wrong.name in ("propose", "scale")


def given(method: Callable[..., Any], wrong: inspect.Parameter, odd: Any, known: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """What one call is given: the odd value in its place, what else is needed, and a price that would be paid if it went through."""
    names = inspect.signature(method).parameters
    several = any(one.kind is one.VAR_POSITIONAL for one in names.values())
    plain: list[Any] = []
    named: dict[str, Any] = {}
    for name, one in names.items():
        if name != wrong.name and (one.default is not one.empty or name not in known):
            continue
        value = odd if name == wrong.name else known[name]
        if one.kind is one.VAR_POSITIONAL or (several and one.kind is one.POSITIONAL_OR_KEYWORD):
            plain.append(value)
        elif one.kind is one.VAR_KEYWORD:
            named["analyst" if name in ("price", "options") else "a"] = value
        else:
            named[name] = value
    pays = {"epsilon", "price"} & set(names) and wrong.name not in PRICES
    return plain, ({"epsilon": 1} if pays else {}) | ({"fresh": True} if "fresh" in names else {}) | named


def test_every_argument_of_every_public_method_is_refused_before_anything_is_paid(subjects: Any) -> None:
    table, things = subjects
    rng, calls, refused, seen = random.Random(7), 0, 0, set()
    for kind, thing in things.items():
        for method in public(thing):
            seen.add(method.__name__)
            for wrong in inspect.signature(method).parameters.values():
                for make in rng.sample(ODDER, EACH):
                    odd = make()
                    if legal(wrong, odd):
                        continue
                    known = SAID | {"table": table, "question": table.count(), "release": things["released fit"], "epsilon": 1}
                    plain, named = given(method, wrong, odd, known)
                    before, calls = table.budget.naive, calls + 1
                    place = f"{kind}.{method.__name__}({wrong.name}=a {type(odd).__name__})"
                    try:
                        made = method(*plain, **named)
                        if isinstance(made, Batch):
                            made.ask(table.count())
                            made.release()
                        elif not isinstance(made, Release | Member) and inspect.ismethod(getattr(made, "release", None)):
                            made.release(epsilon=1)
                    except (sd.errors.QueryError, sd.errors.BudgetExceeded):  # which say that nothing was spent
                        refused += 1
                    except Exception as error:
                        raise AssertionError(f"{place} raises {type(error).__name__}") from None  # its text may fail
                    assert table.budget.naive == before, f"{place} was charged"
    assert {"regress", "limit", "rollup", "cdf", "share", "explain", "improve", "interval", "reconcile", "wald", "ask"} <= seen
    assert refused > 0.9 * calls


def test_what_is_wrong_about_a_question_that_pays_is_said_before_it_is_paid(table: Any) -> None:
    """Each of these was looked at after the charge, or not at all."""
    before, both = table.budget.naive, table.agg(n=sd.count(), s=sd.sum("x"))
    for ask in (
        lambda: table.describe(["x"]).release(epsilon=1, level="0.95"),
        lambda: table.sharing(columns=["k", "b"]).release(epsilon=1, progress=np.array([0.5])),
        lambda: table.sharing(columns=["k", "b"]).release(epsilon=1, fresh="no"),
        lambda: table.compare("x", by="b").release(epsilon=1, spread=float("nan")),
        lambda: both.gram(["x", "b"]).release(epsilon=1),
        lambda: table.group_by("k").gram(["x", "b"]).release(epsilon=1),
        lambda: both.cdf("x").release(epsilon=1),
        lambda: sd.tests.signed_rank(both, "x").release(epsilon=1),
    ):
        with pytest.raises(sd.errors.QueryError):
            ask()
        assert table.budget.naive == before


def test_an_argument_that_cannot_be_compared_or_printed_is_a_query_error(table: Any) -> None:
    median, half = table.median("x"), pd.Series([0.5, 0.6])
    known = table.count().release(epsilon=1)
    before, refused = table.budget.naive, 0
    for ask in (
        lambda: median.release(epsilon=1, interval=half), lambda: median.release(within_rank=0.1, interval=np.array([True, False])),
        lambda: median.release(epsilon=1, level=np.array([0.5, 0.9])), lambda: table.count().improve(within=10**400),
        lambda: table.batch(epsilon=1).ask(table.count(), within=10**400), lambda: table.batch(epsilon=1).ask(pd.DataFrame({"table": [1]})),
        lambda: known.interval(Unreadable()), lambda: known.interval(0.9, kind=Unhashable()), lambda: known.map(5),
        lambda: known.derive(rate=Unreadable()), lambda: sd.tests.signed_rank(table, Unreadable()), lambda: sd.tests.t(True, "x", by="b"),
        lambda: sd.tests.wald(True), lambda: sd.reconcile(True, pd.DataFrame({"x": [1]})), lambda: sd.reconcile(Unreadable(), known),
        lambda: table.m_regress("x ~ b", psi=None).release(epsilon=1), lambda: table.counts([]),
    ):  # fmt: skip
        try:
            ask()
        except sd.errors.QueryError:
            refused += 1
        except Exception as error:
            raise AssertionError(f"call {refused} raises {type(error).__name__}") from None  # its text may fail
    assert (refused, table.budget.naive) == (17, before)
