"""Was this person in the data? Membership read off released means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sordino.errors import QueryError
from sordino.lab.report import as_html, as_json, matrix, say
from sordino.pictures import Picture, roc

__all__ = ["Trace", "trace"]


@dataclass(frozen=True, repr=False)
class Trace:
    """The scores of members and of strangers; the further apart they lie, the more the means say about who was in."""

    dimension: int
    scores: tuple[float, ...]
    strangers: tuple[float, ...]

    @property
    def auc(self) -> float:
        """The chance that a member scores above a stranger; 1/2 is guessing."""
        out, inn = np.sort(self.strangers), np.asarray(self.scores)
        below = np.searchsorted(out, inn, side="left") + np.searchsorted(out, inn, side="right")
        return float(below.mean() / (2 * len(out)))

    def tpr(self, fpr: float = 0.01) -> float:
        """The share of members found when at most the share `fpr` of strangers is accused."""
        if not 0 <= fpr <= 1:
            raise QueryError("SRD-103", f"fpr is {fpr!r}.", "Give a rate from 0 to 1.")
        ranked = np.sort(self.strangers)[::-1]
        allowed = int(fpr * len(ranked) + 1e-9)
        return 1.0 if allowed == len(ranked) else float(np.mean(np.asarray(self.scores) > ranked[allowed]))

    def __repr__(self) -> str:
        return say(
            [
                f"trace: AUC {self.auc:.3f} from {self.dimension:,} means (guessing: 0.500)",
                f"  {self.tpr(0.01):.1%} of {len(self.scores):,} members found at 1% false alarms, {self.tpr(0.1):.1%} at 10%",
                f"  judged against {len(self.strangers):,} strangers",
            ]
        )

    def plot(self, after: Trace | None = None) -> Picture:
        """Hits against false alarms; `after` adds the same attack on private means."""
        series = {"these means": self._curve()} if after is None else {"before": self._curve(), "after": after._curve()}
        return roc(series, title=f"Tracing {len(self.scores):,} people in {self.dimension:,} means")

    def _curve(self) -> tuple[list[float], list[float]]:
        rates = sorted({0.0, 0.001, 0.01, *np.linspace(0, 1, 51).tolist()})
        return rates, [self.tpr(rate) for rate in rates]

    def to_json(self) -> str:
        return as_json(self, auc=self.auc, tpr_at_1_percent=self.tpr(0.01))

    def _repr_html_(self) -> str:
        return as_html(self)


def trace(means: ArrayLike, people: Any, reference: Any) -> Trace:
    r"""Score <means - r, x - r> for every member x and for strangers, where r is the mean of other strangers.

    `people` are the rows behind the means, `reference` rows of people of the same kind who are not in the data. Every other row of the
    reference gives r, the rest are judged: a row that both made r and was judged would look less like a member than it is.

    Theorem. If the means do not depend on who of two exchangeable people was in the data, the expected AUC is 1/2.
    Proof. Given the means and r the score is one function of the row, and member and judged stranger may be swapped without changing the
    joint law. So either scores higher with the same chance; ties count half. QED (The statistic is that of Dwork, Smith, Steinke, Ullman
    and Vadhan 2015; without subtracting r it mostly measures how large a row is.)
    """
    inside, outside = matrix(people, "people"), matrix(reference, "reference")
    released: NDArray[np.float64] = np.asarray(means, float).ravel()
    if not len(released) == inside.shape[1] == outside.shape[1] or len(outside) < 2:
        what = f"{len(released)} means, people with {inside.shape[1]} columns and {len(outside)} strangers with {outside.shape[1]}."
        raise QueryError("SRD-105", what, "Give one mean per column, the same columns everywhere and at least two strangers.")
    r = outside[::2].mean(axis=0)
    gap = released - r
    return Trace(len(released), tuple(((inside - r) @ gap).tolist()), tuple(((outside[1::2] - r) @ gap).tolist()))
