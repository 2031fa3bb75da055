"""What analysts of a hospital write: statements about patients, visits, items and wards, one on each line of corpus.sql.

Those after a dash are not answered, and say why: they would need rows of several people in one, an order of rows, or a look at what is
not declared.
"""

from __future__ import annotations

from pathlib import Path

LINES = Path(__file__).with_name("corpus.sql").read_text(encoding="utf-8").strip().split("\n")
STATEMENTS = [line.removeprefix("- ") for line in LINES]
ANSWERED = [line for line in LINES if not line.startswith("- ")]


def _lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip().split("\n")


LATER = {"hospital": _lines("later_hospital.sql"), "shop": _lines("later_shop.sql")}  # written before it was known what is answered
