"""Everything an owner must keep of a served dataset, in one file: declaration, book, witness, tokens, approvals, pauses.

The book goes in twice: as the database itself, copied by SQLite while the server runs, and as lines that anybody can verify. No row of the
data is in it, and of tokens and sessions only hashes. Put back beside its data, an archive is an older copy of a book: the witness outside
says how much is missing, and the owner adopts it.
"""

from __future__ import annotations

import io
import json
import sqlite3
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sordino.errors import QueryError
from sordino.session.open_dataset import Opened

__all__ = ["archive", "restore"]

BESIDE = (".tokens", ".approvals", ".pause", ".saved")
READ_ME = """What this is: the declaration, the book, its witness, tokens (hashes), approvals and pauses of one dataset.
Put back: sordino restore ARCHIVE FOLDER, put the data beside them, then sordino ledger verify.
If the book is older than its witness: sordino ledger adopt, which writes off what may be missing.
"""


def archive(opened: Opened) -> bytes:
    """A zip of it, taken while the server runs."""
    declared, book, made = opened.declared, opened.ledger, io.BytesIO()
    place = Path(declared.path)
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("README.txt", READ_ME)
        file.write(place, place.name)
        file.writestr("ledger.jsonl", book.export())
        facts: dict[str, Any] = {"dataset": declared.name, "version": declared.version, "ledger": book.id, "head": book.head.hash.hex()}
        facts["entries"] = book.head.count
        if not urlsplit(declared.ledger).scheme and Path(declared.ledger).exists():
            facts["book"] = Path(declared.ledger).name
            file.writestr(facts["book"], _copied(Path(declared.ledger)))
        if book.witness is not None and Path(book.witness.path).exists():
            facts["witness"] = Path(book.witness.path).name
            file.writestr(f"witness/{facts['witness']}", Path(book.witness.path).read_bytes())
        for ending in BESIDE:
            found = place.with_suffix(ending)
            if found.exists():
                file.writestr(found.name, _copied(found) if ending in (".approvals", ".saved") else found.read_bytes())
        file.writestr("archive.json", json.dumps(facts, indent=1))
    return made.getvalue()


def _copied(path: Path) -> bytes:
    """A whole copy of a database that others may be writing to."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as here, closing(sqlite3.connect(copy)) as there:
            here.backup(there)
        return copy.read_bytes()


def restore(archived: str | Path, folder: str | Path) -> list[str]:
    """The files of an archive in a folder, none of which may be there already. The witness stays where it is: outside, and newer."""
    target, written = Path(folder), []
    try:
        with zipfile.ZipFile(archived) as file:
            names = [name for name in file.namelist() if "/" not in name and name not in ("README.txt", "archive.json")]
            there = [name for name in names if (target / name).exists()]
            if there or "ledger.jsonl" not in names:
                what = f"{there[0]} is there already." if there else "this is no archive of a dataset."
                raise QueryError("SRD-204", what, "Give an empty folder and an archive made by sordino archive.")
            target.mkdir(parents=True, exist_ok=True)
            for name in names:
                place = target / name
                place.touch(mode=0o600)
                place.write_bytes(file.read(name))
                written.append(name)
    except (OSError, zipfile.BadZipFile) as error:
        raise QueryError("SRD-205", f"the archive cannot be read or written: {error}.", "Check the file and the folder.") from None
    return written
