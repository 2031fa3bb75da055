"""Where a ledger's outside things live, and how bytes are made to reach the disk.

A line beside the source file that says which ledger pays for it, so that a second, fresh ledger cannot be opened for the same data.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from sordino.errors import LedgerError
from sordino.ledger.record import canonical

__all__ = [
    "NETWORK",
    "check_marker",
    "is_network_path",
    "locked",
    "marker_paths",
    "private_directory",
    "sources_of",
    "state_directory",
    "sync",
    "sync_directory",
    "write_marker",
    "write_once",
]

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
