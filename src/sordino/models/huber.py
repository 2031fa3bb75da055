"""Private robust regression for scikit-learn."""

from __future__ import annotations

from typing import Any

from sordino.mechanisms.boosted_regression import BoostedRegression
from sordino.models.linear import Linear
from sordino.models.way import Boosted, Way
from sordino.privacy.number import as_delta, as_epsilon, as_positive

__all__ = ["PrivateHuberRegressor"]


class PrivateHuberRegressor(Linear):
    """Huber's regression under differential privacy: residuals beyond `threshold` times their own scale are clipped.

    threshold    in units of the residuals' 68% point, which is found privately as part of the fit; 1.35 is 95% efficient at the normal law
    rounds       how many rounds, fixed beforehand

    The other parameters and what a fit sets are as in PrivateLinearRegression. The noise is as small as the residuals, not as the range
    of y: wide bounds_y cost little.
    """

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 1e-6, bounds_X: Any = None, bounds_y: Any = None, relation: str = "add_remove",
        ledger: Any = None, size: Any = None, threshold: Any = 1.35, rounds: int = 6, fits: Any = None,
    ) -> None:  # fmt: skip
        self.epsilon, self.delta, self.bounds_X, self.bounds_y = epsilon, delta, bounds_X, bounds_y
        self.relation, self.ledger, self.size = relation, ledger, size
        self.threshold, self.rounds, self.fits = threshold, rounds, fits

    def _way(self, features: int) -> Way:
        epsilon, delta, clip = as_epsilon(self.epsilon), as_delta(self.delta), as_positive(self.threshold, "threshold")
        return Boosted(BoostedRegression(epsilon, delta, features + 1, self.rounds, clip, self.relation))
