"""A tape of draws: recorded while one world is served, played back to its neighbour, request by request."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from session.twin import HIDDEN, Spy, Twin, _keyed, _lucky
from sordino.noise import draw, stream  # type: ignore[attr-defined]
from sordino.privacy.discrete import Bernoulli, Categorical
from sordino.session.execute import execute
from sordino.session.sharing import SharePlan


def rekey(name: str) -> None:
    """Noise that depends on the name alone, for whatever is drawn on public rows."""
    key = hashlib.sha256(name.encode()).digest()
    stream._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    stream._buffer, stream._used = stream._buffer[:0], 0


class Tape:
    """What `execute` drew under each request id. `look` is called with the number of requests an engine has answered."""

    def __init__(self, pinned: Tape | None = None, look: Callable[[], None] = lambda: None) -> None:
        self.twins: dict[str, Twin] = {}
        self.pinned, self.look, self.begun = pinned, look, threading.Event()

    def execute(self, plan: Any, ledger: Any, engine: Any, *, request: str, **named: Any) -> bytes:
        twin = self.twins[request] = Twin()
        pinned = None if self.pinned is None else self.pinned.twins[request]
        job = isinstance(plan, SharePlan)
        spy = Spy(engine, twin, plan.context.keys if not job and plan.by else ((),))
        if job:  # its promise leaves first; a clock that moves at once would move beside it
            assert self.begun.wait(60)

        def drawing(law: Any) -> Any:
            self.look()
            turn = len(twin.laws)
            keyed = not job and _keyed(plan, law, turn)
            twin.laws.append(type(law).__name__)
            if pinned is None:
                outcome = draw(law) if not _lucky(law) else False
                twin.outcomes.append(dict(zip(spy.keys, outcome.tolist(), strict=True)) if keyed else outcome)
                return outcome
            found = pinned.outcomes[turn]
            twin.outcomes.append(found)
            if keyed:
                missing = False if isinstance(law, Bernoulli) else HIDDEN
                return np.array([found.get(key, missing) for key in spy.keys])
            return min(found, len(law.weights) - 1) if isinstance(law, Categorical) else found

        return execute(plan, ledger, spy, request=request, draw=drawing, **named)
