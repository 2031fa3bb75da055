"""Noise scaled by a smooth sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.laplace import on_grid
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, Dilated, Later, least_scale
from sordino.privacy.cost import Cost
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT
from sordino.privacy.law import Symmetric, output_grid
from sordino.privacy.number import as_delta, as_epsilon, as_positive, exact
from sordino.summaries import Ask, Draw, Rung, Stair

__all__ = ["NOISES", "Smooth"]

NOISES = ("power_law", "student_t", "cauchy", "generalized_cauchy", "laplace", "gaussian")


@listed("smooth sensitivity", "smooth", "admissible noise", "calibrated noise", note="000 13.3.1-13.3.3; 004 smooth sensitivity")
@dataclass(frozen=True)
class Smooth:
    r"""Release f(x) + s S(x) Z, where S is a beta-smooth bound on the local sensitivity: noise that fits the data.

    Theorem. If S(x) >= LS(x) and S(x) <= e^beta S(x') for all neighbours, the release is (epsilon, delta)-DP for every scale s at which
    the pairs N = Z and W = slide + e^lambda Z, slide <= 1/s, lambda <= beta, keep (epsilon, delta) in both directions.
    Proof. |f(x) - f(x')| <= min(S(x), S(x')), so in units of the narrower scale neighbours differ by a slide of at most 1/s and a
    dilation of at most e^beta: exactly these pairs. S is rounded up to a public ladder whose index moves by at most one between
    neighbours, f is an integer on the grid, and rounding the draw is post-processing. QED
    Heavy tails (power law, Student, generalised Cauchy) give pure epsilon; Laplace and Gaussian tails need a delta.
    """

    epsilon: Fraction
    beta: Fraction | None = None
    noise: str | Symmetric = "power_law"
    delta: Fraction = Fraction(0)
    nu: int = 4
    gamma: Fraction = Fraction(4)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta, zero=True))
        if not isinstance(self.noise, Symmetric) and self.noise not in NOISES:
            raise QueryError("SRD-106", f"noise {self.noise!r} is unknown.", f"Use one of {', '.join(NOISES)}, or a law of your own.")
        if self.noise in ("laplace", "gaussian") and not self.delta:
            raise QueryError("SRD-102", f"{self.noise} noise needs a delta.", "Give delta=, or use noise='power_law' for pure epsilon.")
        if isinstance(self.nu, bool) or not isinstance(self.nu, int) or self.nu < 1:
            raise QueryError("SRD-103", f"nu is {self.nu!r}.", "Give the degrees of freedom as a whole number; 1, 2 and 4 can be released.")
        object.__setattr__(self, "gamma", exact(self.gamma, "gamma"))
        beta = self._default_beta() if self.beta is None else as_positive(self.beta, "beta")
        if beta >= self.epsilon:
            what = f"beta is {float(beta):g} at epsilon {float(self.epsilon):g}."
            raise QueryError("SRD-103", what, "Give beta below epsilon; 0.3 epsilon is a good choice.")
        object.__setattr__(self, "beta", beta)
        _ = self.law  # a bad nu or gamma is refused here, not at release

    def _default_beta(self) -> Fraction:
        """A public share of epsilon: what each tail can afford in dilation, halved for the slide."""
        if self.noise in ("laplace", "gaussian"):
            bits = self.delta.denominator.bit_length() - self.delta.numerator.bit_length() + 2  # about log2(2/delta)
            return self.epsilon / Fraction(2 * bits if self.noise == "laplace" else 4 * bits)
        shares = {"student_t": Fraction(1, 2 * self.nu), "generalized_cauchy": 1 / (2 * max(self.gamma - 1, Fraction(1)))}
        return self.epsilon * min(shares.get(str(self.noise), Fraction(3, 10)), Fraction(3, 10))

    @property
    def law(self) -> Symmetric:
        """The unit-scale law of Z."""
        if not isinstance(self.noise, str):
            return self.noise
        assert self.beta is not None
        match self.noise:
            case "power_law":
                return PowerLaw(self.epsilon, self.beta)
            case "student_t":
                return StudentT(self.nu)
            case "cauchy":
                return StudentT(1)
            case "generalized_cauchy":
                return GeneralizedCauchy(self.gamma)
            case "laplace":
                return LaplaceLaw()
        return GaussianLaw()

    @property
    def s(self) -> Fraction:
        """The least certified multiple of the smooth sensitivity."""
        assert self.beta is not None
        return least_scale(self.law, self.beta, self.epsilon, self.delta)

    def certificate(self) -> Certificate:
        assert self.beta is not None
        beta = float(self.beta)
        witness = Later(lambda: Dilated(self.law, float(self.s), beta))
        return claim(self, Cost.approximate(self.epsilon, self.delta), witness, assumes="the bound on the local sensitivity is beta-smooth")

    def release(self, ask: Ask, draw: Draw) -> Any:
        assert self.beta is not None
        rung: Rung = ask(Stair(self.beta))
        grid = output_grid(self.s * rung.scales[-1])
        scale = self.s * rung.scales[rung.index]
        return on_grid(draw(self.law.at(rung.location, scale, grid=grid, low=rung.low, high=rung.high)), rung.step)

    @classmethod
    def examples(cls) -> Sequence[Smooth]:
        one, small = Fraction(1), Fraction(1, 10**6)
        return (
            cls(one),
            cls(Fraction(1, 10), noise="power_law"),
            cls(one, noise="student_t", nu=4),
            cls(one, noise="student_t", nu=2),
            cls(one, noise="cauchy"),
            cls(one, noise="generalized_cauchy", gamma=Fraction(2)),
            cls(one, noise="generalized_cauchy", gamma=Fraction(4)),
            cls(one, noise="laplace", delta=small),
            cls(one, noise="gaussian", delta=small),
        )
