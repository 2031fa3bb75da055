"""Make golden1.ledger and golden1.jsonl: a book that real questions filled, in format 1. Run once, by the last code that wrote format 1.

python tests/ledger/make_golden1.py

The rows are public and fixed, the answers are what was drawn on the day; both files are kept and never made again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).parent
LEDGER, EXPORT = HERE / "golden1.ledger", HERE / "golden1.jsonl"
COSTS = {
    "pure": ("pure", "1/10"), "approximate": ("approximate", "1/5", "1e-9"), "laplace": ("laplace", "0.1"),
    "discrete": ("discrete_laplace", "0.1", "0.05"), "range": ("bounded_range", "0.1"), "ranges": ("bounded_range", "0.1", 3),
    "gaussian": ("gaussian", "0.01", "0.5", "1e-6"),
}  # fmt: skip
QUESTION = sha256(b"how old are they").digest()


def rows() -> dict[str, list[object]]:
    """Sixty rows of twenty people; nothing about them is secret."""
    return {"who": [f"p{i % 20}" for i in range(60)], "age": [20 + i for i in range(60)], "sex": ["f" if i % 3 else "m" for i in range(60)]}


def opened(path: Path, *, version: str = "1", ceiling: int | None = None, **limits: int):
    """The table the golden questions were asked of."""
    import sordino as sd

    limits = limits or {"max_rows": 2, "max_groups": 3}
    return sd.table(
        rows(), unit="who", **limits, bounds={"age": (0, 120)}, keys={"sex": ["f", "m"]}, name="people", version=version, ledger=path,
        budget=sd.Budget(200, "1e-3", max_per_release=ceiling),
    )  # fmt: skip


def questions(people):
    """Questions by the request id they were asked under; each cost epsilon 2."""
    import sordino as sd

    return {
        "count": people.count(),
        "aliased": people.agg(n=sd.count()),
        "bundle": people.where("age > 30").agg(n=sd.count(), m=sd.mean("age"), q=sd.median("age")),
        "twice": people.agg(a=sd.count(), b=sd.count()),
        "grouped": people.group_by("sex").agg(n=sd.count()),
        "histogram": people.histogram("sex"),
        "sql": people.sql("SELECT MEDIAN(age) AS middle FROM people WHERE sex = 'f'"),
    }


def main() -> None:
    from sordino.ledger import adopt
    from sordino.privacy.cost import Cost

    with tempfile.TemporaryDirectory(prefix="people-") as name:
        os.environ["SORDINO_STATE"] = str(Path(name) / "state")
        path = Path(name) / "golden1.ledger"
        with opened(path, version="0") as people:
            people.count().release(epsilon=1, request="an older version")
        with opened(path, ceiling=20) as people:
            book = people.ledger
            for word, (family, *numbers) in COSTS.items():
                book.seal(book.charge(f"cost {word}", QUESTION, getattr(Cost, family)(*numbers), "amina"), f"answer {word}".encode())
            whole = Cost.sum([(Cost.laplace("0.1"), 3), (Cost.gaussian("0.01", "0.5", "1e-6"), 1)])
            book.charge("cost composed", QUESTION, whole)  # and no answer
            book.seal(book.charge_batch("cost batch", QUESTION, [Cost.bounded_range("0.1"), Cost.pure("0.05")]), b"\x00\xff")
            for request, query in questions(people).items():
                query.release(epsilon=2, request=request, fresh=True)
            batch = people.batch(epsilon=2)
            batch.ask(people.count()), batch.ask(people.mean("age"))
            batch.release(request="batch")
        adopt(path, epsilon="0.25")
        with opened(path) as people:
            assert people.ledger.verify()
            EXPORT.write_text(people.ledger.export(), encoding="ascii")
            print(people.ledger.head.count, people.ledger.head.hash.hex(), people.ledger.budget.exact["loss"])
        shutil.copyfile(path, LEDGER)


if __name__ == "__main__":
    main()
