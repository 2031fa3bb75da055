"""Pages that are written by the code they describe: `python tools/pages.py` writes them, `--check` only compares."""

from __future__ import annotations

import sys
import textwrap
import tomllib
from dataclasses import fields
from inspect import cleandoc
from pathlib import Path
from typing import Any

import typer
from front import readme
from mistake import MISTAKES, REQUESTS, SETUP

import sordino as sd
from sordino.cli import app
from sordino.errors import CODES, FIXES
from sordino.statistics import catalog

DOCS = Path(__file__).parent.parent / "docs"
STANDS = "the charge stands. The text never says more: a text that depends on data would be a release."
FAMILIES = {
    "SRD-1": ("Prices and parameters", "`QueryError`: nothing was spent."),
    "SRD-2": ("Questions and declarations", "`QueryError`: nothing was spent."),
    "SRD-3": ("The budget", "`BudgetExceeded`, or `QueryError` for SRD-304: nothing was spent."),
    "SRD-4": ("After the charge", f"`ReleaseFailed`: {STANDS}"),
    "SRD-5": ("The server", "Sent by the HTTP server as problem documents; a request that is repeated with its key is charged once."),
    "SRD-6": ("The ledger", "`LedgerError`, or `QueryError` for SRD-605 and SRD-606: nothing is answered and nothing was spent."),
}


def errors() -> str:
    intro = f"""Every error has a code, says what happened, what to do, and whether anything was spent. There are {len(CODES)} of them. On
        the command line: `sordino explain SRD-301`. In Python: `error.code`, `error.what`, `error.fix`, `error.spent`, `error.facts`.
        Each example below is the shortest mistake that raises its error, and runs as a test; the server's are requests that a test
        sends."""
    out = ["# Errors", "", filled(intro), "", f"```python\n{SETUP.strip()}\n```"]
    family = ""
    for code, what in CODES.items():
        if code[:5] != family:
            family = code[:5]
            title, spent = FAMILIES[family]
            out += ["", f"## {title}", "", spent]
        out += ["", f"### {code}", "", f"{what[0].upper()}{what[1:]}. {FIXES[code]}"]
        if code in MISTAKES:
            body = textwrap.indent(textwrap.dedent(MISTAKES[code]).strip(), "    ")
            out += ["", f'```python\nwith refused("{code}"):\n{body}\n```']
        elif code in REQUESTS:
            out += ["", f"```text\n{REQUESTS[code]}\n```"]
    return "\n".join(out) + "\n"


def mechanisms() -> str:
    found = sd.mechanisms.catalog()
    intro = f"""The {len(found)} mechanisms of the package, as `sd.mechanisms.catalog()` lists them. Each is one file with a theorem, its
        proof, a certificate that integrates the law it really samples over all neighbouring parameters, and examples. *Slack* is the
        claimed epsilon over the one the certificate finds necessary: 1 is tight. `sordino audit` computes the tables below again, and
        `sd.mechanisms.find(name)` knows every name in italics."""
    out = ["# Mechanisms", "", filled(intro)]
    for kind in found:
        summary, _, rest = " ".join(cleandoc(kind.__doc__ or "").split()).partition(" Theorem. ")
        theorem, _, proof = rest.partition(" Proof. ")
        names = ", ".join(f"*{name}*" for name in kind.names)
        out += ["", f"## {kind.__name__}", "", plain(summary), "", f"Names: {names}. Notes: {plain(kind.note)}.", ""]
        out += [f"**Theorem.** {plain(theorem)}", "", f"**Proof.** {plain(proof.partition(' QED')[0])} ∎", ""]
        out += ["| example | claim | verdict | slack |", "|---|---|---|---|"]
        for example in kind.examples():
            certificate = example.certificate()
            verdict = certificate.check()
            why = f" ({plain(certificate.loose)})" if certificate.loose and verdict.slack > 1.05 else ""
            word = "sound" if verdict.sound else "BROKEN"
            out.append(f"| `{brief(example)}` | {certificate.cost} | {word} | {float(verdict.slack):.3f}{why} |")
    return "\n".join(out) + "\n"


def statistics() -> str:
    found = [one for one in catalog().values() if one.verb]
    intro = f"""The {len(found)} statistics a table can be asked for, as `sordino.statistics.catalog()` lists them; the file of each, in
        `sordino/statistics`, says all of this itself. A table has them as verbs (`table.median("cost")`, or by name,
        `table.ask("median", "cost")`), `agg` takes several; `aggregate` is
        `apply(..., method="aggregate")`. *HTTP* says how `sd.connect` sends them: alone, or also as one of several in
        one release. What each costs and covers: [API](api.md); which mechanisms answer: `query.explain(epsilon=1)`."""
    out = ["# Statistics", "", filled(intro), "", "| verb | | SQL | HTTP |", "|---|---|---|---|"]
    for one in found:
        needed = ", ".join(name for name in one.needed if name != "columns" or one.name not in ("m_regress", "regress"))
        summary = " ".join(cleandoc(one.make.__doc__ or "").split("\n\n")[0].split())
        sql = ", ".join(f"`{said.format(*one.needed or ['person'], '', '')}`" for said in one.sql)
        sent = "alone or together" if one.together else "alone" if one.remote else ""
        out.append(f"| `{one.name}({needed})` | {plain(summary)} | {sql} | {sent} |")
    beside = ", ".join(f"`{said}`" for one in catalog().values() if not one.verb for said in one.sql if "(" not in said)
    return "\n".join([*out, "", f"SQL alone asks for {beside}, and `COUNT(column)`."]) + "\n"


def filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 140, break_long_words=False, break_on_hyphens=False)


