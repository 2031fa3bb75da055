"""How mechanisms are found: by class, by the lecture's names, by walking the folder."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from inspect import cleandoc
from typing import Any, ClassVar, Protocol, TypeVar

from sordino.errors import QueryError
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.witness import Witness
from sordino.summaries import Ask, Draw

__all__ = ["Mechanism", "catalog", "claim", "find", "listed"]


class Mechanism(Protocol):
    """Parameters only. `release` talks to the table through `ask` and to chance through `draw`."""

    names: ClassVar[tuple[str, ...]]
    note: ClassVar[str]
    theorem: ClassVar[str]

    def certificate(self) -> Certificate: ...
    def release(self, ask: Ask, draw: Draw) -> Any: ...
    @classmethod
    def examples(cls) -> Sequence[Mechanism]: ...


T = TypeVar("T")


def listed(*names: str, note: str) -> Callable[[type[T]], type[T]]:
    """Put a mechanism in the catalogue under the names the lecture notes use, with its theorem read from the docstring."""

    def mark(cls: type[T]) -> type[T]:
        text = " ".join(cleandoc(cls.__doc__ or "").split())
        cls.names, cls.note = names, note  # type: ignore[attr-defined]
        cls.theorem = text.split("Theorem. ")[1].split(" Proof. ")[0]  # type: ignore[attr-defined]
        return cls

    return mark


def claim(mechanism: Any, cost: Cost, *witnesses: Witness, assumes: str = "", loose: str = "") -> Certificate:
    """The certificate of a listed mechanism: its own theorem at this cost, to be checked on these witnesses."""
    return Certificate(type(mechanism).theorem, cost, witnesses, assumes, loose)


@lru_cache(maxsize=1)
def catalog() -> tuple[type[Mechanism], ...]:
    """Every mechanism of the package, in alphabetical order."""
    import sordino.mechanisms as room

    found: dict[str, type[Mechanism]] = {}
    for module in pkgutil.iter_modules(room.__path__):
        if module.name == "textbook":  # a deprecated name, not a mechanism
            continue
        loaded = import_module(f"sordino.mechanisms.{module.name}")
        for name, thing in vars(loaded).items():
            if isinstance(thing, type) and "names" in vars(thing) and thing.__module__ == loaded.__name__:
                found[name] = thing
    return tuple(found[name] for name in sorted(found))


def find(name: str) -> type[Mechanism]:
    """The mechanism the notes call by this name."""

    def plain(text: str) -> str:
        return "".join(c for c in text.lower() if c.isalnum())

    wanted = plain(name)
    for exact in (True, False):
        for mechanism in catalog():
            known = [plain(label) for label in (mechanism.__name__, *mechanism.names)]
            if wanted in known if exact else wanted and any(wanted in label for label in known):
                return mechanism
    known_names = ", ".join(sorted(label for mechanism in catalog() for label in mechanism.names))
    raise QueryError("SRD-106", f"no mechanism is called {name!r}.", f"Known names: {known_names}.")
