"""Subsample and aggregate: any function at all, on parts that share nobody, and the private middle of its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sordino.mechanisms.listing import listed
from sordino.mechanisms.quantile_exponential import QuantileExponential
from sordino.privacy.relation import Relation

__all__ = ["SampleAggregate"]


@listed(
    "subsample and aggregate", "sample and aggregate", "subsample-and-aggregate", note="beyond the notes: Nissim, Raskhodnikova, Smith 2007"
)
@dataclass(frozen=True)
class SampleAggregate(QuantileExponential):
    r"""The median, by inverse sensitivity, of what a function says about each of several parts; `max_rows` of the answers are one person's.

    Theorem. Let all rows of a person lie in one of p parts, and let z_1, .., z_p be the answers of any function that sees one part each,
    moved into a public range, a public constant where there is none. Choosing y with weight e^{-epsilon u(y)/(2 c)}, u(y) how many ranks
    y lies from the median of the answers, c = 1 where people come and go and c = 2 where they are replaced, is epsilon-DP.
    Proof. p is public. A person who comes or goes changes one part, hence one answer: a replaced row of a table of p rows; a person who
    is replaced at most two. For c replaced rows scores move by at most c, and the exponential mechanism spends twice that times the
    exponent's factor. The function need have no sensitivity, and may draw numbers of its own. QED
    """

    relation: Relation = Relation.REPLACE

    @classmethod
    def examples(cls) -> Sequence[SampleAggregate]:
        return (cls(Fraction(1), high=2**32), cls(Fraction(1, 2), high=2**32, max_rows=2))
