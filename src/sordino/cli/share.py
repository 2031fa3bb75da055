"""A table of nobody from the command line: the price list first, then one charge and a file."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.cli.console import USAGE, door
from sordino.errors import QueryError

__all__ = ["share"]

WRITERS = {".parquet": "to_parquet", ".csv": "to_csv"}


def share(
    file: Annotated[Path | None, typer.Argument(help="A dataset file; the one of --config or of this folder.")] = None,
    table: Annotated[str | None, typer.Option(help="A table of the dataset; may be left out if there is one.")] = None,
    column: Annotated[list[str] | None, typer.Option(help="Only this column; may be said several times.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The price. Without it the price list is shown, free.")] = None,
    delta: Annotated[str | None, typer.Option(help="The delta of the price; a hundredth of the pool if left out.")] = None,
    rho: Annotated[str | None, typer.Option(help="The price in rho instead, on a ledger that adds rho.")] = None,
    method: Annotated[str, typer.Option(help="adaptive, tree, or given: exactly the sets of --workload.")] = "adaptive",
    workload: Annotated[list[str] | None, typer.Option(help="2 or 3, or columns such as age,sex; may be said several times.")] = None,
    bins: Annotated[list[str] | None, typer.Option(help="Bins of a column: age=8 or cost=0,10,50; may be said several times.")] = None,
    target: Annotated[str | None, typer.Option(help="A column somebody will predict.")] = None,
    weight: Annotated[str | None, typer.Option(help="person or row.")] = None,
    rows: Annotated[int | None, typer.Option(help="How many rows; as many as were counted if left out.")] = None,
    forbid: Annotated[list[str] | None, typer.Option(help="A condition no row fulfils; may be said several times.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where the table goes: a .parquet or .csv file.")] = None,
    analyst: Annotated[str | None, typer.Option(help="Whose purse pays.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before paying.")] = False,
) -> int:
    """Make a table of nobody that resembles a private one, with a paid error report. Without --epsilon the price list, free.

    Example: sordino share hospital.toml --epsilon 1 --output shared.parquet
    """
    if file is not None:
        door.config = str(door.dataset(file))
    if output is not None and output.suffix not in WRITERS:
        raise QueryError("SRD-103", f"{str(output)!r} is no .parquet or .csv file.", "Name one, such as --output shared.parquet.")
    if (epsilon is not None or rho is not None) and output is None:
        raise QueryError("SRD-103", "there is no place for the table.", "Name it: --output shared.parquet. Nothing was spent.")
    from sordino.session.share_preview import bar

    with door.opened() as data:
        name = table if table is not None else next(iter(data.tables))
        if name not in data.tables or (table is None and len(data.tables) != 1):
            what = f"there is no table {name!r}." if table is not None else "the dataset has several tables."
            raise QueryError("SRD-201", what, f"Name one with --table: {', '.join(data.tables)}.")
        options = {"columns": column, "method": method, "target": target, "weight": weight, "rows": rows, "forbid": forbid or (),
                   "workload": _sets(workload), "bins": _bins(bins or [])}  # fmt: skip
        asked = data.tables[name].sharing(**options)
        if epsilon is None and rho is None:
            with door.busy("predicting"):
                found = asked.preview(delta=delta)
            door.say(found, found.to_dict())
            return 0
        if asked.recorded(epsilon, rho) is None and not yes and sys.stdin.isatty():
            if epsilon is not None:
                door.say(asked.preview(epsilons=[epsilon], delta=delta))
            if not typer.confirm(f"Pay {f'epsilon {epsilon}' if rho is None else f'rho {rho}'} for it?"):
                door.note("nothing was spent")
                return USAGE
        try:
            with nullcontext() if door.quiet or door.json else bar("charged; measuring") as progress:
                shared = asked.release(epsilon=epsilon, delta=delta, rho=rho, analyst=analyst, progress=progress)
        except KeyboardInterrupt:
            if asked.recorded(epsilon, rho) is not None:
                print("sealed; the same command writes it at no price", file=sys.stderr)
            raise
        assert output is not None
        getattr(shared, WRITERS[output.suffix])(output)
        told = {"file": str(output), "about": shared.about, "rows": len(shared), "release": shared.release.id, "card": shared.card}
        door.say(f"{shared}\nwritten to {output}; release {shared.release.id}; {data.budget}", {**told, "error": shared._report()})
        return 0


def _sets(said: list[str] | None) -> Any:
    """2 or 3 for all pairs or triples, or the sets that are named."""
    if said is not None and len(said) == 1 and said[0].isdecimal():
        return int(said[0])
    return said if said is None else [tuple(name.strip() for name in names.split(",")) for names in said]


def _bins(said: list[str]) -> dict[str, Any]:
    """A number of bins, or their edges, by column."""
    out: dict[str, Any] = {}
    for text in said:
        column, _, bins = text.rpartition("=")
        if not column:
            raise QueryError("SRD-208", f"--bins {text!r} names no column.", "Say --bins age=8, or --bins cost=0,10,50.")
        out[column] = int(bins) if bins.isdecimal() else [edge.strip() for edge in bins.split(",")]
    return out
