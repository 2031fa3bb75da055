"""What a price buys, before it is paid: how many marginals are measured, with how much noise, and how far the report can see."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sordino.privacy.number import as_epsilon
from sordino.share.schedule import FINE, median_cells

if TYPE_CHECKING:
    from sordino.session.sharing import Sharing

__all__ = ["SharePreview", "preview"]

Z = 1.96


@dataclass(frozen=True)
class SharePreview:
    """One line for each price. `error` is what noise alone adds to the total variation of a typical measured pair, if rows are known."""

    lines: tuple[dict[str, Any], ...]
    rows: int | None

    def to_dict(self) -> dict[str, list[Any]]:
        return {name: [line[name] for line in self.lines] for name in self.lines[0]} if self.lines else {}

    def __repr__(self) -> str:
        known = f"for {self.rows:,} rows" if self.rows is not None else "give size= or release a count for errors"
        out = [f"sharing ({known}); nothing read, nothing spent", "epsilon  delta     measured  noise/cell  noise in a pair  report within"]
        for line in self.lines:
            pair, within = ("?" if line[name] is None else f"{line[name]:.4f}" for name in ("pair", "report"))
            price = f"{line['epsilon']:<7.4g}  {line['delta']:<8.2g}"
            out.append(f"{price}  {line['measured']:<8}  {line['noise']:<10.1f}  {pair:<15}  {within}")
        return "\n".join(out)


def preview(sharing: Sharing, epsilons: Any, delta: Any) -> SharePreview:
    """From public facts alone."""
    lines, rows = [], sharing._known_rows
    for wanted in epsilons if isinstance(epsilons, list | tuple) else [epsilons]:
        plan = sharing.plan(as_epsilon(wanted), delta)
        schedule, parts = plan.schedule, plan.parts
        noise = float(schedule.measured) / parts
        cells = median_cells([min(c.places, 16) if c is not None else 16 for c in sharing.cells])
        pair = None if rows is None else 0.5 * math.sqrt(2 / math.pi) * noise * cells / rows
        report = None if rows is None else Z * float(schedule.report) / (2 * rows * parts * FINE)
        cost = plan.cost
        lines.append({"epsilon": float(cost.epsilon), "delta": float(cost.delta), "measured": schedule.rounds, "noise": noise,
                      "pair": pair, "report": report})  # fmt: skip
    return SharePreview(tuple(lines), rows)
