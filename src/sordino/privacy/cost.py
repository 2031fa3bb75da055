"""The price of one release, in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import as_delta, as_epsilon, as_positive, exp_down, exp_up, round_up

__all__ = ["FAMILIES", "Cost", "gaussian_delta", "gaussian_epsilon"]

FAMILIES = ("approximate", "laplace", "discrete_laplace", "bounded_range", "gaussian", "composed")
DIGITS = 30  # of a rho; sums of books are kept to sixty
LEAST_EPSILON = Fraction(1, 10**15)
ROUNDING = 1e-9  # a relative margin far above the rounding of the closed forms below


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The exact delta of a Gaussian with mean shift over standard deviation mu (Balle and Wang 2018), inflated by 1e-9."""
    from scipy.special import log_ndtr

    if mu <= 0:
        return 0.0
    above, below = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    gap = -math.expm1(min(0.0, below - above))
    doubt = 1e-15 * (1 + epsilon + abs(above) + abs(below))  # the cancellation of two nearly equal logarithms, for small mu
    return float(min(1.0, math.exp(above) * (gap + doubt) * (1 + ROUNDING)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least epsilon at which a mu-Gaussian has at most this delta, from above."""
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta)) + 1e-12
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if gaussian_delta(mu, middle) > delta else (low, middle)
    return high


@dataclass(frozen=True)
class Cost:
    r"""What one release costs: an (epsilon, delta) guarantee, and the family of laws that describes it more tightly.

    `approximate` knows nothing but (epsilon, delta). `laplace` are Laplace draws whose shifts over their scale add up to at most epsilon;
    `discrete_laplace` the same on whole numbers, where a shift of one costs `grain`. `bounded_range` is an exponential mechanism: all log
    ratios of one pair lie in an interval of length epsilon; or `draws` of them, one after the other, of range epsilon/draws each.
    `gaussian` carries mu squared, the squared shift over variance summed over coordinates. `composed` is several of these, each so many
    times, with parameters fixed before the first: `parts`. Its (epsilon, delta) is the sum of theirs unless a better point is known.

    Theorem. Each family is dominated by the pair that `profile` integrates; zCDP holds with rho = epsilon tanh(epsilon/2) for pure
    releases, epsilon - 1 + e^-epsilon for Laplace, epsilon - (1 - e^-epsilon) g/sinh(g) for discrete Laplace of grain g,
    epsilon^2/(8 draws) for bounded range, mu^2/2 for Gaussians and the sum over the parts of a composition; an (epsilon, delta) release
    is (rho, delta) with the pure rho.
    Proof. Pure: Bun and Steinke 2016 give epsilon^2/2, and the randomized-response pair, which dominates every epsilon-DP pair, has
    Renyi divergence at most alpha epsilon tanh(epsilon/2). Bounded range: Dong, Durfee and Rogers 2020, and k times (epsilon/k)^2/8; in
    `profile` one draw of the whole range dominates several. Gaussian: Renyi divergence is
    alpha mu^2/2. Approximate: Kairouz, Oh and Viswanath 2015 split the pair into a revealed part of mass delta and a pure part.
    Laplace, one coordinate of shift e: with u = alpha - 1/2 and v = u^2, (alpha - 1) D_alpha = h(v) - e/2 for h(v) = ln(cosh(e u) +
    sinh(e u)/(2u)). The entire function of v inside has order 1/2, and its zeros are the eigenvalues, negated, of -y'' = lambda y on
    [0, e] with y'(0) = y(0)/2 and y(e) = 0; that problem is self-adjoint and positive, so all zeros are real and negative, the function
    is a constant times prod (1 + v/lambda_k), and h is concave. Hence (alpha - 1) D_alpha <= h'(1/4) (v - 1/4) = KL alpha (alpha - 1),
    and KL = e - 1 + e^-e. Discrete, shift d, q = e^-g: the same with h = ln of a multiple of U_d(w) - q U_{d-2}(w), w = cosh(g u), U the
    Chebyshev polynomials; at w = cos(j pi/d), j = 0..d, its sign is (-1)^j, so its d zeros lie in (-1, 1), v is real and negative at
    each, and h is concave again; KL = e - (1 - e^-e) g/sinh(g). Both are convex in the shift and 0 at 0, so a shift spread over
    several coordinates costs no more. QED
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    family: str = "approximate"
    mu_squared: Fraction | None = None
    draws: int = 1
    grain: Fraction | None = None
    parts: tuple[tuple[Cost, int], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta, zero=True))
        if self.family not in FAMILIES:
            raise QueryError("SRD-110", f"cost family {self.family!r} is unknown.", f"Use one of {', '.join(FAMILIES)}.")
        counted = isinstance(self.draws, int) and not isinstance(self.draws, bool) and self.draws >= 1
        if not counted or (self.draws > 1 and self.family != "bounded_range"):
            raise QueryError("SRD-110", f"a {self.family} cost of {self.draws!r} draws.", "Only draws of bounded range are counted.")
        owners = {"mu_squared": "gaussian", "grain": "discrete_laplace", "parts": "composed"}
        for name, family in owners.items():
            if bool(getattr(self, name)) != (self.family == family):
                what = f"{name} belongs to the {family} family and to no other."
                raise QueryError("SRD-110", what, f"Build it with Cost.{'sum' if family == 'composed' else family}(...).")
        if self.mu_squared is not None:
            object.__setattr__(self, "mu_squared", as_positive(self.mu_squared, "mu_squared"))
            if gaussian_delta(math.sqrt(self.mu_squared), float(self.epsilon)) > float(self.delta):
                raise QueryError("SRD-110", "this Gaussian does not keep its own (epsilon, delta).", "Use a smaller mu or a larger delta.")
        elif self.family in ("laplace", "discrete_laplace", "bounded_range") and self.delta:
            raise QueryError("SRD-110", f"a {self.family} cost is pure.", "Drop delta, or use the approximate family.")

    @classmethod
    def pure(cls, epsilon: Any) -> Cost:
        return cls(as_epsilon(epsilon))

    @classmethod
    def approximate(cls, epsilon: Any, delta: Any) -> Cost:
        return cls(as_epsilon(epsilon), as_delta(delta, zero=True))

    @classmethod
    def laplace(cls, epsilon: Any) -> Cost:
        return cls(as_epsilon(epsilon), family="laplace")

    @classmethod
    def discrete_laplace(cls, epsilon: Any, grain: Any) -> Cost:
        """Whole numbers that move by at most epsilon/grain in all, a move of one costing `grain`: that of scale 1/grain."""
        return cls(as_epsilon(epsilon), family="discrete_laplace", grain=as_positive(grain, "grain"))

    @classmethod
    def bounded_range(cls, epsilon: Any, draws: int = 1) -> Cost:
        return cls(as_epsilon(epsilon), family="bounded_range", draws=draws)

    @classmethod
    def gaussian(cls, mu_squared: Any, epsilon: Any, delta: Any) -> Cost:
        """A Gaussian release sold at (epsilon, delta), a point of its exact profile."""
        return cls(as_epsilon(epsilon), as_delta(delta), "gaussian", as_positive(mu_squared, "mu_squared"))

    @classmethod
    def sum(cls, costs: Iterable[tuple[Cost, int]]) -> Cost:
        """Several releases with parameters fixed in advance, each so many times: their epsilons and deltas add, and so do their rhos."""
        counted: dict[Cost, int] = {}
        epsilon = delta = Fraction(0)
        for cost, times in costs:
            epsilon, delta = epsilon + cost.epsilon * times, delta + cost.delta * times  # of a whole, which may be less than its parts'
            for part, often in cost.parts or ((cost, 1),):
                counted[part] = counted.get(part, 0) + often * times
        parts = tuple((part, times) for part, times in counted.items() if times)
        if len(parts) == 1 and parts[0][1] == 1:
            return parts[0][0]
        return cls(as_epsilon(epsilon), delta, "composed", parts=parts)

    def scaled(self, share: Fraction) -> Cost:
        """The same draw seen by a unit that moves it by this share, at most 1, of what the price allows.

        Theorem. Where the loss grows at most in proportion to the move, a share of the move costs that share of a pure epsilon, and of mu.
        Proof. Epsilon and mu are bounds on that loss, and the families are ordered by them. QED
        """
        if not 0 < share <= 1:
            raise QueryError("SRD-103", f"a share of {share!s}.", "Give a share above 0 and at most 1.")
        if share == 1:
            return self
        if self.parts or (self.delta and self.mu_squared is None):
            raise QueryError("SRD-110", f"a {self.family} cost has no share.", "Charge it in full.")
        if self.mu_squared is not None:
            mu_squared = self.mu_squared * share**2
            epsilon = max(round_up(gaussian_epsilon(math.sqrt(mu_squared), float(self.delta)) * (1 + ROUNDING)), LEAST_EPSILON)
            return Cost(epsilon, self.delta, "gaussian", mu_squared)
        return Cost(self.epsilon * share, self.delta, self.family, draws=self.draws, grain=self.grain)

    def at_its_delta(self) -> Cost:
        """The same parts, with the least epsilon their composed profile has at their own delta."""
        if not self.parts or not self.delta:
            return self
        from sordino.privacy.composition import compose

        return replace(self, epsilon=min(self.epsilon, compose([self], rule="pld", delta=self.delta).epsilon))

    @cached_property
    def rho(self) -> Fraction:
        """The zCDP price, from above; an approximate release keeps its delta beside it (see `rho_delta`)."""
        if self.parts:
            return sum((part.rho * times for part, times in self.parts), Fraction(0))
        if self.mu_squared is not None:
            return self.mu_squared / 2
        if self.family == "bounded_range":
            return self.epsilon**2 / (8 * self.draws)
        if self.family in ("laplace", "discrete_laplace"):
            return round_up(self.epsilon - (1 - exp_up(-self.epsilon)) * _sinh_ratio_down(self.grain), DIGITS)
        return round_up(self.epsilon * _tanh_half_up(self.epsilon), DIGITS)

    @property
    def rho_delta(self) -> Fraction:
        """The delta that stays beside rho: zero but for approximate releases."""
        if self.parts:
            return sum((part.rho_delta * times for part, times in self.parts), Fraction(0))
        return self.delta if self.family == "approximate" else Fraction(0)

    def profile(self, epsilon: float) -> float:
        """An upper bound on delta at another epsilon, from the dominating pair of the family."""
        own = float(self.epsilon)
        if self.parts:
            from sordino.privacy.pld import total

            return total([self]).delta(epsilon)
        if self.mu_squared is not None:
            return gaussian_delta(math.sqrt(self.mu_squared), epsilon)
        if epsilon < -own:  # every outcome counts
            return 1 - (1 - float(self.delta)) * math.exp(epsilon)
        if epsilon >= own:
            return float(self.delta)
        if self.family == "laplace":
            return -math.expm1((epsilon - own) / 2) * (1 + ROUNDING)
        # the randomized-response pair; (e^own - e^epsilon)/(1 + e^own) without overflow
        pure = -math.expm1(epsilon - own) / (1 + math.exp(-own))
        delta = float(self.delta)
        return min(1.0, (delta + (1 - delta) * pure) * (1 + ROUNDING))

    def group(self, size: int) -> Cost:
        """The same release seen by a group of this many units.

        Theorem. k units cost (k epsilon, delta (e^{k epsilon} - 1)/(e^epsilon - 1)), and k mu for a Gaussian.
        Proof. Walk through k neighbours: P0(E) <= e^epsilon P1(E) + delta <= ... <= e^{k epsilon} Pk(E) + delta sum_{i<k} e^{i epsilon}.
        A Gaussian's shift grows k-fold. QED
        """
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise QueryError("SRD-103", f"a group of {size!r}.", "Give a whole number of at least 1.")
        if size == 1:
            return self
        if self.parts:
            return Cost.sum((part.group(size), times) for part, times in self.parts)
        if self.mu_squared is not None:
            mu_squared = self.mu_squared * size**2
            delta = self.delta
            return Cost(round_up(gaussian_epsilon(math.sqrt(mu_squared), float(delta)) * (1 + ROUNDING)), delta, "gaussian", mu_squared)
        epsilon = as_epsilon(self.epsilon * size)
        if not self.delta or size == 1:
            return Cost(epsilon, self.delta, self.family, draws=self.draws, grain=self.grain)
        delta = round_up(self.delta * (exp_up(epsilon) - 1) / (exp_down(self.epsilon) - 1), 30)
        if delta >= 1:
            raise QueryError("SRD-110", f"nothing is left to promise a group of {size}.", "Ask about fewer units, or use a smaller delta.")
        return Cost(epsilon, delta, self.family)

    def to_dict(self) -> dict[str, Any]:
        """Exact fractions as text, ready for canonical JSON."""
        out: dict[str, Any] = {"family": self.family, "epsilon": str(self.epsilon), "delta": str(self.delta)}
        out |= {"draws": str(self.draws)} if self.draws > 1 else {}
        out |= {name: str(value) for name in ("mu_squared", "grain") if (value := getattr(self, name)) is not None}
        return out | ({"parts": [{**part.to_dict(), "times": str(times)} for part, times in self.parts]} if self.parts else {})

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Cost:
        mu_squared, grain = (Fraction(record[name]) if name in record else None for name in ("mu_squared", "grain"))
        parts = tuple((cls.from_dict(part), int(part["times"])) for part in record.get("parts", ()))
        numbers = Fraction(record["epsilon"]), Fraction(record["delta"])
        return cls(*numbers, record["family"], mu_squared, int(record.get("draws", "1")), grain, parts)

    def __str__(self) -> str:
        text = f"epsilon {float(self.epsilon):.6g}"
        return f"{text}, delta {float(self.delta):.3g}" if self.delta else text


def _tanh_half_up(epsilon: Fraction) -> Fraction:
    grown = exp_up(min(epsilon, Fraction(200)))  # tanh(100) is 1 to eighty digits; the bound below stays above it
    return Fraction(1) if epsilon > 200 else (grown - 1) / (grown + 1)


def _sinh_ratio_down(grain: Fraction | None) -> Fraction:
    """A rational just below g/sinh(g); 1 for the continuous law, whose grain is nothing."""
    if grain is None:
        return Fraction(1)
    if grain > 200:
        return Fraction(0)
    return 2 * grain / (exp_up(grain) - exp_down(-grain))


def odds_sentence(epsilon: float, delta: float) -> str:
    """What epsilon means for someone who bets on a person's presence."""
    if epsilon > 20:
        return "At this epsilon there is no meaningful privacy."
    sentence = f"Whatever an observer believed about a person, this release multiplies the odds by at most {math.exp(epsilon):.3g}"
    return f"{sentence}, except with probability {delta:.2g}." if delta else f"{sentence}."
