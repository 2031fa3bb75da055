"""Tests whose p-values are valid under the noise: `sd.tests`. Each is a question with a price; its power stands in the preview.

A null hypothesis is simulated with the noise included, so noisy numbers are never put into a textbook test.
"""

from __future__ import annotations

from sordino.inference.outcome import Outcome, Power
from sordino.inference.tests import chi_square, independence, mann_whitney, proportions, signed_rank, t, wald
from sordino.session.comparison import holm

__all__ = ["Outcome", "Power", "chi_square", "holm", "independence", "mann_whitney", "proportions", "signed_rank", "t", "wald"]
