"""What a question's answers are called in the book: an alias is how an answer is shown, so the book has names of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sordino.plan.query import Query
from sordino.schema.normal import encode
from sordino.statistics.column_quantile import Position
from sordino.statistics.port import Statistic

__all__ = ["Labels", "labels_of"]

ENDS = ("", "_low", "_high")  # the columns of one answer


@dataclass(frozen=True)
class Labels:
    """The caller's labels and the canonical ones.

    `canonical` has one canonical label for each of the caller's, in the caller's order. `drawn` are the distinct statistics in
    canonical order, each under the first label the caller gave it: equal ones are one draw at one price, however often they are named.
    """

    canonical: Mapping[str, str]
    drawn: Query

    @property
    def sealed(self) -> dict[str, str]:
        """The canonical label of every draw, in canonical order."""
        return {label: self.canonical[label] for label in self.drawn.statistics}

    def first(self, label: str) -> str:
        """The label under which a statistic is drawn that the caller may have named twice."""
        name = self.canonical[label]
        return next(other for other in self.drawn.statistics if self.canonical[other] == name)


def labels_of(query: Query) -> Labels:
    """Canonical labels follow from the distinct statistics and the group columns alone: two who ask the same share them."""
    asked = {label: encode(statistic.question()) for label, statistic in query.statistics.items()}
    order = sorted(set(asked.values()))
    names = _names([min(s.label for label, s in query.statistics.items() if asked[label] == text) for text in order], query.by)
    known = dict(zip(order, names, strict=True))
    first: dict[str, str] = {}
    for label, text in asked.items():
        first.setdefault(text, label)
    same = {text: [s for label, s in query.statistics.items() if asked[label] == text] for text in order}
    drawn: dict[str, Statistic] = {first[text]: max(same[text], key=_sure) for text in order}
    return Labels({label: known[text] for label, text in asked.items()}, replace(query, statistics=drawn))


def _sure(statistic: Statistic) -> Fraction:
    """How sure a drawn interval is to be: of two wishes for one draw the higher one answers both."""
    return statistic.level if isinstance(statistic, Position) else Fraction(0)


def _names(wanted: list[str], taken: tuple[str, ...]) -> list[str]:
    """Every statistic's own label, numbered where two of them, or one and a group column, would share a column of the answer."""
    used, out = set(taken), []
    for label in wanted:
        number, name = 1, label
        while any(name + end in used for end in ENDS):
            number += 1
            name = f"{label} {number}"
        used |= {name + end for end in ENDS}
        out.append(name)
    return out
