"""The lab: attacks, audits of any callable, simulation, replay. Faces may import it; nothing private is decided here."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino.lab import town
    from sordino.lab.approach import compare, descent
    from sordino.lab.auditing import audit
    from sordino.lab.canary import one_run
    from sordino.lab.conformance import check_mechanism, check_statistic
    from sordino.lab.covering import coverage
    from sordino.lab.engine_check import check_engine
    from sordino.lab.enumeration import exact, small_world
    from sordino.lab.exploitation import low_bits, noise_exploitation
    from sordino.lab.falsification import falsify
    from sordino.lab.finding import certify
    from sordino.lab.poisoning import poison
    from sordino.lab.reconstruction import differencing, reconstruct
    from sordino.lab.replaying import replay
    from sordino.lab.simulation import ladder, simulate
    from sordino.lab.tracing import closest_record, density_ratio, memorization, shadow, share_ceiling, trace
    from sordino.lab.unique import how_unique, linkage, uniqueness

__all__ = [
    "audit",
    "certify",
    "check_engine",
    "check_mechanism",
    "check_statistic",
    "closest_record",
    "compare",
    "coverage",
    "density_ratio",
    "descent",
    "differencing",
    "exact",
    "falsify",
    "how_unique",
    "ladder",
    "linkage",
    "low_bits",
    "memorization",
    "noise_exploitation",
    "one_run",
    "poison",
    "reconstruct",
    "replay",
    "shadow",
    "share_ceiling",
    "simulate",
    "small_world",
    "town",
    "trace",
    "uniqueness",
]

_SHELVES = ("town",)
_MOVED = ("efficiency", "errata", "influence", "leverage", "notes", "plug_in", "plug_in_tables")  # to sordino.course; deprecated here
_HOMES = {
    "audit": "auditing",
    "certify": "finding",
    "check_engine": "engine_check",
    "check_mechanism": "conformance",
    "check_statistic": "conformance",
    "closest_record": "tracing",
    "compare": "approach",
    "coverage": "covering",
    "density_ratio": "tracing",
    "descent": "approach",
    "differencing": "reconstruction",
    "exact": "enumeration",
    "falsify": "falsification",
    "how_unique": "unique",
    "ladder": "simulation",
    "linkage": "unique",
    "low_bits": "exploitation",
    "memorization": "tracing",
    "noise_exploitation": "exploitation",
    "one_run": "canary",
    "poison": "poisoning",
    "reconstruct": "reconstruction",
    "replay": "replaying",
    "shadow": "tracing",
    "share_ceiling": "tracing",
    "simulate": "simulation",
    "small_world": "enumeration",
    "trace": "tracing",
    "uniqueness": "unique",
}


if not TYPE_CHECKING:  # a name that is not there is an error to a type checker too

    def __getattr__(name: str) -> Any:
        if name in _MOVED:
            warnings.warn(f"sordino.lab.{name} is now sordino.course.{name}", DeprecationWarning, stacklevel=2)
            return getattr(import_module("sordino.course"), name)
        if name in _SHELVES:
            return import_module(f"sordino.lab.{name}")
        if name in _HOMES:
            return getattr(import_module(f"sordino.lab.{_HOMES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
