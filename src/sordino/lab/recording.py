"""Every request and every draw of a release, written down, with what a reader could tell of each.

A table's question as if it were a mechanism, so that it can be listed, replayed and audited like any other. NOT PRIVATE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import ArgMax, Bernoulli, DiscreteLaplace
from sordino.privacy.law import Placed
from sordino.privacy.sphere import PlacedVector
from sordino.schema.frame import Frame
from sordino.session.owned import owned
from sordino.session.query import Query
from sordino.session.settled import Settled
from sordino.session.twin import Remembered
from sordino.statistics.port import Groups
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import GroupTotals, Ranks, Totals

__all__ = ["SALT", "Conversation", "RecordedStep", "Recording", "bounded", "held", "opened", "public", "reading", "record", "seen"]


@dataclass(frozen=True)
class RecordedStep:
    """One turn of the conversation: a request with its answer, or a law with its outcome. Answers and laws are private."""

    kind: str
    public: str
    outcome: Any = None
    private: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Recording:
    """The turns of one release, in order, and what left the house: the value, or the text of an error."""

    steps: tuple[RecordedStep, ...]
    visible: str

    @property
    def requests(self) -> tuple[str, ...]:
        return tuple(step.public for step in self.steps if step.kind == "ask")

    @property
    def draws(self) -> tuple[RecordedStep, ...]:
        return tuple(step for step in self.steps if step.kind == "draw")


def record(mechanism: Any, ask: Ask, draw: Draw) -> Recording:
    """One release, with every turn written down. An error is something visible, too."""
    steps: list[RecordedStep] = []

    def asking(request: Any) -> Any:
        answer = ask(request)
        steps.append(RecordedStep("ask", repr(request), private=answer))
        return answer

    def drawing(law: Any) -> Any:
        outcome = draw(law)
        steps.append(RecordedStep("draw", public(law), outcome, law))
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


SALT = 1  # contribution bounding is the same on neighbours, as in the proof
CHUNK = 4096  # copies of a table that are answered at once
Reader = Callable[[Any], Any]  # of a request, or of the frame it is about and a request


class _Alone(Exception):
    """This question cannot be asked of many copies of a table at once."""


@dataclass(frozen=True, eq=False)
class Conversation:
    """A question with its price settled. Its requests name the frame they are about: ask((frame, request))."""

    plan: Settled

    @property
    def cost(self) -> Cost:
        return self.plan.cost

    def release(self, ask: Reader, draw: Draw) -> Any:
        """Everything a reader would see: the groups, and of every answer the value, its ends, its ranks and the drawn numbers."""
        groups, answers = self.plan.converse(lambda frame: nullcontext(_Rows(ask, frame)), draw)
        return _seen(groups, answers)

    def many(self, ask: Reader, draw: Draw, repeats: int) -> list[Any]:
        """That many independent releases; at once where a step answers all groups at once, for then copies of a table are groups."""
        try:
            sizes = [min(CHUNK, repeats - done) for done in range(0, repeats, CHUNK)]
            return [value for size in sizes for value in self._copies(ask, draw, size)]
        except _Alone:
            return [self.release(ask, draw) for _ in range(repeats)]

    def _copies(self, ask: Reader, draw: Draw, repeats: int) -> Iterator[Any]:
        plan = self.plan
        if plan.plan.keys is not None or any(part.counted is not None for part in plan.plan.draws):
            raise _Alone
        groups = (plan.context.keys if plan.by else ((),)) or ()
        copies = tuple((i, *group) for i in range(repeats) for group in groups)

        def asking(request: Any) -> Any:
            found = ask((plan.frames[0], request))
            if isinstance(request, Ranks):
                windows = list(found)
                return (window for _ in range(repeats) for window in windows)
            if not isinstance(request, Totals):
                raise _Alone
            place = {key: i for i, key in enumerate(found.keys)}
            where = [place.get(group) for group in groups]
            rows = {item: [0 if i is None else int(values[i]) for i in where] for item, values in found.values.items()}
            return GroupTotals(copies, {item: np.array(values * repeats, object) for item, values in rows.items()})

        answers: dict[str, Any] = dict.fromkeys(plan.names, ())
        try:
            for part in plan.plan.draws:
                answers |= part.release(asking, draw, copies)
        except Exception as error:  # a step that knows its groups beforehand; it is asked one by one, and fails there if it must
            raise _Alone from error
        if any(len(cells) != len(copies) for cells in answers.values()):
            raise _Alone
        size, shown = len(groups), groups if plan.by else None
        for start in range(0, len(copies), size):
            yield _seen(shown, {name: cells[start : start + size] for name, cells in answers.items()})


@dataclass(frozen=True)
class _Rows:
    source: Reader
    frame: Frame

    def ask(self, request: Any) -> Any:
        return self.source((self.frame, request))


def _seen(groups: Groups, answers: Any) -> Any:
    """Values first: the auditor looks closest at the first numbers."""
    cells = [cell for name in answers for cell in answers[name]]
    parts = tuple(tuple(getattr(cell, part) for cell in cells) for part in ("value", "low", "high", "ranks", "raw"))
    return (*parts, groups)


def held(query: Query, epsilon: Any, delta: Any = None) -> Conversation:
    """The conversation of a query at a price."""
    return Conversation(query.settle(epsilon, delta))


@contextmanager
def reading(query: Query, salt: int = SALT) -> Iterator[Reader]:
    """Answers from the query's own table, every bounded table opened once."""
    with bounded(query.table, salt) as ask:
        yield ask


@contextmanager
def bounded(table: Any, salt: int = SALT) -> Iterator[Reader]:
    """Answers to all questions about one table, each computed once. Few bounded tables may be open at a time: one is, the last needed."""
    with ExitStack() as stack:
        known: dict[Frame, Remembered] = {}
        open_now: list[tuple[Frame, Any]] = []

        def source(frame: Frame, request: Any) -> Any:
            if not open_now or open_now[0][0] != frame:
                stack.close()
                open_now[:] = [(frame, stack.enter_context(table.engine.bounded(frame, salt)))]
            found = open_now[0][1].ask(request)
            return list(found) if isinstance(found, Iterator) else found

        def ask(asked: tuple[Frame, Any]) -> Any:
            frame, request = asked
            return known.setdefault(frame, Remembered(partial(source, frame))).ask(request)

        yield ask


@contextmanager
def opened(mechanism: Any, data: Any, **options: Any) -> Iterator[tuple[Any, Reader]]:
    """A mechanism and what answers its requests: the data you own; or, for a function of a table, the question it asks of it."""
    if hasattr(mechanism, "release") and not isinstance(mechanism, Query):
        yield mechanism, owned(mechanism, data, **options)
        return
    query = mechanism(data) if callable(mechanism) else None
    if not isinstance(query, Query):
        what = f"{type(mechanism).__name__} is no mechanism and asks no question."
        raise QueryError("SRD-103", what, "Give a mechanism, or a function such as lambda table: table.count() with epsilon=.")
    with reading(query) as ask:
        yield held(query, **options), ask
