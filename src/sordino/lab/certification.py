"""Quadrature of worst pairs: the certificates of a mechanism or of a table's question, integrated and judged like an audit."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.lab.finding import CONSISTENT, REFUTED, exit_code, plain
from sordino.pictures import Picture, lines
from sordino.privacy.certificate import Certificate, Verdict
from sordino.session.query import Query

__all__ = ["Certification", "certify"]


@dataclass(frozen=True, repr=False)
class Certification:
    """What the theorem claims, and what its worst neighbouring laws need when they are integrated.

    Unlike an audit this covers all neighbours the theorem speaks of, so `epsilon` bounds the truth from above: "consistent" is the
    theorem checked in numbers, for the laws that are really sampled. Of several certificates the one with the least slack is shown.
    """

    claimed: tuple[float, float]
    epsilon: float
    delta: float
    slack: float
    sound: bool
    theorem: str
    certificates: int
    curve: tuple[tuple[float, float], ...]
    confidence: float = 1.0
    loose: str = ""  # why the slack exceeds 1.05, where it does

    @property
    def verdict(self) -> str:
        return CONSISTENT if self.sound else REFUTED

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    def __repr__(self) -> str:
        epsilon, delta = self.claimed
        return (
            f"certificate: {self.verdict}, claimed epsilon {epsilon:.6g}, delta {delta:.6g}\n"
            f"  needs epsilon {self.epsilon:.6g} at the claimed delta, slack {self.slack:.4f}\n"
            f"  needs delta {self.delta:.4g} at the claimed epsilon\n"
            f"  {self.certificates} certificate{'s' * (self.certificates != 1)}, all worst pairs integrated"
        )

    def plot(self) -> Picture:
        """The largest hockey stick over all neighbours, and the claim."""
        points = [(e, d) for e, d in self.curve if math.isfinite(d)]
        epsilons, deltas = zip(*points, strict=True)
        series = {"integrated": (epsilons, deltas), "claimed": ([self.claimed[0]] * 2, [0.0, max(deltas)])}
        return lines(series, title=f"Certificate: {self.verdict}", x="epsilon", y="delta of the worst pair")

    def to_json(self) -> str:
        return json.dumps(plain({**asdict(self), "verdict": self.verdict}), allow_nan=False)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>{self.plot().svg}"


def certify(mechanism: Any, *, points: int = 9, **price: Any) -> Certification:
    """Integrate every worst pair of a mechanism, of a certificate, or of a table's query (with epsilon= and delta=)."""
    certificates = _certificates(mechanism, price)
    verdicts = [certificate.check() for certificate in certificates]
    worst = min(range(len(verdicts)), key=lambda k: (verdicts[k].sound, verdicts[k].slack))
    certificate, found = certificates[worst], verdicts[worst]
    epsilon, delta = float(certificate.cost.epsilon), float(certificate.cost.delta)
    curve = _curve(certificate, found, epsilon, points)
    sound = all(verdict.sound for verdict in verdicts)
    return Certification(
        (epsilon, delta),
        found.epsilon,
        found.delta,
        found.slack,
        sound,
        certificate.theorem,
        len(certificates),
        curve,
        loose=certificate.loose,
    )


def _certificates(mechanism: Any, price: dict[str, Any]) -> Sequence[Certificate]:
    if isinstance(mechanism, Certificate):
        return (mechanism,)
    if isinstance(mechanism, Query):
        return mechanism.settle(**price).certificates
    if not hasattr(mechanism, "certificate") or price:
        what = f"{type(mechanism).__name__} has no certificate." if not price else "only a query takes a price here."
        raise QueryError("SRD-103", what, "Give a mechanism, a certificate, or a table's query with epsilon=.")
    return (mechanism.certificate(),)


def _curve(certificate: Certificate, found: Verdict, epsilon: float, points: int) -> tuple[tuple[float, float], ...]:
    top = 1.5 * max(epsilon, min(found.epsilon, 4 * epsilon))
    return tuple((e, certificate.delta(e)) for e in np.linspace(0.0, top, points).tolist())
