"""Imported files: the rows of a source with every value mapped into its declared type, so that no value costs more than its type does.

Texts are cut at their public length, ids of more than 64 bytes are hashes of the whole text, numbers and moments are numbers and moments,
lines are rows, and row groups are small. What a question reads of an imported file is what it would read of the source: mapping a mapped
value again changes nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb

from sordino.engines.delimited import Csv
from sordino.engines.duckdb import DuckDB, Spill
from sordino.engines.scan import Scan, TableSource, broken, mapped, written
from sordino.engines.value_text import HASHED, Field, quoted, unit_text
from sordino.schema.column import Column
from sordino.schema.declaration import Delimited

__all__ = ["Imported", "Wanted", "find_import", "needs_import", "write_import"]

FORMAT = 1
NOTE = "sordino"  # the key of our line in the file's own metadata
GROUP = 64 * 2**20  # bytes of a row group, were every text as long as it may be
FEWEST, MOST = 2_048, 122_880  # rows of a row group; DuckDB writes and reads as many at once as the first of these, and no fewer
OFTEN = 0.1  # seconds between two looks at how far a copy is
Tell = Callable[[float], None]


@dataclass(frozen=True)
class Imported:
    """A file that `write_import` wrote, under the header of its source."""

    paths: tuple[str, ...]
    names: tuple[str, ...]
    stored: Mapping[str, Field] = field(hash=False)
    steady: bool = True

    def prepare(self, connection: Any) -> None:
        return

    def header(self, cursor: Any) -> tuple[str, ...]:
        return self.names

    def scan(self, cursor: Any, columns: Sequence[Column]) -> Scan:
        return Scan(f"read_parquet({quoted(self.paths[0])})", {column.name: self.stored[column.name] for column in columns})


@dataclass(frozen=True)
class Wanted:
    """What an import is made of: a source, and what its owner declares that decides about a value. Bounds and keys do not."""

    source: TableSource
    columns: tuple[Column, ...]
    unit: str | None = None
    fold_ids: bool = False
    csv: Delimited | None = None

    @property
    def declared(self) -> str:
        said = [[column.name, column.type, column.max_length] for column in self.columns]
        return sha256(json.dumps([FORMAT, said, self.unit, self.fold_ids, repr(self.csv)]).encode()).hexdigest()

    @property
    def stamps(self) -> list[list[Any]]:
        """The files, and what changes when one of them does; the place on the disk does not count, so that a restored file is the same."""
        return [[path, *stamp[1:]] for path, stamp in zip(self.source.paths, written(self.source.paths), strict=True)]


def needs_import(engine: Any) -> bool:
    """Whether an engine reads text out of files: there one value may be as long as a file, whatever it is declared to be."""
    if not isinstance(engine, DuckDB) or not engine.source.paths or isinstance(engine.source, Imported):
        return False
    columns = [column for column in engine.columns.values() if column.type != "never"]
    if isinstance(engine.source, Csv):  # all of it is text, and a scan may copy the file
        return bool(columns)
    with contextlib.closing(engine._cursor()) as cursor:
        fields = engine.source.scan(cursor, columns).fields
    return any(column.type in ("cat", "id") or fields[column.name].stored in ("text", "other") for column in columns)


def find_import(file: Path, wanted: Wanted) -> Imported | None:
    """The import of a source, None if there is none or it was made under another declaration; an error if the source changed since."""
    note = _note(file)
    if note is None:
        return None
    if note["stamps"] != wanted.stamps:
        what = f"the source of {file.name} was written after it was imported."
        raise broken(what, "Import it anew with `sordino import --again`; the budget goes on. Or put the old file back.")
    if note["declared"] != wanted.declared:
        return None
    stored = {name: Field(*place) for name, place in note["stored"].items()}
    return Imported((str(file),), tuple(note["header"]), stored)


def write_import(file: Path, wanted: Wanted, tell: Tell = lambda _: None) -> Imported:
    """Import a source into a file, whole or not at all; one that is there already stays until the new one is. `tell` hears percents."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(file), contextlib.closing(Spill()) as spill, contextlib.closing(duckdb.connect(":memory:")) as connection:
        for left in file.parent.glob(f".{file.name}.*.part"):
            left.unlink(missing_ok=True)  # of somebody who was killed: we are alone
        number, draft = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)  # readable by its owner only
        os.close(number)
        try:
            before = wanted.stamps
            header, stored = _copied(connection, wanted, spill, Path(draft), tell)
            if before != wanted.stamps:
                raise broken("the source changed while it was read.", "Import it when it is at rest.")
            with open(draft, "rb") as stream:
                os.fsync(stream.fileno())
            os.replace(draft, file)
        except duckdb.Error as error:
            raise broken(f"the source cannot be imported ({type(error).__name__}).", "Check that its files are whole.") from error
        finally:
            Path(draft).unlink(missing_ok=True)
    return Imported((str(file),), header, stored)


