"""Dataset files an owner may have checked by their path: those in the folders of files that are served, and nothing else of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.errors import QueryError, SordinoError
from sordino.plan.dataset import read_dataset
from sordino.server.auth import Person
from sordino.server.datasets import House
from sordino.server.problem import Refusal

__all__ = ["NearbyFile", "allowed", "beside"]

MOST = 100  # files of a folder that are looked at


@dataclass(frozen=True)
class NearbyFile:
    """A dataset file: its path (its name, where there is one folder only), what it declares, whether it is served."""

    path: str
    name: str
    tables: tuple[str, ...]
    served: bool


def _folders(house: House, person: Person) -> dict[Path, set[Path]]:
    """Folders of served dataset files, each with the files in it; none for an owner of some datasets only: files have no scope."""
    out: dict[Path, set[Path]] = {}
    for opened in house.datasets.values() if person.owner and not person.scope else ():
        file = Path(opened.declared.path).resolve()
        out.setdefault(file.parent, set()).add(file)
    return out


def beside(house: House, person: Person) -> list[NearbyFile]:
    """Every dataset file in those folders."""
    return list(_listed(house, person))


def _listed(house: House, person: Person) -> Iterator[NearbyFile]:
    folders = _folders(house, person)
    for folder, served in folders.items():
        for file in sorted(folder.glob("*.toml"))[:MOST]:
            try:
                declared = read_dataset(file)
            except SordinoError:  # some other file
                continue
            private = tuple(name for name, table in declared.tables.items() if not table.public)
            yield NearbyFile(str(file) if len(folders) > 1 else file.name, declared.name, private, file.resolve() in served)


def allowed(path: str, house: House, person: Person) -> Path:
    """The file of a path, if it is one that may be looked at. What is elsewhere is refused alike, whether it is there or not."""
    if person.scope:
        raise Refusal(403, "SRD-502", "this token is for some datasets only, and files have no scope.", "Ask an owner of all of them.")
    folders = _folders(house, person)
    first = next(iter(folders), Path())
    try:
        file = (first / Path(path.strip())).resolve()
    except (OSError, ValueError, RuntimeError):
        file = Path("/")
    if file.suffix != ".toml" or not any(folder in file.parents for folder in folders):
        raise QueryError(
            "SRD-204", "this is no dataset file beside those that are served.", "Put it into their folder; its name ends in .toml."
        )
    return file
