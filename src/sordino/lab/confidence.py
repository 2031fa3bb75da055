"""How sure a count makes us of a probability, without approximation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["lower", "upper"]


def lower(hits: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> NDArray[np.float64]:
    r"""The one-sided Clopper-Pearson bound that lies below the true probability with confidence 1 - alpha.

    Theorem. If K ~ Binomial(n, p) then P(lower(K) > p) <= alpha, for every p and n.
    Proof. lower(k) is the p at which P(K >= k) = alpha, and that probability grows with p. So lower(k) > p exactly when
    P_p(K >= k) < alpha, and the smallest such k is reached with probability below alpha. P_p(K >= k) is the regularised beta function
    I_p(k, n - k + 1), inverted here. (Clopper and Pearson 1934.) QED
    """
    from scipy.special import betaincinv

    k, n, a = _three(hits, trials, alpha)
    bound = betaincinv(np.maximum(k, 1e-300), n - k + 1, a)
    return np.asarray(np.where(k > 0, bound, 0.0), dtype=np.float64)


def upper(hits: ArrayLike, trials: ArrayLike, alpha: ArrayLike) -> NDArray[np.float64]:
    """The one-sided Clopper-Pearson bound that lies above the true probability with confidence 1 - alpha.

    Theorem. If K ~ Binomial(n, p) then P(upper(K) < p) <= alpha, for every p and n.
    Proof. The misses are Binomial(n, 1 - p); apply the lower bound to them. The complementary beta function is inverted so that a tiny
    alpha is never subtracted from one. QED
    """
    from scipy.special import betainccinv

    k, n, a = _three(hits, trials, alpha)
    bound = betainccinv(k + 1, np.maximum(n - k, 1e-300), a)
    return np.asarray(np.where(k < n, bound, 1.0), dtype=np.float64)


def _three(*columns: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    k, n, a = np.broadcast_arrays(*(np.asarray(c, dtype=np.float64) for c in columns))
    return k, n, a
