"""The owner's verbs before anybody asks: init writes a dataset file that fits the rows, fit says how well one does,
import maps its files into their declared types. NOT PRIVATE.

The dataset file's verb: upgrade.
"""

from __future__ import annotations

import codecs
import csv
import json
import math
import os
import re
import shlex
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from sordino.cli.console import door
from sordino.errors import QueryError
from sordino.schema.declaration import Delimited

__all__ = ["configs", "fit", "import_files", "imported", "init", "near"]

QUESTIONS = {
    "unit": "1/6  Which column says who a row is about? (empty: every row is a person of its own)",
    "limits": "2/6  At most how many rows of one person count in all, in how many groups, how many in each? (rows,groups,each)",
    "bounds": "3/6  Number columns with their public bounds? (income=0:1000000 age=0:120; empty, here and next: look at the rows)",
    "keys": "4/6  Text columns with public values, or private ones? (sex=f,m,x diagnosis=private)",
    "budget": "5/6  The budget: epsilon, and a delta if keys are private? (3,1e-6)",
    "size": "6/6  About how many people, if that is public? (empty: not public)",
}
LOOKS = "reading the rows for types and bounds: NOT PRIVATE, for the owner. Check what is written before you share the file."
FITS = (
    "# Types and bounds were read from the rows and rounded outwards: whoever sees this file learns that much. Replace them by what is\n"
    "# publicly known, list public values of text columns as values = [...], and see `sordino fit` for what other declarations cost."
)
FITS_PEOPLE = "# These keep 99% of the rows. Noise grows with them; `sordino fit` says what smaller ones cut."
HINTS = {"unit": "", "limits": "8,4", "bounds": "", "keys": "", "budget": "1,1e-6", "size": ""}


def init(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file.")],
    unit: Annotated[str | None, typer.Option(help="The column of people.")] = None,
    limits: Annotated[str | None, typer.Option(help="Rows of one person in all, groups, and rows in each group if fewer: 8,4,2.")] = None,
    bounds: Annotated[str | None, typer.Option(help="income=0:1000000 age=0:120")] = None,
    keys: Annotated[str | None, typer.Option(help="sex=f,m,x diagnosis=private")] = None,
    budget: Annotated[str | None, typer.Option(help="epsilon,delta: 3,1e-6")] = None,
    size: Annotated[str | None, typer.Option(help="The public number of people.")] = None,
    look: Annotated[
        bool | None, typer.Option(help="Read the rows for types and bounds (NOT PRIVATE); not done where --bounds or --keys say them.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The dataset file to write; by default next to the source.")] = None,
    force: Annotated[bool, typer.Option(help="Replace a dataset file that is there.")] = False,
) -> None:
    """Write a dataset file: what is protected, how much may be spent, which columns may be used.

    With --bounds or --keys only the header is read, and what they do not name may never be used. Without them the rows are read: dates,
    moments, whole numbers, decimals and texts become declarations that fit, rounded outwards, for the owner to check.

    Example: sordino init patients.csv
    """
    from sordino.engines.source import open_source
    from sordino.plan.dataset import read_dataset

    target = out or file.with_suffix(".toml")
    if target.exists() and not force:
        raise QueryError("SRD-204", f"{target} is there already.", "Give --out another.toml, or --force.")
    written = _written(file)
    engine = open_source(str(file), (), csv=written or None)
    try:
        header = engine.header()
        said = {"unit": unit, "limits": limits, "bounds": bounds, "keys": keys, "budget": budget, "size": size}
        ask = sys.stdin.isatty() and not door.json and any(value is None for value in said.values())
        if ask:
            print(f"{file.name} has the columns {', '.join(header)}.")
        for name, given in said.items():
            if given is None:
                usable = ask and not (name == "limits" and not said["unit"])
                hint = HINTS[name] if name != "limits" or ask or bounds or keys or look is False else ""
                said[name] = typer.prompt(QUESTIONS[name], default=HINTS[name], show_default=bool(HINTS[name])) if usable else hint
        words = {name: str(value or "").strip() for name, value in said.items()}
        if words["unit"]:
            _known(words["unit"], header)
        looked = (not words["bounds"] and not words["keys"]) if look is None else look
        found = _looked(engine, words, written) if looked else Looked()
        found.notes += _broken_lines(file, written) if looked else []
        text = _dataset(file, target, header, words, found)
    finally:
        engine.close()
    target.write_text(text, encoding="utf-8")
    try:
        read_dataset(target)
    except QueryError:
        target.rename(target.with_suffix(".toml.draft"))
        raise
    notes = "".join(f"\nnote: {note}" for note in found.notes)
    after = f"next: sordino check {shlex.quote(str(target))}"
    door.say(f"wrote {target}{notes}\n{after}", {"wrote": str(target), "columns": list(header), "looked": looked, "notes": found.notes})


