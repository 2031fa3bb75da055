"""The words of the book: every entry is canonical JSON bytes, and nothing but bytes is hashed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

from sordino.errors import LedgerError, QueryError
from sordino.privacy.number import shown

__all__ = [
    "FORMAT", "FORMATS", "GENESIS", "KINDS",
    "as_key", "as_text", "canonical", "canonical_charge", "canonical_parts", "digest", "genuine", "link", "now", "read", "spell",
]  # fmt: skip

FORMAT = 2  # what is written
FORMATS = (1, 2)  # what is read, for ever; one book may hold entries of both
GENESIS = bytes(32)
KINDS = ("genesis", "charge", "seal", "policy", "version", "adopt", "format")
LONGEST = 512

_quote = json.encoder.encode_basestring_ascii
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def canonical(record: Mapping[str, Any]) -> bytes:
    """The one spelling of a record: sorted keys, no spaces, ASCII; numbers are whole or fractions written as text."""
    return _encode(record).encode("ascii")


def spell(part: Any) -> str:
    """A part of a record in the same spelling."""
    return _encode(part)


def canonical_charge(paid: str, asked: tuple[str, str, str], at: str, number: int, *, analyst: str | None, request: str) -> bytes:
    """`canonical` of a plain charge, spelled out because a busy ledger writes little else.

    `paid` is its charged and cost parts, `asked` what it is for (`Asked.spelled`), each spelled once for many charges.
    """
    name = "null" if analyst is None else _quote(analyst)
    key, middle, last = asked
    head = f'"analyst":{name},"at":"{at}",{paid},"format":{FORMAT},"key":"{key}","kind":"charge",{middle}'
    return f'{{{head},"number":{number},"request":{_quote(request)},{last}}}'.encode("ascii")


def canonical_parts(**parts: Mapping[str, Any]) -> str:
    """Members of a record in canonical spelling, without the braces around them."""
    return _encode(parts)[1:-1]


def now() -> str:
    """The second in UTC, for people who read the book. Nothing is computed from it: clocks are set, jump and run backwards."""
    return _stamp(int(time.time()))


@lru_cache(maxsize=1)
def _stamp(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%SZ}"


def read(record: bytes) -> dict[str, Any]:
    """A record from its bytes; a format from the future is refused, not guessed at."""
    try:
        content = json.loads(record)
        known = content["format"] in FORMATS and content["kind"] in KINDS
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


def genuine(seal: bytes, answer: bytes) -> bytes:
    """The answer, if it is the one its seal was written for; an edited one is not handed out."""
    if not _matches(seal, answer):
        raise LedgerError("SRD-601", "a recorded answer was changed.", "Restore the ledger from a backup and adopt it.")
    return answer


@lru_cache(maxsize=4096)
def _matches(seal: bytes, answer: bytes) -> bool:
    return bool(read(seal).get("answer") == digest(answer))


def as_text(value: Any, name: str) -> str:
    """A request id or an analyst's name that every store can keep."""
    if not isinstance(value, str) or not value or len(value) > LONGEST or not value.isprintable():
        raise QueryError("SRD-106", f"{name} is {shown(value)}.", f"Give {name} as printable text of 1 to {LONGEST} characters.")
    return value


def as_key(value: Any) -> bytes:
    """A question's fingerprint."""
    if not isinstance(value, bytes) or not 1 <= len(value) <= LONGEST:
        raise QueryError("SRD-106", "the key of a question is not bytes.", "Give the question's SHA-256 digest.")
    return value
