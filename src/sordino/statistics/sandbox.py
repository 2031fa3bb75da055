"""A stranger's function on one part of the rows, in a process of its own: limits of time and memory, and one answer or none.

A fork server is forked before a row is read. For every part it forks a child that is given this part's rows and nothing else: no file
but them, no terminal, its own session, and, where the system allows it, no network and no sight of other processes. What the child says is
as many numbers as were asked for; whatever else happens is the same silence. Children run one after another, so that none can slow
another down, and none can tell another anything through memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import resource
import select
import signal
import socket
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["NOT_STOPPED", "ForkServer"]

Floats = NDArray[np.float64]
NAMESPACES = 0x10000000 | 0x20000000 | 0x40000000 | 0x08000000  # users, processes, network, messages between processes
GRACE = 30.0  # seconds beyond the limit after which the fork server itself is given up
SHAPE = struct.Struct("<qq")
NOT_STOPPED = (
    "the function runs as the caller: a hostile one may still read files and this process's memory, make empty files, "
    "tell the time and see how busy the machine is; where the system has no namespaces for users, also use the network and signal others"
)


@dataclass(frozen=True)
class SandboxLimits:
    """Seconds and megabytes of one part, and how many numbers it may answer with."""

    seconds: float
    megabytes: int
    dimension: int


class ForkServer:
    """The process that starts the children. Open it before any row is read; `answer` one part at a time."""

    def __init__(self, function: Callable[[Floats], Any], *, seconds: float, megabytes: int, dimension: int) -> None:
        self._limits = SandboxLimits(seconds, megabytes, dimension)
        ours, theirs = socket.socketpair()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer interpreters warn of threads, and a warning is something visible
            self._child = os.fork()
        if self._child == 0:
            _serve(theirs, function, self._limits)
        theirs.close()
        ours.settimeout(seconds + GRACE)
        self._socket = ours

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._socket.close()
        with contextlib.suppress(OSError):
            os.kill(self._child, signal.SIGKILL)
            os.waitpid(self._child, 0)

    def answer(self, rows: Floats) -> Floats:
        """What the function says about these rows; not a number where it says nothing that counts."""
        silence = np.full(self._limits.dimension, np.nan)
        held = os.memfd_create("part") if hasattr(os, "memfd_create") else os.dup(tempfile.TemporaryFile().fileno())  # noqa: SIM115
        try:
            content = SHAPE.pack(*rows.shape) + np.ascontiguousarray(rows, np.float64).tobytes()
            while content:
                content = content[os.write(held, content) :]
            socket.send_fds(self._socket, [b"part"], [held])
            found = _read(self._socket, 8 * self._limits.dimension)
        except OSError:
            return silence
        finally:
            os.close(held)
        return np.frombuffer(found, np.float64) if len(found) == 8 * self._limits.dimension else silence


def _read(pipe: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size and (piece := pipe.recv(size - len(found))):
        found += piece
    return found


def _serve(theirs: socket.socket, function: Callable[[Floats], Any], limits: SandboxLimits) -> NoReturn:
    """One child after another, until nobody asks any more."""
    try:
        gc.disable()  # finalisers of the parent's objects are not ours to run
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        kept = theirs.detach()
        os.dup2(kept, 3)
        _quiet(4)
        link = socket.socket(fileno=3)
        _one_thread()
        silence = np.full(limits.dimension, np.nan).tobytes()
        while True:
            _, handed, _, _ = socket.recv_fds(link, 4, 1)
            if not handed:
                break
            said = _watched(handed[0], function, limits)
            os.close(handed[0])
            link.sendall(said if len(said) == len(silence) else silence)
    finally:
        os._exit(0)


def _quiet(first: int) -> None:
    """No terminal, and no file from this descriptor on."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for place in range(3):
        os.dup2(nothing, place)
    os.closerange(first, max(int(resource.getrlimit(resource.RLIMIT_NOFILE)[0]), 65_536) if first else 65_536)
    sys.stdin = sys.__stdin__ = open(os.devnull, encoding="utf-8")  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = open(os.devnull, "w", encoding="utf-8")  # type: ignore[misc]  # noqa: SIM115


def _watched(rows: int, function: Callable[[Floats], Any], limits: SandboxLimits) -> bytes:
    """The answer of one child, or what there was of it when its time was over."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.close(here)
            _apart()
            _part(rows, there, function, limits)
        finally:
            os._exit(0)
    os.close(there)
    until, said = time.monotonic() + limits.seconds, b""
    while len(said) < 8 * limits.dimension:
        ready, _, _ = select.select([here], [], [], max(until - time.monotonic(), 0.0))
        piece = os.read(here, 8 * limits.dimension - len(said)) if ready else b""
        if not piece:
            break
        said += piece
    os.close(here)
    for end in (os.killpg, os.kill):
        with contextlib.suppress(OSError):
            end(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return said


def _apart() -> None:
    """Where the system allows it: a world without network and other processes, whose first process takes all others with it."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "unshare") or libc.unshare(NAMESPACES):
        return
    inner = os.fork()
    if inner:
        os.waitpid(inner, 0)
        os._exit(0)
    libc.prctl(1, signal.SIGKILL)  # dies with the one that waits for it


def _part(rows: int, there: int, function: Callable[[Floats], Any], limits: SandboxLimits) -> None:
    """Read the rows, give up everything else, run the function, say its numbers."""
    size = os.fstat(rows).st_size
    content = os.pread(rows, size, 0)
    while len(content) < size:
        content += os.pread(rows, size - len(content), len(content))
    height, width = SHAPE.unpack_from(content)
    table = np.frombuffer(content, np.float64, offset=SHAPE.size).reshape(height, width)
    os.dup2(there, 3)
    _quiet(4)
    used = _address_space()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(limits.seconds) + 1, int(limits.seconds) + 1))
    if used:
        most = used + limits.megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        found = np.asarray(function(table), float).ravel()
    if len(found) == limits.dimension:
        os.write(3, found.astype(np.float64).tobytes())


def _address_space() -> int:
    """Bytes of address space in use, most of it the parent's; 0 where the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _one_thread() -> None:
    """Threads of numerical libraries do not survive a fork."""
    with contextlib.suppress(ImportError):
        importlib.import_module("threadpoolctl").threadpool_limits(1)
