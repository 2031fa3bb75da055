"""Exact samplers, and the only entropy in the house. `draw(law)` returns an outcome of the law, never bare noise."""

from sordino.noise.discrete import draw, fresh_id, stream

__all__ = ["draw", "fresh_id", "stream"]
