"""Several processes behind one address: callers who stay are dealt out evenly, and a process that stops takes nobody."""

from __future__ import annotations

import asyncio
import mmap
import socket

import uvicorn

from sordino.server.processes import NOBODY, EvenServer


async def hello(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


def listening():
    made = socket.socket()
    made.bind(("127.0.0.1", 0))
    made.listen(64)
    return made, made.getsockname()[1]


async def call(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    return writer


def servers(listener, number):
    callers = memoryview(mmap.mmap(-1, 4 * number)).cast("i")
    for place in range(number):
        callers[place] = NOBODY
    made = [EvenServer(uvicorn.Config(hello, log_level="warning", lifespan="on"), listener, callers, place) for place in range(number)]
    return made, callers


async def begun(server):
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    await server.startup()


def test_callers_who_stay_are_dealt_out_evenly_and_nobody_is_sent_to_a_process_that_stops():
    async def main():
        listener, port = listening()
        (one, two), callers = servers(listener, 2)
        await begun(one)
        alone = [await call(port) for _ in range(3)]
        assert list(callers) == [3, NOBODY], "who is alone takes everybody, at once"
        again = listener.dup()  # a process of its own has a descriptor of its own
        two._listener = again
        await begun(two)
        more = await asyncio.gather(*(call(port) for _ in range(9)))
        assert sorted(callers) == [6, 6]
        for writer in alone:
            writer.close()
        await asyncio.sleep(0.05)
        one._count()  # as its tick does ten times a second
        more += await asyncio.gather(*(call(port) for _ in range(3)))
        assert abs(one._count() - two._count()) <= 1
        two.force_exit = True
        await two.shutdown()
        assert callers[1] == NOBODY
        before = one._count()
        last = [await call(port) for _ in range(2)]
        assert one._count() >= before + 2
        for writer in (*more, *last):
            writer.close()
        one.force_exit = True
        await one.shutdown()
        listener.close()
        again.close()

    asyncio.run(main())


def test_a_process_with_more_callers_takes_one_that_nobody_else_takes():
    async def main():
        listener, port = listening()
        (server,), _ = servers(listener, 1)
        server._callers = [0, -5]  # as if another process had fewer and were stuck
        await begun(server)
        writer = await asyncio.wait_for(call(port), 5)
        writer.close()
        server.force_exit = True
        await server.shutdown()
        listener.close()

    asyncio.run(main())
