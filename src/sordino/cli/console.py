"""What every command shares: where the dataset file is, how answers are shown, and which exit code an error has."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino.errors import BudgetExceeded, LedgerError, QueryError, ReleaseFailed, SordinoError

__all__ = ["BROKEN", "BUDGET", "FAILED", "REFUSED", "UNSAFE", "USAGE", "Door", "code_of", "door", "unanswered", "width", "wrapped"]

FAILED, USAGE, BUDGET, REFUSED, UNSAFE, BROKEN = 1, 2, 3, 4, 5, 6


@dataclass
class Door:
    """The global options of one run."""

    config: str | None = None
    json: bool = False
    quiet: bool = False

    def say(self, text: Any, data: Any = None) -> None:
        """An answer on standard output: text for people, or one JSON document."""
        print(json.dumps(data if data is not None else {"text": str(text)}, default=str) if self.json else wrapped(text))

    def note(self, text: str) -> None:
        """Something people want to know and scripts do not: on standard error, unless --quiet or --json."""
        if not self.quiet and not self.json:
            print(wrapped(text), file=sys.stderr)

    @contextmanager
    def busy(self, text: str) -> Iterator[None]:
        """A spinner while something takes its time, on a terminal only."""
        if self.quiet or self.json or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status(text):
            yield

    def dataset(self, given: Path | None = None) -> Path:
        """The dataset file: the one given, --config, SORDINO_CONFIG, or the only one in this folder."""
        named = given or self.config or os.environ.get("SORDINO_CONFIG")
        if named:
            return _present(Path(named))
        found = sorted(file for file in Path().glob("*.toml") if _declares(file))
        if len(found) == 1:
            return found[0]
        what = "there is no dataset file here." if not found else f"there are {len(found)} dataset files here."
        raise QueryError("SRD-205", what, "Name it: --config hospital.toml. `sordino init FILE` writes one.")

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """The dataset, with a word about charges whose answers were lost."""
        import sordino as sd

        with sd.open(self.dataset()) as opened:
            for entry in unanswered(opened)[-3:]:
                why = "it was stopped in between, or is still at work"
                self.note(f"note: charge {entry.id} ({entry.cost}) has no recorded answer: {why}. The charge stands; nothing was shown.")
            yield opened


def unanswered(opened: Any) -> list[Any]:
    """Charges whose answers were lost, oldest first."""
    return [entry for entry in opened.ledger.entries() if entry.state == "open"]


def width() -> int:
    """80 columns, or those of the terminal if it is narrower."""
    return min(80, shutil.get_terminal_size((80, 24)).columns)


def wrapped(text: Any) -> str:
    """Lines that fit."""
    wide = width()
    lines = str(text).splitlines()
    return "\n".join(
        line if len(line) <= wide else textwrap.fill(line, wide, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for line in lines
    )


def _present(file: Path) -> Path:
    if not file.is_file():
        raise QueryError("SRD-205", f"there is no dataset file {str(file)!r}.", "Check the path. `sordino init FILE` writes one.")
    return file


def _declares(file: Path) -> bool:
    try:
        return "dataset" in tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def code_of(error: SordinoError) -> int:
    """Exit codes say which family it was: 2 the question, 3 the budget, 6 the ledger, 1 charged and lost."""
    match error:
        case BudgetExceeded():
            return BUDGET
        case LedgerError():
            return BROKEN
        case ReleaseFailed():
            return FAILED
        case QueryError(code="SRD-204"):
            return UNSAFE
    return USAGE


door = Door()
