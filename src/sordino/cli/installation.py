"""Verbs about the program itself: demo, doctor, explain."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.console import UNSAFE, door
from sordino.errors import CODES, FIXES, QueryError, SordinoError

__all__ = ["demo", "doctor", "explain"]


def demo() -> None:
    """Break an anonymous table, repair it, and ask a private one. Takes a few seconds."""
    from sordino.demo import main

    main(as_json=door.json)


def explain(code: Annotated[str, typer.Argument(help="An error code, such as SRD-101.")]) -> None:
    """Say what an error code means and what to do."""
    wanted = code.upper() if code.upper().startswith("SRD-") else f"SRD-{code}"
    if wanted not in CODES:
        raise QueryError("SRD-106", f"there is no error {code!r}.", f"Known: {', '.join(CODES)}.")
    spent = "The charge stands." if wanted.startswith("SRD-4") else "Nothing is spent."
    text = f"{wanted}: {CODES[wanted]}.\n{FIXES[wanted]}\n{spent}"
    door.say(text, {"code": wanted, "what": CODES[wanted], "fix": FIXES[wanted], "spent": wanted.startswith("SRD-4")})


class _Changed(Exception):
    """Not unsafe, but the owner should know."""


def doctor() -> int:
    """Check what privacy here rests on: entropy, arithmetic, the disk, permissions, the source."""
    checks: dict[str, Callable[[], str]] = {
        "entropy": _entropy, "arithmetic": _arithmetic, "disk": _disk, "permissions": _permissions, "dataset": _dataset, "source": _source
    }  # fmt: skip
    found = {}
    for name, look in checks.items():
        try:
            found[name] = ("ok", look())
        except _Changed as note:
            found[name] = ("note", str(note))
        except SordinoError as error:
            found[name] = ("problem", f"{error.what} {error.fix}")
        except OSError as error:
            found[name] = ("problem", error.strerror or str(error))
    lines = [f"{state:8}{name}: {text}" for name, (state, text) in found.items()]
    door.say("\n".join(lines), {name: {"state": state, "text": text} for name, (state, text) in found.items()})
    return UNSAFE if any(state == "problem" for state, _ in found.values()) else 0


def _entropy() -> str:
    if len({os.urandom(16) for _ in range(100)}) < 100:
        raise QueryError("SRD-105", "the operating system repeats random bytes.", "Do not release anything on this machine.")
    return "the operating system gives different bytes every time"


def _arithmetic() -> str:
    """The exponential and logarithm of this machine against many digits."""
    import mpmath

    worst = 0.0
    with mpmath.workdps(40):
        for i in range(1, 200):
            x = i * 0.137
            for here, there in ((math.exp(-x), mpmath.e ** (-mpmath.mpf(x))), (math.log(x), mpmath.log(mpmath.mpf(x)))):
                worst = max(worst, float(abs((mpmath.mpf(here) - there) / there)) if there else 0.0)
    if worst > 2**-45:
        raise QueryError("SRD-105", f"exp and log are off by {worst:.1e}.", "Use another machine or C library.")
    return f"exp and log are exact to {worst:.1e}"


def _disk() -> str:
    file = Path(f".sordino-doctor-{os.getpid()}")
    try:
        with file.open("wb") as stream:
            start = time.perf_counter()
            for _ in range(20):
                stream.write(b"x" * 512)
                stream.flush()
                os.fsync(stream.fileno())
            each = (time.perf_counter() - start) / 20
    finally:
        file.unlink(missing_ok=True)
    return f"one durable write takes {1000 * each:.2f} ms"


def _permissions() -> str:
    from sordino.plan.dataset import read_dataset

    declared = read_dataset(door.dataset())
    for word, name, bits in (("written", declared.ledger, 0o022), ("read", declared.owner_log, 0o077)):
        place = Path(name) if name and "://" not in name else None
        if place is not None and place.exists() and place.stat().st_mode & bits:
            raise QueryError("SRD-204", f"{place.name} can be {word} by others.", f"chmod 600 {place.name}")
    return "nobody else can write the ledger or read the owner's log"


def _dataset() -> str:
    """Opening compares every source with its marker, the ledger with its witness, and walks the chain."""
    with door.opened() as data:
        found = data.ledger.verify()
        if not found:
            raise QueryError("SRD-204", f"the ledger is {found}.", "Restore a whole copy and adopt it.")
        return f"{', '.join(data.tables)}: sources and ledger belong together; the chain is {found}"


def _source() -> str:
    """Whether a file was written again after its first opening. Only its date is looked at."""
    from sordino.ledger.place import marker_paths
    from sordino.plan.dataset import read_dataset

    files = [Path(table.source) for table in read_dataset(door.dataset()).tables.values() if not table.public]
    for file in filter(Path.is_file, files):
        first = min((mark.stat().st_mtime for mark in marker_paths(file) if mark is not None and mark.exists()), default=math.inf)
        if file.stat().st_mtime > first:
            fix = "If its rows are new, raise the version: recorded answers are about the old ones. The budget goes on either way."
            raise _Changed(f"{file.name} was written after it was first opened. {fix}")
    return "no file was written after it was first opened"
