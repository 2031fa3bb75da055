"""Make tests/ledger/format1.ledger. Run once, when format 1 was new; the file is kept and never made again.

python tests/ledger/make_format1.py
"""

from __future__ import annotations

import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

from sordino.ledger import Budget, open_ledger
from sordino.privacy.cost import Cost
from sordino.privacy.relation import PrivacyUnit

TARGET = Path(__file__).with_name("format1.ledger")


def main() -> None:
    key = sha256(b"how old are they").digest()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        budget = Budget(3, "1e-6", "zcdp", "0.5", {"amina": 1})
        terms = {
            "relation": "add_remove", "unit": PrivacyUnit("patient_id", max_rows=8), "dataset": "hospital-2025", "state": folder / "state",
        }  # fmt: skip
        with open_ledger(folder / "format1.ledger", budget=budget, version="1", **terms) as book:
            book.seal(book.charge("first", key, Cost.laplace("0.1"), "amina"), b'{"value":41}')
            book.charge("second", key, Cost.approximate("0.2", "1e-8"))
            book.charge("third", key, Cost.gaussian("0.01", "0.5", "1e-6"), "amina")
            book.seal(book.charge_batch("fourth", key, [Cost.bounded_range("0.1"), Cost.pure("0.05")]), b"\x00\xff")
        with open_ledger(folder / "format1.ledger", budget=Budget(3, "1e-6", "zcdp"), version="2", **terms) as book:
            assert book.verify()
            print(book.head.count, book.head.hash.hex(), book.budget.exact["loss"], book.budget.exact["naive"])
        shutil.copyfile(folder / "format1.ledger", TARGET)


if __name__ == "__main__":
    main()
