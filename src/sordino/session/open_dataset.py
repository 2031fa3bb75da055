"""`sd.open`: a dataset file becomes tables that share one ledger and one budget."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from sordino.engines.duckdb import DuckDB
from sordino.engines.imported import Imported, Wanted, find_import, needs_import, write_import
from sordino.engines.several import together
from sordino.engines.source import open_engine, read_public
from sordino.errors import QueryError, builds
from sordino.ledger import Balance, Book, Budget, open_ledger
from sordino.plan.dataset import Dataset, read_dataset
from sordino.plan.ownership import owned_tables
from sordino.plan.select import read_select, read_view
from sordino.plan.sql_expression import Catalogue
from sordino.schema.column import Column, nearest
from sordino.schema.declaration import complete
from sordino.session.key_check import attested
from sordino.session.people import one_row, owned_by, view_table
from sordino.session.query import Query
from sordino.session.table import Table

__all__ = ["Opened", "import_dataset", "import_file", "open_dataset", "opened_dataset"]

Tell = Callable[[str, float], None]  # hears the table and percents


@dataclass(frozen=True, eq=False)
class Opened:
    """The private tables of a dataset, by name: `hospital.admissions`."""

    declared: Dataset = field(repr=False)
    ledger: Book = field(repr=False)
    tables: Mapping[str, Table] = field(repr=False)
    apart: Mapping[str, Any] = field(default_factory=dict, repr=False)  # readers of tables that are asked through a view

    def __getattr__(self, name: str) -> Table:
        tables = self.__dict__.get("tables", {})
        if name in tables:
            found: Table = tables[name]
            return found
        raise AttributeError(f"dataset has no private table {name!r}. {nearest(name, list(tables), 'tables')}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tables]

    @cached_property
    def joint(self) -> Any:
        """The engine that reads several tables in one snapshot; opened when a view is first asked about."""
        return together({name: opened.engine for name, opened in self.tables.items()})

    @builds
    def sql(self, text: str) -> Query:
        """The question an SQL statement asks of private tables, joined on their people, with public tables beside them."""
        selected = read_select(text, self._catalogue)
        table = self.tables[selected.asked.table]
        if selected.asked.view is not None:
            table = view_table(replace(table, unit=self.declared.unit, engine=self.joint), selected.asked.view)
        return Query(table, selected.asked, selected.arrangement)

    @builds
    def view(self, text: str) -> Table:
        """The rows of a SELECT without aggregates as a table: `hospital.view("SELECT p.age FROM visits v JOIN ...").mean("age")`."""
        name, view = read_view(text, self._catalogue)
        return view_table(replace(self.tables[name], unit=self.declared.unit, engine=self.joint), view)

    @property
    def _catalogue(self) -> Catalogue:
        some = next(iter(self.tables.values()))
        columns = {name: opened.columns for name, opened in self.tables.items()}
        people = {name: owned for name, opened in self.tables.items() if (owned := owned_by(opened)) is not None}
        return Catalogue(columns, some.publics, self.declared.unit.column, people, self.declared.join_rows)

    @property
    def budget(self) -> Balance:
        return self.ledger.budget

    def close(self) -> None:
        for opened in self.tables.values():
            opened.close_engines()
        for engine in (*self.apart.values(), *([self.__dict__["joint"]] if "joint" in self.__dict__ else [])):
            engine.close()
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
    return opened_dataset(read_dataset(path), imported=imported)


def opened_dataset(declared: Dataset, *, imported: bool = False, engine: str = "auto") -> Opened:
    """A declared dataset with its readers and its ledger."""
    allowance = declared.budget
    purses: dict[str, Any] = dict(allowance.analysts)
    budget = Budget(allowance.epsilon, allowance.delta, allowance.accounting, allowance.max_per_release, purses or None)
    readers: dict[str, Any] = {}
    try:
        for name, item in declared.tables.items():
            if not item.public:
                readers[name] = open_engine(item.source, tuple(item.columns.values()), engine, csv=item.csv)
        publics = {
            name: read_public(name, item.source, item.columns, item.unique, item.csv)
            for name, item in declared.tables.items()
            if item.public
        }
        known = {name: complete(declared.tables[name].columns, reader.header()) for name, reader in readers.items()}
        if declared.path:  # who wrote a file is told what to write there
            known = {name: {column: _in_file(name, facts) for column, facts in columns.items()} for name, columns in known.items()}
        owned = owned_tables(declared.owners, known, declared.unit.column or "") if declared.owners else {}
        for name, columns in known.items():
            readers[name].columns = columns
            if name not in owned and declared.unit.column is not None and declared.unit.column not in columns:
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
    apart = {name: readers[name] for name, table in owned.items() if table.person != declared.unit.column}
    opened = Opened(declared, ledger, {}, apart)
    for name, reader in readers.items():
        whose = owned.get(name)
        multiline = (written := declared.tables[name].csv) is not None and written.multiline
        made = Table(
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
            local=not multiline,
            publics=publics,
            own=whose,
            checked=attested(declared),
            in_file=bool(declared.path),
        )
        if whose is not None and whose.single:
            made = replace(made, unit=one_row(made.unit))
        opened.tables[name] = made  # type: ignore[index]
    if apart:  # their rows have an owner only beside other tables
        readers_of = {name: table.engine for name, table in opened.tables.items()}
        object.__setattr__(opened, "joint", together(readers_of))
        for name in apart:
            viewed = view_table(replace(opened.tables[name], engine=opened.joint), owned[name])
            opened.tables[name] = viewed  # type: ignore[index]
    return opened


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
    return Wanted(reader.source, tuple(reader.columns.values()), _person(declared, name), declared.fold_ids, declared.tables[name].csv)


def _in_file(table: str, column: Column) -> Column:
    """A column that knows its table; a number without bounds, or a text that may be numbers, with the line that declares them."""
    column = replace(column, home=table)
    if (not column.number and column.type != "cat") or column.bounds is not None or column.type == "bool":
        return column
    line = f'{column.name} = {{ type = "{column.type if column.number else "int"}", bounds = [low, high] }}'
    return replace(column, hint=f"Declare them in the dataset file, from public knowledge: [tables.{table}.columns] {line}.")


def _person(declared: Dataset, name: str) -> str | None:
    """The column of a table that holds the person's id."""
    owner = declared.tables[name].owner
    return declared.unit.column if owner is None else owner.person


def _import(declared: Dataset, name: str, wanted: Wanted) -> Imported:
    file = import_file(declared, name)
    return find_import(file, wanted) or write_import(file, wanted)
