"""Where a ledger's outside things live, and how bytes are made to reach the disk.

A line beside the source file that says which ledger pays for it, so that a second, fresh ledger cannot be opened for the same data.

A small file outside the ledger that remembers how far the ledger had come, so that an older copy cannot pass for it.

It is written after the ledger's commit and before the charge returns, so before any data are read. A crash in between leaves the
ledger ahead of its witness, which is harmless: nobody has looked at data for the entries the witness missed, and they are spent
anyway. A ledger *behind* its witness can only be an older copy.

Two slots are written in turn, each with its own checksum: a write torn by a power cut spoils the slot that was being written, and the
other still holds the sighting before.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import ENOSPC
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from sordino.errors import LedgerError
from sordino.ledger.budget import Price
from sordino.ledger.port import Head
from sordino.ledger.record import canonical

__all__ = [
    "NETWORK", "Sighting", "WitnessFile", "check_marker", "is_network_path", "locked", "marker_paths", "orphan_at", "private_directory",
    "sources_of", "state_directory", "sync", "sync_directory", "write_marker", "write_once",
]  # fmt: skip

NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse.ceph", "fuse.gcsfuse", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs",
    "fuse.sshfs", "gfs", "gfs2", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb3", "smbfs", "sshfs",
    "vboxsf", "virtiofs",
}  # fmt: skip


def state_directory(state: str | os.PathLike[str] | None = None) -> Path:
    """The folder for witnesses and markers: the one given, `$SORDINO_STATE`, or the platform's own."""
    chosen = state or os.environ.get("SORDINO_STATE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "sordino"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "sordino"


def private_directory(path: Path) -> Path:
    """This folder, made if need be, readable by its owner only."""
    for folder in (path.parent, path):  # mkdir applies its mode to the last folder only
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return path


def sync(descriptor: int) -> None:
    """Wait until the disk has it; on macOS plain fsync stops at the drive's cache, so ask for the full one."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    elif sys.platform == "win32":
        os.fsync(descriptor)
    else:
        os.fdatasync(descriptor)  # the content and whatever is needed to find it again; a timestamp may be lost


def sync_directory(path: Path) -> None:
    """Make a new name in this folder survive a power cut."""
    if sys.platform == "win32":
        return  # a folder cannot be synced there, and the file system orders its names itself
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Hold the advisory lock of an open file; the kernel drops it if we die. On Windows one process at a time is the rule."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def write_once(path: Path, content: bytes) -> bool:
    """Create a file with this content, durably and whole; False if somebody else created it first."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        os.write(descriptor, content)
        sync(descriptor)
    finally:
        os.close(descriptor)
    try:
        os.link(draft, path)  # link, unlike rename, never replaces what is there
    except FileExistsError:
        return False
    finally:
        os.unlink(draft)
    sync_directory(path.parent)
    return True


def is_network_path(path: str | os.PathLike[str], *, mounts: str | os.PathLike[str] = "/proc/mounts") -> bool:
    """Whether this path lies on a network file system, where locks and fsync do not mean what a ledger needs them to mean."""
    real = os.path.realpath(path)
    best, kind = "", ""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    for line in lines:
        fields = line.split()
        if len(fields) < 3:
            continue
        point = fields[1].encode("latin-1", "replace").decode("unicode_escape") if "\\" in fields[1] else fields[1]
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # the last mount on a point hides the earlier ones
            best, kind = point, fields[2]
    return kind in NETWORK


Source = str | os.PathLike[str]


def sources_of(source: Source | Iterable[Source] | None) -> list[Source]:
    if source is None:
        return []
    return [source] if isinstance(source, str | os.PathLike) else list(source)


def marker_paths(source: Source, state: Source | None = None) -> tuple[Path | None, Path]:
    """Beside the source (None when it is not a file or folder), and in the state directory for sources nobody may write beside.

    Symbolic links are followed first: the budget belongs to the data, not to the name they were reached by.
    """
    text = os.fspath(source)
    real = os.path.realpath(text)
    exists = os.path.exists(real)
    name = sha256((real if exists else text).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    beside = Path(real).with_name(f".{Path(real).name}.sordino") if exists else None
    return beside, state_directory(state) / "marker" / f"{name}.sordino"


def _owner(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_bytes())["ledger"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise LedgerError("SRD-604", f"the marker {path.name} cannot be read.", "Restore it, or let the owner remove it.") from None


def check_marker(source: Source, ledger: str | None, state: Source | None = None) -> bool:
    """Whether the source is marked for this ledger; another ledger, or a new one (None) for marked data, is refused."""
    marked = False
    for path in marker_paths(source, state):
        owner = None if path is None else _owner(path)
        if owner is None:
            continue
        marked = True
        if owner != ledger:
            raise LedgerError(
                "SRD-604", f"the data of {Path(os.fspath(source)).name} are paid for by another ledger ({owner[:8]}).",
                "Open that ledger; a new one would give the same data a second budget.", owner=owner,
            )  # fmt: skip
    return marked


def write_marker(source: Source, ledger: str, dataset: str, state: Source | None = None) -> None:
    """Mark the source for this ledger, beside it or, where that cannot be written, in the state directory."""
    if check_marker(source, ledger, state):
        return
    content = canonical({"dataset": dataset, "format": 1, "ledger": ledger}) + b"\n"
    beside, inside = marker_paths(source, state)
    try:
        written = beside is not None and (write_once(beside, content) or True)
    except OSError:
        written = False
    if not written:
        try:
            private_directory(inside.parent)
            write_once(inside, content)
        except OSError as error:
            raise LedgerError("SRD-603", f"the source cannot be marked ({error.strerror}).", "Make the state folder writable.") from error
    check_marker(source, ledger, state)  # somebody else may have marked it first


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
