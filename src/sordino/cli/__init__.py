"""The command line: every verb reads a dataset file, says a price before it is paid, and has an exit code."""

from sordino.cli.app import app, main

__all__ = ["app", "main"]
