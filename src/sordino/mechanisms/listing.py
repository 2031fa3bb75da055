"""How mechanisms are found: by class, by the lecture's names, by walking the folder."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from inspect import cleandoc
from typing import Any, ClassVar, Protocol, TypeVar

from sordino.errors import QueryError
from sordino.mechanisms.naming import CONCEPTS
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


def find(name: str) -> Any:
    """What the notes call by this name: a mechanism, or the function that computes a quantity such as the local sensitivity."""
    wanted = _plain(name)
    mechanisms = [([_plain(label) for label in (found.__name__, *found.names)], found) for found in catalog()]
    concepts = [([_plain(label) for label in labels], home) for home, labels in CONCEPTS.items()]
    for known, found in (*mechanisms, *concepts):
        if wanted in known:
            return _loaded(found) if isinstance(found, str) else found
    for known, found in (*mechanisms, *concepts):
        if wanted and any(wanted in label for label in known):
            return _loaded(found) if isinstance(found, str) else found
    names = sorted({*(label for found in catalog() for label in found.names), *(label for labels in CONCEPTS.values() for label in labels)})
    raise QueryError("SRD-106", f"nothing is called {name!r}.", f"Known names: {', '.join(names)}.")


def _plain(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


def _loaded(dotted: str) -> Any:
    """The thing a dotted name means; its room is loaded now."""
    parts = dotted.split(".")
    thing: Any = import_module(parts[0])
    for i, part in enumerate(parts[1:], 2):
        thing = getattr(thing, part) if hasattr(thing, part) else import_module(".".join(parts[:i]))
    return thing