def _copied(connection: Any, wanted: Wanted, spill: Spill, draft: Path, tell: Tell) -> tuple[tuple[str, ...], dict[str, Field]]:
    for setting in ("TimeZone = 'UTC'", f"temp_directory = {quoted(str(spill.folder))}", "preserve_insertion_order = false", "threads = 2",
                    "autoinstall_known_extensions = false", "autoload_known_extensions = false", "python_enable_replacements = false",
                    "enable_progress_bar = true", "enable_progress_bar_print = false"):  # fmt: skip
        connection.execute(f"SET {setting}")
    wanted.source.prepare(connection)
    header = wanted.source.header(connection)
    columns = [column for column in wanted.columns if column.type != "never"]
    scan, reads, stored = wanted.source.scan(connection, columns), [], {}
    for i, column in enumerate(columns):
        sql, kind = _final(column, scan.fields[column.name], wanted)
        reads.append(f"{sql} AS c{i}")
        stored[column.name] = Field(f"c{i}", kind)
    note = {"format": FORMAT, "stamps": wanted.stamps, "declared": wanted.declared, "header": list(header),
            "stored": {name: [place.sql, place.stored] for name, place in stored.items()}}  # fmt: skip
    said = f"{{{NOTE}: {quoted(json.dumps(note))}}}"
    how = f"FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, ROW_GROUP_SIZE {_rows(columns)}, KV_METADATA {said}"
    _watched(connection, f"COPY (SELECT {', '.join(reads) or '1 AS one'} FROM {scan.text}) TO {quoted(str(draft))} ({how})", tell)
    return header, stored


def _rows(columns: Sequence[Column]) -> int:
    """Rows of a row group, so that the texts in it take at most GROUP bytes, or are the fewest that DuckDB writes at once."""
    width = sum(4 * column.max_length if column.type == "cat" else 64 for column in columns) or 1  # a character has up to four bytes
    return max(FEWEST, min(MOST, GROUP // width // FEWEST * FEWEST))


def _final(column: Column, place: Field, wanted: Wanted) -> tuple[str, str]:
    """A value as a question compares it: of an id what a person is known by, hashed once and for all.

    A person known by a number is nobody where it is not whole, as in the source; rows of nobody are never counted, whatever else they say.
    """
    if column.type == "int" and column.name == wanted.unit:
        return unit_text(column, place, False), "integer"
    if column.type != "id":
        return mapped(column, place)
    fold = wanted.fold_ids and column.name == wanted.unit
    return unit_text(column, place, fold), "integer" if place.stored == "integer" else HASHED


def _watched(connection: Any, statement: str, tell: Tell) -> None:
    """Run a statement and say how far it is. Ctrl-C stops it."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            connection.execute(statement)
        except BaseException as error:
            failed.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(OFTEN)
            tell(max(0.0, min(100.0, connection.query_progress())))
    except BaseException:
        while worker.is_alive():  # asked again: a statement that had not begun would not have heard it
            connection.interrupt()
            worker.join(OFTEN)
        raise
    if failed:
        raise failed[0]


def _note(file: Path) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    with contextlib.closing(duckdb.connect(":memory:")) as connection, contextlib.suppress(duckdb.Error, ValueError, KeyError):
        rows = connection.execute(f"SELECT key, value FROM parquet_kv_metadata({quoted(str(file))})").fetchall()
        note = json.loads({bytes(key).decode(): bytes(value).decode() for key, value in rows}[NOTE])
        if note["format"] == FORMAT:
            found: dict[str, Any] = note
            return found
    return None


@contextlib.contextmanager
def _alone(file: Path) -> Iterator[None]:
    """One import of a file at a time; a second one waits."""
    descriptor = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
