"""What an owner sets from the console: a few lines of the dataset file, because that file is the one place that says them.

One line is written anew or added, all or nothing, and only if the file then says what it said before but for this. The file is opened
once more afterwards, which writes the change into the ledger as a restart would; the running server's next charge already obeys it.

Dataset files an owner may have checked by their path: those in the folders of files that are served, and nothing else of the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from sordino.errors import QueryError, SordinoError
from sordino.plan.dataset import read_dataset
from sordino.privacy.number import as_epsilon
from sordino.server.auth import NAME, Person
from sordino.server.datasets import House
from sordino.server.problem import Refusal
from sordino.session.open_dataset import open_dataset

__all__ = ["NearbyFile", "allowed", "beside", "set_cap", "set_purse", "set_threshold", "with_cap", "with_purse", "with_threshold"]

NUMBER = re.compile(r"\d{1,7}(\.\d{1,9})?")
BARE = re.compile(r"[A-Za-z0-9_-]+")
_writing = threading.Lock()


def with_purse(text: str, name: str, cap: str) -> str:
    """The dataset file with one purse changed or added and nothing else; refused if that takes more than one line."""
    expected = tomllib.loads(text)
    expected["budget"].setdefault("analysts", {})[name] = {"epsilon": _literal(cap)}
    return _with_line(text, ("budget", "analysts"), name, f"{{ epsilon = {cap} }}", expected)


def with_threshold(text: str, above: str | None) -> str:
    """The dataset file with another threshold of approval, or with none."""
    return _with_number(text, "server", "approve_above", above)


def with_cap(text: str, most: str | None) -> str:
    """The dataset file with another cap of one release, or with none. The cap of all releases is for ever: the ledger began with it."""
    return _with_number(text, "budget", "max_per_release", most)


def _with_number(text: str, table: str, key: str, number: str | None) -> str:
    expected = tomllib.loads(text)
    if number is not None:
        expected.setdefault(table, {})[key] = _literal(number)
    else:
        expected.get(table, {}).pop(key, None)
    return _with_line(text, (table,), key, number, expected)


def _with_line(text: str, table: tuple[str, ...], key: str, value: str | None, expected: Any) -> str:
    """The text with the line of a key replaced, added at the head of its table, or taken out where the value is None."""
    line = f"{key if BARE.fullmatch(key) else f'{chr(34)}{key}{chr(34)}'} = {value}"
    lines = text.splitlines()
    header = re.compile(r"^\s*\[\s*" + r"\s*\.\s*".join(table) + r"\s*\]\s*(#.*)?$")
    start = next((at for at, found in enumerate(lines) if header.match(found)), None)
    if start is None:
        lines += ["", f"[{'.'.join(table)}]", line] if value is not None else []
    else:
        end = next((at for at in range(start + 1, len(lines)) if lines[at].lstrip().startswith("[")), len(lines))
        mine = re.compile(rf"^\s*(\"{re.escape(key)}\"|'{re.escape(key)}'|{re.escape(key)})\s*=")
        there = next((at for at in range(start + 1, end) if mine.match(lines[at])), None)
        lines[start + 1 if there is None else there : start + 1 if there is None else there + 1] = [line] if value is not None else []
    made = "\n".join([*lines, ""])
    if _parsed(made) != expected:
        wanted = f"Write it by hand: {line}." if value is not None else f"Take out {key} by hand."
        raise QueryError("SRD-204", f"this file says [{'.'.join(table)}] in a way the console does not write.", wanted)
    return made


def set_purse(file: str, name: str, cap: str) -> None:
    """Write the purse into the dataset file, all or nothing, and from there into the ledger."""
    if not NAME.fullmatch(name) or not NUMBER.fullmatch(cap):
        raise QueryError("SRD-103", "this is no purse.", "Give the name of a token and a plain decimal: 1.5.")
    as_epsilon(cap)
    cap = f"{Decimal(cap).normalize():f}"
    _write(file, lambda text: with_purse(text, name, cap), f"Write [budget.analysts] {name} = {{ epsilon = {cap} }} there by hand.")


def set_threshold(file: str, above: str) -> None:
    """Write above which price a release waits for the owner; an empty word takes the threshold away."""
    said = _number(above, "threshold", "then no release waits")
    _write(file, lambda text: with_threshold(text, said), f"Write [server] approve_above = {said or '...'} there by hand.")


def set_cap(file: str, most: str) -> None:
    """Write what one release may cost at most, into the file and from there into the ledger; an empty word takes that away."""
    said = _number(most, "cap", "then one release may cost all that is left")
    _write(file, lambda text: with_cap(text, said), f"Write [budget] max_per_release = {said or '...'} there by hand.")


def _number(said: str, what: str, otherwise: str) -> str | None:
    if not said:
        return None
    if not NUMBER.fullmatch(said):
        raise QueryError("SRD-103", f"this is no {what}.", f"Give a plain decimal, as 0.5, or nothing: {otherwise}.")
    as_epsilon(said)
    return f"{Decimal(said).normalize():f}"


def _write(file: str, changed: Callable[[str], str], by_hand: str) -> None:
    path = Path(file)
    with _writing:
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_text(changed(path.read_text(encoding="utf-8")), encoding="utf-8")
            shutil.copymode(path, draft)
            with draft.open("rb+") as written:
                os.fsync(written.fileno())
            draft.replace(path)
        except OSError as error:
            raise QueryError("SRD-204", f"the dataset file cannot be written: {error.strerror}.", by_hand) from None
        finally:
            draft.unlink(missing_ok=True)
        open_dataset(path).close()


def _literal(number: str) -> Any:
    return tomllib.loads(f"number = {number}")["number"]


def _parsed(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


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
