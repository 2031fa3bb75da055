"""Whose the rows of every private table are: a person's column of its own, or a path of declared unique keys to one.

A path is a function of the rows: `items` belongs to whoever the row of `visits` with the same `visit_id` belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sordino.errors import QueryError
from sordino.schema.column import Column, is_text, nearest, shown
from sordino.schema.spelling import spell
from sordino.schema.view import PrivateTable

__all__ = ["Owner", "as_join_rows", "as_owner", "check_owners", "owned_tables", "person_column", "person_table"]

MOST_JOINED = 100_000


@dataclass(frozen=True)
class Owner:
    """The column with the person's id, or the table that knows it and the key that leads there; `unique` are columns that name one row."""

    person: str | None = None
    via: str | None = None
    on: str | None = None
    unique: tuple[str, ...] = ()

    @property
    def single(self) -> bool:
        return self.person is not None and self.unique == (self.person,)


def as_owner(said: Any, unique: Any = (), *, toml: bool = False) -> Owner:
    """The owner in its declared words: "patient_id", or {"via": "visits", "on": "visit_id"}. Errors speak as its author wrote it."""
    keys = (unique,) if isinstance(unique, str) else tuple(unique)
    if is_text(said) and said:
        return Owner(person=said, unique=keys)
    if isinstance(said, Mapping) and set(said) == {"via", "on"} and all(is_text(word) and word for word in said.values()):
        return Owner(via=said["via"], on=said["on"], unique=keys)
    way = 'person = { via = "visits", on = "visit_id" }' if toml else '{"via": "visits", "on": "visit_id"}'
    fix = f'Name the column, {"person = " * toml}"patient_id", or the way to it, {way}.'
    raise QueryError("SRD-204", f"person is {shown(said)}.", fix)


def as_join_rows(given: Any) -> int:
    """How many rows of a person each side of a join keeps where it would multiply them."""
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= MOST_JOINED:
        fix = f"Give a whole number from 1 to {MOST_JOINED:,}: a join then makes at most its square of one person."
        raise QueryError("SRD-204", f"join_rows is {shown(given)}.", fix)
    return given


def check_owners(owners: Mapping[str, Owner], *, toml: bool = False) -> None:
    """Refuse a path that leads nowhere or in a circle."""
    for name, own in owners.items():
        seen, owner = [name], own
        while owner.via is not None:
            if owner.via not in owners:
                fix = nearest(owner.via, [other for other in owners if other != name], "private tables")
                raise QueryError(
                    "SRD-204",
                    f"table {shown(name)} leads to the person via {shown(owner.via)}, which is no private table.",
                    fix,
                    table=name,
                )
            if owner.via in seen:
                what = f"table {shown(name)} leads to the person in a circle: {' -> '.join([*seen, owner.via])}."
                end = f'[tables.{spell(owner.via)}] person = "..."' if toml else f'person={{{shown(owner.via)}: "..."}}'
                raise QueryError("SRD-204", what, f"End the path at a table with a person's column: {end}.", table=name)
            seen.append(owner.via)
            owner = owners[owner.via]


def person_table(owners: Mapping[str, Owner]) -> str | None:
    """The table with one row for each person, if there is one."""
    return next((name for name, owner in owners.items() if owner.single), None)


def person_column(owners: Mapping[str, Owner], *, toml: bool = False) -> str:
    """What the person's id is called: as in the table of people, or else in the first table that has it."""
    first = person_table(owners)
    found = owners[first].person if first is not None else next((owner.person for owner in owners.values() if owner.person), None)
    if found is None:
        one = next(iter(owners), "patients")
        fix = f'[tables.{spell(one)}] person = "patient_id"' if toml else f'person={{{shown(one)}: "patient_id", ...}}'
        raise QueryError("SRD-204", "no table says which column is the person's id.", f"Let one of them say it: {fix}.")
    return found


def owned_tables(owners: Mapping[str, Owner], columns: Mapping[str, Mapping[str, Column]], unit: str) -> dict[str, PrivateTable]:
    """The private tables with their owners, by name; every column a path needs must be there."""
    made: dict[str, PrivateTable] = {}

    def table(name: str) -> PrivateTable:
        if name not in made:
            owner, known = owners[name], columns[name]
            for key in filter(None, (owner.person, owner.on, *owner.unique)):
                if key not in known:
                    raise QueryError(
                        "SRD-201", f"table {shown(name)} has no column {shown(key)}.", nearest(key, known, "columns"), table=name
                    )
            if unit in known and unit != owner.person:
                what = f"column {shown(unit)} of table {shown(name)} would be taken for the person it belongs to."
                raise QueryError("SRD-204", what, "Give it another name in the source, or a view of it.", table=name)
            via = None if owner.via is None else table(owner.via)
            if via is not None and owner.on not in columns[via.name]:
                fix = nearest(owner.on, columns[via.name], "columns")
                raise QueryError("SRD-201", f"table {shown(via.name)} has no column {shown(owner.on)}.", fix, table=via.name)
            made[name] = PrivateTable(name, tuple(known.values()), owner.person, via, owner.on or "", owner.unique)
        return made[name]

    return {name: table(name) for name in owners}
