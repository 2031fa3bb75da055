"""A table one may ask about: declared columns, an engine that is read only after a charge, and the ledger that is charged."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sordino.engines.port import Engine
from sordino.engines.source import open_engine
from sordino.errors import QueryError, builds
from sordino.ledger import Balance, Book, Budget, open_ledger
from sordino.plan.query_plan import QueryPlan as Question
from sordino.privacy.relation import PrivacyUnit, Relation
from sordino.schema.column import Column, shown
from sordino.schema.declaration import complete, declare, delimited
from sordino.schema.expression import Predicate
from sordino.schema.frame import Public
from sordino.schema.view import PrivateTable, View
from sordino.session.batch import Batch, as_batch
from sordino.session.people import owned_by, per_person, view_table
from sordino.session.query import Query
from sordino.session.twin import Twin, open_twin
from sordino.session.verbs import TableVerbs
from sordino.statistics import Statistic

__all__ = ["Table", "ledger_place", "privacy_unit", "table"]

log = logging.getLogger("sordino")


@dataclass(frozen=True, eq=False)
class Table(TableVerbs):
    """Questions about one source of rows, paid from one ledger. Immutable; safe to share between threads."""

    name: str
    columns: Mapping[str, Column]
    unit: PrivacyUnit
    engine: Engine = field(repr=False)
    ledger: Book = field(repr=False)
    dataset: str
    version: str = "1"
    size: int | None = None
    fold_ids: bool = False
    unit_word: str = "row"
    owner_log: str | None = None
    twin: Any = field(default=None, repr=False)
    local: bool = True  # no row of the source can change another one
    publics: Mapping[str, Public] = field(default_factory=dict, repr=False)  # tables of the dataset that a statement may join
    view: View | None = field(default=None, repr=False)  # what the rows are, where they are not those of one source
    checked: str = field(default="", repr=False)  # when the owner found the keys of views unique
    in_file: bool = field(default=False, repr=False)  # declared in a dataset file, and errors say what to write there
    own: PrivateTable | None = field(default=None, repr=False)  # whose rows these are, where several tables have the same people

    def _ask(self, statistic: Statistic) -> Query:
        return self._rows()._ask(statistic)

    def _rows(self) -> Query:
        return Query(self, self._question)

    @property
    def _question(self) -> Question:
        return Question(self.name, self.columns, view=self.view)

    def _condition(self, text: str) -> Predicate:
        from sordino.plan.condition import parse_predicate

        return parse_predicate(text, self.columns, table=self.name)

    def _declared(self) -> Mapping[str, Column]:
        return self.columns

    @builds
    def where(self, condition: str) -> Query:
        """Keep the rows that fulfil an SQL condition on declared columns."""
        return Query(self, self._question.with_where(condition))

    @builds
    def group_by(self, *columns: str) -> Query:
        """One answer per value of these columns."""
        return Query(self, self._question.group_by(*columns))

    @builds
    def agg(self, **asked: Statistic) -> Query:
        """Several statistics in one release, under names of your choice."""
        return Query(self, self._question).agg(**asked)

    @builds
    def sql(self, text: str) -> Query:
        """The question an SQL statement asks, as the verbs would ask it: `people.sql("SELECT MEDIAN(income) FROM t WHERE age >= 18")`."""
        from sordino.plan.select import read_select
        from sordino.plan.sql_expression import Catalogue

        owned = owned_by(self)
        people = {} if owned is None else {self.name: owned}
        selected = read_select(text, Catalogue({self.name: self.columns}, self.publics, self.unit.column, people))
        return Query(view_table(self, selected.asked.view), selected.asked, selected.arrangement)

    @builds
    def per_person(self, *, bounds: Mapping[str, Any] | None = None, **made: Statistic) -> Table:
        """One row for each person, computed from their rows: `visits.per_person(n=sd.count(), bounds={"n": (0, 50)}).mean("n")`."""
        return per_person(self, self._question, made, bounds)

    @builds
    def batch(self, epsilon: Any = None, *, delta: Any = None, analyst: str | None = None) -> Batch:
        """Several questions, one purse, one charge: `with people.batch(epsilon=1) as b: n = b.ask(people.count())`."""
        return as_batch(self, epsilon, delta, analyst)

    @cached_property
    def twin_rows(self) -> Twin | None:
        """The declared public twin, opened at its first use."""
        return None if self.twin is None else open_twin(self.twin, self.columns, self.size)

    def guess_rows(self, rows: int | None) -> Twin | None:
        """Made-up rows for a guess where no twin was declared; kept, one for each order of magnitude a count was released in."""
        known: dict[int | None, Twin | None] = self.__dict__.setdefault("_guesses", {})
        if rows is not None and rows != self.size:
            rows = 10 ** (len(str(rows)) - 1)  # every count would be a table of its own
        if rows not in known:
            known[rows] = open_twin(None, self.columns, rows)
        return known[rows]

    @property
    def budget(self) -> Balance:
        """What is spent and left, now."""
        return self.ledger.budget

    @property
    def log_failure(self) -> Callable[[str], None] | None:
        """Where the details of a failure after the charge go: the owner's own file, or nowhere."""
        if self.owner_log is None:
            return None
        path = self.owner_log

        def write(text: str) -> None:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8") as file:
                os.fchmod(descriptor, 0o600)  # the file may have been there before, open to everybody
                file.write(text + "\n")

        return write

    def close_engines(self) -> None:
        """Let go of the source and of any public rows; the ledger stays open."""
        self.engine.close()
        for twin in (self.__dict__.get("twin_rows"), *self.__dict__.get("_guesses", {}).values()):
            if twin is not None:
                twin.engine.close()

    def close(self) -> None:
        self.close_engines()
        self.ledger.close()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        unit, who = self.unit, "every row is a unit"
        if unit.column is not None:
            who = f"unit {unit.column!r}, {unit.words}"
        return f"Table {self.name!r}: {len(self.columns)} columns, {who}, {unit.relation.value}\n{self.budget}"


