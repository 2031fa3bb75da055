"""Entries as later callers read them; the chain of hashes that shows a changed, dropped or reordered one; the replay of the sums."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from sordino.errors import LedgerError, SordinoError
from sordino.ledger.balance import LedgerTally
from sordino.ledger.budget import Price, Terms
from sordino.ledger.port import Entry, Found, Head, StoredRow
from sordino.ledger.record import GENESIS, Asked, canonical, damaged, decoding, digest, entry_id, genuine, link, read
from sordino.privacy.cost import Cost

__all__ = [
    "START",
    "Check",
    "check_chain",
    "entry_of",
    "export_rows",
    "filed",
    "known_entry",
    "read_entries",
    "summed",
    "verify_export",
]


@dataclass(frozen=True)
class Check:
    """What a verification found: true when every link holds and the sums agree, else the first fault and where it is."""

    ok: bool
    count: int
    head: str
    fault: str | None = None
    at: int | None = None
    newer: bool = False  # not broken: written by software that knows more

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.ok:
            return f"{self.count} entries, chain whole, head {self.head[:16]}"
        return f"{'unreadable from' if self.newer else 'broken at'} entry {self.at}: {self.fault}"


class _Fault(Exception):
    pass


def check_chain(rows: Iterable[StoredRow], head: Head | None, *, answers: bool = True) -> Check:
    """Walk the chain from its first entry: bytes, hashes, numbers, seals and sums.

    Theorem. If the walk succeeds and ends in the head an outside witness saw, the entries are those the witness saw.
    Proof. Each hash covers the hash before it and the exact bytes of its record; two different lists of records with one head
    would be a collision of SHA-256. Answers are bound through their digest in the seal's record. QED
    """
    before, count, tally, files = GENESIS, 0, LedgerTally(), _Files(set(), {})
    try:
        for row in rows:
            record = read(row.record)
            _spelled(row, record, count)
            files.check(row, record, answers)
            before = link(before, row.record)
            if before != row.hash:
                raise _Fault("the hash does not match")
            if count == 0:
                Terms.from_record(record)
                tally = LedgerTally.of(record)
            else:
                tally.apply(record)
            count += 1
        if head is None or (head.count, head.hash) != (count, before):
            raise _Fault("the head does not match the last entry")
        if head.state != tally.to_text():
            raise _Fault("the sums kept beside the chain are not those of its entries")
    except _Fault as fault:
        return Check(False, count, before.hex(), str(fault), count)
    except LedgerError as error:
        newer = error.code == "SRD-604"
        said = "it was written by a newer Sordino" if newer else "the entry cannot be read"
        return Check(False, count, before.hex(), said, count, newer)
    except (SordinoError, KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError):
        return Check(False, count, before.hex(), "the entry cannot be read", count)
    return Check(True, count, before.hex())


def _spelled(row: StoredRow, record: dict[str, Any], count: int) -> None:
    if row.number != count:
        raise _Fault("an entry is missing or out of order")
    if canonical(record) != row.record or record["number"] != count or (record["kind"] == "genesis") != (count == 0):
        raise _Fault("the record is not in its one spelling")


class _Files(NamedTuple):
    """What was asked, and where the store says the seal of each open charge is."""

    requests: set[str]
    unsealed: dict[int, int | None]

    def check(self, row: StoredRow, record: dict[str, Any], answers: bool) -> None:
        if record["kind"] == "charge":
            if record["request"] in self.requests or (row.request, row.key) != (record["request"], bytes.fromhex(record["key"])):
                raise _Fault("a request appears twice or is filed under another name")
            self.requests.add(record["request"])
            self.unsealed[row.number] = row.sealed
        elif record["kind"] == "seal":
            if self.unsealed.pop(record["charge"], None) != row.number:
                raise _Fault("a seal without an open charge, or filed under another one")
            if answers and (row.answer is None or digest(row.answer) != record["answer"]):
                raise _Fault("a recorded answer was changed")


START = Head(0, GENESIS, "")  # before the first entry


def summed(walked: Head, rows: Iterable[StoredRow], head: Head) -> Head:
    """Walk on to this head over the entries behind the last one walked; refused unless they lead there and add up to the sums beside it.

    The head is in no hash, so its sums alone prove nothing: one that is not reached, or says another sum, was edited.
    """
    if walked == head:
        return head
    tally = LedgerTally.from_text(walked.state) if walked.count else LedgerTally()
    count, last = walked.count, walked.hash
    for row, record in _linked(rows, walked, head):
        with decoding(f"entry {row.number}"):
            tally = LedgerTally.of(record) if row.number == 0 else tally
            tally.apply(record)
        count, last = row.number + 1, row.hash
    if (count, last, tally.to_text()) != (head.count, head.hash, head.state):
        raise damaged("the sums kept beside the chain are not those of its entries.")
    return head


def _linked(rows: Iterable[StoredRow], walked: Head, head: Head) -> Iterator[tuple[StoredRow, dict[str, Any]]]:
    """The entries up to a head that follow on those walked, and what they say; refused where the hashes do not lead on."""
    count, last = walked.count, walked.hash
    for row in rows if count != head.count else ():
        if count == head.count:  # what was written since
            break
        with decoding(f"entry {count}"):
            last = link(last, row.record)
        if (row.number, row.hash) != (count, last):
            raise damaged(f"the ledger is broken at entry {count}.", at=count)
        yield row, read(row.record)
        count += 1


def read_entries(rows: Iterable[StoredRow], head: Head, ledger: str) -> list[Entry]:
    """Every charge and write-off in order, with its answer if one is recorded; refused unless the rows lead to the head."""
    kept, seals, last = [], {}, (START.count, START.hash)
    for row, record in _linked(rows, START, head):
        if record["kind"] in ("charge", "adopt"):
            kept.append(record)
        elif record["kind"] == "seal":
            seals[record["charge"]] = genuine(row.record, row.answer, record["charge"])
        last = row.number + 1, row.hash
    if last != (head.count, head.hash):
        raise damaged("the head does not match the last entry.")
    return [entry_of(ledger, record, record["number"] in seals, seals.get(record["number"])) for record in kept]


def filed(known: Found, *, request: str | None = None, key: bytes | None = None) -> Found:
    """An earlier charge, if its record says that it is filed under this name, and the answer it has is its own."""
    said = read(known.record)
    names = known.number, request if request is not None else said.get("request"), key.hex() if key is not None else said.get("key")
    if said["kind"] != "charge" or (said.get("number"), said.get("request"), said.get("key")) != names:
        raise damaged(f"entry {known.number} is filed under another name.", at=known.number)
    if known.sealed is not None:
        genuine(known.seal, known.answer, known.number)
    return known


def known_entry(ledger: str, request: str, known: Found) -> Entry:
    """An earlier charge under this request, with the answer it has by now."""
    found = filed(known, request=request)
    return entry_of(ledger, read(found.record), found.sealed is not None, found.answer)


def entry_of(ledger: str, record: Mapping[str, Any], sealed: bool, answer: bytes | None) -> Entry:
    """An entry as a later caller sees it."""
    with decoding("an entry of the ledger"):
        return _entry(ledger, record, sealed, answer)


def _entry(ledger: str, record: Mapping[str, Any], sealed: bool, answer: bytes | None) -> Entry:
    charged = Price(*(Fraction(record["charged"][name]) for name in ("loss", "delta")))
    if record["kind"] == "adopt":
        number, format = record["number"], record["format"]
        return Entry(entry_id(ledger, number), number, "sealed", "adopt", b"", None, None, charged=charged, format=format)
    asked = Asked.from_dict(record)
    return Entry(
        entry_id(ledger, record["number"]), record["number"], "sealed" if sealed else "open", record["request"],
        asked.key, Cost.from_dict(record["cost"]), record["analyst"], answer,
        tuple(Cost.from_dict(member.get("cost", member)) for member in _paid(record)), charged,
        None, asked, record.get("at"), record["format"],
    )  # fmt: skip


def _paid(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The members of a batch, which have costs of their own; those of a bundle are paid for together."""
    return [member for member in record.get("members", ()) if "cost" in member or "family" in member]


