"""A recorded release with its outcomes pinned, run again on a neighbour: nothing visible may differ."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from html import escape
from itertools import zip_longest
from typing import Any

import numpy as np

from sordino.lab.finding import CONSISTENT, REFUTED, exit_code, plain
from sordino.lab.pathwise import PathTrace, pathwise
from sordino.lab.recording import Conversation, RecordedStep, Recording, opened, record
from sordino.noise import draw
from sordino.pictures import Picture, ladder
from sordino.privacy.discrete import Bernoulli, Categorical
from sordino.privacy.law import Placed
from sordino.summaries import Draw, Near, Rung

__all__ = ["Replay", "ReplayedMove", "replay"]

TRIES = 20  # conversations at most, until one is not covered by delta


@dataclass(frozen=True)
class ReplayedMove:
    """Something private that a theorem lets move by so much between neighbours, and how far it moved."""

    turn: int
    what: str
    moved: float | Fraction
    allowed: float | Fraction
    words: str

    @property
    def ok(self) -> bool:
        return self.moved <= self.allowed


@dataclass(frozen=True, repr=False)
class Replay:
    """What was recorded on the first dataset, and every way in which the second one could be told apart.

    A difference is a proof, and there is no chance in it: the outcomes are pinned, and a conversation so unlikely that delta pays for it
    is held again. `spent` is what the draws tell between these two datasets, draw by draw. More than is charged for a table's question
    is a difference; whether the data handed to a mechanism are neighbours at all is for the caller to know.
    """

    recording: Recording
    differences: tuple[str, ...]
    moves: tuple[ReplayedMove, ...] = ()
    spent: PathTrace | None = None
    confidence: float = 1.0

    @property
    def ok(self) -> bool:
        return not self.differences

    @property
    def verdict(self) -> str:
        return CONSISTENT if self.ok else REFUTED

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    def __repr__(self) -> str:
        asked, drawn = len(self.recording.requests), len(self.recording.draws)
        verdict = "nothing visible differs" if self.ok else f"{len(self.differences)} differences"
        return "\n  ".join([f"replay: {asked} requests, {drawn} draws, {verdict}", *self.differences])

    def plot(self) -> Picture:
        """What may move and how far it did; and how many things moved that may not."""
        labels = ["differences", *(f"turn {move.turn}: {move.what}" for move in self.moves)]
        allowed = [0.0, *(float(move.allowed) for move in self.moves)]
        moved = [float(len(self.differences)), *(float(move.moved) for move in self.moves)]
        return ladder(labels, allowed, moved, title=f"Replay: {self.verdict}", x="moved between neighbours")

    def to_json(self) -> str:
        turns = [f"{step.kind} {step.public}" for step in self.recording.steps]
        moves = [asdict(move) | {"moved": float(move.moved), "allowed": float(move.allowed)} for move in self.moves]
        cost = None if self.spent is None else self.spent.amounts
        shown = {"verdict": self.verdict, "confidence": self.confidence, "differences": self.differences, "moves": moves, "spent": cost}
        return json.dumps(plain({**shown, "turns": turns, "visible": self.recording.visible}), allow_nan=False)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>{self.plot().svg}"


def replay(mechanism: Any, d0: Any, d1: Any, *, draw: Draw = draw, priced: bool = True, **options: Any) -> Replay:
    """Release on d0, then on d1 with the same outcomes, and compare all that is public or follows from it.

    Requests, law families, public grids, lengths and the visible value must be equal; the place on the ladder and the distance to
    instability may differ by one; noise scaled by a smooth sensitivity S must keep |ln S - ln S'| <= beta and |f - f'| <= min(S, S').
    `mechanism` is one of ours, or a function of a table that asks a question, with epsilon= and delta=. What the draws tell is added
    up unless `priced` is false.
    """
    with opened(mechanism, d0, **options) as (held, ask):
        first = record(held, ask, draw)
        for _ in range(TRIES):
            chance = _chance(first)
            if chance == 1 or chance > _claim(held)[1]:
                break
            first = record(held, ask, draw)
    outcomes = iter(first.draws)
    with opened(mechanism, d1, **options) as (held, ask):
        second = record(held, ask, lambda law: _pinned(law, next(outcomes, None)))
    differences, moves = _compare(held, first, second)
    cost = None if differences or not priced else _told(mechanism, d0, d1, options)
    if cost is not None and cost.wrong and isinstance(held, Conversation):
        differences.append(cost.said())
    return Replay(first, tuple(differences), tuple(moves), cost)


def _told(mechanism: Any, d0: Any, d1: Any, options: dict[str, Any]) -> PathTrace:
    with opened(mechanism, d0, **options) as one, opened(mechanism, d1, **options) as other:
        return pathwise(one, other, one[0].cost if isinstance(one[0], Conversation) else one[0].certificate().cost)


def _chance(recording: Recording) -> float:
    """How likely the single coins of a conversation were to fall as they did."""
    coins = [step for step in recording.draws if isinstance(step.private, Bernoulli) and step.private.index is None]
    return math.prod(p if step.outcome else 1 - p for step in coins for p in [float(step.private.probabilities[0])])


def _claim(held: Any) -> tuple[float, float]:
    cost = held.cost if isinstance(held, Conversation) else held.certificate().cost
    return float(cost.epsilon), float(cost.delta)


def _pinned(law: Any, step: RecordedStep | None) -> Any:
    if step is None:
        raise LookupError("a draw that was not recorded")
    if isinstance(law, Categorical):  # a choice among private cells; what leaves is drawn inside the cell
        return min(step.outcome, len(law.weights) - 1)
    return step.outcome


def _compare(mechanism: Any, first: Recording, second: Recording) -> tuple[list[str], list[ReplayedMove]]:
    differences, moves = [], []
    for i, (one, other) in enumerate(zip_longest(first.steps, second.steps), start=1):
        if one is None or other is None or (one.kind, one.public) != (other.kind, other.public):
            texts = ["nothing" if step is None else f"{step.kind} {step.public}" for step in (one, other)]
            differences.append(f"turn {i}: {texts[0]} against {texts[1]}")
            continue
        here = list(_moves(mechanism, i, one.private, other.private))
        differences += [f"turn {i}: {what}" for what in (*_public(one.private, other.private), *(m.words for m in here if not m.ok))]
        moves += here
    if first.visible != second.visible:
        differences.append(f"visible: {first.visible} against {second.visible}")
    return differences, moves


def _public(one: Any, other: Any) -> Iterator[str]:
    """Public parts of a private answer."""
    match one, other:
        case Rung(), Rung():
            yield from _equal(one, other, "scales", "low", "high", "step")
        case Near(), Near():
            yield from _equal(one, other, "worst_case", "low", "high", "step")


def _moves(mechanism: Any, turn: int, one: Any, other: Any) -> Iterator[ReplayedMove]:
    """Private things that a theorem allows to differ, but not by more than it says."""
    match one, other:
        case Rung(), Rung():
            words = f"the place on the ladder moves from {one.index} to {other.index}"
            yield ReplayedMove(turn, "place on the ladder", abs(one.index - other.index), 1, words)
            scale = min(one.scales[one.index], other.scales[other.index])
            words = "the statistic moves by more than the smaller scale"
            yield ReplayedMove(turn, "statistic over its scale", _far(mechanism, one, other) / scale, 1, words)
        case Near(), Near():
            words = f"the distance moves from {one.distance} to {other.distance}"
            yield ReplayedMove(turn, "distance", abs(one.distance - other.distance), 1, words)
        case Placed(), Placed() if hasattr(mechanism, "s") and mechanism.beta is not None:
            narrow, wide = sorted((one.scale, other.scale))  # type: ignore[type-var]
            moved, beta = math.log(wide / narrow), float(mechanism.beta)  # type: ignore[operator]
            yield ReplayedMove(turn, "ln S", moved, beta * (1 + 1e-12), f"ln S moves by {moved:.6g}, beta is {beta:.6g}")
            far = _far(mechanism, one, other) * mechanism.s
            yield ReplayedMove(turn, "statistic over S", far / narrow, 1, "the statistic moves by more than S")


def _far(mechanism: Any, one: Any, other: Any) -> Fraction:
    """How far the statistic moves, exactly for one number; a vector in the norm its noise is made for."""
    if np.ndim(one.location) == 0:
        return Fraction(abs(int(one.location) - int(other.location)))
    moved = np.asarray(one.location, float) - np.asarray(other.location, float)
    norm = float(np.linalg.norm(moved, 1 if getattr(mechanism, "noise", "") == "laplace" else 2))
    return Fraction(norm) * (1 - Fraction(1, 10**12))  # a root is rounded


def _equal(one: Any, other: Any, *names: str) -> Iterator[str]:
    read: Callable[[Any, str], Any] = getattr
    for name in names:
        if read(one, name) != read(other, name):
            yield f"{name} should be public, but differs"
