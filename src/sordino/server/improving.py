"""A better answer out of several: what all recorded draws say together, and the price of one more."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sordino.errors import SordinoError
from sordino.server.gate import Floor
from sordino.session.improvement import NoiseWeight, combine, half_width, noise_of, second_price
from sordino.session.query import Query
from sordino.session.release import Release

__all__ = ["Improvement", "improvement", "together"]


@dataclass(frozen=True)
class Improvement:
    """What a narrower interval costs: one more draw averaged with those recorded, or a release of its own."""

    within: float
    reached: bool  # the recorded answers are good enough together: nothing to pay
    second: Fraction | None  # the price of one more draw; None where averaging does not help
    alone: Fraction | None  # the price of a release that is good enough on its own; None where none is
    problem: str = ""


def _draws(query: Query) -> tuple[list[Release], list[NoiseWeight]]:
    """The recorded answers and the public noise of each, if all of them are additive; otherwise nothing."""
    found = query.drawn_alike()
    known = [noise for item in found if (noise := noise_of(query, item.cost.exact.epsilon)) is not None]
    return (found, known) if found and len(known) == len(found) else ([], [])


def together(query: Query) -> Release | None:
    """The inverse-variance mean of every recorded answer: post-processing, free; None where there is only one or it does not apply."""
    found, known = _draws(query)
    return combine(found, known) if len(found) > 1 else None


def improvement(query: Query, within: float, floor: Floor) -> Improvement:
    """The two prices of a half-width, by public facts and recorded answers alone, and none that is not sold."""
    wish, (found, known) = query.wished(within), _draws(query)
    reached = bool(found) and half_width(known) <= within
    second = second_price(query, known, wish) if found and not reached and len(wish) == 1 else None
    if second is not None and not floor.met(query.table.ledger, query.settle(second).cost):
        second = floor.epsilon(query)
    try:
        return Improvement(within, reached, second, floor.priced(query, within=within).cost.epsilon)
    except SordinoError as error:
        return Improvement(within, reached, second, None, f"{error.what} {error.fix}")
