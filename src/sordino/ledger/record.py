"""The words of the book: every entry is canonical JSON bytes, and nothing but bytes is hashed.

What a charge is for, in words that outlive the code that asked: the question's key, its members, its limits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from sordino.errors import LedgerError, QueryError
from sordino.privacy.number import shown
from sordino.privacy.relation import PrivacyUnit

__all__ = [
    "FORMAT",
    "FORMATS",
    "GENESIS",
    "KINDS",
    "Asked",
    "AskedLimits",
    "as_asked",
    "as_key",
    "as_text",
    "canonical",
    "canonical_charge",
    "canonical_parts",
    "damaged",
    "decoding",
    "digest",
    "entry_id",
    "genuine",
    "link",
    "now",
    "read",
    "same_request",
    "spell",
]

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


def damaged(what: str, **facts: Any) -> LedgerError:
    """The book is not what was written into it."""
    return LedgerError("SRD-601", what, "Restore the ledger from a backup and adopt it.", **facts)


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Around what turns kept bytes into values, and nothing else: where they do not decode they were damaged, whatever decoders call it."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError):
        raise damaged(f"{what} cannot be read.") from None


def read(record: bytes) -> dict[str, Any]:
    """A record from its bytes; a format from the future is refused, not guessed at."""
    with decoding("an entry of the ledger"):
        content = json.loads(record)
        known = content["format"] in FORMATS and content["kind"] in KINDS
    if not known:
        raise LedgerError("SRD-604", "an entry was written by a newer Sordino.", "Upgrade Sordino to open this ledger.")
    return dict(content)


def link(before: bytes, record: bytes) -> bytes:
    """The hash of a record and, through the hash before it, of everything earlier."""
    return sha256(before + record).digest()


def digest(answer: bytes) -> str:
    """What a seal's record says about its answer, which is kept beside it."""
    return sha256(answer).hexdigest()


def genuine(seal: bytes | None, answer: bytes | None, charge: int) -> bytes:
    """The answer, if it is the one this charge's seal was written for; an edited one is not handed out, nor that of another charge."""
    if not (isinstance(seal, bytes) and isinstance(answer, bytes) and _matches(seal, answer, charge)):
        raise damaged("a recorded answer was changed.")
    return answer


@lru_cache(maxsize=4096)
def _matches(seal: bytes, answer: bytes, charge: int) -> bool:
    said = read(seal)
    return (said.get("kind"), said.get("charge"), said.get("answer")) == ("seal", charge, digest(answer))


def entry_id(ledger: str, number: int) -> str:
    return f"{ledger[:8]}-{number}"


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


class AskedLimits(NamedTuple):
    """How much of one person counted: rows in all, groups, rows in one group."""

    max_rows: int
    max_groups: int
    max_rows_per_group: int

    @classmethod
    def of(cls, unit: PrivacyUnit) -> AskedLimits:
        return cls(unit.max_rows, unit.max_groups, unit.rows_per_group)


@dataclass(frozen=True)
class Asked:
    """A question as the book knows it. `key` has no labels in it: an alias is how an answer is shown, not what was asked.

    `members` are the single questions of a bundle, or the questions of a batch; `text` the declared lengths of text columns; `wish`
    the price in the caller's own words, by which a repeated request is told from another one although prices may change. `older` is
    the key the same question had in format 1, `point` that of the same question with a single draw for each quantile, which was its
    default once: they are never written, and find what was recorded under them.
    """

    key: bytes
    members: tuple[Asked, ...] = ()
    limits: AskedLimits | None = None
    text: Mapping[str, int] = field(default_factory=dict, hash=False)
    wish: Mapping[str, str] | None = field(default=None, hash=False)
    older: bytes | None = field(default=None, compare=False, repr=False)
    point: bytes | None = field(default=None, compare=False, repr=False)

    @cached_property
    def spelled(self) -> tuple[str, str, str]:
        """The parts of a charge's record in canonical spelling: its key, what is sorted behind its kind, what is sorted last."""
        members = ",".join(spell(member.to_member()) for member in self.members)
        return self.key.hex(), f'"limits":{self._limits},"members":[{members}]', self._last

    @property
    def _limits(self) -> str:
        return "null" if self.limits is None else spell(self.limits._asdict())

    @property
    def _last(self) -> str:
        return f'"text":{spell(self.text) if self.text else "{}"},"wish":{"null" if self.wish is None else spell(self.wish)}'

    def to_dict(self) -> dict[str, Any]:
        """The members of a charge's record that say what it is for."""
        limits = None if self.limits is None else self.limits._asdict()
        said = {"key": self.key.hex(), "limits": limits, "members": [member.to_member() for member in self.members]}
        return {**said, "text": dict(self.text), "wish": None if self.wish is None else dict(self.wish)}

    def to_member(self) -> dict[str, Any]:
        """The same inside another question: only what differs from nothing."""
        said = self.to_dict()
        return {name: value for name, value in said.items() if value}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Asked:
        """From a charge's record of any format, or from a member of one. Members of a batch in format 1 have a cost and no key."""
        with decoding("what a charge is for"):
            limits, wish = record.get("limits"), record.get("wish")
            members = tuple(cls.from_dict(member) for member in record.get("members", ()) if "key" in member)
            known = None if limits is None else AskedLimits(**limits)
            return cls(bytes.fromhex(record["key"]), members, known, record.get("text", {}), wish)


def same_request(asked: Asked, key: bytes, format: int, known: Mapping[str, str] | None) -> bool | None:
    """Whether a request repeats one recorded with this key and wish, by the words of the record's format; None where the price decides.

    A request that says nothing about intervals once got a single draw: its record has the key of the point, and no word about it in its
    wish, where a request for a point says so today.
    """
    if format == 1:
        return key == (asked.older or asked.key)
    if key != asked.key:
        return asked.point == key and known is not None and known == asked.wish
    if known is None or asked.wish is None:
        return None
    plain = [{word: said for word, said in wish.items() if word != "interval"} for wish in (known, asked.wish)]
    return plain[0] == plain[1]


def as_asked(value: Asked | bytes) -> Asked:
    """What the caller gives: everything, or just the key of a question."""
    if not isinstance(value, Asked):
        return Asked(as_key(value))
    as_key(value.key)
    try:
        _ = value.spelled  # here, where it fails one caller, and not inside a transaction of many
    except (TypeError, ValueError, AttributeError):
        raise QueryError("SRD-106", "this question cannot be written down.", "Give Asked(key, members, Limits(...), text).") from None
    return value
