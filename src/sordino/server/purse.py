"""Purses set from the console: one line of the dataset file is written anew, because that file is the one place that says them.

The file is opened once more afterwards, which writes the change into the ledger as a restart would; the running server's next charge
already obeys it.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import as_epsilon
from sordino.server.token import NAME
from sordino.session.open_dataset import open_dataset

__all__ = ["set_purse", "with_purse"]

CAP = re.compile(r"\d{1,7}(\.\d{1,9})?")
HEADER = re.compile(r"^\s*\[\s*budget\s*\.\s*analysts\s*\]\s*(#.*)?$")
BARE = re.compile(r"[A-Za-z0-9_-]+")
_writing = threading.Lock()


def with_purse(text: str, name: str, cap: str) -> str:
    """The dataset file with one purse changed or added and nothing else; refused if that takes more than one line."""
    expected = tomllib.loads(text)
    expected["budget"].setdefault("analysts", {})[name] = {"epsilon": _literal(cap)}
    spelled = name if BARE.fullmatch(name) else f'"{name}"'
    line = f"{spelled} = {{ epsilon = {cap} }}"
    lines = text.splitlines()
    start = next((at for at, found in enumerate(lines) if HEADER.match(found)), None)
    if start is None:
        lines += ["", "[budget.analysts]", line]
    else:
        end = next((at for at in range(start + 1, len(lines)) if lines[at].lstrip().startswith("[")), len(lines))
        mine = re.compile(rf"^\s*(\"{re.escape(name)}\"|'{re.escape(name)}'|{re.escape(name)})\s*=")
        there = next((at for at in range(start + 1, end) if mine.match(lines[at])), None)
        lines[start + 1 if there is None else there : start + 1 if there is None else there + 1] = [line]
    made = "\n".join([*lines, ""])
    if _parsed(made) != expected:
        raise QueryError("SRD-204", "this file says its purses in a way the console does not write.", f"Write it by hand: {line}.")
    return made


def set_purse(file: str, name: str, cap: str) -> None:
    """Write the purse into the dataset file, all or nothing, and from there into the ledger."""
    if not NAME.fullmatch(name) or not CAP.fullmatch(cap):
        raise QueryError("SRD-103", "this is no purse.", "Give the name of a token and a plain decimal: 1.5.")
    as_epsilon(cap)
    cap, path = f"{Decimal(cap).normalize():f}", Path(file)
    with _writing:
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_text(with_purse(path.read_text(encoding="utf-8"), name, cap), encoding="utf-8")
            shutil.copymode(path, draft)
            with draft.open("rb+") as written:
                os.fsync(written.fileno())
            draft.replace(path)
        except OSError as error:
            what = f"the dataset file cannot be written: {error.strerror}."
            raise QueryError("SRD-204", what, f"Write [budget.analysts] {name} = {{ epsilon = {cap} }} there by hand.") from None
        finally:
            draft.unlink(missing_ok=True)
        open_dataset(path).close()


def _literal(cap: str) -> Any:
    return tomllib.loads(f"cap = {cap}")["cap"]


def _parsed(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
