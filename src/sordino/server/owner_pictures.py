"""What an owner looks at instead of reading: which table leads to which person, and how well shared tables keep their pairs of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sordino.ledger import Entry
from sordino.pictures import Picture, matrix, outline
from sordino.plan.dataset import Dataset, Source
from sordino.session.release import Release
from sordino.session.shared import Shared
from sordino.session.sharing import WORD

__all__ = ["pairs_picture", "recorded_shares", "schema_picture"]

MOST = 3  # shared tables on the console


def schema_picture(declared: Dataset) -> Picture:
    """The tables of a dataset under the person each leads to, with the keys that join them; public tables stand apart."""
    person = declared.unit_word if declared.unit.column is not None else "row"
    what = "protected, with all its rows" if declared.unit.column is not None else "protected"
    size = next((table.size for table in declared.tables.values() if table.size and not table.public), None)
    what += f"; {size:,} declared" if size else ""
    nodes = [(0, f"one {person}", what, False), *_below(declared, None, 1)]
    for table in declared.tables.values():
        if table.public:
            keys = f"joined on {', '.join(table.unique)}" if table.unique else "no key declared"
            nodes.append((0, f"{table.name} (public)", f"{keys}; {_columns(table)}", True))
    return outline(nodes, title=f"{declared.name}: whose rows are whose")


def _below(declared: Dataset, via: str | None, depth: int) -> Iterator[tuple[int, str, str, bool]]:
    for name, table in declared.tables.items():
        owner = table.owner
        if table.public or (owner.via if owner is not None else None) != via:
            continue
        key = owner.on if owner is not None and owner.via is not None else owner.person if owner is not None else declared.unit.column
        way = "every row is a person" if key is None else f"by {key}"
        many = ", one row each" if owner is not None and owner.unique and key in owner.unique and via is None else ""
        yield depth, name, f"{way}{many}; {_columns(table)}", False
        if declared.owners:
            yield from _below(declared, name, depth + 1)


def _columns(table: Source) -> str:
    number = len(table.columns)
    return f"{number} column{'s' if number != 1 else ''}"


def pairs_picture(shared: Shared) -> Picture:
    """The reported error of every pair of columns; pairs that were measured together are framed."""
    names = list(shared.columns)
    place = {name: i for i, name in enumerate(names)}
    values = {(place[a], place[b]): bar.tv for (a, b), bar in ((pair, bar) for pair, bar in shared.errors.items() if len(pair) == 2)}
    kept = [{place[name] for name in names} for names in shared.kept]
    framed = {pair for pair in values if any(set(pair) <= clique for clique in kept)}
    words = "framed: measured together; 0: no error"
    return matrix(names, values, framed, title="Pairs of columns: how far from the private table", x=words)


def recorded_shares(entries: Sequence[Entry]) -> list[tuple[Entry, Shared]]:
    """The shared tables of a book, the newest first. A function of recorded answers alone."""
    found = []
    for entry in reversed(entries):
        if entry.answer is None or entry.members or f'"{WORD}"'.encode() not in entry.answer:
            continue
        release = Release.from_bytes(entry.answer)
        raw = release.raw.get(WORD, [None])[0] if release.names == (WORD,) else None
        if isinstance(raw, dict) and "distances" in raw:
            found.append((entry, Shared(release, ())))
        if len(found) == MOST:
            break
    return found
