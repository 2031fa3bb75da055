"""Every question one may ask of a table of people, in one place: what an audit of the statistics goes through.

A new statistic is found by walking `sordino.statistics`. If its parameters are not among those below it needs an example here, and the
campaign says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sordino import statistics
from sordino.errors import QueryError
from sordino.lab.population import PROPOSE
from sordino.session.query import Query
from sordino.statistics.rank_test import RankTest
from sordino.statistics.row_count import Present
from sordino.statistics.second_moment import KINDS, Pair

__all__ = ["PLACES", "Question", "examples", "questions"]

TOP = 1_000_000
rich = statistics.statistic(sensitivity=1, bounds=(0, TOP))(lambda x: int((x > TOP / 2).sum()))
largest = statistics.statistic(bounds=(0, TOP))(lambda x: float(x.max()) if len(x) else 0.0)
# whoever comes is at most at the top, and k + 1 who leave uncover the (k + 2)nd largest
largest.sensitivity_at(lambda x, k: TOP - (sorted(x)[-k - 2] if len(x) > k + 1 else 0))

Call = tuple[Any, tuple[Any, ...], dict[str, Any]]  # a statistic by its name or class, its parameters, those with names
EXAMPLES: dict[str, tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...]] = {
    "apply": ((" a count of one's own", (rich, "income"), {}), (" a maximum of one's own", (largest, "income"), {})),
    "counts": (("", (["age > 10", "age > 50 AND ok"],), {}),),
    "sum": (("", ("income",), {}), (" of whole numbers", ("age",), {})),
    "means": (("", (["income", "age", "ok"],), {}),),
    "regress": (
        ("", ("income ~ age + C(sex)",), {}),
        (" by Huber's loss", ("income ~ age",), {"loss": "huber"}),
        (" by logistic loss", ("ok ~ age",), {"loss": "logistic"}),
        (" of several classes", ("sex ~ age",), {"loss": "logistic"}),
    ),
    "m_regress": (("", ("income ~ age",), {}), (" of a falling psi", ("income ~ age",), {"psi": "tukey"})),
    "std": (("", ("age",), {}),),
    "median": (("", ("income",), {}), (" of days", ("born",), {}), (" of whole numbers", ("age",), {})),
    "quantiles": (("", ("income", ["0.25", "0.5", "0.75"]), {}),),
    "min": (("", ("age",), {}),),
    "mode": (("", ("sex",), {}), (" of private keys", ("zip",), {})),
    "top_k": (("", ("job", 2), {}), (" of private keys", ("zip", 1), {})),
    "histogram": (
        ("", ("sex",), {}),
        (" of private keys", ("zip",), {}),
        (" of given keys", ("zip",), {"keys": ["z0", "z9"]}),
        (" of bins", ("income",), {"bins": 4}),
        (" of edges", ("age",), {"bins": [0, 18, 65, 120]}),
    ),
}
# statistics that no function of that room makes: SQL, sd.tests and comparisons ask for them
BESIDE: dict[str, tuple[Any, tuple[Any, ...]]] = {
    **{f"{kind} of two columns": (Pair, (kind, "income", "age")) for kind in KINDS},
    "count of values": (Present, ("income",)),
    "rank test of differences": (RankTest, ("income",)),
    "rank test of two groups": (RankTest, ("income", "ok")),
}
GROUPED = {"rank test of two groups": "ok"}  # questions that need groups of their own
USUAL: dict[str, Any] = {"column": "income", "columns": ["income", "age"], "q": "0.9", "k": 2, "trim": 4}
TOGETHER: dict[str, dict[str, Call]] = {
    "several at once": {
        "n": ("count", (), {}),
        "total": ("sum", ("income",), {}),
        "avg": ("mean", ("income",), {}),
        "mid": ("median", ("age",), {}),
        "people": ("count_units", (), {}),
    },
    "mean and std at once": {"avg": ("mean", ("age",), {}), "sd": ("std", ("age",), {}), "n": ("count", (), {})},
}
PLACES: dict[str, Callable[[Any], Any]] = {
    "": lambda table: table,
    ", where": lambda table: table.where("sex <> 'x' OR age IS NULL"),
    ", by public keys": lambda table: table.group_by("sex"),
    ", by private keys": lambda table: table.group_by("zip"),
    ", by both": lambda table: table.group_by("sex", "zip"),
}
NOT_STATISTICS = ("bundles", "plan_steps", "statistic")


@dataclass(frozen=True)
class Question:
    """A question by its name in `examples`, where it is asked, and the mechanism that answers it unless the planner chooses."""

    name: str
    place: str = ""
    way: str | None = None
    problem: str = ""  # why it cannot be asked at all

    def __str__(self) -> str:
        return f"{self.name}{self.place}{f', {self.way}' if self.way else ''}"

    def ask(self, table: Any) -> Query:
        query = self.inside(PLACES[self.place](table))
        return query if self.way is None else query.by_mechanism(self.way, self.propose if self.way == "ptr" else None)

    def inside(self, place: Any) -> Query:
        """The question, asked where the caller stands."""
        asked = examples()[self.name]
        first, given, options = next(iter(asked.values()))
        if self.name in GROUPED:
            place = place.group_by(GROUPED[self.name])
        if len(asked) == 1 and isinstance(first, str) and hasattr(place, first):
            made = getattr(place, first)(*given, **options)
            query: Query = getattr(made, "query", made)  # a question whose answers are computed with holds the one that is released
            return query
        return place.agg(**{label: _made(name)(*parts, **named) for label, (name, parts, named) in asked.items()})  # type: ignore[no-any-return]

    @property
    def propose(self) -> int | None:
        """A bound on the local sensitivity for a test to try."""
        _, given, options = next(iter(examples()[self.name].values()))
        return next((PROPOSE[part] for part in (*given, *options.values()) if part in tuple(PROPOSE)), None)


def _made(name: Any) -> Any:
    return getattr(statistics, name) if isinstance(name, str) else name


@lru_cache(maxsize=1)
def examples() -> dict[str, dict[str, Call]]:
    """Every statistic with parameters that fit the table of people, by their usual names where no example is given; several at once."""
    out: dict[str, dict[str, Call]] = {}
    for name in statistics.__all__:
        made = getattr(statistics, name)
        if inspect.isfunction(made) and name not in NOT_STATISTICS:
            needed = [p.name for p in inspect.signature(made).parameters.values() if p.default is p.empty]
            usual = ("", (), {parameter: USUAL[parameter] for parameter in needed if parameter in USUAL})
            out |= {name + label: {"answer": (name, given, options)} for label, given, options in EXAMPLES.get(name) or (usual,)}
    return out | {name: {"answer": (kind, given, {})} for name, (kind, given) in BESIDE.items()} | TOGETHER


def questions(table: Any, epsilon: Any = 1, delta: Any = Fraction(1, 50)) -> Iterator[Question]:
    """Every question this table allows, with every mechanism that can answer it alone or in public groups. Nothing is read."""
    for name, asked in examples().items():
        for place in PLACES:
            question = Question(name, place)
            try:
                query = question.ask(table)
                plan = query.settle(epsilon, delta)
            except Exception as error:
                if not place:  # what nobody can ask at all must not pass unseen
                    yield replace(question, problem=f"{type(error).__name__}: {error} (examples are in sordino/lab/question.py)")
                    break
                if not isinstance(error, QueryError):
                    raise
                continue
            yield question
            if len(asked) == 1 and place in ("", ", by public keys"):
                label = next(iter(query.asked.statistics))
                yield from (replace(question, way=way) for way in query.ways(label, Fraction(epsilon), plan)[1:])
