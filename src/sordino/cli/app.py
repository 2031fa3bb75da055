"""The app: global options anywhere on the line, verbs from their modules, errors as text with a fix and an exit code."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated

import typer

from sordino import __version__
from sordino.cli.ask import budget, card, describe, preview, query
from sordino.cli.check import check
from sordino.cli.console import USAGE, code_of, door, wrapped
from sordino.cli.declare import configs, fit, import_files, init
from sordino.cli.installation import demo, doctor, explain
from sordino.cli.lab import attacks, audit
from sordino.cli.ledger import books
from sordino.cli.serve import archive_dataset, learn, restore_archive, serve, tokens
from sordino.cli.share import share
from sordino.cli.survey import surveys
from sordino.errors import QueryError, SordinoError, not_installed

__all__ = ["app", "main"]

EPILOG = """Anywhere on the line: --config TOML, --json, --quiet. Start with: sordino demo, then sordino init FILE

Completion in your shell: sordino --install-completion"""
app = typer.Typer(
    name="sordino", help="Private answers about a sensitive table: price first, answer once.", epilog=EPILOG, no_args_is_help=True,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}, rich_markup_mode=None,
)  # fmt: skip
INTERRUPTED = 130
NAMES = {import_files: "import", archive_dataset: "archive", restore_archive: "restore"}
for verb in (
    demo, init, fit, import_files, check, preview, query, describe, share, budget, card, audit, serve, archive_dataset, restore_archive,
    learn, doctor, explain,
):  # fmt: skip
    app.command(NAMES.get(verb))(verb)
app.add_typer(books, name="ledger")
app.add_typer(configs, name="config")
app.add_typer(attacks, name="attack")
app.add_typer(surveys, name="survey")
app.add_typer(tokens, name="token")


def _version(wanted: bool) -> None:
    if wanted:
        door.say(f"sordino {__version__}", {"version": __version__})
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[bool, typer.Option("--version", help="Say which version this is.", callback=_version, is_eager=True)] = False,
) -> None:
    """Private answers about a sensitive table: price first, answer once."""


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = _globals(list(sys.argv[1:] if argv is None else argv))
    try:
        done = app(args=words, prog_name="sordino", standalone_mode=False)
        return _stopped() if done == INTERRUPTED else done if isinstance(done, int) else 0
    except SordinoError as error:
        return _tell(error)
    except typer.Exit as stop:
        return _stopped() if stop.exit_code == INTERRUPTED else stop.exit_code
    except ModuleNotFoundError as error:
        known = not_installed(error)
        if known is None:
            raise
        return _tell(known)
    except BrokenPipeError:  # whoever read the answer has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _tell(QueryError("SRD-205", f"{error.filename} cannot be used: {error.strerror}.", "Check the path and who may use it."))
    except (KeyboardInterrupt, typer.Abort):
        return _stopped()
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error of the option parser
            return _misused(error.format_message())
        raise


def _stopped() -> int:
    """After Ctrl-C, which the option parser hands on as an exit code."""
    print("stopped; nothing more was spent", file=sys.stderr)
    return INTERRUPTED


def _misused(message: str) -> int:
    """What the option parser says: a whole help page when no verb was given, one line otherwise."""
    text = message if message.startswith("Usage:") else wrapped(f"usage: {message} Try: sordino --help")
    if door.json:
        print(json.dumps({"error": "usage", "what": message, "fix": "sordino --help", "spent": False, "exit": USAGE}))
    else:
        print(text, file=sys.stderr)
    return USAGE


def _globals(words: list[str]) -> list[str]:
    """Take --config, --json and --quiet from wherever they stand."""
    door.config, door.json, door.quiet = None, False, False
    left: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--json":
            door.json = True
        elif word == "--quiet":
            door.quiet = True
        elif word == "--config" and words:
            door.config = words.pop(0)
        elif word.startswith("--config="):
            door.config = word.partition("=")[2]
        else:
            left.append(word)
    return left


def _tell(error: SordinoError) -> int:
    code = code_of(error)
    spent = "The charge stands." if error.spent else "Nothing was spent."
    if door.json:
        said = {"error": error.code, "what": error.what, "fix": error.fix, "spent": error.spent, "exit": code}
        print(json.dumps({**said, "facts": error.facts}, default=str))
        return code
    lines = (f"{error.code}: {error.what}", error.fix, f"{spent} More: sordino explain {error.code}")
    print(wrapped("\n".join(filter(None, lines))), file=sys.stderr)
    return code
