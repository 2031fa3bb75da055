"""Several processes behind one address: whichever has fewest callers takes the next one, so that none is busy while another waits.

The kernel deals callers out by chance: of 32 callers who stay, one of two processes gets 20 or more every fifth time.
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn

from sordino.errors import SordinoError

__all__ = ["EvenServer", "serve_alone", "serve_shared"]

AGAIN = 10  # times a process may be started anew
REFUSED = 5  # what a process says that cannot serve these files
NOBODY = 2**31 - 1  # callers of a process that does not listen
PATIENCE, MOST, LOOK = 0.02, 0.2, 0.002  # seconds a process waits for each caller it has more than another, at most, and between looks


def _settings(app: Any, tls: dict[str, Any]) -> uvicorn.Config:
    sys.setswitchinterval(0.001)  # releases compute in threads, and whoever asks for a price list should not wait for theirs
    # the access log would hold whole plans, and the header names the software: neither leaves
    return uvicorn.Config(app, access_log=False, log_level="warning", server_header=False, limit_concurrency=512, **tls)


def serve_alone(app: Any, listener: socket.socket, tls: dict[str, Any]) -> None:
    """One process that answers everybody."""
    uvicorn.Server(_settings(app, tls)).run([listener])


class EvenServer(uvicorn.Server):
    """A server that takes its callers itself, out of a queue it shares, and leaves the next one to whoever has fewer for a moment."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, callers: memoryview, place: int) -> None:
        super().__init__(config)
        self._listener, self._callers, self._place = listener, callers, place
        self._arriving: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        self._listener.setblocking(False)
        self._callers[self._place] = 0
        asyncio.get_running_loop().add_reader(self._listener, self._ready)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._callers[self._place] = NOBODY
        asyncio.get_running_loop().remove_reader(self._listener)
        await super().shutdown(sockets=[])

    async def on_tick(self, counter: int) -> bool:
        self._count()
        return await super().on_tick(counter)

    def _count(self) -> int:
        mine = len(self.server_state.connections) + len(self._arriving)
        if self._callers[self._place] != NOBODY:
            self._callers[self._place] = mine
        return mine

    def _ready(self) -> None:
        """Somebody waits. Who has more callers than another process looks away, longer the more they are, and then takes what is left."""
        more = self._count() - min(self._callers)
        if more <= 0:
            self._take()
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listener)
        self._look(loop, loop.time() + min(MOST, PATIENCE * more))

    def _look(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        """Callers leave meanwhile, here and elsewhere, so it is looked again and again who has fewer."""
        if self._callers[self._place] == NOBODY:  # it is stopping
            return
        if self._count() > min(self._callers) and loop.time() < until:
            loop.call_later(LOOK, self._look, loop, until)
            return
        self._take()
        loop.add_reader(self._listener, self._ready)

    def _take(self) -> None:
        try:
            caller, _ = self._listener.accept()
        except OSError:  # another process was quicker, or the caller has left
            return
        arriving = asyncio.get_running_loop().create_task(self._greet(caller))
        self._arriving.add(arriving)
        arriving.add_done_callback(self._arriving.discard)
        self._count()

    async def _greet(self, caller: socket.socket) -> None:
        config: Any = self.config
        caller.setblocking(False)
        made = {"config": config, "server_state": self.server_state, "app_state": self.lifespan.state}
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(lambda: config.http_protocol_class(**made), caller, ssl=config.ssl)


def serve_shared(made: Callable[[], Any], listener: socket.socket, workers: int, tls: dict[str, Any], note: Callable[[str], None]) -> None:
    """So many processes. Each opens its datasets after the fork; one that dies is started again, a few times, in its place."""
    callers = memoryview(mmap.mmap(-1, 4 * workers)).cast("i")

    def begin(place: int) -> int:
        callers[place] = NOBODY
        child = os.fork()
        if child:
            return child
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        code = 1
        try:
            EvenServer(_settings(made(), tls), listener, callers, place).run()
            code = 0
        except SordinoError as error:
            note(str(error))
            code = REFUSED
        finally:
            os._exit(code)

    running = {begin(place): place for place in range(workers)}
    stopping = False

    def stop(*_: Any) -> None:
        nonlocal stopping
        stopping = True
        for child in list(running):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    again = AGAIN * workers
    while running:
        try:
            gone, status = os.wait()
        except ChildProcessError:
            return
        place = running.pop(gone, None)
        if os.waitstatus_to_exitcode(status) == REFUSED:
            stop()
        elif place is not None and not stopping and again:
            again -= 1
            note(f"process {gone} ended; starting another")
            running[begin(place)] = place
