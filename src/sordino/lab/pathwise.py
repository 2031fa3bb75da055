"""A whole release on a table and on a neighbour, draw by draw with the same outcomes: what its draws tell against what is charged."""

from __future__ import annotations

import math
import queue
import sys
import threading
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from sordino.errors import QueryError
from sordino.lab.finding import where_from
from sordino.lab.loss import PathLoss, between, composed
from sordino.lab.recording import seen
from sordino.lab.told import Told, told
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Categorical, UniformInteger
from sordino.summaries import Ask, Draw

__all__ = ["PathCharge", "PathTrace", "Share", "pathwise"]

ROUNDING = 1e-6  # relative, of losses and of what integrals over a net may be off
COMPOSED = 1e-3  # relative, of a delta that several draws have together


@dataclass(frozen=True)
class PathCharge:
    """A price by kind: what its pure parts add up to, its Gaussian parts, those with a delta, and the rho of the first two."""

    epsilon: float = 0.0
    mu_squared: float = 0.0
    with_delta: tuple[float, float] = (0.0, 0.0)
    rho: float = 0.0

    @classmethod
    def of(cls, cost: Cost) -> PathCharge:
        parts = cost.parts or ((cost, 1),)
        pure = [(part, n) for part, n in parts if not part.delta]
        gaussian = [(part, n) for part, n in parts if part.mu_squared is not None]
        mixed = [(part, n) for part, n in parts if part.delta and part.mu_squared is None]
        return cls(
            float(sum(part.epsilon * n for part, n in pure)),
            float(sum((part.mu_squared or 0) * n for part, n in gaussian)),
            (float(sum(part.epsilon * n for part, n in mixed)), float(sum(part.delta * n for part, n in mixed))),
            float(cost.rho) - float(sum(part.rho * n for part, n in mixed)),
        )


@dataclass(frozen=True)
class Share:
    """One draw, or one release of a mechanism that tells less than it draws: what it told, by which kind of price, and who drew it."""

    kind: str
    loss: PathLoss
    who: str
    by: str = ""  # its mechanism, of several a statistic may draw from

    name = property(lambda self: f"{self.who}, {self.by}")


