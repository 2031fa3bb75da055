"""Record a whole release, pin its draws and hold the same conversation with a neighbouring table."""

from __future__ import annotations

import contextlib
import logging
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sordino.errors import SordinoError
from sordino.lab.recording import public
from sordino.mechanisms.stable_histogram import StableHistogram
from sordino.noise import draw
from sordino.privacy.discrete import Bernoulli, Categorical
from sordino.session.execute import execute
from sordino.session.release import Release
from sordino.statistics.histograms import BinsStep
from sordino.statistics.reach import tally
from sordino.summaries.totals import Totals

HIDDEN = -(10**6)  # a noisy count no threshold shows
LUCK = Fraction(1, 1000)  # a coin this unlikely is what delta pays for: a value that is not stable may show, and differ


@dataclass
class Twin:
    """Everything one release asked, drew and showed. `private` outcomes are pinned key by key, because their number is private."""

    asked: list[str] = field(default_factory=list)
    laws: list[str] = field(default_factory=list)
    outcomes: list[Any] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)


class Spy:
    """An engine that writes down every frame and request, and remembers which keys the last totals had."""

    def __init__(self, engine: Any, twin: Twin, groups: Any) -> None:
        self.engine, self.twin, self.groups, self.keys = engine, twin, groups, ()

    def check(self, frame: Any) -> None:
        self.engine.check(frame)

    @contextlib.contextmanager
    def bounded(self, frame: Any, salt: int) -> Iterator[Any]:
        self.twin.asked.append(f"bounded {frame!r} {salt}")
        self.frame = frame
        with self.engine.bounded(frame, salt) as rows:
            self.rows = rows
            yield self

    def ask(self, request: Any) -> Any:
        self.twin.asked.append(repr(request))
        answer = self.rows.ask(request)
        if isinstance(request, Totals):
            counts = {key: int(v) for key, v in zip(answer.keys, answer.values[request.items[0]], strict=True)}
            if self.groups is not None and len(self.frame.by) > len(self.groups[0]):  # a counted column inside public groups
                counts = {(self.groups.index(key[:-1]), key[-1]): n for key, n in counts.items()}
            self.keys = tally(counts).keys
        return answer


def stable(plan: Any) -> bool:
    """Whether some histogram of this plan draws once per key that occurs."""
    return any(isinstance(s, BinsStep) and isinstance(s.mechanism, StableHistogram) for s in plan.steps.values())


def run(query: Any, epsilon: float = 2, pinned: Twin | None = None, *, engine: Any = None, **options: Any) -> Twin:
    """One release on the query's own table; with `pinned` every draw returns what it returned there."""
    plan, table, twin = query.settle(epsilon), query.table, Twin()
    spy = Spy(engine or table.engine, twin, plan.context.keys if plan.by else ((),))

    def drawing(law: Any) -> Any:
        turn = len(twin.laws)
        keyed = _keyed(plan, law, turn)
        twin.laws.append(public(law) if not keyed else f"{type(law).__name__}, one per key")
        if pinned is None:
            outcome = draw(law) if not _lucky(law) else False
            twin.outcomes.append(dict(zip(spy.keys, outcome.tolist(), strict=True)) if keyed else outcome)
            return outcome
        if turn >= len(pinned.outcomes):
            raise LookupError("a draw that was not recorded")
        found = pinned.outcomes[turn]
        twin.outcomes.append(found)
        if keyed:
            missing = False if isinstance(law, Bernoulli) else HIDDEN
            return np.array([found.get(key, missing) for key in spy.keys])
        return min(found, len(law.weights) - 1) if isinstance(law, Categorical) else found

    handler = _Lines()
    logging.getLogger().addHandler(handler)
    before = logging.getLogger("sordino").level
    logging.getLogger("sordino").setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                sealed = execute(plan, table.ledger, spy, request="the request", draw=drawing, **options)
                twin.seen = visible(Release.from_bytes(sealed, query=query))
            except SordinoError as error:
                twin.seen = {"error": f"{type(error).__name__} {error}", "context": (error.__cause__, error.__context__)}
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger("sordino").setLevel(before)
    twin.seen |= {"log": handler.lines, "warnings": [str(item.message) for item in warned]}
    return twin


def _keyed(plan: Any, law: Any, turn: int) -> bool:
    if plan.plan.keys is not None:
        return turn == 1
    return stable(plan) and np.ndim(getattr(law, "location", 0)) > 0 and turn == 1


def _lucky(law: Any) -> bool:
    return isinstance(law, Bernoulli) and law.index is None and law.probabilities[0] < LUCK


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")


def visible(release: Release) -> dict[str, Any]:
    """Every byte somebody could look at."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.csv"
        release.to_csv(path)
        csv = path.read_bytes() + path.with_name("answer.csv.card.json").read_bytes()
    arrow = release.to_arrow()
    return {
        "bytes": release.to_bytes(),
        "text": str(release),
        "html": release._repr_html_(),
        "json": release.to_json(),
        "card": (release.card.to_json(), release.card.to_html(), release.card.to_markdown()),
        "csv": csv,
        "arrow": (str(arrow.schema), arrow.to_pydict(), arrow.schema.metadata),
        "facts": (release.bar, release.mechanism, repr(release.cost), release.id, release.refused, release.ranks),
    }
