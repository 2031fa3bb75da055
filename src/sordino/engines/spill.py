"""The private folder a database may spill rows into: nobody else may look, and nothing is left behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

__all__ = ["Spill"]


class Spill:
    """A 0700 folder that lives as long as its owner holds the lock beside it; folders of the dead are deleted when the next one is made."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = _private(root or Path(tempfile.gettempdir()) / f"sordino-{os.getuid()}")
        for left in self.root.glob("spill-*.lock"):
            _delete(left)
        while (lock := _born(self.root)) is None:
            pass
        self._descriptor, self._lock = lock
        self._owner = os.getpid()
        self.folder = self._lock.with_suffix("")
        self.folder.mkdir(mode=0o700)

    def close(self) -> None:
        """Delete the folder. A forked child only lets go: the rows belong to its parent."""
        if self._descriptor < 0:
            return
        if os.getpid() == self._owner:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._lock.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1


def _hold(lock: Path) -> int | None:
    """An open lock that is ours and still in its place, or None if somebody alive holds it."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == lock.stat().st_ino:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _born(root: Path) -> tuple[int, Path] | None:
    """A new lock; None if a neighbour's sweep took it between its making and its locking."""
    made, name = tempfile.mkstemp(prefix="spill-", suffix=".lock", dir=root)
    os.close(made)
    held = _hold(Path(name))
    return None if held is None else (held, Path(name))


def _delete(lock: Path) -> None:
    held = _hold(lock)
    if held is not None:
        shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
        lock.unlink(missing_ok=True)
        os.close(held)


def _private(root: Path) -> Path:
    """The root if only we can enter it; if a stranger made it first, a fresh folder of our own."""
    with contextlib.suppress(FileExistsError):
        root.mkdir(mode=0o700, parents=True)
    found = root.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
        root.chmod(0o700)
        return root
    return Path(tempfile.mkdtemp(prefix="sordino-"))
