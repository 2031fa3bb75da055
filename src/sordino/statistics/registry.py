"""What is said of a statistic beside its mathematics, in its own file: its verb, its SQL, its words, and where it may be asked.

`@registered(...)` stands on the function that makes a statistic, or on the class of one that has no verb. Verbs of tables, SQL, calls
over HTTP, the builder, sentences about answers, documents and conformance read it here. What only an object knows (its columns, its
ways, the shape of its answer) is a property of the statistic, with the usual answer in `Plain`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, TypeVar

from sordino.errors import QueryError, builds

__all__ = ["Registered", "Sealed", "catalog", "find", "is_verb", "make", "registered"]


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

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The names of the parameters it cannot do without."""
        return tuple(p.name for p in inspect.signature(self.make).parameters.values() if p.default is p.empty)

    def sentence(self, sealed: Sealed) -> str:
        if callable(self.about):
            return self.about(sealed)
        return self.about.format(of=sealed.of, clamped=sealed.clamped, sets=sealed.sets, unit=sealed.unit)


_KNOWN: dict[str, Registered] = {}
T = TypeVar("T", bound=Callable[..., Any])


def registered(name: str = "", **facts: Any) -> Callable[[T], T]:
    """Put a statistic under a name, that of the function it stands on unless another is given."""

    def mark(made: T) -> T:
        known = name or made.__name__
        function: Any = builds(made) if isinstance(made, FunctionType) else made
        before = _KNOWN.get(known)
        if before is not None and getattr(before.make, "__module__", "") != getattr(made, "__module__", ""):
            raise QueryError("SRD-106", f"{known!r} is registered already.", "Give the statistic another name.")
        _KNOWN[known] = Registered(known, function, **facts)
        return function  # type: ignore[no-any-return]

    return mark


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
