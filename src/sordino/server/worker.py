"""Threads for what is free: previews, explanations, reading the book. They never hold a place that a release waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sordino.server.problem import Refusal

__all__ = ["Worker"]

T = TypeVar("T")


class Worker:
    """A few threads and a limit on how long a caller waits for one."""

    def __init__(self, patience: float = 30.0, threads: int = 4) -> None:
        self._patience, self._pool = patience, ThreadPoolExecutor(threads, "sordino-free")

    async def free(self, work: Callable[..., T], *given: Any) -> T:
        future = asyncio.get_running_loop().run_in_executor(self._pool, lambda: work(*given))
        done, _ = await asyncio.wait({future}, timeout=self._patience)
        if not done:
            future.cancel()
            raise Refusal(503, "SRD-506", "this takes longer than the server waits.", "Ask for less at once.", Retry_After="5")
        return future.result()

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
