"""The dataset file: what is protected, how much may be spent, which tables there are. Reading it opens no data."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sordino.errors import QueryError
from sordino.plan.document import Document, new_lines, to_text
from sordino.plan.ownership import Owner, as_join_rows, as_owner, check_owners, person_column, person_table
from sordino.privacy.number import as_delta, as_epsilon
from sordino.privacy.relation import PrivacyUnit, Relation
from sordino.schema.column import Column, is_text, nearest, shown
from sordino.schema.declaration import CSV_KEYS as WRITTEN
from sordino.schema.declaration import Delimited, declare, delimited
from sordino.schema.view import JOIN_ROWS

__all__ = ["FORMAT", "Allowance", "Dataset", "Source", "read_dataset", "read_text"]

FORMAT = 2
LATEST = 600_000  # milliseconds: ten minutes
LARGEST_FILE = 4 * 2**20
PEOPLE = ("unit", "unit_column", "max_rows", "max_groups", "max_rows_per_group", "join_rows", "fold_ids")
LEDGERS, SOURCES = ("postgres", "postgresql"), ("postgres", "postgresql", "spark")


@dataclass(frozen=True)
class Allowance:
    """The [budget] table in exact numbers: what the ledger's budget is made of."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    accounting: str = "pure"
    max_per_release: Fraction | None = None
    analysts: Mapping[str, Fraction] = field(default_factory=dict, hash=False)
    least_epsilon: Fraction | None = None  # the floor of the server's prices; a ten-thousandth of the cap where nothing is said


@dataclass(frozen=True)
class Source:
    """One table: where its rows are and what is declared about them. A public table may be joined on its unique columns."""

    name: str
    source: str
    columns: Mapping[str, Column] = field(default_factory=dict, hash=False)
    size: int | None = None
    public: bool = False
    unique: tuple[str, ...] = ()
    csv: Delimited | None = None  # how a CSV file is written, where its owner says so
    most_rows: int | None = None  # the public number of rows that the source will not exceed: the server's deadlines follow from it
    owner: Owner | None = None  # whose the rows are, where tables say it one by one


@dataclass(frozen=True)
class Dataset:
    """A dataset as its owner declares it: one ledger and one budget for all tables."""

    name: str
    ledger: str
    unit: PrivacyUnit
    budget: Allowance
    tables: Mapping[str, Source] = field(hash=False)
    version: str = "1"
    unit_word: str = "row"  # the word for people on cards
    fold_ids: bool = False
    owner_log: str | None = None
    witness: str | None = None
    deadline_ms: int | None = None  # when the server's answer to a plain question leaves; dearer ones leave later, by public facts
    longest_ms: int | None = None  # the latest deadline a question may have
    approve_above: Fraction | None = None  # releases dearer than this wait for the owner's word
    path: str = ""
    join_rows: int = JOIN_ROWS  # rows of a person on each side of a join that multiplies them

    @property
    def owners(self) -> dict[str, Owner]:
        return {name: table.owner for name, table in self.tables.items() if table.owner is not None}


def read_dataset(path: str | os.PathLike[str]) -> Dataset:
    """The dataset a TOML file declares, with every rule checked and every path made absolute; errors quote the line."""
    file = Path(path).expanduser()
    text, said = read_text(file)
    return _Reader(file.absolute(), text).dataset(said)


def read_text(file: Path) -> tuple[str, dict[str, Any]]:
    """A dataset file as text, and what it says as TOML: nothing of it is checked yet."""
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
        text = content.decode("utf-8")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the path
        why = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise QueryError("SRD-204", f"the dataset file {shown(file.name)} cannot be read: {why}.", "Check the path.") from None
    if len(content) > LARGEST_FILE:
        raise QueryError("SRD-204", f"the dataset file {shown(file.name)} is larger than 4 MB.", "A dataset file holds declarations only.")
    try:
        said = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        match = re.search(r"at line (\d+)", str(error))
        quoted = to_text(text, int(match[1]) if match else None)
        what = f"{file.name} is not TOML. {shown(str(error))[1:-1]}" + (f" [{quoted}]" if quoted else "")
        raise QueryError("SRD-204", what, "Write it as in the example: name = value, one per line.") from None
    return text, said


