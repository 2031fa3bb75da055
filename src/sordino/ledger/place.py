"""Where a ledger's outside things live, and how bytes are made to reach the disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["NETWORK", "is_network_path", "locked", "private_directory", "state_directory", "sync", "sync_directory", "write_once"]

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