@dataclass(frozen=True)
class PathTrace:
    """What was found along one path. `problem` is a visible difference; a path has no other."""

    charge: PathCharge
    shares: tuple[Share, ...]
    problem: str = ""
    spoke: tuple[Any, ...] = ()  # the mechanisms that drew, where all of them are about the same people

    def _of(self, kind: str) -> list[PathLoss]:
        return [share.loss for share in self.shares if share.kind == kind]

    @property
    def epsilon(self) -> float:
        """Along the path that was walked; the other direction has a path of its own."""
        return math.fsum(loss.there for loss in self._of("epsilon"))

    @property
    def mu_squared(self) -> float:
        return math.fsum(loss.mu_squared or math.inf for loss in self._of("mu^2") if not loss.nothing)

    @property
    def delta(self) -> float:
        return composed(self._of("delta"), self.charge.with_delta[0])

    @property
    def rho(self) -> float:
        return math.fsum(loss.rho for kind in ("epsilon", "mu^2") for loss in self._of(kind))

    @cached_property
    def amounts(self) -> dict[str, tuple[float, float]]:
        """By kind, what was found and what is charged; only where there is something of either."""
        charge = self.charge
        numbers = {
            "epsilon": (self.epsilon, charge.epsilon),
            "mu^2": (self.mu_squared, charge.mu_squared),
            "delta": (self.delta, charge.with_delta[1]),
            "rho": (self.rho, charge.rho),
        }
        return {kind: pair for kind, pair in numbers.items() if max(pair) > 0}

    @property
    def certified(self) -> dict[str, tuple[float, float]]:
        """By kind, what the mechanisms that drew cost by their own certificates, and what is charged: true of every table or of none."""
        costs = [PathCharge.of(_cost(mechanism)) for mechanism in self.spoke]
        return {
            "epsilon": (math.fsum(cost.epsilon for cost in costs), self.charge.epsilon),
            "mu^2": (math.fsum(cost.mu_squared for cost in costs), self.charge.mu_squared),
            "delta": (math.fsum(cost.with_delta[1] for cost in costs), self.charge.with_delta[1]),
        }

    @property
    def unpaid(self) -> str:
        """The kind of price that is less than what the mechanisms that drew certify; empty if none is."""
        return next((kind for kind, (sold, paid) in self.certified.items() if sold > paid * (1 + ROUNDING) + 1e-12), "")

    @property
    def wrong(self) -> str:
        """The kind of price that does not cover what was found; empty if all do."""
        if self.problem:
            return "visible"
        slack = {"delta": COMPOSED}
        return next(
            (kind for kind, (found, paid) in self.amounts.items() if found > paid * (1 + slack.get(kind, ROUNDING)) + 1e-12), ""
        ) or ("certified" if self.unpaid else "")

    @property
    def reached(self) -> float:
        """The largest share of a charge that was found; what a check of this path could have caught is anything above."""
        if self.problem:
            return math.inf
        return max((found / paid if paid else math.inf for kind, (found, paid) in self.amounts.items() if kind != "rho"), default=0.0)

    @property
    def noticed(self) -> dict[str, bool]:
        """By who drew, whether the charge would not cover these draws made twice (Gaussian ones at twice mu) and everybody else's once."""
        own = {one.name: tuple(share for share in self.shares if share.name == one.name) for one in self.shares}
        told = {name: self.shares + mine * (3 if mine[0].kind == "mu^2" else 1) for name, mine in own.items()}
        return {name: bool(replace(self, shares=shares).wrong) for name, shares in told.items()}

    def said(self) -> str:
        """One sentence: what was found, what was charged, and who drew it."""
        kind = self.wrong
        blamed = max((s for s in self.shares if s.kind == kind or kind in ("rho", "visible")), key=lambda s: s.loss.sup, default=None)
        who = f": {blamed.who}" if blamed is not None else ""
        if kind == "visible":
            return f"{self.problem}{who}"
        if not kind:
            return "; ".join(f"{name} {found:.4g} of {paid:.4g}" for name, (found, paid) in self.amounts.items())
        if kind == "certified":
            sold, paid = self.certified[self.unpaid]
            dearest = max(self.spoke, key=lambda mechanism: _cost(mechanism).epsilon)
            return f"what drew certifies {self.unpaid} {sold:.4g} for a charge of {paid:.4g}: {where_from(dearest)}"
        found, paid = self.amounts[kind]
        at = f" at epsilon {self.charge.with_delta[0]:.4g}" if kind == "delta" else ""
        return f"found {kind} {found:.4g}{at} for a charge of {paid:.4g}{who}"


def pathwise(one: tuple[Any, Ask], other: tuple[Any, Ask], cost: Cost, *, whole: bool = False) -> PathTrace:
    r"""Hold the same conversation on both sides, with the outcomes at which the first side is told apart best, and add up.

    Each side is what releases (a mechanism, a `Conversation`) with what answers its requests. Private keys are matched by name.

    Theorem. If the sum of losses of pure draws exceeds what their parts are charged, the release is not private at its price; likewise
    the sum of mu^2 of Gaussian draws and the delta of the others. Finding nothing proves nothing. `whole`: all draws are about the same
    people, there are no groups; then whatever draws must be paid for by its own certificate, even where these two tables do not show it.
    Proof. Given the outcomes so far both sides draw from the two laws of a turn, so the log-ratio of a path is the sum of theirs, and
    the path that is walked attains the sum in the first direction. The other direction is walked from the other side, with the outcomes
    that are best there: what is drawn later may depend on them. Gaussian log-ratios of one path are jointly Gaussian. QED
    """
    found = _walk(one, other, cost, whole)
    told = [share.loss for share in found.shares if not share.loss.nothing]
    if found.wrong or (len(told) < 2 and all(loss.back <= loss.there for loss in told)):
        return found  # one draw is the same draw from either side
    back = _walk(other, one, cost, whole)
    return max(found, back, key=lambda trace: (bool(trace.wrong), trace.reached))


