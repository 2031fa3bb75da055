"""Rooms of a live class: reports that were randomised on the pupils' own devices, counted in memory and forgotten after two hours."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field

from sordino.server.clock import Clock
from sordino.server.problem import Refusal

__all__ = ["LASTS", "MOST", "Rooms"]

LASTS = 2 * 3600.0
MOST = 3_000  # reports of one room
ROOMS = 64  # at once, so that nobody fills the memory
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is mistaken for another on a wall


@dataclass
class _Room:
    until: float
    n: int = 0
    yes: int = 0


@dataclass
class Rooms:
    """Open rooms by their code. What is kept is how many reports came and how many said yes: no name, no address, no time."""

    clock: Clock
    _open: dict[str, _Room] = field(default_factory=dict)

    def open(self) -> str:
        """A new room; its code is drawn so that nobody finds it by trying."""
        now = self.clock.now()
        self._open = {code: room for code, room in self._open.items() if room.until > now}
        if len(self._open) >= ROOMS:
            raise Refusal(503, "SRD-504", "every room is taken.", "Wait until one closes, after two hours.", Retry_After="600")
        code = "".join(secrets.choice(LETTERS) for _ in range(8))
        self._open[code] = _Room(now + LASTS)
        return code

    def report(self, code: str, body: bytes) -> None:
        """Count one report: {"report": 0} or {"report": 1}, and nothing else."""
        room = self._room(code)
        try:
            said = json.loads(body)
        except ValueError:
            said = None
        bit = said.get("report") if isinstance(said, dict) and len(said) == 1 else None
        if bit not in (0, 1) or isinstance(bit, bool | float):
            raise Refusal(422, "SRD-503", "this is no report.", 'Send {"report": 0} or {"report": 1}.')
        if room.n >= MOST:
            raise Refusal(409, "SRD-503", "the room is full.", f"A room takes {MOST:,} reports.")
        room.n += 1
        room.yes += bit

    def seen(self, code: str) -> tuple[int, int]:
        """How many reports there are, and how many say yes."""
        room = self._room(code)
        return room.n, room.yes

    def _room(self, code: str) -> _Room:
        room = self._open.get(code)
        if room is None or room.until <= self.clock.now():
            raise Refusal(404, "SRD-505", "there is no such room.", "Ask the teacher for the code of an open room.")
        return room