def plain(text: str) -> str:
    """Formulas as they stand: nothing in them is emphasis, a link or a tag. Code between backticks stays code."""
    signs = {sign: f"&#{ord(sign)};" for sign in "<>|#~$*_[]"} | {"\\": "\\\\"}
    parts = text.split("`")
    return "`".join(part if i % 2 else "".join(signs.get(sign, sign) for sign in part) for i, part in enumerate(parts))


def brief(example: Any) -> str:
    """The parameters that differ from their defaults, as one would type them."""
    shown = []
    for field in fields(example):
        value = getattr(example, field.name)
        if field.init and value != field.default:
            shown.append(f"{field.name}={written(value)}")
    return f"{type(example).__name__}({', '.join(shown)})".replace("|", "\\|")


def written(value: Any) -> str:
    if isinstance(value, tuple):
        inner = ", ".join(written(part) for part in (value if len(value) <= 5 else value[:3]))
        return f"({inner}{', ...' if len(value) > 5 else ''})"
    if isinstance(value, str):
        return f'"{value}"'
    try:
        return f"{float(value):.6g}"
    except (TypeError, ValueError):
        return str(value).partition("(")[0]


EXITS = {
    0: "done",
    1: "charged and lost, or a certificate that does not hold",
    2: "usage: the question is wrong; nothing was spent",
    3: "refused by the budget; nothing was spent",
    4: 'the answer is "refused": the test of a mechanism did not pass; it was paid for',
    5: "the dataset file is wrong or unsafe",
    6: "the ledger is broken, behind its witness or unreachable",
}


def cli() -> str:
    root: Any = typer.main.get_command(app)
    intro = """Every verb reads a dataset file: the one of `--config`, of the variable `SORDINO_CONFIG`, or the only one in the folder.
        `--config TOML`, `--json` and `--quiet` may stand anywhere on the line. Answers go to standard output, everything else to
        standard error. This page is written from the program itself. Your
        shell (bash, zsh, fish or PowerShell) completes verbs and options once you have run `sordino --install-completion`."""
    out = ["# Command line", "", filled(intro), "", "| exit code | meaning |", "|---|---|"]
    out += [f"| {code} | {meaning} |" for code, meaning in EXITS.items()]
    for name, verb in root.commands.items():
        inner = getattr(verb, "commands", None)
        if inner is None:
            out += ["", f"## sordino {name}", "", *described(f"sordino {name}", verb)]
            continue
        out += ["", f"## sordino {name}", "", verb.help]
        for word, item in inner.items():
            out += ["", f"### sordino {name} {word}", "", *described(f"sordino {name} {word}", item)]
    return "\n".join(out) + "\n"


def described(words: str, verb: Any) -> list[str]:
    given = [param for param in verb.params if not param.opts[0].startswith("-")]
    options = [param for param in verb.params if param.opts[0].startswith("-") and param.name != "help"]
    places = [param.name.upper() if param.required else f"[{param.name.upper()}]" for param in given]
    what, _, example = verb.help.partition("Example: ")
    line = " ".join([words, *places, *(["[OPTIONS]"] if options else [])])
    out = [" ".join(what.split()), "", f"```text\n{line}\n```"]
    rows = [(param.name.upper(), param) for param in given] + [(", ".join(param.opts), param) for param in options]
    if rows:
        out += ["", "| | | default |", "|---|---|---|"]
        out += [f"| `{name}` | {param.help or ''} | {default(param)} |" for name, param in rows]
    if example:
        out += ["", f"```text\n{' '.join(example.split())}\n```"]
    return out


def default(param: Any) -> str:
    if param.required:
        return "required"
    return "" if param.default in (None, False) else f"`{param.default}`"


def notes() -> str:
    items = tomllib.loads((DOCS / "notes.toml").read_text(encoding="utf-8"))["item"]
    intro = f"""Sordino grew out of five lecture notes on data-dependent differential privacy, 000 to 004. This page lists everything they
        define, state, exemplify or point to: {len(items)} items. Each names a function, a test, a page that explains it and a
        page of the course to play with. The table is `docs/notes.toml`; a test checks that the names exist, and not that the test named
        is enough.
        Symbols: [glossary](glossary.md).
        Where the notes err: [errata](errata.md). Papers: [bibliography](bibliography.md)."""
    columns = ["| # | note | item | function | test | page | play |", "|---|---|---|---|---|---|---|"]
    out = ["# The notes and the code", "", filled(intro), "", *columns]
    for item in items:
        head = f"| {item['number']} | {item['note']} {item['section']} | {plain(item['item'])} |"
        title = Path(item["page"]).stem.replace("-", " ")
        test = item["test"].partition("::")[2].removeprefix("test_").replace("_", " ")
        call, played = item["function"].removeprefix("sordino."), f"[{item['learn']}](learn/{item['learn']}.html)"
        out.append(f"{head} `{call}` | {test} (`{item['test'].partition('::')[0]}`) | [{title}]({item['page']}) | {played} |")
    return "\n".join(out) + "\n"


PAGES = {
    "docs/reference/errors.md": errors,
    "docs/reference/mechanisms.md": mechanisms,
    "docs/reference/statistics.md": statistics,
    "docs/reference/cli.md": cli,
    "docs/notes.md": notes,
    "README.md": readme,
}


def main(arguments: list[str]) -> int:
    old = 0
    for name, write in PAGES.items():
        page, text = DOCS.parent / name, write()
        if page.exists() and page.read_text(encoding="utf-8") == text:
            continue
        if "--check" in arguments:
            print(f"{name} is not what the code says; run: python tools/pages.py", file=sys.stderr)
            old += 1
        else:
            page.parent.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if old else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
