"""Peers that make shared tables, each in an environment of its own: coded training rows in, codes out, with a limit on processor time."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import environment
import measure
from environment import Peer

HERE = Path(__file__).parent
LIMIT = 1_000  # processor seconds of one table
WALL = 4  # times that on the clock
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class SharePeer:
    """A package, the script that asks it, its methods, and the ways in which it makes rows of one model."""

    peer: Peer
    script: str
    word: str
    ways: tuple[str, ...] = ("",)

    def names(self, method: str) -> list[str]:
        return [f"{self.word} {method}" + (f", {way}" if way else "") for way in self.ways]


OPENDP = SharePeer(
    Peer("share-opendp", "opendp", ("opendp[mbi]==0.16.0",), ("pandas",)), "share_opendp.py", "opendp 0.16", ("round", "sample")
)
DPMM = SharePeer(Peer("share-dpmm", "dpmm", ("dpmm==0.1.9",)), "share_dpmm.py", "dpmm 0.1.9")
PEERS = (OPENDP, DPMM)
ABSENT = {
    "mbi": "estimation only; its mechanisms are scripts of its repository",
    "smartnoise-synth": "6.4 GB with all it needs; not installed here",
    "synthcity": "gigabytes with all it needs; not installed here",
    "dpsynth": "not on the package index",
}


@dataclass(frozen=True)
class Asked:
    """One table of one peer."""

    item: SharePeer
    table: str
    method: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.table} {self.item.word} {self.method} {self.seed}"


def order(names: list[str], seeds: int) -> list[Asked]:
    """What is asked, and what first: the quick method everywhere, the slow one once everywhere, then again on RAND health."""
    quick = [Asked(item, name, "MST", 0) for name in names for item in PEERS]
    slow = [Asked(item, name, "AIM", 0) for name in names for item in PEERS]
    again = [Asked(item, name, "MST", seed) for seed in range(1, seeds) for name in names for item in PEERS]
    more = [Asked(item, "randhie", "AIM", seed) for seed in range(1, seeds) for item in PEERS if "randhie" in names]
    return [*quick, *slow, *again, *more]


def made(asked: Asked, build: Path, train: Array, sizes: tuple[int, ...], *, epsilon: float, delta: float) -> dict[str, Any]:
    """The tables that came of it by the way they were made, and the processor seconds; or why there is none."""
    item = asked.item
    installed = environment.install(item.peer, build)
    if installed.failed:
        return {"failed": installed.failed}
    place = build / "tables" / asked.name.replace(" ", "-")
    place.mkdir(parents=True, exist_ok=True)
    np.savez(place / "train.npz", codes=train, sizes=np.array(sizes))
    settings = {"method": asked.method, "epsilon": epsilon, "delta": delta, "seed": asked.seed, "out": "made.npy", "limit": LIMIT}
    (place / "settings.json").write_text(json.dumps(settings))
    words = [str(HERE / item.script), "share", str(place), str(place / "settings.json")]
    ran = measure.run(environment.python_of(item.peer.name, build), words, WALL * LIMIT)
    if ran.failed:
        return {"failed": ran.failed}
    files = {way: place / (f"made-{way}.npy" if way else "made.npy") for way in item.ways}
    return {"seconds": ran.found["seconds"], "rows": {way: _listed(np.load(file), sizes) for way, file in files.items()}}


def _listed(rows: Array, sizes: Any) -> Array:
    """A value that was in no list of ours, which a peer may answer with, becomes the most common one of its column."""
    out = rows.copy()
    for i, size in enumerate(sizes):
        known = (rows[:, i] >= 0) & (rows[:, i] < size)
        out[~known, i] = np.bincount(rows[known, i], minlength=size).argmax()
    return out
