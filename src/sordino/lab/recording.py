"""Every request and every draw of a release, written down, with what a reader could tell of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sordino.privacy.discrete import ArgMax, Bernoulli, DiscreteLaplace
from sordino.privacy.law import Placed
from sordino.privacy.sphere import PlacedVector
from sordino.summaries import Ask, Draw

__all__ = ["Recording", "Step", "public", "record", "seen"]


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
        case Placed() | PlacedVector():
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
