"""dp-accounting: composition by privacy-loss distributions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dp_accounting
from dp_accounting.pld import PLDAccountant
from work import DELTA, serve, timed


def accounting(folder: Path, *, gaussians: list[float], laplaces: list[float]) -> Any:
    """Epsilon of all of them together; the numbers are noise multipliers and scales at sensitivity 1."""
    found: list[float] = []

    def once() -> None:
        accountant = PLDAccountant()
        for scale in laplaces:
            accountant.compose(dp_accounting.LaplaceDpEvent(scale))
        for multiplier in gaussians:
            accountant.compose(dp_accounting.GaussianDpEvent(multiplier))
        found.append(float(accountant.get_epsilon(DELTA)))

    return {"seconds": timed(once), "epsilon": found[0]}


def start(folder: Path) -> Any:
    return accounting(folder, gaussians=[1.0], laplaces=[1.0])["epsilon"]


serve({"accounting": accounting, "start": start})
