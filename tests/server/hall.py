"""A small hospital behind a server: dataset files, tokens, a clock that only moves when told, and a client without a network."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from sordino.server.app import ServerLimits, create_app
from sordino.server.auth import Tokens

HOME = "https://testserver"
DATASET = """
[dataset]
format = 2
name = "{name}"
ledger = "{ledger}"
relation = "{relation}"
owner_log = "owner.log"
[privacy]
unit = "patient"
unit_column = "patient"
max_rows = 4
max_groups = 2
[budget]
epsilon = {epsilon}
delta = 1e-6
{ceiling}
{floor}
{purses}
[tables.admissions]
source = "{source}"
size = {size}
[tables.admissions.columns]
patient = {{ type = "id" }}
cost = {{ type = "int", bounds = [0, 100_000] }}
age = {{ type = "int", bounds = [0, 120] }}
sex = {{ type = "cat", values = ["f", "m", "x"] }}
ward = {{ type = "cat", keys = "private" }}
[server]
deadline_ms = {deadline}
{approve}
"""
QUICK = ServerLimits(rate=10_000, burst=10_000, deadline=0)  # answers leave when they are ready
PURSES = "[budget.analysts]\namina = { epsilon = 2 }\nbela = { epsilon = 0.5 }\nowner = { epsilon = 1 }"


class Still:
    """A clock that moves when somebody sleeps, or when a test says so."""

    def __init__(self) -> None:
        self.time, self._lock = 0.0, threading.Lock()

    def now(self) -> float:
        return self.time

    def move(self, seconds: float) -> None:
        with self._lock:
            self.time += seconds

    def wait(self, seconds: float) -> None:
        self.move(seconds)


def people(number: int = 1200) -> list[str]:
    rng = np.random.default_rng(7)
    rows = zip(rng.integers(0, 300, number), rng.lognormal(8, 1, number), rng.integers(0, 100, number), strict=True)
    return [f"p{who},{int(cost)},{age},{rng.choice(list('fmx'))},{rng.choice(['north', 'south'])}" for who, cost, age in rows]


def write(folder: Path, *, name: str = "hospital", rows: list[str] | None = None, **facts: Any) -> Path:
    """A dataset file and its source, which is a file of these rows unless another one is named."""
    said = {"epsilon": 3, "floor": "", "ceiling": "", "purses": PURSES, "deadline": 2000, "approve": "", "ledger": f"{name}.ledger",
            "relation": "add_remove", "source": f"{name}.csv", "size": 300} | facts  # fmt: skip
    source = "\n".join(["patient,cost,age,sex,ward", *(people() if rows is None else rows), ""])
    (folder / f"{name}.csv").write_text(source, encoding="utf-8")
    file = folder / f"{name}.toml"
    file.write_text(DATASET.format(name=name, **said), encoding="utf-8")
    return file


def columns(rows: list[str]) -> dict[str, list[str | None]]:
    """The same rows as columns of text, for a source that is no file: what a line does not hold is null."""
    cells = [[*row.split(",", 4), None, None, None, None][:5] for row in rows]
    return {name: [row[i] for row in cells] for i, name in enumerate(("patient", "cost", "age", "sex", "ward"))}


class Visitor:
    """An application run in a thread of its own, asked without a network; safe to use from many threads."""

    def __init__(self, file: Path | list[Path], **options: Any) -> None:
        self.app = create_app(file, **{"limits": QUICK, **options})
        self.tokens = Tokens.beside(file[0] if isinstance(file, list) else file)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self._life: asyncio.Queue[Any] = asyncio.Queue()
        self._said: asyncio.Queue[Any] = asyncio.Queue()
        self._run(self._begin())
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app, raise_app_exceptions=False), base_url=HOME, timeout=60)

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def _begin(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        self._task = asyncio.create_task(self.app(scope, self._life.get, self._said.put))
        await self._life.put({"type": "lifespan.startup"})
        assert (await self._said.get())["type"] == "lifespan.startup.complete"

    async def _end(self) -> None:
        await self.client.aclose()
        await self._life.put({"type": "lifespan.shutdown"})
        assert (await self._said.get())["type"] == "lifespan.shutdown.complete"
        await self._task

    def close(self) -> None:
        self._run(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def token(self, name: str = "amina", role: str = "analyst", scope: tuple[str, ...] = ()) -> str:
        return self.tokens.add(name, role, scope)

    def ask(self, method: str, path: str, token: str | None = None, key: str | None = None, **options: Any) -> httpx.Response:
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **({"Idempotency-Key": key} if key else {})}
        return self._run(self.client.request(method, path, headers={**headers, **options.pop("headers", {})}, **options))

    def plan(self, token: str, sql: str = "SELECT COUNT(*) AS n FROM admissions", **more: Any) -> str:
        found = self.ask("POST", "/v1/plans", token, json={"sql": sql, **more})
        assert found.status_code == 201, found.text
        return found.json()["id"]

    def pay(self, token: str, sql: str, key: str, **wish: Any) -> httpx.Response:
        return self.ask("POST", f"/v1/plans/{self.plan(token, sql)}/release", token, key, json=wish)

    def spent(self, token: str) -> float:
        return self.ask("GET", "/v1/budget", token).json()["spent"]
