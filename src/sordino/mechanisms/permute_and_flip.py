"""Permute-and-flip: the exponential mechanism's quieter sister."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.mechanisms.listing import listed
from sordino.mechanisms.selection import Selection

__all__ = ["PermuteAndFlip"]


@listed("permute-and-flip", "permute and flip", note="002 mode (known keys)")
@dataclass(frozen=True)
class PermuteAndFlip(Selection):
    r"""Visit the candidates in random order and take each with probability e^{epsilon (score - best)/(2 sensitivity)}.

    Theorem. epsilon-DP under the same conditions as the exponential mechanism, and never worse in expected score. It is not bounded
    range, so zCDP costs epsilon tanh(epsilon/2), not epsilon^2/8.
    Proof. It has the law of the largest of scores plus exponential noise of scale 2 Delta/epsilon (McKenna and Sheldon 2020; Ding and
    others 2021). Given the other noises, candidate i wins when its noise exceeds a gap; the gap moves by at most 2 Delta (Delta if
    monotone), and an exponential tail loses at most e^{-epsilon} over that length. QED
    """

    noise = "exponential"
