"""What a price buys, before it is paid: how many marginals are measured, with how much noise, and how far off the table will be.

From public facts alone where nothing else is known: what noise adds to a measured pair, and how far the error report can see. With a public
twin the whole release is held on its rows: the errors it ends with are the forecast.

How far a shared table is, on a terminal only.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sordino.noise import draw
from sordino.privacy.number import as_epsilon
from sordino.session.twin import SALT, FlatRows, Twin
from sordino.share.bars import noise_width
from sordino.share.schedule import FINE, median_cells

if TYPE_CHECKING:
    from sordino.session.sharing import SharePlan, Sharing

__all__ = ["SharePreview", "Tell", "bar", "preview"]


@dataclass(frozen=True)
class SharePreview:
    """One line for each price. `pair` is what noise alone adds to the total variation of a typical measured pair, if rows are known.

    `pairs` and `triples` are mean total variations of a table made from the public twin's rows, if there is one.
    """

    lines: tuple[dict[str, Any], ...]
    rows: int | None
    twin: int | None = None  # rows of the public twin that the forecast was made on, as a release would count them

    def to_dict(self) -> dict[str, list[Any]]:
        return {name: [line[name] for line in self.lines] for name in self.lines[0]} if self.lines else {}

    def __repr__(self) -> str:
        known = f"for {self.rows:,} rows" if self.rows is not None else "give size= or release a count for errors"
        more = "" if self.twin is None else "  pairs   triples (twin)"
        head = f"epsilon  delta     measured  noise/cell  noise in a pair  report within{more}"
        out = [f"sharing ({known}); nothing read, nothing spent", head]
        for line in self.lines:
            pair, within = ("?" if line[name] is None else f"{line[name]:.4f}" for name in ("pair", "report"))
            price = f"{line['epsilon']:<7.4g}  {line['delta']:<8.2g}"
            told = (
                ""
                if self.twin is None
                else "  " + "  ".join("?     " if line[n] is None else f"{line[n]:.4f}" for n in ("pairs", "triples"))
            )
            out.append(f"{price}  {line['measured']:<8}  {line['noise']:<10.1f}  {pair:<15}  {within:<13}{told}".rstrip())
        if self.twin is not None:
            out.append(f"(twin): mean total variation of a table made from about {self.twin:,} public rows; the private rows may differ")
        return "\n".join(out)


def preview(sharing: Sharing, epsilons: Any, delta: Any, *, twin: bool = True) -> SharePreview:
    """From public facts, and from the declared twin unless `twin` is false."""
    lines, rows, counted = [], sharing._known_rows, None
    widest = max(map(len, sharing.reported), default=0)
    reach = noise_width(sum(len(clique) == widest for clique in sharing.reported))
    stand_in = sharing.query.table.twin_rows if twin else None
    for wanted in epsilons if isinstance(epsilons, list | tuple) else [epsilons]:
        plan = sharing.plan(as_epsilon(wanted), delta)
        schedule, parts = plan.schedule, plan.parts
        noise = float(schedule.measured) / parts
        cells = median_cells([min(c.places, 16) if c is not None else 16 for c in sharing.cells])
        pair = None if rows is None else 0.5 * math.sqrt(2 / math.pi) * noise * cells / rows
        report = None if rows is None else reach * float(schedule.report) / (2 * rows * parts * FINE)
        cost = plan.cost
        lines.append({"epsilon": float(cost.epsilon), "delta": float(cost.delta), "measured": schedule.rounds, "noise": noise,
                      "pair": pair, "report": report})  # fmt: skip
        if stand_in is not None:
            counted, told = _forecast(plan, stand_in)
            lines[-1] |= told
    return SharePreview(tuple(lines), rows, counted)


def _forecast(plan: SharePlan, twin: Twin) -> tuple[int, dict[str, float | None]]:
    """The whole release on public rows: how many it counts, and the mean of the errors it reports for pairs and for triples.

    Each reported distance has noise of mean zero, so that their mean is close without knowing them exactly; it is never below zero.
    """
    _, outcome = plan.converse(lambda frame: FlatRows(twin.engine).bounded(frame, SALT), draw)
    unit = 2 * max(outcome.rows, 1.0) * plan.parts * FINE

    def mean(size: int) -> float | None:
        found = [distance / unit for clique, distance in outcome.distances.items() if len(clique) == size]
        return min(max(sum(found) / len(found), 0.0), 1.0) if found else None

    return round(outcome.rows), {"pairs": mean(2), "triples": mean(3)}


Tell = Callable[[float], None]


@contextmanager
def bar(text: str, tell: Tell | None = None) -> Iterator[Tell | None]:
    """A bar that is told the part that is done; whoever wants to be told instead is, and nobody where there is no terminal."""
    if tell is not None or not sys.stderr.isatty():
        yield tell
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(text, total=1.0)
        yield lambda done: shown.update(task, completed=done)
