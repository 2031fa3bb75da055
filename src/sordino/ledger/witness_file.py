"""A small file outside the ledger that remembers how far the ledger had come, so that an older copy cannot pass for it.

It is written after the ledger's commit and before the charge returns, so before any data are read. A crash in between leaves the
ledger ahead of its witness, which is harmless: nobody has looked at data for the entries the witness missed, and they are spent
anyway. A ledger *behind* its witness can only be an older copy.

Two slots are written in turn, each with its own checksum: a write torn by a power cut spoils the slot that was being written, and the
other still holds the sighting before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from errno import ENOSPC
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from sordino.errors import LedgerError
from sordino.ledger.budget import Price
from sordino.ledger.place import locked, private_directory, sync, sync_directory
from sordino.ledger.port import Head
from sordino.ledger.record import canonical

__all__ = ["Sighting", "WitnessFile", "orphan_at"]

SLOT = 4096
FIX = "Put the newest ledger back, or let the owner adopt this one, which writes the difference off."


@dataclass(frozen=True)
class Sighting:
    """What the witness last saw: which ledger, where, how many entries, the chain's head and what was spent by then."""

    ledger: str
    place: str
    count: int
    head: bytes
    spent: Price
    naive: Fraction

    def to_slot(self) -> bytes:
        body = canonical({
            "count": self.count, "format": 1, "head": self.head.hex(), "ledger": self.ledger, "naive": str(self.naive),
            "place": self.place, "spent": self.spent.to_dict(),
        })  # fmt: skip
        return (body + b" " + sha256(body).hexdigest().encode()).ljust(SLOT - 1) + b"\n"

    @classmethod
    def from_slot(cls, slot: bytes) -> Sighting | None:
        body, _, check = slot.strip().rpartition(b" ")
        if sha256(body).hexdigest().encode() != check:
            return None
        seen = json.loads(body)
        spent = Price(Fraction(seen["spent"]["loss"]), Fraction(seen["spent"]["delta"]))
        return cls(seen["ledger"], seen["place"], seen["count"], bytes.fromhex(seen["head"]), spent, Fraction(seen["naive"]))


def _latest(content: bytes) -> tuple[Sighting | None, int]:
    """The newest whole sighting and the slot it is in."""
    best, where = None, 1
    for slot in (0, 1):
        seen = Sighting.from_slot(content[slot * SLOT : (slot + 1) * SLOT])
        if seen is not None and (best is None or seen.count > best.count):
            best, where = seen, slot
    return best, where


class WitnessFile:
    """The witness of one ledger, in the state directory or wherever the owner keeps it."""

    def __init__(self, path: Path, ledger: str, place: str) -> None:
        self.path, self.ledger = path, ledger
        # a slot has room for any path people use; a longer one is remembered by its hash
        self.place = place if len(canonical({"": place})) < 2048 else "sha256:" + sha256(place.encode()).hexdigest()
        self._known: tuple[bytes, tuple[Sighting | None, int]] = (b"", (None, 1))

    def _latest(self, content: bytes) -> tuple[Sighting | None, int]:
        if content != self._known[0]:  # usually nobody else wrote, and reading it again teaches nothing
            self._known = (content, _latest(content))
        return self._known[1]

    def look(self) -> Sighting | None:
        """The latest sighting, or None when there is no file; a file that cannot be read counts as missing, loudly."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError("SRD-602", f"the witness cannot be read ({error.strerror}).", f"Make {self.path.name} readable.") from error
        seen, _ = self._latest(content)
        if seen is None and content:
            raise LedgerError("SRD-602", "the witness is damaged.", FIX)
        return seen

    def check(self, head: Head, hash_at: Callable[[int], bytes | None]) -> None:
        """Refuse a ledger that is not the one last seen, or is behind it."""
        try:
            seen = self.look()
        except LedgerError:
            if head.count > 1:
                raise
            seen = None  # the power failed while the witness of a new ledger was being made; nothing was spent yet
        if seen is None:
            if head.count > 1:
                raise LedgerError("SRD-602", "the ledger has entries and its witness is missing.", FIX, count=head.count)
            return
        if seen.ledger != self.ledger:
            raise LedgerError("SRD-602", "the witness belongs to another ledger.", FIX, ledger=seen.ledger)
        if seen.place != self.place:
            raise LedgerError("SRD-602", f"the ledger was last seen at {seen.place}.", FIX, place=seen.place)
        if seen.count > head.count:
            raise LedgerError(
                "SRD-602", f"the ledger has {head.count} entries and its witness saw {seen.count}.", FIX, count=head.count, seen=seen.count
            )
        if (head.hash if seen.count == head.count else hash_at(seen.count - 1)) != seen.head:
            raise LedgerError("SRD-602", "the ledger's history is not the one its witness saw.", FIX, count=head.count, seen=seen.count)

    def write(self, sighting: Sighting, *, anew: bool = False) -> None:
        """Remember this sighting durably unless a later one is there already; `anew` is the owner's adoption and always writes.

        A later one that is being synced by another process holds the lock, so returning without writing still means durable.
        """
        fresh = not self.path.exists()
        if fresh:
            private_directory(self.path.parent)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            with locked(descriptor):
                known = b"" if anew else os.read(descriptor, 2 * SLOT)
                seen, slot = self._latest(known)
                if anew:
                    os.ftruncate(descriptor, 0)
                elif seen is not None and seen.count >= sighting.count:
                    return
                content = sighting.to_slot()
                if len(known) < 2 * SLOT:  # take the room for both slots at once, so that a disk that fills up later cannot refuse one
                    slot, known, content = 1, b"", 2 * content
                offset = (1 - slot) * SLOT
                os.lseek(descriptor, offset, os.SEEK_SET)
                if os.write(descriptor, content) != len(content):
                    raise OSError(ENOSPC, "short write")
                sync(descriptor)
                self._known = (known[:offset] + content + known[offset + len(content) :], (sighting, 1 - slot))
        finally:
            os.close(descriptor)
        if fresh:
            sync_directory(self.path.parent)


def orphan_at(folder: Path, place: str) -> Path | None:
    """A witness of a ledger that was last seen at this place: its presence means a ledger was taken away from there."""
    for path in sorted(folder.glob("*.witness")):
        try:
            seen, _ = _latest(path.read_bytes())
        except OSError:
            continue
        if seen is not None and seen.place == place and seen.count > 1:
            return path
    return None
