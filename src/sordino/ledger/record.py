"""The words of the book: every entry is canonical JSON bytes, and nothing but bytes is hashed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from sordino.errors import LedgerError, QueryError

__all__ = ["FORMAT", "GENESIS", "KINDS", "as_key", "as_text", "canonical", "canonical_charge", "canonical_parts", "digest", "link", "read"]

FORMAT = 1
GENESIS = bytes(32)
KINDS = ("genesis", "charge", "seal", "policy", "version", "adopt")
LONGEST = 512

_quote = json.encoder.encode_basestring_ascii
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def canonical(record: Mapping[str, Any]) -> bytes:
    """The one spelling of a record: sorted keys, no spaces, ASCII; numbers are whole or fractions written as text."""
    return _encode(record).encode("ascii")


def canonical_charge(paid: str, analyst: str | None, key: bytes, number: int, request: str) -> bytes:
    """`canonical` of a plain charge, spelled out because a busy ledger writes little else; `paid` is its charged and cost parts."""
    name = "null" if analyst is None else _quote(analyst)
    tail = f'"format":{FORMAT},"key":"{key.hex()}","kind":"charge","number":{number},"request":{_quote(request)}'
    return f'{{"analyst":{name},{paid},{tail}}}'.encode("ascii")


def canonical_parts(**parts: Mapping[str, Any]) -> str:
    """Members of a record in canonical spelling, without the braces around them."""
    return _encode(parts)[1:-1]


def read(record: bytes) -> dict[str, Any]:
    """A record from its bytes; a format from the future is refused, not guessed at."""
    try:
        content = json.loads(record)
        known = content["format"] == FORMAT and content["kind"] in KINDS
    except (ValueError, TypeError, KeyError):
        raise LedgerError("SRD-601", "an entry of the ledger is not a record.", "Restore the ledger from a backup and adopt it.") from None
    if not known:
        raise LedgerError("SRD-604", "an entry was written by a newer Sordino.", "Upgrade Sordino to open this ledger.")
    return dict(content)


def link(before: bytes, record: bytes) -> bytes:
    """The hash of a record and, through the hash before it, of everything earlier."""
    return sha256(before + record).digest()


def digest(answer: bytes) -> str:
    """What a seal's record says about its answer, which is kept beside it."""
    return sha256(answer).hexdigest()


def as_text(value: Any, name: str) -> str:
    """A request id or an analyst's name that every store can keep."""
    if not isinstance(value, str) or not value or len(value) > LONGEST or not value.isprintable():
        raise QueryError("SRD-106", f"{name} is {value!r:.80}.", f"Give {name} as printable text of 1 to {LONGEST} characters.")
    return value


def as_key(value: Any) -> bytes:
    """A question's fingerprint."""
    if not isinstance(value, bytes) or not 1 <= len(value) <= LONGEST:
        raise QueryError("SRD-106", "the key of a question is not bytes.", "Give the question's SHA-256 digest.")
    return value
