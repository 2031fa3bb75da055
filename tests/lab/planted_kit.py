"""What a planted bug is, and the tools of the lab it is shown to. A tool answers one question about a release: is this an alarm?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sordino.lab import audit, differencing, low_bits, noise_exploitation, replay
from sordino.lab.falsification import walked
from sordino.lab.finding import lower
from sordino.lab.world import hockey, law_of, loss
from sordino.privacy import Certificate, Cost
from sordino.sensitivity import exhaustive

RARE = 1e-10  # how often a sampled tool may raise a false alarm: a thousand clean runs stay far below 1e-6
NOISE = np.random.default_rng(20_07)
HAND = "by hand"  # a mistake nobody has to be named for


class Tool(Protocol):
    name: ClassVar[str]

    def alarm(self, subject: Any) -> bool: ...


@dataclass(frozen=True)
class Planted:
    """A release with one mistake, where the mistake was seen, the tool that must catch it, and the same release without it."""

    name: str
    story: str
    source: str
    tool: Tool
    bug: Any
    clean: Any = None

    def run(self) -> bool:
        """Whether the lab catches the bug."""
        return self.tool.alarm(self.bug)

    def false_alarm(self) -> bool:
        return self.clean is not None and self.tool.alarm(self.clean)

    def __repr__(self) -> str:
        return self.name


SHELF: list[Planted] = []


def planted(source: str, tool: Tool, clean: Any = None) -> Callable[[Any], Any]:
    """Put a bug on the shelf: its name is the function's, its story the docstring."""

    def shelve(bug: Any) -> Any:
        SHELF.append(Planted(bug.__name__.replace("_", " "), " ".join(bug.__doc__.split()), source, tool, bug, clean))
        return bug

    return shelve


@dataclass(frozen=True)
class Audited:
    """Outputs on two neighbours against a claim. The subject is `release(data, n)`, or `release(data)` when it must run singly."""

    d0: Any
    d1: Any
    claimed: Any = 1.0
    trials: int = 20_000
    singly: bool = False
    name: ClassVar[str] = "audit"

    def alarm(self, subject: Any) -> bool:
        options = {"claimed": self.claimed, "trials": self.trials, "confidence": 1 - RARE, "vectorised": not self.singly}
        return audit(subject, self.d0, self.d1, **options).verdict == "refuted"


@dataclass(frozen=True)
class Listed:
    """Every outcome with its probability. The subject is `release(data, draw)` and draws laws only."""

    d0: Any
    d1: Any
    claimed: tuple[float, float] = (1.0, 0.0)
    span: int = 60
    name: ClassVar[str] = "exact law"

    def alarm(self, subject: Any) -> bool:
        first, second = (law_of(_Spoken(subject, data), None, span=self.span) for data in (self.d0, self.d1))
        epsilon, delta = self.claimed
        if delta == 0:
            return loss(first, second) > epsilon * (1 + 1e-9)
        return hockey(first, second, epsilon) > delta * (1 + 1e-9)


@dataclass(frozen=True)
class _Spoken:
    """A function of data and draw, as a mechanism that has nothing to ask."""

    subject: Callable[[Any, Any], Any]
    data: Any

    def release(self, _: Any, draw: Any) -> Any:
        return self.subject(self.data, draw)


@dataclass(frozen=True)
class Integrated:
    """The worst neighbouring laws, integrated. The subject gives a certificate, or the verdict on a printed formula."""

    name: ClassVar[str] = "certificate"

    def alarm(self, subject: Any) -> bool:
        found = subject()
        return not (found.check() if isinstance(found, Certificate) else found).sound


def claims(epsilon: Any, delta: Any, *witnesses: Any) -> Certificate:
    """What is promised beside what would have to be true for it."""
    return Certificate("as claimed", Cost.approximate(epsilon, delta), witnesses)


@dataclass(frozen=True)
class Defined:
    """The definitions on a small universe. The subject gives a statistic and a claimed smooth bound S; S >= LS and S <= e^beta S'."""

    values: Iterable[int]
    sizes: tuple[int, ...]
    relation: str
    beta: float = 0.3
    name: ClassVar[str] = "small universe"

    def alarm(self, subject: Any) -> bool:
        statistic, bound = subject()
        world = exhaustive(statistic, self.values, self.relation, sizes=self.sizes)
        largest = max(self.sizes)
        claimed = np.array([bound(table) for table in world.tables])
        inner = [i for i, table in enumerate(world.tables) if len(table) < largest or self.relation == "replace"]
        grown = math.exp(self.beta) * (1 + 1e-9)
        return any(
            claimed[i] < world.first[i] * (1 - 1e-9) or any(claimed[j] > grown * claimed[i] for j in world.edges[i] if j in set(inner))
            for i in inner
        )


@dataclass(frozen=True)
class Replayed:
    """Pinned outcomes on a neighbour: requests, laws and all that is visible must be equal. The subject makes a mechanism."""

    d0: Any
    d1: Any
    options: dict[str, Any] = field(default_factory=dict)
    name: ClassVar[str] = "replay"

    def alarm(self, subject: Any) -> bool:
        return not replay(subject(), self.d0, self.d1, **self.options).ok


@dataclass(frozen=True)
class Bitwise:
    """The table named from bits that should carry nothing."""

    d0: float
    d1: float
    scale: float = 1.0
    name: ClassVar[str] = "low bits"

    def alarm(self, subject: Any) -> bool:
        return low_bits(subject, self.d0, self.d1, scale=self.scale, vectorised=True).decided > 0.1


@dataclass(frozen=True)
class Exploited:
    """One look, and a better guess than epsilon allows."""

    d0: Any
    d1: Any
    epsilon: float = 1.0
    kind: str = "local"
    trials: int = 2_000
    name: ClassVar[str] = "noise exploitation"

    def alarm(self, subject: Any) -> bool:
        options = {"kind": self.kind, "trials": self.trials, "confidence": 1 - RARE, "vectorised": self.kind == "local"}
        found = noise_exploitation(subject, self.d0, self.d1, **options)
        return found.low > found.limit(self.epsilon)


@dataclass(frozen=True)
class Differenced:
    """Everyone minus everyone but one. The subject opens an engine for the pair: `engine(person)` counts all but the person."""

    epsilon: float = 1.0
    pairs: int = 120
    name: ClassVar[str] = "differencing"

    def alarm(self, subject: Any) -> bool:
        engine = subject()
        found = differencing(engine, "somebody", pairs=self.pairs, truth=1)
        hits = round(found.right * self.pairs)
        return bool(lower(hits, self.pairs, RARE) > 1 / (1 + math.exp(-self.epsilon)))


@dataclass(frozen=True)
class Falsified:
    """Whole units against what a release by a user's claims rests on. The subject gives the class that turns claims about rows into it."""

    statistic: Callable[[], Any]
    rows: int = 1
    name: ClassVar[str] = "falsify"

    def alarm(self, subject: Any) -> bool:
        return not walked(self.statistic(), 2_000, self.rows, 1, subject()).ok


def whole_noise(n: int, scale: float = 1.0) -> NDArray[np.int64]:
    """Discrete Laplace noise, the difference of two geometric variables: what the clean twins add."""
    p = -math.expm1(-1 / scale)
    return np.asarray(NOISE.geometric(p, n) - NOISE.geometric(p, n))
