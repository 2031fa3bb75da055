"""What every check of a claim has in common: a verdict, how sure it is, a picture, and an exit code for scripts.

How sure a count makes us of a probability, without approximation.

What a conformance check leaves behind: one row for every claim that was tried, in text, in HTML and as JSON.

Quadrature of worst pairs: the certificates of a mechanism or of a table's question, integrated and judged like an audit.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

import sordino
from sordino.errors import QueryError
from sordino.pictures import Picture, lines
from sordino.privacy.certificate import Certificate, Verdict
from sordino.session.query import Query
from sordino.statistics.custom import Custom

__all__ = [
    "CONSISTENT", "REFUTED", "Certification", "Checked", "CheckedRow", "Finding", "as_claim", "as_confidence", "as_level", "certify",
    "exit_code", "lower", "upper", "where_from",
]  # fmt: skip

CONSISTENT, REFUTED = "consistent", "refuted"


class Finding(Protocol):
    """ "refuted" is a proof, up to 1 - confidence. "consistent" is none: it says that nothing was found."""

    @property
    def verdict(self) -> str: ...
    @property
    def confidence(self) -> float: ...
    @property
    def exit_code(self) -> int: ...
    def plot(self) -> Picture: ...
    def to_json(self) -> str: ...


def exit_code(verdict: str) -> int:
    """0 for a claim that stands, 1 for one that fell: what a script returns to its caller."""
    return int(verdict == REFUTED)


def as_claim(claimed: Any) -> tuple[float, float]:
    """epsilon, or (epsilon, delta)."""
    try:
        epsilon, delta = map(float, claimed if isinstance(claimed, tuple | list) else (claimed, 0.0))
    except (TypeError, ValueError, OverflowError):
        raise QueryError("SRD-103", f"claimed is {claimed!r}.", "Give epsilon, or (epsilon, delta).") from None
    if not 0 <= epsilon <= 1e6:
        raise QueryError("SRD-101", f"the claimed epsilon is {epsilon!r}.", "Give a number from 0 to 1e6.")
    if not 0 <= delta < 1:
        raise QueryError("SRD-102", f"the claimed delta is {delta!r}.", "Give a number from 0 to below 1.")
    return epsilon, delta


def as_confidence(confidence: Any) -> float:
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise QueryError("SRD-103", f"confidence is {confidence!r}.", "Give a number between 0 and 1, for example 0.99999.")
    return float(confidence)


def as_level(confidence: float) -> str:
    """How sure, in words that stay readable close to one."""
    return "certain" if confidence == 1 else f"confidence 1 - {1 - confidence:.2g}"


def grown(epsilon: float) -> float:
    """e^epsilon, kept finite."""
    return math.exp(min(epsilon, 700.0))


def plain(value: Any) -> Any:
    """JSON knows no infinity, no fractions and no tuples."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


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


SHOWN = 12
HEAD = ("subject", "method", "pair", "claimed", "found", "verdict")


@dataclass(frozen=True)
class CheckedRow:
    """One claim: about what, by which method, between which neighbours, what was claimed, what was found, and why it fell if it did."""

    subject: str
    method: str
    pair: str
    claimed: str
    found: str
    verdict: str = CONSISTENT
    why: str = ""
    reached: float = 0.0  # the share of the claim that was found; a check could have caught anything above

    @property
    def ok(self) -> bool:
        return self.verdict == CONSISTENT


@dataclass(frozen=True, repr=False)
class Checked:
    """All rows of one check. Nothing found is no proof; a refuted row of an exact method is one."""

    subject: str
    rows: tuple[CheckedRow, ...]
    confidence: float = 1.0
    blind: tuple[str, ...] = ()  # whose draws could be made twice for one price without being seen; only where that was asked for

    @property
    def ok(self) -> bool:
        return bool(self.rows) and all(row.ok for row in self.rows)

    @property
    def verdict(self) -> str:
        return CONSISTENT if self.ok else REFUTED

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    @property
    def wrong(self) -> tuple[CheckedRow, ...]:
        return tuple(row for row in self.rows if not row.ok)

    @property
    def reached(self) -> float:
        """The largest share of a claim that any row found."""
        return max((row.reached for row in self.rows), default=0.0)

    def check(self) -> None:
        """Raise with everything that was refuted; what a test says."""
        if not self.ok:
            raise AssertionError(repr(self))

    def __add__(self, other: Checked) -> Checked:
        return Checked(self.subject, (*self.rows, *other.rows), min(self.confidence, other.confidence), self.blind + other.blind)

    def __repr__(self) -> str:
        if not self.rows:
            return f"{self.subject}: nothing was checked"
        most = f"{self.reached:.0%}"
        head = (
            f"{self.subject}: {self.verdict}, {len(self.rows):,} checks, {len(self.wrong):,} refuted; of a price at most {most} was found"
        )
        said = [f"  {row.why or row.verdict}, between {row.pair} ({row.subject}, {row.method})" for row in self.wrong[:SHOWN]]
        unseen = [f"  twice the price would not be seen: {name}" for name in self.blind]
        return "\n".join([head, *said, *([f"  and {len(self.wrong) - SHOWN:,} more"] if len(self.wrong) > SHOWN else []), *unseen])

    def _repr_html_(self) -> str:
        body = "".join(_html([getattr(row, name) for name in HEAD]) for row in (*self.wrong, *(r for r in self.rows if r.ok)))
        return f"<pre>{escape(repr(self))}</pre><table><thead>{_html(HEAD, 'th')}</thead><tbody>{body}</tbody></table>"

    def to_json(self) -> str:
        rows: list[dict[str, Any]] = [asdict(row) for row in self.rows]
        body = {"subject": self.subject, "ok": self.ok, "verdict": self.verdict, "confidence": self.confidence, "rows": rows}
        return json.dumps(plain(body), allow_nan=False)


def _html(cells: Sequence[str], tag: str = "td") -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"


def joined(subject: str, found: Iterable[Checked]) -> Checked:
    """Several reports as one."""
    reports = list(found)
    if not reports:
        raise QueryError("SRD-105", f"there is nothing to check about {subject}.", "Give examples() or neighbours.")
    return Checked(subject, tuple(row for report in reports for row in report.rows), min(report.confidence for report in reports))


def where_from(thing: Any) -> str:
    """The file and the name of what something was made by; of a statistic of one's own those of its function come first."""
    if thing is None:
        return "nobody"
    if isinstance(custom := getattr(thing, "custom", None), Custom):
        return f"{_filed(custom.function)}, by {_filed(type(thing))}"
    return _filed(thing if isinstance(thing, type) else type(thing))


def _filed(made: Any) -> str:
    name = str(getattr(made, "__qualname__", type(made).__qualname__))
    with suppress(OSError, TypeError):
        file = Path(inspect.getfile(made))
        root = Path(sordino.__file__).parent
        return f"src/sordino/{file.relative_to(root)} {name}" if file.is_relative_to(root) else f"{file.name} {name}"
    return name


def number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


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