def privacy_unit(
    unit: str | None,
    relation: str | Relation,
    max_rows: int | None,
    max_groups: int | None,
    size: int | None,
    *,
    max_rows_per_group: int | None = None,
) -> PrivacyUnit:
    """The unit from the caller's words, with the fixes for what is missing."""
    kind = Relation.of(relation)
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise QueryError("SRD-204", f"size is {shown(size)}.", "Give the public number of units as a whole number of at least 1.")
    if kind is Relation.REPLACE and size is None:
        raise QueryError("SRD-107", 'relation "replace" needs a public size.', "Give size=, the public number of units.")
    if unit is None:
        if any(limit not in (None, 1) for limit in (max_rows, max_groups, max_rows_per_group)):
            raise QueryError("SRD-204", "limits per person need unit=.", "Name the person's column, or leave the limits out.")
        return PrivacyUnit(None, kind)
    if max_rows is None or max_groups is None:
        fix = "Give max_rows= (rows of one person in all) and max_groups= (groups of one person)."
        raise QueryError("SRD-204", f"unit={unit!r} needs limits on what one person contributes.", fix)
    return PrivacyUnit(unit, kind, max_rows, max_groups, max_rows_per_group)


def table(
    source: Any,
    *,
    unit: str | None = None,
    relation: str | Relation = "add_remove",
    max_rows: int | None = None,
    max_groups: int | None = None,
    max_rows_per_group: int | None = None,
    bounds: Mapping[str, Any] | None = None,
    keys: Mapping[str, Any] | None = None,
    columns: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
    ledger: str | os.PathLike[str] | None = None,
    size: int | None = None,
    fold_ids: bool = False,
    owner_log: str | None = None,
    witness: str | None = None,
    twin: Any = None,
    engine: str = "auto",
    csv: Mapping[str, Any] | None = None,
    name: str = "t",
    version: str = "1",
) -> Table:
    """A private table over a frame, a dict of arrays, a Parquet, CSV or DuckDB file, Spark or PostgreSQL. Only the header is read.

    `csv` says how a CSV file is written: delimiter, encoding, decimal, multiline.

    >>> import sordino as sd
    >>> incomes = {"income": [21_000, 35_000, 52_000, 90_000] * 250}
    >>> people = sd.table(incomes, bounds={"income": (0, 200_000)}, budget=sd.Budget(epsilon=3), ledger=":memory:")
    >>> 0 <= people.median("income").release(epsilon=1).value <= 200_000
    True
    """
    if not isinstance(budget, Budget):
        raise QueryError("SRD-304", "a table needs a budget.", "Give budget=sd.Budget(epsilon=3).")
    person = privacy_unit(unit, relation, max_rows, max_groups, size, max_rows_per_group=max_rows_per_group)
    if person.max_groups > 1 and max_rows_per_group is None:
        _tell_limits(person)
    if isinstance(twin, str) and (twin != "codebook" or size is None):
        raise QueryError("SRD-103", f"twin is {twin!r}.", 'Give a public frame, or "codebook" together with size=.')
    declared = declare(columns, bounds, keys, unit)
    written = None if csv is None else delimited(csv)
    reader = open_engine(source, tuple(declared.values()), engine, written)
    try:
        known = complete(declared, reader.header())
        reader.columns = known
        file = source if isinstance(source, str | os.PathLike) and any(map(os.path.exists, reader.source.paths)) else None
        book = open_ledger(
            ledger_place(ledger, file),
            budget=budget,
            relation=person.relation,
            unit=person,
            dataset=name,
            version=version,
            source=reader.source.paths or None,
            witness=witness,
        )
    except BaseException:
        reader.close()
        raise
    word = "row" if unit is None else unit
    local = written is None or not written.multiline
    return Table(name, known, person, reader, book, name, version, size, fold_ids, word, owner_log, twin, local)


_told: list[bool] = []


def _tell_limits(unit: PrivacyUnit) -> None:
    """What changed in the meaning of max_rows, once in a process: code that was written before goes on with other limits than it had."""
    if _told:
        return
    _told.append(True)
    rows, groups = unit.max_rows, unit.max_groups
    log.warning(
        "sordino: max_rows=%d now limits the rows of one person in all, in up to %d groups together; it was %d in each group, which is"
        " max_rows=%d, max_rows_per_group=%d. Give max_rows_per_group= to say which you mean",
        rows, groups, rows, rows * groups, rows,
    )  # fmt: skip


def ledger_place(ledger: str | os.PathLike[str] | None, file: str | os.PathLike[str] | None) -> str:
    if ledger is not None:
        return os.fspath(ledger)
    if file is not None:
        return f"{Path(os.fspath(file).split('::')[0]).expanduser()}.ledger"
    log.warning("sordino: the ledger of this table lives in memory and is forgotten with the process; give ledger= to keep it")
    return ":memory:"
