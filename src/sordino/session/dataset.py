"""`sd.dataset`: several tables of the same people, declared in Python as a dataset file declares them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sordino.engines.source import open_engine
from sordino.errors import QueryError
from sordino.ledger import Budget
from sordino.plan.dataset import Allowance, Dataset, Source
from sordino.plan.ownership import Owner, as_join_rows, as_owner, check_owners, person_column
from sordino.schema.column import nearest, shown
from sordino.schema.declaration import declare
from sordino.schema.view import JOIN_ROWS
from sordino.session.open_dataset import Opened, opened_dataset
from sordino.session.table import ledger_place, privacy_unit

__all__ = ["dataset"]


def dataset(
    tables: Mapping[str, Any],
    *,
    person: Mapping[str, Any],
    unique: Mapping[str, Any] | None = None,
    public: Mapping[str, Any] | None = None,
    columns: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
    keys: Mapping[str, Any] | None = None,
    max_rows: int | None = None,
    max_groups: int | None = None,
    max_rows_per_group: int | None = None,
    join_rows: int = JOIN_ROWS,
    relation: str = "add_remove",
    size: int | None = None,
    budget: Budget | None = None,
    ledger: str | os.PathLike[str] | None = None,
    fold_ids: bool = False,
    owner_log: str | None = None,
    witness: str | None = None,
    engine: str = "auto",
    name: str = "dataset",
    version: str = "1",
    unit: str = "person",
) -> Opened:
    """Several private tables of the same people, and public ones beside them. Of private tables only headers are read.

    `person` says whose the rows of each private table are: its column with the person's id, or {"via": "visits", "on": "visit_id"}, the
    table that knows it and the key that leads there. `unique` are keys that name one row, `public` tables that anybody may read, with the
    columns they are matched on. `columns`, `bounds` and `keys` are those of `sd.table`, by table, {"visits": {"cost": (0, 9)}}, or by
    column for every table that has it. `size` is the public number of people. Where a join would match several rows of a person with
    several, each side keeps at most `join_rows` of them.

    >>> import sordino as sd
    >>> tables = {"patients": {"id": [1, 2], "sex": ["f", "m"]}, "visits": {"id": [1, 1, 2], "cost": [5, 7, 9]}}
    >>> limits = {"max_rows": 8, "max_groups": 2, "budget": sd.Budget(epsilon=3), "ledger": ":memory:"}
    >>> people = {"patients": "id", "visits": "id"}
    >>> h = sd.dataset(tables, person=people, unique={"patients": ["id"]}, bounds={"cost": (0, 10)}, keys={"sex": ["f", "m"]}, **limits)
    >>> q = h.sql("SELECT p.sex, AVG(v.cost) AS m FROM visits v JOIN patients p ON v.id = p.id GROUP BY p.sex")
    >>> q.release(epsilon=1).to_dict()["sex"]
    ['f', 'm']
    """
    if not isinstance(budget, Budget):
        raise QueryError("SRD-304", "a dataset needs a budget.", "Give budget=sd.Budget(epsilon=3).")
    if not isinstance(tables, Mapping) or not tables:
        raise QueryError("SRD-204", f"tables is {shown(tables)}.", 'Give them by name: {"patients": frame, "visits": "visits.parquet"}.')
    shared = dict(public or {})
    for word, given in (("person", person), ("unique", unique or {}), ("public", shared)):
        for table in given:
            if table not in tables:
                raise QueryError("SRD-201", f"{word} names the table {shown(table)}.", nearest(table, list(tables), "tables"))
    for table in tables:
        if table not in person and table not in shared:
            fix = f'Give person={{{shown(table)}: "patient_id"}}, or public={{{shown(table)}: [...]}} if anybody may read it.'
            raise QueryError("SRD-204", f"nobody said whose the rows of table {shown(table)} are.", fix)
    owners = {table: as_owner(said, (unique or {}).get(table, ())) for table, said in person.items()}
    check_owners(owners)
    who = privacy_unit(person_column(owners), relation, max_rows, max_groups, size, max_rows_per_group=max_rows_per_group)
    headers = {table: _header(source, engine if table in owners else "auto") for table, source in tables.items()}
    said = _by_table({"columns": columns, "bounds": bounds, "keys": keys}, headers)
    sources = {
        table: _private(table, source, owners[table], said[table], size)
        if table in owners
        else _public(table, source, shared[table], said[table])
        for table, source in tables.items()
    }
    allowance = Allowance(budget.epsilon, budget.delta, budget.accounting, budget.max_per_release, dict(budget.analysts or {}))
    declared = Dataset(
        name, ledger_place(ledger, None), who, allowance, MappingProxyType(sources), version, unit, fold_ids, owner_log, witness,
        join_rows=as_join_rows(join_rows),
    )  # fmt: skip
    return opened_dataset(declared, engine=engine)


def _header(source: Any, engine: str) -> tuple[str, ...]:
    reader = open_engine(source, (), engine)
    try:
        found: tuple[str, ...] = reader.header()
        return found
    finally:
        reader.close()


def _by_table(
    given: Mapping[str, Mapping[str, Any] | None], headers: Mapping[str, tuple[str, ...]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """What is declared of each table: said by table, or by column for every table that has it."""
    found: dict[str, dict[str, dict[str, Any]]] = {table: {word: {} for word in given} for table in headers}
    for word, said in given.items():
        for name, facts in (said or {}).items():
            if name in headers and isinstance(facts, Mapping):
                found[name][word] |= facts
                continue
            homes = [table for table, header in headers.items() if name in header]
            if not homes:
                known = [*headers, *(column for header in headers.values() for column in header)]
                raise QueryError("SRD-201", f"{word} names {shown(name)}.", nearest(name, known, "tables or columns"), column=name)
            for table in homes:
                found[table][word].setdefault(name, facts)
    return found


def _private(table: str, source: Any, owner: Owner, said: Mapping[str, Any], size: int | None) -> Source:
    columns = declare(said["columns"], said["bounds"], said["keys"], owner.person)
    return Source(table, source, columns, size, False, owner.unique, owner=owner)


def _public(table: str, source: Any, keys: Any, said: Mapping[str, Any]) -> Source:
    unique = (keys,) if isinstance(keys, str) else tuple(keys or ())
    if not unique:
        fix = f'Name the columns it is matched on: public={{{shown(table)}: ["..."]}}.'
        raise QueryError("SRD-204", f"the public table {shown(table)} has no unique columns.", fix)
    return Source(table, source, declare(said["columns"], said["bounds"], said["keys"]), None, True, unique)
