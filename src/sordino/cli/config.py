"""The dataset file's verb: upgrade."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from sordino.cli.door import door
from sordino.errors import QueryError

__all__ = ["configs"]

configs = typer.Typer(help="The dataset file: upgrade it to the present format.", no_args_is_help=True)


@configs.callback()
def about() -> None:
    """The dataset file: upgrade it to the present format."""


@configs.command()
def upgrade(file: Annotated[Path | None, typer.Argument(help="The dataset file; --config or the only one here without it.")] = None) -> int:
    """Rewrite a dataset file of format 1 so that it means the same in format 2; the old one is kept as FILE.format1.

    Format 1 limited the rows of one person in each group. Format 2 limits them in all: max_rows = 8 with max_groups = 4 becomes
    max_rows = 32 and max_rows_per_group = 8. No data are read and nothing is spent.

    Example: sordino config upgrade hospital.toml
    """
    from sordino.plan.dataset import FORMAT, read_dataset, read_text
    from sordino.plan.document import format_of, new_lines, upgraded

    target = door.dataset(file)
    text, said = read_text(target)
    if (given := format_of(said)) == FORMAT:
        door.say(f"{target} is of format {FORMAT} already", {"upgraded": False, "file": str(target), "format": FORMAT})
        return 0
    if given != 1 or not isinstance(said.get("dataset"), dict):
        read_dataset(target)  # says what is wrong with it
        raise QueryError("SRD-204", f"{target.name} is of format {given}.", "Upgrade Sordino if a newer one wrote it.")
    made, kept = upgraded(text, target.name), target.with_name(f"{target.name}.format1")
    try:
        with kept.open("x", encoding="utf-8", newline="") as copy:
            copy.write(text)
    except FileExistsError:
        raise QueryError("SRD-204", f"{kept} is there already.", "Move it away; it may be the only copy of something.") from None
    draft = target.with_name(f"{target.name}.draft")
    draft.write_text(made, encoding="utf-8", newline="")
    os.replace(draft, target)
    written = [line for lines in new_lines(said).values() for line in lines]
    next_step = f"next: sordino check {shlex.quote(str(target))}"
    door.say(
        f"wrote {', '.join(written)} into {target}; the old file is {kept}\n{next_step}",
        {"upgraded": True, "file": str(target), "format": FORMAT, "wrote": written, "copy": str(kept)},
    )
    return 0