def export_rows(rows: Iterable[StoredRow]) -> Iterator[str]:
    """The book as JSON lines, one entry each, with its hash and the answer in base64."""
    for row in rows:
        answer = None if row.answer is None else b64encode(row.answer).decode("ascii")
        yield canonical({"answer": answer, "hash": row.hash.hex(), "record": json.loads(row.record)}).decode("ascii") + "\n"


def verify_export(text: str) -> Check:
    """Check an exported book without the ledger it came from; compare `.head` with what the owner's witness says."""
    rows: list[StoredRow] = []
    tally, last = LedgerTally(), GENESIS
    try:
        for number, line in enumerate(text.splitlines()):
            item = json.loads(line)
            record = item["record"]
            answer = None if item["answer"] is None else b64decode(item["answer"])
            filed = (record["request"], bytes.fromhex(record["key"])) if record["kind"] == "charge" else (None, None)
            last = bytes.fromhex(item["hash"])
            rows.append(StoredRow(number, last, canonical(record), answer, *filed))
            if record["kind"] == "seal":
                rows[record["charge"]] = rows[record["charge"]]._replace(sealed=number)
            tally = LedgerTally.of(record) if number == 0 else tally
            tally.apply(record)
    except (LookupError, TypeError, ValueError, ZeroDivisionError):
        return Check(False, len(rows), last.hex(), "the line cannot be read", len(rows))
    return check_chain(rows, Head(len(rows), last, tally.to_text()))
