"""What is said of a statistic beside its mathematics, in its own file: its verb, its SQL, its words, and where it may be asked.

`@registered(...)` stands on the function that makes a statistic, or on the class of one that has no verb. Verbs of tables, SQL, calls
over HTTP, the builder, sentences about answers, documents and conformance read it here. What only an object knows (its columns, its
ways, the shape of its answer) is a property of the statistic, with the usual answer in `Plain`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from types import FunctionType
from typing import Any, TypeVar

from sordino.errors import QueryError, builds

__all__ = ["RESERVED", "Registered", "Sealed", "catalog", "find", "is_verb", "make", "registered"]


@dataclass(frozen=True)
class Sealed:
    """What a sentence about an answer may use: the question's part as it was sealed, its columns in words, and the other sealed facts."""

    name: str
    said: Mapping[str, Any]
    of: str  # its columns
    clamped: str  # what becomes of values beyond the bounds, and of rows without a value
    sets: str  # several groupings at once
    facts: Mapping[str, Any]

    @property
    def unit(self) -> str:
        return str(self.facts["privacy unit"]["unit"])


About = str | Callable[[Sealed], str]
Example = tuple[str, tuple[Any, ...], dict[str, Any]]  # what follows its name, parameters, those with names


@dataclass(frozen=True)
class Registered:
    """One statistic. `examples` are about the lab's table of people: income, age, born, ok, job, sex, zip."""

    name: str
    make: Callable[..., Any]
    about: About = ""  # the number it estimates: a text with {of}, {clamped}, {sets}, {unit}, or a function of what was sealed
    sql: tuple[str, ...] = ()  # aggregates that ask for it, of columns and constants in the order of its parameters
    verb: bool = True  # whether a table has it as a verb
    remote: bool = True  # whether its parameters can be sent
    together: bool = False  # whether it can be sent as one of several
    cells: bool = False  # whether the values of its column are groups
    adds: bool = False  # whether it adds values up, which dates do not allow
    menu: tuple[int, str] | None = None  # place and words in the builder of the server's page
    examples: tuple[Example, ...] = ()
    exact: Callable[[Any], Any] | None = None  # the number of an array of values, where intervals are tried on rows one owns
    origin: tuple[Any, ...] = ()  # the function it stands on: module, name and what is filled in beforehand

    @property
    def own(self) -> bool:
        """Whether it is one of this package."""
        return bool(self.origin) and str(self.origin[0]).partition(".")[0] == "sordino"

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The names of the parameters it cannot do without."""
        return tuple(p.name for p in inspect.signature(self.make).parameters.values() if p.default is p.empty)

    def sentence(self, sealed: Sealed) -> str:
        if callable(self.about):
            return self.about(sealed)
        return self.about.format(of=sealed.of, clamped=sealed.clamped, sets=sealed.sets, unit=sealed.unit)


_KNOWN: dict[str, Registered] = {}
RESERVED = {  # what a table does beside statistics
    *("agg", "ask", "batch", "budget", "cdf", "close", "columns", "compare", "cube", "dataset", "describe", "engine", "explain", "gram"),
    *("group_by", "grouping_sets", "improve", "interval", "key", "ledger", "limit", "logistic", "name", "own", "per_person", "plot"),
    *("preview", "recall", "release", "rollup", "row_limit", "share", "sharing", "size", "sql", "table", "twin", "unit", "version"),
    *("view", "where"),
}
T = TypeVar("T", bound=Callable[..., Any])


def registered(name: str = "", **facts: Any) -> Callable[[T], T]:
    """Put a statistic under a name, that of the function it stands on unless another is given.

    Nobody's name is taken: neither that of another statistic, nor a word of SQL, nor what a table does beside statistics. A statistic from
    elsewhere carries its own name in its question, or an answer to another question would be recalled as its own.
    """

    def mark(made: T) -> T:
        known = name or made.__name__
        function: Any = builds(made) if isinstance(made, FunctionType) else made
        one = Registered(known, function, origin=_origin(made), **facts)
        if not one.own and isinstance(made, FunctionType):
            function = _named(one)
            one = replace(one, make=function)
        before = _KNOWN.get(known)
        if known in RESERVED and not one.own:
            raise QueryError("SRD-106", f"{known!r} is a word of tables.", "Give the statistic another name.")
        if before is not None and before.origin != one.origin:
            raise QueryError("SRD-106", f"{known!r} is registered already.", "Give the statistic another name.")
        for other in _KNOWN.values():
            if other.name != known and (taken := {word for word in other.sql if word in one.sql and "(" not in word}):
                raise QueryError("SRD-106", f"{min(taken)} asks for {other.name!r} already.", "Give it another name in SQL.")
        _KNOWN[known] = one
        return function  # type: ignore[no-any-return]

    return mark


def _origin(made: Any) -> tuple[Any, ...]:
    if isinstance(made, partial):
        return (*_origin(made.func), made.args, tuple(sorted(made.keywords.items())))
    return made.__module__, made.__qualname__


def _named(one: Registered) -> Callable[..., Any]:
    """The function that makes it, which refuses one whose question goes by another name."""

    @wraps(one.make)
    def made(*given: Any, **named: Any) -> Any:
        statistic = one.make(*given, **named)
        asked = statistic.question().get("statistic")
        if asked != one.name:
            what = f"the question of {one.name!r} is called {asked!r}."
            raise QueryError("SRD-106", what, f'Let question() say {{"statistic": "{one.name}", ...}}: recorded answers are found by it.')
        return statistic

    return made


def catalog() -> dict[str, Registered]:
    """Every statistic by name, in alphabetical order."""
    return dict(sorted(_KNOWN.items()))


def find(name: str) -> Registered | None:
    return _KNOWN.get(name)


def is_verb(name: str) -> bool:
    return name in _KNOWN and _KNOWN[name].verb


def make(name: str, *given: Any, **named: Any) -> Any:
    """The statistic of a verb by its name, also of one that no list of typed verbs has."""
    if not is_verb(name):
        verbs = ", ".join(known for known, one in catalog().items() if one.verb)
        raise QueryError("SRD-106", f"no statistic is called {name!r:.80}.", f"Use one of {verbs}.")
    return _KNOWN[name].make(*given, **named)
