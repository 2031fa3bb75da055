"""Record every request and every draw of a release, pin the outcomes, and run it again on a neighbour: nothing visible may differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from sordino.noise import draw
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace
from sordino.privacy.law import Placed
from sordino.session.own import owned
from sordino.summaries import Ask, Draw, Near, Rung

__all__ = ["Recording", "Replay", "Step", "record", "replay"]


@dataclass(frozen=True)
class Step:
    """One turn of the conversation: a request with its answer, or a law with its outcome. Answers and laws are private."""

    kind: str
    public: str
    outcome: Any = None
    private: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Recording:
    """The turns of one release, in order, and what left the house: the value, or the text of an error."""

    steps: tuple[Step, ...]
    visible: str

    @property
    def requests(self) -> tuple[str, ...]:
        return tuple(step.public for step in self.steps if step.kind == "ask")

    @property
    def draws(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.kind == "draw")


@dataclass(frozen=True, repr=False)
class Replay:
    """What was recorded on the first dataset, and every way in which the second one could be told apart."""

    recording: Recording
    differences: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.differences

    def __repr__(self) -> str:
        asked, drawn = len(self.recording.requests), len(self.recording.draws)
        verdict = "nothing visible differs" if self.ok else f"{len(self.differences)} differences"
        return "\n  ".join([f"replay: {asked} requests, {drawn} draws, {verdict}", *self.differences])


def replay(mechanism: Any, d0: Any, d1: Any, *, draw: Draw = draw, **options: Any) -> Replay:
    """Release on d0, then on d1 with the same outcomes, and compare all that is public or follows from it.

    Requests, law families, public grids, lengths and the visible value must be equal; the place on the ladder and the distance to
    instability may differ by one; noise scaled by a smooth sensitivity S must keep |ln S - ln S'| <= beta and |f - f'| <= min(S, S').
    """
    first = record(mechanism, owned(mechanism, d0, **options), draw)
    outcomes = iter(first.draws)
    second = record(mechanism, owned(mechanism, d1, **options), lambda law: _pinned(law, next(outcomes, None)))
    return Replay(first, tuple(_compare(mechanism, first, second)))


def record(mechanism: Any, ask: Ask, draw: Draw) -> Recording:
    """One release, with every turn written down. An error is something visible, too."""
    steps: list[Step] = []

    def asking(request: Any) -> Any:
        answer = ask(request)
        steps.append(Step("ask", repr(request), private=answer))
        return answer

    def drawing(law: Any) -> Any:
        outcome = draw(law)
        steps.append(Step("draw", public(law), outcome, law))
        return outcome

    try:
        visible = seen(mechanism.release(asking, drawing))
    except Exception as error:
        visible = f"raised {type(error).__name__}: {error}"
    return Recording(tuple(steps), visible)


def public(law: Any) -> str:
    """What a law shows to everybody: its family, its public grid, and how many outcomes it has where that is public."""
    match law:
        case Placed():
            return f"{law.law!r} on the grid {law.grid} in [{law.low}, {law.high}], {_shape(law.location)}"
        case DiscreteLaplace():
            return f"DiscreteLaplace of scale {law.scale}, {_shape(law.location)}"
        case ArgMax():
            return f"ArgMax of {law.noise} at scale {law.scale}, {len(law.scores)} candidates"
        case Bernoulli():
            return f"Bernoulli, {_shape(0 if law.index is None else law.index)}"
    return type(law).__name__  # how many cells a choice has, and which integers it runs over, is private


def seen(value: Any) -> str:
    """Everything a reader could tell about a value, as text: type, shape and every bit."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    return f"{type(value).__name__} {value!r}"


def _shape(location: Any) -> str:
    return "one outcome" if np.ndim(location) == 0 else f"{len(location)} outcomes"


def _pinned(law: Any, step: Step | None) -> Any:
    if step is None:
        raise LookupError("a draw that was not recorded")
    if isinstance(law, Categorical):  # a choice among private cells; what leaves is drawn inside the cell
        return min(step.outcome, len(law.weights) - 1)
    return step.outcome


def _compare(mechanism: Any, first: Recording, second: Recording) -> Iterator[str]:
    for i, (one, other) in enumerate(zip_longest(first.steps, second.steps), start=1):
        if one is None or other is None or (one.kind, one.public) != (other.kind, other.public):
            texts = ["nothing" if step is None else f"{step.kind} {step.public}" for step in (one, other)]
            yield f"turn {i}: {texts[0]} against {texts[1]}"
            continue
        yield from (f"turn {i}: {what}" for what in _private(mechanism, one.private, other.private))
    if first.visible != second.visible:
        yield f"visible: {first.visible} against {second.visible}"


def _private(mechanism: Any, one: Any, other: Any) -> Iterator[str]:
    """Private things that a theorem allows to differ, but not by more than it says."""
    match one, other:
        case Rung(), Rung():
            yield from _equal(one, other, "scales", "low", "high", "step")
            if abs(one.index - other.index) > 1:
                yield f"the place on the ladder moves from {one.index} to {other.index}"
            if abs(one.location - other.location) > min(one.scales[one.index], other.scales[other.index]):
                yield "the statistic moves by more than the smaller scale"
        case Near(), Near():
            yield from _equal(one, other, "worst_case", "low", "high", "step")
            if abs(one.distance - other.distance) > 1:
                yield f"the distance moves from {one.distance} to {other.distance}"
        case Placed(), Placed() if hasattr(mechanism, "s") and mechanism.beta is not None:
            narrow, wide = sorted((one.scale, other.scale))  # type: ignore[type-var]
            if math.log(wide / narrow) > float(mechanism.beta) * (1 + 1e-12):  # type: ignore[operator]
                yield f"ln S moves by {math.log(wide / narrow):.6g}, beta is {float(mechanism.beta):.6g}"  # type: ignore[operator]
            if abs(one.location - other.location) * mechanism.s > narrow:
                yield "the statistic moves by more than S"


def _equal(one: Any, other: Any, *names: str) -> Iterator[str]:
    read: Callable[[Any, str], Any] = getattr
    for name in names:
        if read(one, name) != read(other, name):
            yield f"{name} should be public, but differs"
