"""The k most frequent values of a column."""

from __future__ import annotations

from sordino.statistics.peak import Mode

__all__ = ["top_k"]


def top_k(column: str, k: int) -> Mode:
    """The k most frequent values: in the order drawn for public keys, as a sorted set (or refused) for private ones."""
    return Mode(column, k)
