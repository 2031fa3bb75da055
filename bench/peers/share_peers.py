"""Peers that make shared tables, each in an environment of its own: coded training rows in, codes out, with a limit on processor time.

What a peer made is kept in the build folder under its settings and a digest of the rows, so that a run that is repeated does not wait for
it again.
"""

from __future__ import annotations

import hashlib
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
    """A package, the script that asks it, and its methods with what each is called."""

    peer: Peer
    script: str
    word: str
    methods: tuple[str, ...] = ("AIM", "MST")


PEERS = (
    SharePeer(Peer("share-opendp", "opendp", ("opendp[mbi]==0.16.0",), ("pandas",)), "share_opendp.py", "opendp 0.16"),
    SharePeer(Peer("share-dpmm", "dpmm", ("dpmm==0.1.9",)), "share_dpmm.py", "dpmm 0.1.9"),
)
ABSENT = {
    "mbi": "estimation only; its mechanisms are scripts of its repository",
    "smartnoise-synth": "6.4 GB with all it needs; not installed here",
    "synthcity": "gigabytes with all it needs; not installed here",
    "dpsynth": "not on the package index",
}


def tables(build: Path, train: Array, sizes: tuple[int, ...], *, epsilon: float, delta: float, seeds: int) -> dict[str, dict[str, Any]]:
    """The tables of every peer and method, by name; or why there is none."""
    found: dict[str, dict[str, Any]] = {}
    digest = hashlib.sha256(np.ascontiguousarray(train, "<i8").tobytes()).hexdigest()[:12]
    for item in PEERS:
        made = environment.install(item.peer, build)
        for method in item.methods:
            word = f"{item.word} {method}"
            if made.failed:
                found[word] = {"failed": made.failed}
                continue
            for seed in range(seeds):
                settings = {"method": method, "epsilon": epsilon, "delta": delta, "seed": seed, "out": "made.npy"}
                place = build / "tables" / f"{item.peer.name}-{method}-{epsilon:g}-{seed}-{digest}"
                _take(found, word, item, build, place, settings=settings, train=train, sizes=sizes)
                if "failed" in found.get(word, {}):
                    break
    return found


def _take(
    found: dict[str, dict[str, Any]], word: str, item: SharePeer, build: Path, place: Path, *, settings: Any, train: Array, sizes: Any
) -> None:  # fmt: skip
    """One table, made now or before."""
    if not (place / "ran.json").exists():
        place.mkdir(parents=True, exist_ok=True)
        np.savez(place / "train.npz", codes=train, sizes=np.array(sizes))
        (place / "settings.json").write_text(json.dumps({**settings, "limit": LIMIT}))
        words = [str(HERE / item.script), "share", str(place), str(place / "settings.json")]
        print(f"{'':>10}  {word}: asked", flush=True)
        ran = measure.run(environment.python_of(item.peer.name, build), words, WALL * LIMIT)
        (place / "ran.json").write_text(json.dumps({"found": ran.found, "failed": ran.failed, "megabytes": ran.megabytes}))
    ran_before = json.loads((place / "ran.json").read_text())
    if ran_before["failed"]:
        found.setdefault(word, {"made": []})["failed"] = ran_before["failed"]
        return
    ways = ran_before["found"].get("ways")
    for way in ways or [""]:
        name = f"{word}, {way}" if way else word
        file = place / (f"made-{way}.npy" if way else "made.npy")
        kept = found.setdefault(name, {"made": [], "seconds": []})
        kept["made"].append(_listed(np.load(file), sizes))
        kept["seconds"].append(ran_before["found"]["seconds"])


def _listed(made: Array, sizes: Any) -> Array:
    """A value that was in no list of ours, which a peer may answer with, becomes the most common one of its column."""
    out = made.copy()
    for i, size in enumerate(sizes):
        known = (made[:, i] >= 0) & (made[:, i] < size)
        out[~known, i] = np.bincount(made[known, i], minlength=size).argmax()
    return out