@dataclass
class Looked:
    """What the rows of a file suggest: a declaration and its reason by column, limits on one person, how its lines are written."""

    columns: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    written: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


QUOTES = re.compile(rb"[\x80-\x9f]")


def _written(file: Path) -> Delimited | None:
    """How the lines of a CSV file are written, as far as its bytes tell; None for any other file and for what nobody need say."""
    if not file.name.lower().endswith((".csv", ".tsv")) or not file.is_file():
        return None
    with file.open("rb") as stream:
        start = stream.read(2**20)
        encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        if encoding == "utf-8":
            decoder, piece = codecs.getincrementaldecoder("utf-8")(), start
            try:
                while piece:
                    decoder.decode(piece)
                    piece = stream.read(2**20)
            except UnicodeDecodeError:
                stream.seek(0)  # latin-1 has control characters where windows-1252 has quotes, and nobody writes those into a file
                quotes = any(QUOTES.search(piece) for piece in iter(lambda: stream.read(2**20), b""))
                encoding = "windows-1252" if quotes else "latin-1"
    lines = start.decode("utf-8-sig" if encoding == "utf-8" else encoding, "replace").splitlines()[:50]
    mark = None
    if lines and len(next(csv.reader(lines[:1]), [])) == 1 and not file.name.lower().endswith(".tsv"):
        fields = {sign: [len(row) for row in csv.reader(lines, delimiter=sign)] for sign in ";\t|"}
        mark = max(fields, key=lambda sign: (fields[sign][0] > 1) * sum(n == fields[sign][0] for n in fields[sign]))
        mark = mark if fields[mark][0] > 1 else None
    return Delimited(mark, encoding) if mark or encoding != "utf-8" else None


def _broken_lines(file: Path, written: Delimited | None) -> list[str]:
    """A note if lines end inside a quoted text: whoever meant one row with a line break in it gets two."""
    if not file.name.lower().endswith((".csv", ".tsv")) or not file.is_file():
        return []
    with file.open(encoding="utf-8" if written is None else written.encoding, errors="replace", newline="\n") as lines:
        count = sum(line.count('"') % 2 for line in lines)
    if count < 2:
        return []
    fix = "Take the breaks out of the texts, or write multiline = true below the table's source: then one quote can change other rows."
    return [f"{count:,} lines open or close a quote that another line does not match, and every line is a row here. {fix}"]


def _looked(engine: Any, words: dict[str, str], written: Delimited | None) -> Looked:
    """Read the rows once, twice where numbers may have a decimal comma, and once more for the limits on one person."""
    from sordino.privacy.relation import PrivacyUnit
    from sordino.schema.column import Column
    from sordino.schema.declaration import declare
    from sordino.session.owner import fitted, look
    from sordino.session.suggestion import names_people

    door.note(LOOKS)
    with door.busy("reading the rows"):
        seen = look(engine)
        comma = False
        if written is not None and written.delimiter not in (None, ","):
            again = _with_comma(engine, look)
            better = {name for name, (one, *_) in again.items() if one.numbers > seen[name][0].numbers}
            worse = {name for name, (one, *_) in again.items() if one.numbers < seen[name][0].numbers}
            comma = len(better) > len(worse)
            seen |= {name: again[name] for name in better} if comma else {}
        found = Looked({name: (facts, why) for name, (_, facts, why) in seen.items()})
        unit = words["unit"]
        if unit and not words["limits"]:
            known = declare({name: facts for name, (facts, _) in found.columns.items() if name != unit}, unit=unit)
            engine.columns = known
            columns = {name: known.get(name) or Column(name, "never") for name in engine.header()}
            found.limits = dict(fitted("rows", engine, columns, PrivacyUnit(unit, max_rows=8, max_groups=4)).limits)
    if written is not None:
        found.written = {"delimiter": written.delimiter} if written.delimiter else {}
        found.written |= {"encoding": written.encoding} if written.encoding != "utf-8" else {}
    found.written |= {"decimal": ","} if comma else {}
    if not unit:
        people = [name for name, (one, *_) in seen.items() if names_people(name) and 1 < one.distinct < one.present]
        found.notes += [
            f"{name!r} repeats. If it says who a row is about, write the file anew with --unit {shlex.quote(name)}." for name in people[:3]
        ]
    found.notes += [f"{name!r} is not used: {why}." for name, (facts, why) in found.columns.items() if "access" in facts and name != unit]
    return found


