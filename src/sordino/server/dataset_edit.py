"""What an owner sets from the console: a few lines of the dataset file, because that file is the one place that says them.

One line is written anew or added, all or nothing, and only if the file then says what it said before but for this. The file is opened
once more afterwards, which writes the change into the ledger as a restart would; the running server's next charge already obeys it.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import tomllib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import as_epsilon
from sordino.server.auth import NAME
from sordino.session.open_dataset import open_dataset

__all__ = ["set_cap", "set_purse", "set_threshold", "with_cap", "with_purse", "with_threshold"]

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
