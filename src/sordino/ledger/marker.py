"""A line beside the source file that says which ledger pays for it, so that a second, fresh ledger cannot be opened for the same data."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from sordino.errors import LedgerError
from sordino.ledger.place import private_directory, state_directory, write_once
from sordino.ledger.record import canonical

__all__ = ["check_marker", "marker_paths", "sources_of", "write_marker"]

Source = str | os.PathLike[str]


def sources_of(source: Source | Iterable[Source] | None) -> list[Source]:
    if source is None:
        return []
    return [source] if isinstance(source, str | os.PathLike) else list(source)


def marker_paths(source: Source, state: Source | None = None) -> tuple[Path | None, Path]:
    """Beside the source (None when it is not a file or folder), and in the state directory for sources nobody may write beside.

    Symbolic links are followed first: the budget belongs to the data, not to the name they were reached by.
    """
    text = os.fspath(source)
    real = os.path.realpath(text)
    exists = os.path.exists(real)
    name = sha256((real if exists else text).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    beside = Path(real).with_name(f".{Path(real).name}.sordino") if exists else None
    return beside, state_directory(state) / "marker" / f"{name}.sordino"


def _owner(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_bytes())["ledger"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise LedgerError("SRD-604", f"the marker {path.name} cannot be read.", "Restore it, or let the owner remove it.") from None


def check_marker(source: Source, ledger: str | None, state: Source | None = None) -> bool:
    """Whether the source is marked for this ledger; another ledger, or a new one (None) for marked data, is refused."""
    marked = False
    for path in marker_paths(source, state):
        owner = None if path is None else _owner(path)
        if owner is None:
            continue
        marked = True
        if owner != ledger:
            raise LedgerError(
                "SRD-604", f"the data of {Path(os.fspath(source)).name} are paid for by another ledger ({owner[:8]}).",
                "Open that ledger; a new one would give the same data a second budget.", owner=owner,
            )  # fmt: skip
    return marked


def write_marker(source: Source, ledger: str, dataset: str, state: Source | None = None) -> None:
    """Mark the source for this ledger, beside it or, where that cannot be written, in the state directory."""
    if check_marker(source, ledger, state):
        return
    content = canonical({"dataset": dataset, "format": 1, "ledger": ledger}) + b"\n"
    beside, inside = marker_paths(source, state)
    try:
        written = beside is not None and (write_once(beside, content) or True)
    except OSError:
        written = False
    if not written:
        try:
            private_directory(inside.parent)
            write_once(inside, content)
        except OSError as error:
            raise LedgerError("SRD-603", f"the source cannot be marked ({error.strerror}).", "Make the state folder writable.") from error
    check_marker(source, ledger, state)  # somebody else may have marked it first
