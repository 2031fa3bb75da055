"""The narrow waist: small summaries that engines compute and mechanisms consume."""

from __future__ import annotations

from sordino.summaries.request import (
    Ask,
    Counts,
    Draw,
    Held,
    KeyWeights,
    Near,
    Nearness,
    RankWindow,
    Refused,
    Request,
    Rung,
    Scores,
    Stair,
    Tally,
    Value,
    Window,
)

__all__ = [
    "Ask",
    "Counts",
    "Draw",
    "Held",
    "KeyWeights",
    "Near",
    "Nearness",
    "RankWindow",
    "Refused",
    "Request",
    "Rung",
    "Scores",
    "Stair",
    "Tally",
    "Value",
    "Window",
]  # fmt: skip
