"""How mechanisms are found: by class, by the lecture's names, by walking the folder.

What the lecture notes call things that are no mechanism of their own, and the name under which each lives here.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from inspect import cleandoc
from typing import Any, ClassVar, Protocol, TypeVar

from sordino.errors import QueryError
from sordino.privacy.certificate import Certificate, claim
from sordino.summaries import Ask, Draw

__all__ = ["CONCEPTS", "Mechanism", "catalog", "claim", "find", "listed"]

# by the notes' names, several where they use several; loaded when asked for, so that this room depends on none above it
CONCEPTS: dict[str, tuple[str, ...]] = {
    "sordino.sensitivity.worst_case": ("global sensitivity", "worst-case sensitivity", "sensitivity", "L1 sensitivity", "L2 sensitivity"),
    "sordino.sensitivity.local": ("local sensitivity", "LS"),
    "sordino.sensitivity.smooth": ("smooth sensitivity", "smooth upper bound", "smoothed sensitivity", "SS", "easier way"),
    "sordino.sensitivity.rungs": ("sensitivity at distance k", "A(k)"),
    "sordino.sensitivity.distance": ("distance to instability", "distance to stability", "Distance2Stability distance"),
    "sordino.sensitivity.exhaustive": ("all databases", "smallest smooth upper bound"),
    "sordino.sensitivity.influence": ("influence function", "IF", "gross error sensitivity", "GES", "fixed scale influence function"),
    "sordino.sensitivity.influence.location": ("M-estimator", "Huber's estimate"),
    "sordino.sensitivity.influence.planning_bound": ("Chaudhuri and Hsu", "upper bound of smooth sensitivity", "Glivenko-Cantelli"),
    "sordino.privacy.Relation": ("neighbouring datasets", "neighbours", "Hamming distance", "adjacent databases", "small changes"),
    "sordino.privacy.loss": ("privacy loss", "PLRV", "privacy loss random variable", "pure DP", "approximate DP", "hockey stick"),
    "sordino.privacy.compose": ("composition", "basic composition"),
    "sordino.privacy.Cost.group": ("group privacy",),
    "sordino.privacy.admissible": ("admissible", "admissible noise distribution", "sliding property", "dilation property"),
    "sordino.privacy.LaplaceLaw": ("Laplace distribution", "Lap"),
    "sordino.privacy.GaussianLaw": ("Gaussian distribution", "normal distribution"),
    "sordino.privacy.GeneralizedCauchy": ("generalized Cauchy", "1/(1+|z|^gamma)"),
    "sordino.session.release.Release.map": ("post-processing",),
    "sordino.session.table.table": ("statistical database", "database"),
    "sordino.session.synthesis.synthesize": ("share the data",),
    "sordino.lab.noise_exploitation": ("noise-exploitation attack", "sticky noise", "magnitude of noise"),
    "sordino.lab.linkage": ("link attack", "linkage", "re-identification"),
    "sordino.lab.how_unique": ("How unique am I?", "uniqueness"),
    "sordino.lab.trace": ("only disclosing the mean", "tracing", "membership"),
    "sordino.lab.memorization": ("memorize", "memorization"),
    "sordino.lab.poison": ("corrupted data", "mislabeling", "backdoor"),
    "sordino.lab.compare": ("data-dependent differential privacy", "data-dependent DP"),
    "sordino.lab.reconstruct": ("reconstruction",),
    "sordino.lab.descent": ("descent paths",),
    "sordino.course.leverage": ("leverage", "global sensitivity of linear regression"),
    "sordino.course.plug_in": ("Avella-Medina",),
    "sordino.course.verdicts": ("possible error in constants", "printed formulas", "errata"),
    "sordino.models.PrivateLinearRegression": ("linear regression", "ridge regression"),
    "sordino.statistics.means": ("vector query", "mean of d bits"),
}


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
