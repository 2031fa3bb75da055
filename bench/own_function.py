"""Six functions of one's own at epsilon 1 and 4,000 rows: off by how much with 95%, written, by hand or as a regression, and by parts.

    python bench/own_function.py [--parts 63] [--repeats 40]

The examples are those of docs/how-to/own-function.md. Where a price list knows the error it is the price list's, simulated on public rows;
for regressions it is that of as many releases about public rows; for parts what they say differs from what all rows say, and that is added.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sordino as sd

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "own-function.md"
SHOWN = ("told(", "print(", "assert ", "asked = ", "fitted = ", "people.close")


def defined() -> dict[str, Any]:
    """Everything the page defines, without asking for any of it."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[:7]:
        kept = [line for line in block.splitlines() if not line.startswith(SHOWN)]
        exec(compile("\n".join(kept), str(PAGE), "exec"), names)
    return names


def within(query: Any) -> float:
    """What the price list says at epsilon 1."""
    return float(query.preview(epsilons=[1]).lines[0].forecasts[0].half_width)


def tried(release: Callable[[float], float], truth: float, repeats: int) -> float:
    """The error of 19 of 20 releases; each has a price of its own, so that none is the recorded answer of another."""
    return float(np.quantile([abs(release(1 + i / 1e6) - truth) for i in range(repeats)], 0.95))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parts", type=int, default=63)
    parser.add_argument("--repeats", type=int, default=40)
    said = parser.parse_args()
    page = defined()
    people, rows = page["people"], page["town"](2)
    practice = sd.table(rows, budget=sd.Budget(epsilon=10**6, delta=0.01), **page["facts"])

    def parts(function: Any, columns: list[str], ends: tuple[float, float], truth: Any, **facts: Any) -> str:
        asked = {"method": "aggregate", "parts": said.parts, "range": ends, **facts}
        middle = np.asarray(practice.apply(function, columns, **asked).release(epsilon=10**4).value)
        return f"{within(people.apply(function, columns, **asked)) + float(np.abs(middle - truth).max()):.2g}"

    def regression(query: Callable[[], Any], value: Callable[[Any], float], truth: float) -> str:
        return f"{tried(lambda epsilon: value(query().release(epsilon=epsilon, delta=1e-6)), truth, said.repeats):.2g}"

    def one(statistic: Any, column: str | None = None, way: str | None = None) -> str:
        query = people.apply(statistic, column)
        return f"{within(query if way is None else query.by_mechanism(way)):.2g}"

    def ratio(r: Any) -> float:
        return float(r["rent"].sum() / r["income"].sum())

    def correlated(r: Any) -> float:
        return float(np.corrcoef(r["age"], r["rent"])[0, 1])

    incomes, gini, weight, slope = np.sort(rows["income"]), page["gini_by_hand"], page["weight"], page["slope"]
    huber = regression(lambda: practice.m_regress("rent ~ income"), lambda r: r.value["income"], slope(rows))
    moments = regression(lambda: practice.gram(["age", "rent"]), lambda r: r.correlation["age"]["rent"], correlated(rows))
    logistic = regression(
        lambda: practice.regress("owner ~ income + age", loss="logistic"), lambda r: 40_000 * r.value["income"], weight(rows)
    )
    table = [
        ("ratio of two means", one(page["burden"]), one(page["by_hand"]), parts(ratio, ["rent", "income"], (0, 3), ratio(rows))),
        (
            "correlation",
            one(page["correlation"]),
            f"{moments} (second moments)",
            parts(correlated, ["age", "rent"], (-1, 1), correlated(rows)),
        ),
        ("Gini coefficient", one(page["gini"], "income"), one(gini, "income"), parts(gini, "income", (0, 1), gini(incomes))),  # type: ignore[arg-type]
        (
            "2-D median, age over 100",
            f"{float(one(page['middle'], 'age', 'inverse')) / 100:.2g} (of age)",
            f"{within(people.median('age', interval=False)) / 100:.2g} (of age)",
            parts(page["centre"], ["age", "rent"], (0, 1), page["centre"](rows), dimension=2),
        ),
        ("slope of a robust line", one(page["line"]), f"{huber} (Huber's)", parts(slope, ["income", "rent"], (-2, 2), slope(rows))),
        ("weight of a fitted model", "", f"{logistic} (logistic)", parts(weight, ["income", "age", "owner"], (-10, 10), weight(rows))),
    ]
    print(f"| | written | by hand or as a regression | {said.parts} parts |\n| --- | --- | --- | --- |")
    for row in table:
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