class _Reader(Document):
    def dataset(self, said: dict[str, Any]) -> Dataset:
        self.known(said, (), ("dataset", "privacy", "budget", "tables", "server"), needed=("dataset", "privacy", "budget", "tables"))
        known = ("format", "name", "version", "ledger", "relation", "owner_log", "witness")
        head = self.table(said, ("dataset",), known, needed=("name", "ledger"))
        self.format(said, head)
        people = self.table(said, ("privacy",), PEOPLE)
        relation = self.at(("dataset", "relation"), Relation.of, head.get("relation", "add_remove"))
        tables = self.table(said, ("tables",), None)
        owners = self.owners(said, people)
        whose = {"unit_column": self.at(("tables",), partial(person_column, toml=True), owners)} if owners else {}
        unit = self.unit({**people, **whose}, relation)
        server = self.server(said) if "server" in said else {}
        if not tables:
            self.refuse(("tables",), "there are no tables.", 'Add [tables.name] with source = "...".')
        sources = {name: self.source(said, name, unit, owners) for name in tables}
        if all(source.public for source in sources.values()):
            self.refuse(("tables",), "every table is public.", "A dataset protects at least one table; leave public out there.")
        return Dataset(
            name=self.word(("dataset", "name"), head["name"]),
            version=self.word(("dataset", "version"), head.get("version", "1")),
            ledger=self.place(("dataset", "ledger"), head["ledger"], LEDGERS),
            owner_log=self.place(("dataset", "owner_log"), head["owner_log"], ()) if "owner_log" in head else None,
            witness=self.place(("dataset", "witness"), head["witness"], ()) if "witness" in head else None,
            unit=unit,
            unit_word=self.word(("privacy", "unit"), people.get("unit", "row" if unit.column is None else "person")),
            fold_ids=self.flag(("privacy", "fold_ids"), people.get("fold_ids", False)),
            budget=self.budget(said),
            tables=MappingProxyType(sources),
            deadline_ms=server.get("deadline_ms"),
            longest_ms=server.get("longest_ms"),
            approve_above=self.at(("server", "approve_above"), _threshold, server["approve_above"]) if "approve_above" in server else None,
            path=str(self.file),
            join_rows=self.at(("privacy", "join_rows"), as_join_rows, people.get("join_rows", JOIN_ROWS)),
        )

    def server(self, said: dict[str, Any]) -> dict[str, Any]:
        """The [server] table: when answers leave, and above which price the owner is asked."""
        here = self.table(said, ("server",), ("deadline_ms", "longest_ms", "approve_above", "tick_ms"))
        if "tick_ms" in here:
            fix = "Write deadline_ms; `sordino check --time` measures it on your machine and proposes one."
            self.refuse(("server", "tick_ms"), "answers no longer leave on ticks: every question has a deadline.", fix)
        for word in ("deadline_ms", "longest_ms"):
            if word in here and not 1 <= self.whole(("server", word), here[word]) <= LATEST:
                self.refuse(("server", word), f"{word} is {shown(here[word])}.", f"Give milliseconds from 1 to {LATEST:,}.")
        if here.get("longest_ms", LATEST) < here.get("deadline_ms", 0):
            self.refuse(("server", "longest_ms"), "longest_ms is below deadline_ms.", "Then no question could be asked: raise it.")
        return here

    def format(self, said: dict[str, Any], head: dict[str, Any]) -> None:
        """Refuse a file that may mean something else by max_rows than it says now, with the lines that say what it meant."""
        given = head.get("format", 1)
        if given == FORMAT and not isinstance(given, bool):
            return
        if given != 1 or isinstance(given, bool):
            fix = f"Write format = {FORMAT}, or upgrade Sordino if a newer one wrote the file."
            self.refuse(("dataset", "format"), f"format is {shown(given)}, and this Sordino reads format {FORMAT}.", fix)
        what = "the file is of format 1, where max_rows was a limit in each group; now it is the rows of one person in all."
        steps = "; ".join(f"in [{table}] {', '.join(lines)}" for table, lines in new_lines(said).items())
        self.refuse(("dataset",), what, f"Write {steps}. Or let `sordino config upgrade {self.file.name}` write that.")

    def unit(self, people: dict[str, Any], relation: Relation) -> PrivacyUnit:
        words = ("max_rows", "max_groups", "max_rows_per_group")
        limits = {word: self.whole(("privacy", word), people[word]) for word in words if word in people}
        if "unit_column" not in people:
            if limits:
                fix = "Name the person's column, unit_column = ..., or leave the limits out: then every row is a unit of its own."
                self.refuse(("privacy", next(iter(limits))), "limits per person need a unit_column.", fix)
            return PrivacyUnit(None, relation)
        for word in ("max_rows", "max_groups"):
            if word not in limits:
                self.refuse(("privacy",), f"unit_column needs {word}.", f"Say how much of one person counts: {word} = 8, for example.")
        return PrivacyUnit(self.word(("privacy", "unit_column"), people["unit_column"]), relation, **limits)

    def budget(self, said: dict[str, Any]) -> Allowance:
        known = ("epsilon", "delta", "accounting", "max_per_release", "least_epsilon", "analysts")
        here = self.table(said, ("budget",), known, needed=("epsilon",))
        rule = here.get("accounting", "pure")
        if rule not in ("pure", "zcdp"):
            self.refuse(("budget", "accounting"), f"accounting is {shown(rule)}.", 'Use "pure" or "zcdp".')
        delta = self.at(("budget", "delta"), lambda value: as_delta(value, zero=True), here.get("delta", 0))
        if rule == "zcdp" and not delta:
            self.refuse(("budget", "accounting"), "zcdp accounting needs a delta.", 'Give delta = 1e-6, for example, or use "pure".')
        purses = {}
        for name in self.table(said, ("budget", "analysts"), None) if "analysts" in here else ():
            where = ("budget", "analysts", self.word(("budget", "analysts"), name))
            purse = self.table(said, where, ("epsilon",), needed=("epsilon",))
            purses[name] = self.at((*where, "epsilon"), as_epsilon, purse["epsilon"])
        most = self.at(("budget", "max_per_release"), as_epsilon, here["max_per_release"]) if "max_per_release" in here else None
        least = self.at(("budget", "least_epsilon"), as_epsilon, here["least_epsilon"]) if "least_epsilon" in here else None
        whole = self.at(("budget", "epsilon"), as_epsilon, here["epsilon"])
        if least is not None and least > min(whole, most or whole):
            self.refuse(("budget", "least_epsilon"), "least_epsilon is more than one release may cost.", "Lower it.")
        return Allowance(whole, delta, rule, most, MappingProxyType(purses), least)

    def owners(self, said: dict[str, Any], people: dict[str, Any]) -> dict[str, Owner]:
        """Whose the rows of each private table are, where tables say it; all of them must, then."""
        tables = {name: table for name, table in said["tables"].items() if isinstance(table, dict) and not table.get("public")}
        if not any("person" in table for table in tables.values()):
            return {}
        if "unit_column" in people:
            fix = "Leave unit_column out: every private table names its own person."
            self.refuse(("privacy", "unit_column"), "unit_column and person say the same thing.", fix)
        for name, table in tables.items():
            if "person" not in table:
                fix = 'Add person = "patient_id", person = { via = "visits", on = "visit_id" }, or public = true.'
                self.refuse(("tables", name), f"table {shown(name)} does not say whose its rows are, and others do.", fix)
        found = {}
        for name, table in tables.items():
            read = partial(as_owner, unique=table.get("unique", ()), toml=True)
            found[name] = self.at(("tables", name, "person"), read, table["person"])
        self.at(("tables",), partial(check_owners, toml=True), found)
        return found

    def source(self, said: dict[str, Any], name: str, unit: PrivacyUnit, owners: Mapping[str, Owner]) -> Source:
        here, owner = ("tables", name), owners.get(name)
        self.word(here, name)
        table = self.table(
            said, here, ("source", "size", "most_rows", "public", "unique", "person", "columns", *WRITTEN), needed=("source",)
        )
        public = self.flag((*here, "public"), table.get("public", False))
        unique = table.get("unique", [])
        if not isinstance(unique, list) or not all(is_text(item) and item for item in unique):
            self.refuse((*here, "unique"), f"unique is {shown(unique)}.", 'List column names: unique = ["region"].')
        if public != bool(unique) and owner is None:
            fix = 'A table that may be joined says public = true and unique = ["..."]; a private one neither, unless it names its person.'
            self.refuse((*here, "unique" if unique else "public"), "public and unique belong together.", fix)
        size = self.whole((*here, "size"), table["size"]) if "size" in table else None
        if owner is not None and size is None:
            people = person_table(owners)
            size = (
                self.whole(("tables", people, "size"), said["tables"][people]["size"])
                if people and "size" in said["tables"][people]
                else None
            )
        if unit.relation is Relation.REPLACE and size is None and not public:
            fix = "Give size = the public number of units."
            if owner is not None:
                self.refuse(
                    here,
                    'relation "replace" needs the size of the table of people.',
                    f"{fix} It belongs to the table whose unique column is the person.",
                )
            self.refuse(here, 'relation "replace" needs the size of every private table.', fix)
        said_columns = self.table(said, (*here, "columns"), None) if "columns" in table else {}
        columns = self.columns(here, said_columns, None if public else unit.column if owner is None else owner.person)
        for item in unique:
            if columns and item not in columns:
                self.refuse((*here, "unique"), f"there is no column {shown(item)}.", nearest(item, columns, "columns"), code="SRD-201")
        where = self.place((*here, "source"), table["source"], SOURCES)
        rows = self.whole((*here, "most_rows"), table["most_rows"]) if "most_rows" in table else None
        return Source(name, where, MappingProxyType(columns), size, public, tuple(unique), self.csv(here, table), rows, owner)

    def csv(self, here: tuple[str, ...], table: dict[str, Any]) -> Delimited | None:
        said = {word: table[word] for word in WRITTEN if word in table}
        try:
            return delimited(said) if said else None
        except QueryError as error:
            self.refuse((*here, str(error.facts.get("key", ""))), error.what, error.fix, code=error.code)

    def columns(self, here: tuple[str, ...], said: dict[str, Any], unit: str | None) -> dict[str, Column]:
        try:
            return declare(said, unit=unit)
        except QueryError as error:
            where = (*here, "columns", str(error.facts.get("column", "")))
            self.refuse(where, error.what, error.fix, code=error.code)


def _threshold(value: Any) -> Fraction:
    """A price above which the owner is asked; at 0 every release is."""
    return as_epsilon(value, zero=True)
