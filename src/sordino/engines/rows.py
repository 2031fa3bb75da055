"""Which rows of a group too large to hold are kept: those with small keyed hashes, by their values alone."""

from __future__ import annotations

from sordino.engines.text import MASK, Text
from sordino.engines.value import quoted

__all__ = ["fewest", "thinned"]


def fewest(text: Text, table: str, column: str, where: str, most: int) -> str:
    """The `most` pairs (value, place among equal values) with the smallest H(salt, value, place)."""
    return f"SELECT q FROM ({_pairs(table, column, where)}) AS placed ORDER BY {_hashed(text)}, q, place LIMIT {most}"


def thinned(text: Text, table: str, column: str, where: str, share: int) -> str:
    """The pairs with the first 32 bits of H(salt, value, place) below a share."""
    first = f"{_hashed(text)} < '{share:08x}'" if text.portable else f"({_hashed(text)} >> 32) < {share}"
    return f"SELECT q FROM ({_pairs(table, column, where)}) AS placed WHERE {first}"


def _pairs(table: str, column: str, where: str) -> str:
    """Equal values are interchangeable, so a place is no row number: one row more of a value is one pair more, and no other changes."""
    rows = f"SELECT {column} AS q FROM {table} AS bounded WHERE {where} AND {column} IS NOT NULL"
    return f"SELECT q, row_number() OVER (PARTITION BY q ORDER BY q) AS place FROM ({rows}) AS found"


def _hashed(text: Text) -> str:
    if text.portable:
        parts = [f"CAST(length(CAST({part} AS VARCHAR)) AS VARCHAR) || ':' || CAST({part} AS VARCHAR)" for part in ("q", "place")]
        return f"md5({' || '.join([quoted(f'{len(str(text.salt))}:{text.salt}'), *parts])})"
    salts = [f"CAST({(text.salt >> shift) & MASK} AS UBIGINT)" for shift in (0, 64)]
    return f"hash(hash({', '.join((*salts, 'q', 'place'))}))"
