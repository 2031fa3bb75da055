"""Report-noisy-max: add Laplace noise to every score and name the winner."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.mechanisms.listing import listed
from sordino.mechanisms.selection import Selection

__all__ = ["NoisyMax"]


@listed("report noisy max", "noisy max", "mode by a noisy histogram", note="002 mode, obvious approach")
@dataclass(frozen=True)
class NoisyMax(Selection):
    r"""The candidate whose score plus Laplace noise is largest; only its name is released.

    Theorem. With noise of scale 2 Delta/epsilon the choice is epsilon-DP; Delta/epsilon is enough when all scores move the same way
    (monotone, under add_remove). Among k candidates the largest noise is about ln(k) scales, which is what the stable mode avoids.
    Proof. Fix the other noises: candidate i wins when its noise exceeds a gap, the gap moves by at most 2 Delta (Delta if monotone), and
    a Laplace tail loses at most the factor e^{-epsilon} over that length. QED
    """

    noise = "laplace"
