"""`python -m sordino` is the command line."""

from sordino.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
