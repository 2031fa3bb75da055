"""Attacks on a file of your own, or on made-up people: what an anonymous table gives away.

Audits from the command line: certificates of every mechanism, and sampled audits of one.
"""

from __future__ import annotations

import csv
import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.cli.console import FAILED, door
from sordino.errors import QueryError

__all__ = ["attacks", "audit"]

attacks = typer.Typer(help="Attacks that show why: unique, trace, noise, local. NOT PRIVATE; for owners.", no_args_is_help=True)


def _columns(file: Path) -> dict[str, list[str]]:
    if file.suffix.lower() == ".parquet":
        import duckdb

        found: Any = duckdb.sql("SELECT * FROM read_parquet($file)", params={"file": str(file)})
        return {name: [str(v) for v in cells] for name, cells in zip(found.columns, zip(*found.fetchall(), strict=True), strict=True)}
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise QueryError("SRD-205", f"{file} cannot be read: {error}.", "Give a CSV or Parquet file.") from None
    if not rows:
        raise QueryError("SRD-205", f"{file} has no rows.", "Give a CSV file with a header and rows.")
    return {name: [str(row.get(name) or "") for row in rows] for name in rows[0] if name is not None}


def _show(result: Any) -> None:
    import json

    door.say(result if door.quiet else f"{result}\n{result.plot()}", json.loads(result.to_json()))


@attacks.command()
def unique(
    file: Annotated[Path | None, typer.Argument(help="A CSV or Parquet file; made-up people without it.")] = None,
    on: Annotated[str, typer.Option(help="The columns an outsider may know, separated by commas.")] = "zip,birth_date,sex",
    unit: Annotated[str | None, typer.Option(help="The column of people, who may have several rows; without it a row is a person.")] = None,
) -> None:
    """How many people are the only one with their combination of a few columns, and which coarser columns would hide them.

    Example: sordino attack unique patients.csv --on zip,birth_date,sex --unit patient
    """
    from sordino.lab import town, uniqueness

    frame = town.register() if file is None else _columns(file)
    with door.busy("counting"):
        _show(uniqueness(frame, [name.strip() for name in on.split(",")], unit=unit))


@attacks.command()
def trace(people: Annotated[int, typer.Option(help="People whose averages are published.", min=2, max=10_000)] = 100) -> None:
    """Tell from 1,000 published averages who was in the group."""
    from sordino.lab import trace as follow
    from sordino.lab.town import crowd

    inside, outside = crowd(people)
    with door.busy("tracing"):
        _show(follow(inside.mean(axis=0), inside, outside))


@attacks.command()
def noise(trials: Annotated[int, typer.Option(help="How many engines with fresh secrets to attack.", min=40, max=10_000)] = 200) -> None:
    """Learn one person's diagnosis from counts whose noise sticks to the question: ask for differences (Gadotti and others 2019)."""
    from sordino.lab import noise_exploitation
    from sordino.lab.exploitation import Sticky
    from sordino.lab.town import hospital

    town = hospital(300, zips=3)
    rows = [town["person"].index(person) for person in range(300)]
    tables = [{name: [town[name][i] for i in rows] for name in ("zip", "birth_date", "sex", "diagnosis")} for _ in range(2)]
    for table, illness in zip(tables, ("fracture", "diabetes"), strict=True):
        table["diagnosis"][7] = illness
    with door.busy("asking"):
        _show(noise_exploitation(Sticky, *tables, kind="sticky", trials=trials))


@attacks.command()
def local(private: Annotated[bool, typer.Option(help="Attack smooth sensitivity instead: it must fail.")] = False) -> None:
    """Guess a person from one answer whose noise follows the local sensitivity; with --private, from one with smooth sensitivity."""
    import sordino as sd
    from sordino.course.notes import local_noise, median_leak
    from sordino.mechanisms import Smooth

    wide = (0, 10**6)

    def release(data: Any, n: int) -> Any:
        if not private:
            return local_noise(data, wide, n)
        return sd.lab.simulate(Smooth(epsilon=Fraction(1)), data, repeats=n, statistic="median", bounds=wide, relation="replace")

    with door.busy("guessing"):
        _show(sd.lab.noise_exploitation(release, *median_leak(100, high=wide[1]), vectorised=True))


def audit(
    mechanism: Annotated[str | None, typer.Argument(help='A mechanism by name, such as "smooth"; all of them without it.')] = None,
) -> int:
    """Check the certificate of every mechanism by integrating the law it really samples. Exit code 1 if one does not hold.

    Example: sordino audit smooth
    """
    from rich.console import Console
    from rich.progress import track

    import sordino as sd

    chosen = [_found(mechanism)] if mechanism else list(sd.mechanisms.catalog())
    todo = [(kind, example) for kind in chosen for example in kind.examples()]
    rows = []
    still = door.quiet or door.json or not sys.stderr.isatty()
    for kind, example in track(todo, description="checking", console=Console(stderr=True), disable=still, transient=True):
        certificate = example.certificate()
        found = certificate.check()
        rows.append({"mechanism": kind.__name__, "claim": str(certificate.cost), "sound": found.sound, "slack": float(found.slack)})
    lines = [f"{'holds ' if row['sound'] else 'BROKEN'}  {row['mechanism']}: {row['claim']}, slack {row['slack']:.4f}" for row in rows]
    wrong = sum(not row["sound"] for row in rows)
    door.say("\n".join([*lines, f"{len(rows)} certificates, {wrong} broken"]), rows)
    return FAILED if wrong else 0


def _found(name: str) -> Any:
    """A mechanism: other things the notes name have no certificate to check."""
    import sordino as sd

    found = sd.mechanisms.find(name)
    if found not in sd.mechanisms.catalog():
        raise QueryError("SRD-106", f"{name!r} is no mechanism.", "sordino audit without a name checks all of them.")
    return found
