"""Whether declared keys are unique: for the owner, NOT PRIVATE. What was found is written beside the dataset file, and cards say when.

The guarantee of a view assumes that every key on a way to the person belongs to one row. Opening a dataset reads no rows, so it is the
owner who looks, once for each version of the data, or the database that enforces it.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sordino.engines.source import open_engine
from sordino.engines.value_text import id_text, text_value
from sordino.plan.dataset import Dataset
from sordino.schema.column import Column
from sordino.schema.declaration import complete

__all__ = ["KeyCheck", "attested", "check_keys", "declared_keys", "keys_file"]


@dataclass(frozen=True)
class KeyCheck:
    """One declared key: how many rows have one, and how many of its values belong to several rows."""

    table: str
    key: tuple[str, ...]
    rows: int
    repeated: int

    def __str__(self) -> str:
        found = "unique" if not self.repeated else f"NOT UNIQUE: {self.repeated:,} of its values belong to several rows"
        return f"{self.table} ({', '.join(self.key)}), {self.rows:,} rows: {found}"


def declared_keys(declared: Dataset) -> list[tuple[str, tuple[str, ...]]]:
    """The keys a dataset's guarantee assumes: those declared unique, and those that lead to a person."""
    owners = declared.owners
    found = [(name, owner.unique) for name, owner in owners.items() if owner.unique]
    found += [(owner.via, (owner.on,)) for owner in owners.values() if owner.via is not None and owner.on is not None]
    return list(dict.fromkeys(found))


def check_keys(declared: Dataset) -> list[KeyCheck]:
    """Look at the rows and count. What was found is remembered beside the dataset file, for cards to say."""
    found = []
    for name, key in declared_keys(declared):
        item = declared.tables[name]
        with closing(open_engine(item.source, tuple(item.columns.values()), csv=item.csv)) as reader:
            reader.columns = complete(item.columns, reader.header())
            with reader.inspected(tuple(Column(column, "id") for column in key)) as rows:
                places = [rows.scan.fields[column] for column in key]
                reads = ", ".join(f"{id_text(text_value(place), place)} AS k{i}" for i, place in enumerate(places))
                names = ", ".join(f"k{i}" for i in range(len(key)))
                known = " AND ".join(f"k{i} IS NOT NULL" for i in range(len(key)))
                grouped = f"SELECT {names}, count(*) AS n FROM (SELECT {reads} FROM {rows.scan.text}) AS own WHERE {known} GROUP BY {names}"
                sums = [f"COALESCE(CAST(sum({n}) AS BIGINT), 0)" for n in ("n", "CASE WHEN n > 1 THEN 1 ELSE 0 END")]
                told = rows.run(f"SELECT {sums[0]} AS total, {sums[1]} AS twice FROM ({grouped}) AS counted")
                found.append(KeyCheck(name, key, int(told["total"][0]), int(told["twice"][0])))
    if declared.path:
        _write(declared, found)
    return found


def keys_file(declared: Dataset) -> Path:
    """hospital.toml has what was found in hospital.keys."""
    return Path(declared.path).with_suffix(".keys")


def _write(declared: Dataset, found: list[KeyCheck]) -> None:
    now = dt.datetime.now(dt.UTC).replace(microsecond=0).isoformat()
    said = [{"table": one.table, "key": list(one.key), "unique": not one.repeated} for one in found]
    text = json.dumps({"version": declared.version, "checked": now, "keys": said}, ensure_ascii=False, indent=1)
    descriptor = os.open(keys_file(declared), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def attested(declared: Dataset) -> str:
    """When the keys of this version were found unique, for cards; empty if nobody looked, or if they were not."""
    if not declared.path:
        return ""
    try:
        said = json.loads(keys_file(declared).read_text(encoding="utf-8"))
        fresh = said["version"] == declared.version and all(one["unique"] for one in said["keys"])
        known = {(one["table"], tuple(one["key"])) for one in said["keys"]}
        return str(said["checked"]) if fresh and known >= set(declared_keys(declared)) else ""
    except (OSError, ValueError, KeyError, TypeError):
        return ""