def _walk(one: tuple[Any, Ask], other: tuple[Any, Ask], cost: Cost, whole: bool) -> PathTrace:
    walk = _Walk()
    problem = walk.run(one, other)
    spoke = tuple(mechanism for _, mechanism in walk.spoke.values()) if whole else ()
    return PathTrace(PathCharge.of(cost), tuple(walk.shares()), problem, spoke)


class _Apart(Exception):
    """The two sides can be told apart by something that is not an outcome."""


@dataclass
class _Scene:
    """The draws of one release of a mechanism that tells less than it draws."""

    rule: Told
    kind: str
    who: str
    by: str
    frames: tuple[Any, Any]
    turns: list[tuple[Any, Any]] = field(default_factory=list)

    @property
    def share(self) -> Share:
        return Share(self.kind, self.rule.loss(self.turns), self.who, self.by)


class _Walk:
    """Two conversations in step: the second runs beside the first and waits for it at every draw."""

    def __init__(self) -> None:
        self.drawn: list[Share | _Scene] = []
        self.spoke: dict[int, tuple[Any, Any]] = {}  # by the call that released it, which is kept: a mechanism draws more than once
        self.inside: int | None = None  # what leaves a private cell, until it is drawn
        self.broken: Exception | None = None

    def shares(self) -> list[Share]:
        return [item.share if isinstance(item, _Scene) else item for item in self.drawn]

    def run(self, one: tuple[Any, Ask], other: tuple[Any, Ask]) -> str:
        laws: queue.Queue[Any] = queue.Queue()
        outcomes: queue.Queue[Any] = queue.Queue()
        asked: tuple[list[str], list[str]] = ([], [])

        def second(law: Any) -> Any:
            laws.put((law, _speaking(sys._getframe(1))))
            found = outcomes.get()
            if isinstance(found, _Apart):
                raise found
            return found

        def first(law: Any) -> Any:
            met = laws.get()
            if isinstance(met, str):
                raise _Apart("one side draws more often than the other")
            try:
                here, there = self._met((law, _speaking(sys._getframe(1))), met)
            except _Apart:
                raise
            except Exception as error:  # a mistake of the rules is no finding, and must not be taken for what a release shows
                self.broken = error
                raise _Apart("a rule failed") from error
            outcomes.put(there)
            return here

        def beside() -> None:
            laws.put(_held(other, second, asked[1]))

        thread = threading.Thread(target=beside, daemon=True)
        thread.start()
        problem = ""
        try:
            mine = _held(one, first, asked[0], apart=True)
            theirs = laws.get()
            if not isinstance(theirs, str):
                raise _Apart("one side draws more often than the other")
        except _Apart as apart:
            problem = str(apart)
        finally:
            outcomes.put(_Apart("over"))
            thread.join()
        if self.broken is not None:
            raise self.broken
        if problem:
            return problem
        if asked[0] != asked[1]:
            return "the requests differ"
        return "" if mine == theirs else f"what is shown differs: {mine[:80]} against {theirs[:80]}"

    def _met(self, one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
        (law, here), (beside, there) = one, other
        if here.mechanism is not None:
            self.spoke.setdefault(id(here.frame), (here.frame, here.mechanism))
        if here.mechanism is not None and there.mechanism is not None:
            scene = self.drawn[-1] if self.drawn else None
            if isinstance(scene, _Scene) and scene.frames[0] is here.frame:
                return self._pinned(scene, law, beside)
            rule = told(here.mechanism, here.ask, there.ask)
            if rule is not None:
                begun = _Scene(rule, _kind(here.mechanism, None), here.who, here.by, (here.frame, there.frame))
                self.drawn.append(begun)
                return self._pinned(begun, law, beside)
        if self.inside is not None and isinstance(law, UniformInteger):
            inside, self.inside = self.inside, None
            return inside, inside
        law, beside = _listed_once(law), _listed_once(beside)
        try:
            loss = between(law, beside)
        except QueryError as error:
            raise _Apart(f"{error.what} ({here.who})") from None
        self.drawn.append(Share(_kind(here.mechanism, loss), loss, here.who, here.by))
        if isinstance(law, Categorical) and law.cells is not None and beside.cells is not None:
            return self._cell(law, beside, loss)
        return _outcome(law, loss), _outcome(law, loss)

    def _pinned(self, scene: _Scene, law: Any, beside: Any) -> tuple[Any, Any]:
        scene.turns.append((law, beside))
        return scene.rule.pin(len(scene.turns) - 1, law, beside)

    def _cell(self, law: Categorical, beside: Categorical, loss: PathLoss) -> tuple[int, int]:
        assert law.cells is not None
        assert beside.cells is not None
        sides = [law.cells(), beside.cells()]
        self.inside = next(stop for start, stop in sides[0] if stop > start) if loss.best is None else loss.best
        found = [next((i for i, (start, stop) in enumerate(cells) if start < self.inside <= stop), None) for cells in sides]
        if found[0] is None or found[1] is None:
            raise _Apart("an outcome of one side is impossible on the other")
        return found[0], found[1]


def _listed_once(law: Any) -> Any:
    """The same law, its private cells computed once."""
    if not isinstance(law, Categorical) or law.cells is None:
        return law
    cells = law.cells()
    return replace(law, cells=lambda: cells)


def _outcome(law: Any, loss: PathLoss) -> Any:
    """An outcome at which the first side is told apart best; a likely one where nothing is told."""
    if loss.best is not None:
        return loss.best
    match law:
        case UniformInteger():
            return law.low
        case Categorical():
            return max(range(len(law.weights)), key=lambda i: law.weights[i])
    return law.location if hasattr(law, "location") else int(law.probabilities().argmax())


def _held(side: tuple[Any, Ask], draw: Draw, asked: list[str], *, apart: bool = False) -> str:
    """What one side shows; an error is shown, too."""
    talk, ask = side

    def asking(request: Any) -> Any:
        asked.append(repr(request))
        return ask(request)

    try:
        return seen(talk.release(asking, draw))
    except _Apart:
        if apart:
            raise
        return "over"
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"


@dataclass(frozen=True)
class _Speaker:
    """Who is drawing: the mechanism that is being released, what answers it, and the file of the statistic or mechanism."""

    mechanism: Any
    ask: Any
    frame: Any
    who: str
    by: str


def _speaking(frame: Any) -> _Speaker:
    """By the calls that led to a draw: `release(self, ask, draw)` of something with a certificate, inside one of something with parts."""
    mechanism = ask = found = step = None
    while frame is not None:
        code = frame.f_code
        if code.co_name == "release" and code.co_argcount >= 3:
            names = code.co_varnames
            speaker, second = frame.f_locals.get(names[0]), frame.f_locals.get(names[1])
            kind = type(speaker)  # whose property is not computed by asking for it
            if hasattr(kind, "certificate") and callable(second):
                mechanism, ask, found = speaker, second, frame
            elif hasattr(kind, "parts") and step is None:
                step = speaker
        frame = frame.f_back
    return _Speaker(
        mechanism,
        ask,
        found,
        where_from(step if step is not None else mechanism),
        "a law" if mechanism is None else type(mechanism).__name__,
    )


def _kind(mechanism: Any, loss: PathLoss | None) -> str:
    """What pays for a draw: by its mechanism's own certificate, and outside of any by its law."""
    if mechanism is None:
        return "mu^2" if loss is not None and loss.mu_squared else "epsilon"
    return _paid(mechanism)


def _cost(mechanism: Any) -> Cost:
    try:
        return _certified(mechanism)
    except TypeError:  # not hashable
        return _certified.__wrapped__(mechanism)


@lru_cache(maxsize=4096)
def _certified(mechanism: Any) -> Cost:
    cost: Cost = mechanism.certificate().cost
    return cost


def _paid(mechanism: Any) -> str:
    cost = _cost(mechanism)
    return "mu^2" if cost.mu_squared is not None else "delta" if cost.delta else "epsilon"
