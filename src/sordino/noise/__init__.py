"""Exact samplers, and the only entropy in the house. `draw(law)` returns an outcome of the law, never bare noise."""

from __future__ import annotations

from typing import TypeVar, cast

from sordino.errors import QueryError
from sordino.noise import discrete, rounding
from sordino.noise.discrete import stream
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace, UniformInteger
from sordino.privacy.law import LawOutcome, Placed
from sordino.privacy.sphere import PlacedVector

__all__ = ["draw", "fresh_id"]

Out = TypeVar("Out")


def draw(law: LawOutcome[Out]) -> Out:
    """One exact outcome of a placed or discrete law."""
    return cast(Out, _sampled(law))


def _sampled(law: object) -> object:
    match law:
        case Placed():
            return rounding.rounded(law, stream)
        case PlacedVector():
            return rounding.spherical(law, stream)
        case Bernoulli():
            return discrete.bernoulli(law, stream)
        case UniformInteger():
            return discrete.uniform_integer(law, stream)
        case Categorical():
            return discrete.categorical(law, stream)
        case DiscreteLaplace():
            return discrete.discrete_laplace(law, stream)
        case ArgMax():
            return discrete.argmax(law, stream)
    raise QueryError("SRD-108", f"{type(law).__name__} is not a law with an exact sampler.", "Hand draw() a placed or discrete law.")


def fresh_id() -> str:
    """A request id nobody has used before: 128 fresh bits in hexadecimal."""
    return f"{stream.bits(128):032x}"
