"""What a charge is for, in words that outlive the code that asked: the question's key, its members, its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from sordino.errors import QueryError
from sordino.ledger.record import as_key, spell
from sordino.privacy.relation import PrivacyUnit

__all__ = ["Asked", "Limits", "as_asked", "same_request"]


class Limits(NamedTuple):
    """How much of one person counted: rows in all, groups, rows in one group."""

    max_rows: int
    max_groups: int
    max_rows_per_group: int

    @classmethod
    def of(cls, unit: PrivacyUnit) -> Limits:
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
    limits: Limits | None = None
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
        limits, wish = record.get("limits"), record.get("wish")
        members = tuple(cls.from_dict(member) for member in record.get("members", ()) if "key" in member)
        known = None if limits is None else Limits(**limits)
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
