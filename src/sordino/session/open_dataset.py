"""`sd.open`: a dataset file becomes tables that share one ledger and one budget."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from sordino.engines.duckdb import DuckDB
from sordino.engines.imported import Imported, Wanted, find_import, needs_import, write_import
from sordino.engines.source import open_engine, read_public
from sordino.errors import QueryError
from sordino.ledger import Balance, Book, Budget, open_ledger
from sordino.plan.dataset import Dataset, read_dataset
from sordino.plan.select import read_select
from sordino.plan.sql_expression import Catalogue
from sordino.schema.declaration import complete
from sordino.schema.value import nearest
from sordino.session.query import Query
from sordino.session.table import Table

__all__ = ["Opened", "import_dataset", "import_file", "open_dataset"]

Tell = Callable[[str, float], None]  # hears the table and percents


@dataclass(frozen=True, eq=False)
class Opened:
    """The private tables of a dataset, by name: `hospital.admissions`."""

    declared: Dataset = field(repr=False)
    ledger: Book = field(repr=False)
    tables: Mapping[str, Table] = field(repr=False)

    def __getattr__(self, name: str) -> Table:
        tables = self.__dict__.get("tables", {})
        if name in tables:
            found: Table = tables[name]
            return found
        raise AttributeError(f"dataset has no private table {name!r}. {nearest(name, list(tables), 'tables')}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tables]

    def sql(self, text: str) -> Query:
        """The question an SQL statement asks of one private table, with public tables joined to it."""
        some = next(iter(self.tables.values()))
        columns = {name: opened.columns for name, opened in self.tables.items()}
        selected = read_select(text, Catalogue(columns, some.publics, self.declared.unit.column))
        return Query(self.tables[selected.asked.table], selected.asked, selected.arrangement)

    @property
    def budget(self) -> Balance:
        return self.ledger.budget

    def close(self) -> None:
        for opened in self.tables.values():
            opened.close_engines()
        self.ledger.close()

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Dataset {self.declared.name!r}: tables {', '.join(self.tables)}\n{self.budget}"


def open_dataset(path: str | os.PathLike[str], *, imported: bool = False) -> Opened:
    """Open a dataset file. Of private tables headers are read and rows are not; public tables are read and checked.

    With `imported` text is read from imported files and databases only, and what is not imported yet is imported now.
    """
    declared = read_dataset(path)
    allowance = declared.budget
    purses: dict[str, Any] = dict(allowance.analysts)
    budget = Budget(allowance.epsilon, allowance.delta, allowance.accounting, allowance.max_per_release, purses or None)
    readers: dict[str, Any] = {}
    try:
        for name, item in declared.tables.items():
            if not item.public:
                readers[name] = open_engine(item.source, tuple(item.columns.values()), csv=item.csv)
        publics = {
            name: read_public(name, item.source, item.columns, item.unique, item.csv)
            for name, item in declared.tables.items()
            if item.public
        }
        known = {name: complete(declared.tables[name].columns, reader.header()) for name, reader in readers.items()}
        for name, columns in known.items():
            readers[name].columns = columns
            if declared.unit.column is not None and declared.unit.column not in columns:
                what = f"table {name!r} has no column {declared.unit.column!r}."
                raise QueryError("SRD-201", what, "Every private table needs the unit's column.")
        files = [file for reader in readers.values() for file in reader.source.paths]
        if imported:
            for name, columns in known.items():
                if (wanted := _wanted(declared, name, readers[name])) is not None:
                    found = _import(declared, name, wanted)
                    readers[name].close()
                    readers[name] = DuckDB(found, tuple(columns.values()))
                    files += found.paths  # whose rows are those of the source: one ledger pays for both
        ledger = open_ledger(
            declared.ledger,
            budget=budget,
            relation=declared.unit.relation,
            unit=declared.unit,
            dataset=declared.name,
            version=declared.version,
            source=files or None,
            witness=declared.witness,
        )
    except BaseException:
        for reader in readers.values():
            reader.close()
        raise
    tables = {
        name: Table(
            name,
            known[name],
            declared.unit,
            reader,
            ledger,
            declared.name,
            declared.version,
            declared.tables[name].size,
            declared.fold_ids,
            declared.unit_word,
            declared.owner_log,
            local=not (written := declared.tables[name].csv) or not written.multiline,
            publics=publics,
        )
        for name, reader in readers.items()
    }
    return Opened(declared, ledger, tables)


def import_dataset(path: str | os.PathLike[str], *, again: bool = False, tell: Tell | None = None) -> list[dict[str, Any]]:
    """Import what the server would serve text from: what was done with each private table. For the owner: all rows are read.

    A source that was written since its import is imported only `again`; so is one that has not changed.
    """
    declared, done = read_dataset(path), list[dict[str, Any]]()
    for name, item in declared.tables.items():
        if item.public:
            continue
        with contextlib.closing(open_engine(item.source, tuple(item.columns.values()), csv=item.csv)) as reader:
            reader.columns = complete(item.columns, reader.header())
            wanted = _wanted(declared, name, reader)
            if wanted is None:
                done.append({"table": name, "done": "not needed", "file": None})
                continue
            file, start = import_file(declared, name), time.monotonic()
            fresh = again or find_import(file, wanted) is None
            if fresh:
                write_import(file, wanted, partial(tell or (lambda table, percent: None), name))
            done.append({"table": name, "done": "imported" if fresh else "was imported", "file": str(file)})
            done[-1] |= {"bytes": file.stat().st_size, "seconds": round(time.monotonic() - start, 3)}
    return done


def import_file(declared: Dataset, name: str) -> Path:
    """Where the import of a table is: in a folder beside the dataset file, under a name that no source, not even a glob, has."""
    place = Path(declared.path)
    return place.with_name(f"{place.stem}.imported") / f"{quote_plus(name)}.imported"


def _wanted(declared: Dataset, name: str, reader: Any) -> Wanted | None:
    """The import a table needs; None if it holds no text, or a database holds it."""
    if not needs_import(reader):
        return None
    return Wanted(reader.source, tuple(reader.columns.values()), declared.unit.column, declared.fold_ids, declared.tables[name].csv)


def _import(declared: Dataset, name: str, wanted: Wanted) -> Imported:
    file = import_file(declared, name)
    return find_import(file, wanted) or write_import(file, wanted)