def _with_comma(engine: Any, look: Any) -> Any:
    """The same rows with a decimal comma in numbers."""
    from sordino.engines.duckdb import DuckDB

    source = engine.source
    with DuckDB(replace(source, written=replace(source.written, decimal=",")), ()) as other:
        return look(other, "float")


def fit(
    file: Annotated[Path | None, typer.Argument(help="A dataset file; the one of --config or of this folder.")] = None,
    table: Annotated[str | None, typer.Option(help="One table of the file.")] = None,
    page: Annotated[Path | None, typer.Option("--html", help="Also write the report as a page, readable by you alone.")] = None,
) -> None:
    """NOT PRIVATE, for the owner: what a declaration cuts, clamps and cannot read, and what would fit. Reads the rows; charges nothing.

    Example: sordino fit hospital.toml
    """
    from sordino.session.owner import fit as fit_check

    place = door.dataset(file)
    with door.busy("reading the rows"):
        found = fit_check(place)
    if table is not None and table not in found:
        raise QueryError("SRD-205", f"there is no private table {table!r}.", f"Its tables are: {', '.join(found)}.")
    chosen = {name: one for name, one in found.items() if table in (None, name)}
    if page is not None:
        body = "".join(f"<h2>{one.table}</h2>{one._repr_html_()}" for one in chosen.values())
        descriptor = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Fit, NOT PRIVATE</title><body>{body}</body></html>")
    door.say("\n\n".join(map(str, chosen.values())), {"private": False, "tables": {name: one.to_plain() for name, one in chosen.items()}})


def _dataset(file: Path, target: Path, header: tuple[str, ...], said: dict[str, str], found: Looked) -> str:
    name = file.stem.replace(" ", "-")
    suggested = [str(found.limits[word]) for word in ("max_rows", "max_groups") if word in found.limits]
    rows, groups, each, *_ = [*(word.strip() for word in (said["limits"] or ",".join(suggested) or HINTS["limits"]).split(",")), "", ""]
    epsilon, _, delta = said["budget"].partition(",")
    columns = _columns(header, said, found)
    for what, *texts in (("limits", rows, groups or "1", each or "1"), ("budget", epsilon, delta or "0"), ("size", said["size"] or "0")):
        for text in texts:
            _number(text.strip(), what)
    people = [f"unit_column = {json.dumps(said['unit'], ensure_ascii=False)}", f"max_rows = {rows}", f"max_groups = {groups or 1}"]
    people += [f"max_rows_per_group = {each}"] if each else []
    people = [*([FITS_PEOPLE] if found.limits else []), *people] if said["unit"] else []
    source = file.resolve()
    place = source.name if source.parent == target.resolve().parent else str(source)
    table = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name)
    parts = [
        "# What is protected, how much may be spent, which columns may be used. Columns that are not listed are never read.",
        *([FITS] if found.columns else []),
        "[dataset]", "format = 2", f"name = {json.dumps(name)}", 'version = "1"', f"ledger = {json.dumps(name + '.ledger')}",
        'relation = "add_remove"', "", "[privacy]", *people,
        "", "[budget]", f"epsilon = {epsilon.strip()}", *([f"delta = {delta.strip()}"] if delta.strip() else []),
        "", f"[tables.{table}]", f"source = {json.dumps(place)}", *([f"size = {said['size'].strip()}"] if said["size"].strip() else []),
        *(f"{word} = {json.dumps(value)}" for word, value in found.written.items()),
        "", f"[tables.{table}.columns]", *columns, "",
    ]  # fmt: skip
    return "\n".join(parts)


def _number(text: str, what: str) -> float:
    """What stands in the file as a number must be one; inf and nan are not."""
    try:
        found = float(text)
        if math.isfinite(found):
            return found
    except ValueError:
        pass
    raise QueryError("SRD-103", f"{what}: {text!r} is not a number.", "Write numbers as 3, 0.5 or 1e-6; bounds as name=low:high.")


