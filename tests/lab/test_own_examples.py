"""The six functions of the how-to, audited one by one: claims are hunted, releases are traced, and twice the price is seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sordino as sd
from sordino.lab import falsification
from sordino.lab.conformance import World
from sordino.lab.pathwise import pathwise
from sordino.lab.question import PAIRS, TABLE_KINDS
from sordino.lab.recording import Conversation
from sordino.statistics import sandbox

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "own-function.md"
SHOWN = ("told(", "print(", "assert ", "asked = ", "fitted = ", "people")
PRICE = (Fraction(1), Fraction(1, 50))


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[:7]


def defined() -> dict[str, Any]:
    """What the page defines, without asking for any of it."""
    names: dict[str, Any] = {}
    for block in blocks():
        kept = [line for line in block.splitlines() if not line.startswith(SHOWN)]
        exec(compile("\n".join(kept), str(PAGE), "exec"), names)
    return names


NAMES = defined()
ROWS = NAMES["town"](3, 500)


class Inside:
    """The function in this process: what a child may do is tested elsewhere, what is drawn around its answers here."""

    def __init__(self, function: Any, **limits: Any) -> None:
        self.function, self.size = function, limits["dimension"]

    def __enter__(self) -> Inside:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def answer(self, rows: Any) -> Any:
        try:
            return np.asarray(self.function(rows), float).ravel()
        except Exception:
            return np.full(self.size, np.nan)


def parts(function: Any, *columns: str, **facts: Any) -> Any:
    return lambda table: table.apply(function, list(columns), method="aggregate", parts=3, **facts)


CUSTOM = {name: NAMES[name] for name in ("burden", "by_hand", "correlation", "gini", "gini_by_hand", "middle", "line")}
ASKED: dict[str, Any] = {
    "ratio of two means": lambda table: table.apply(NAMES["burden"]),
    "ratio of two means by hand": lambda table: table.apply(NAMES["by_hand"]),
    "correlation": lambda table: table.apply(NAMES["correlation"]),
    "Gini coefficient": lambda table: table.apply(NAMES["gini"], "income"),
    "Gini coefficient by hand": lambda table: table.apply(NAMES["gini_by_hand"], "income"),
    "median in two dimensions, of parts": parts(NAMES["centre"], "age", "rent", range=(0, 1), dimension=2),
    "median in two dimensions, of a column": lambda table: table.apply(NAMES["middle"], "age").by_mechanism("inverse"),
    "slope of a robust line": lambda table: table.apply(NAMES["line"]),
    "slope of a robust line, of parts": parts(NAMES["slope"], "income", "rent", range=(-2, 2)),
    "weight of a fitted model, of parts": parts(NAMES["weight"], "income", "age", "owner", range=(-10, 10)),
}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(("rent", "owner")) as opened:
        yield opened


def test_no_example_has_more_than_fifteen_lines() -> None:
    for block in blocks()[1:]:
        assert len([line for line in block.splitlines() if line.strip()]) <= 15


@pytest.mark.parametrize("name", CUSTOM)
def test_the_hunt_finds_nothing_and_a_fifth_of_a_claim_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(falsification, "_smallest", lambda walk, pair, found: found)  # a witness need not be small here
    custom = CUSTOM[name]
    found = sd.lab.falsify(custom, 20)
    assert found.ok, found
    right = custom.rungs
    facts = {"columns": custom.columns, "bounds": custom.limits} if custom.columns else {"bounds": custom.bounds}
    wrong = sd.statistic(**facts, range=custom.range)(custom.function)
    wrong.sensitivity_at(lambda x, k: right(x, k) / 5)
    assert not sd.lab.falsify(wrong, 400).ok


@pytest.mark.parametrize("name", ASKED)
def test_an_example_draws_what_it_is_charged_for_and_twice_that_is_seen(name: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the price is seen in the draws; of parts, whose answers hardly cross on these tables, by what the mechanism certifies."""
    monkeypatch.setattr(sandbox, "ForkServer", Inside)
    asked, of_parts, caught = ASKED[name], "of parts" in name, False
    for kind in TABLE_KINDS[:2]:
        for pair in (PAIRS[3], PAIRS[12]):
            found = world.trace(asked, kind, pair, PRICE)
            assert found is not None
            assert not found.wrong, found.said()
            (one, ask), (other, beside) = world.both(kind, pair)
            twins = [(Conversation(asked(side).settle(2, PRICE[1])), held) for side, held in ((one, ask), (other, beside))]
            caught |= bool(pathwise(*twins, asked(one).settle(*PRICE).cost, whole=of_parts).wrong)
    assert caught


@pytest.mark.parametrize("name", ["burden", "by_hand", "correlation", "gini", "gini_by_hand", "middle", "line"])
def test_an_example_says_what_it_is_about(name: str) -> None:
    custom = CUSTOM[name]
    x = custom.prepared(ROWS if custom.columns else ROWS["age" if name == "middle" else "income"])
    truth = {
        "burden": ROWS["rent"].sum() / ROWS["income"].sum(),
        "correlation": np.corrcoef(ROWS["age"], ROWS["rent"])[0, 1],
        "middle": np.sort(ROWS["age"])[249],
    }
    truth |= {"by_hand": truth["burden"], "gini": NAMES["gini_by_hand"].function(np.sort(ROWS["income"]))}
    truth |= {"gini_by_hand": truth["gini"], "line": pytest.approx(0.2, abs=0.02)}
    assert custom.function(x) == pytest.approx(truth[name], rel=1e-3) if name != "line" else custom.function(x) == truth[name]