def _columns(header: tuple[str, ...], said: dict[str, str], found: Looked) -> list[str]:
    """One line per declared column; what nobody declared and no row suggests may never be used."""
    from sordino.session.suggestion import toml

    declared: dict[str, str] = {said["unit"]: '{ type = "id" }'} if said["unit"] else {}
    for name, pair in _named(said["bounds"], header):
        low, _, high = (end.strip() for end in pair.partition(":"))
        if not _number(low, name) < _number(high, name):
            raise QueryError("SRD-104", f"the bounds of {name!r} are {pair!r}.", "Give the lower one first: name=0:100.")
        whole = all(end.lstrip("-").isdigit() for end in (low, high))
        declared[name] = f'{{ type = "{"int" if whole else "float"}", bounds = [{low}, {high}] }}'
    for name, values in _named(said["keys"], header):
        private = values in ("", "private")
        listed = json.dumps([value.strip() for value in values.split(",")])
        declared[name] = '{ type = "cat", keys = "private" }' if private else f'{{ type = "cat", values = {listed} }}'
    for name, (facts, why) in found.columns.items():
        declared.setdefault(name, f"{toml(facts)}  # {why}")
    never = [f'{json.dumps(name, ensure_ascii=False)} = {{ access = "never" }}' for name in header if name not in declared]
    return [*(f"{json.dumps(name, ensure_ascii=False)} = {facts}" for name, facts in declared.items()), *never]


def _named(text: str, header: tuple[str, ...]) -> list[tuple[str, str]]:
    """name=value pairs, separated by spaces. Names are those of the header, which may hold spaces themselves."""
    longest = sorted(header, key=len, reverse=True)
    parts = re.split(rf"(?:^|(?<=\s))({'|'.join(map(re.escape, longest))})\s*=", text) if header else [text]
    for rest in (parts[0], *(value for value in parts[2::2] if "=" in value)):
        if words := rest.partition("=")[0].split():
            _known(words[-1], header)
            raise QueryError("SRD-103", f"{rest.strip()!r} says nothing about a column.", "Write name=low:high, or name=value,value.")
    return [(name, value.strip()) for name, value in zip(parts[1::2], parts[2::2], strict=True)]


def _known(name: str, header: tuple[str, ...]) -> None:
    if name not in header:
        listed = ", ".join(json.dumps(column, ensure_ascii=False) if "," in column else column for column in header)
        raise QueryError("SRD-201", f"the file has no column {name!r}.", f"Its columns are {listed}.")


def import_files(
    file: Annotated[Path | None, typer.Argument(help="The dataset file; --config or the only one here without it.")] = None,
    again: Annotated[bool, typer.Option(help="Import also what is imported already: its source has new rows, for example.")] = False,
) -> None:
    """Import the files of a dataset, so that no value of one person costs more than its declared type does.

    For the owner: every row is read. Texts are cut at max_length, long ids become hashes, every value is mapped into its declared type.
    The copy lies beside the dataset file and belongs to the same ledger; the source stays as it is. Ctrl-C leaves the copy that was
    there. `sordino serve` imports by itself what was never imported.

    Example: sordino import hospital.toml
    """
    done = imported(door.dataset(file), again=again)
    words = {"imported": "imported into", "was imported": "was imported already, in"}
    lines = [
        f"{item['table']}: {words[item['done']]} {near(item['file'])}" if item["file"] else f"{item['table']}: needs no import"
        for item in done
    ]
    door.say("\n".join(lines), {"tables": done})


def near(file: str) -> str:
    """A path as people say it: from here, if that is shorter."""
    return min(os.path.relpath(file), file, key=len)


def imported(file: Path, *, again: bool = False) -> list[dict[str, Any]]:
    """Import a dataset with a bar on a terminal."""
    from sordino.session.open_dataset import import_dataset

    if door.quiet or door.json or not sys.stderr.isatty():
        return import_dataset(file, again=again)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def tell(table: str, percent: float) -> None:
            if table not in tasks:
                tasks[table] = bar.add_task(f"importing {table}", total=100)
            bar.update(tasks[table], completed=percent)

        return import_dataset(file, again=again, tell=tell)


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
