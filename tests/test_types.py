"""A misspelt verb, price or name is an error to a type checker, and what is right passes it: one run of mypy over all snippets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sordino
from sordino.privacy.law import LawOutcome
from sordino.session.batch import Member
from sordino.session.release import Release

SOURCE = str(Path(sordino.__file__).parents[1])
HEAD = """
from typing import Any, assert_type
from fractions import Fraction
from pathlib import Path
import numpy as np
from numpy.typing import NDArray
import sordino as sd
from sordino.session.table import Table
from sordino.session.query import Query
from sordino.session.release import Release
from sordino.session.open_dataset import Opened
from sordino.remote import Remote, RemoteQuery
from sordino.engines.port import Bounded
from sordino.summaries import Ask, Draw, Held, RankWindow, Rung, Stair, Tally, Counts, Value, Window
from sordino.summaries.totals import GroupTotals, Item, Totals, Rows, Sorted
from sordino.privacy.discrete import Categorical, UniformInteger
from sordino.privacy.families import LaplaceLaw

def snippet(table: Table, opened: Opened, remote: Remote, ask: Ask, draw: Draw, rows: Bounded, many: NDArray[np.int64]) -> None:
"""
GOOD = {
    "a verb asks a question": 'assert_type(table.median("x"), Query)',
    "a question is released": 'assert_type(table.median("x").release(epsilon=1), Release)',
    "a wish": 'assert_type(table.where("a > 1").count().release(within=10, fresh=True), Release)',
    "groups": 'assert_type(table.group_by("city").mean("x"), Query)',
    "several": 'assert_type(table.agg(n=sd.count(), m=sd.median("x"), s=sd.std("x")), Query)',
    "a statistic": 'assert_type(sd.median("x").q, Fraction)',
    "sql": 'assert_type(table.sql("SELECT COUNT(*) FROM t"), Query)',
    "a batch": 'with table.batch(epsilon=1) as b:\n        n = b.ask(table.count(), weight=2)\n    assert_type(n.cost.epsilon, float)',
    "a member is its answer": "m = table.batch().ask(table.count())\n    assert_type(m.refused, bool)\n    float(m)",
    "a dataset's table": 'assert_type(opened.admissions.count(), Query)',
    "a server's table": 'assert_type(remote.admissions.group_by("sex").median("cost"), RemoteQuery)',
    "a server's answer": 'assert_type(remote.admissions.count().release(epsilon=1), Release)',
    "a frame of an answer": 'assert_type(table.count().release(epsilon=1).to_dict(), dict[str, list[Any]])',
    "totals": 'assert_type(ask(Totals((Item("rows"),))), GroupTotals)',
    "totals of an engine": 'assert_type(rows.ask(Totals(())).keys, tuple[tuple[Any, ...], ...])',
    "sorted rows": 'for group in ask(Rows("x")):\n        assert_type(group, Sorted)',
    "a window": 'assert_type(ask(RankWindow(Fraction(1, 2), 3)), Window)',
    "a rung": 'assert_type(ask(Stair(Fraction(1, 8))), Rung)',
    "what is at hand": 'sd.mechanisms.Laplace(Fraction(1), Fraction(1)).release(Held(3), draw)',
    "a mechanism takes any number": 'assert_type(sd.mechanisms.Laplace(epsilon=1, sensitivity="0.5").epsilon, Fraction)',
    "two prices": 'assert_type(sd.mechanisms.Gaussian(0.5, "1e-6", resolution=1).delta, Fraction)',
    "one number of noise": 'assert_type(draw(LaplaceLaw().at(3, Fraction(2))), int)',
    "many numbers of noise": 'assert_type(draw(LaplaceLaw().at(many, Fraction(2))), NDArray[np.int64])',
    "an index": 'assert_type(draw(Categorical((1, 2))) + draw(UniformInteger(0, 3)), int)',
    "the lab": 'assert_type(sd.lab.check_engine(lambda t, c: sd.table(t, budget=sd.Budget(epsilon=1)).engine).ok, bool)',
}  # fmt: skip
BAD = {
    "a misspelt release": ('table.median("x").relaese(epsilom=1)', "attr-defined"),
    "a misspelt price": ('table.median("x").release(epsilom=1)', "call-arg"),
    "a misspelt verb": ('table.medain("x")', "attr-defined"),
    "a misspelt verb after groups": ('table.group_by("city").medain("x")', "attr-defined"),
    "a column that is a number": ('table.median(3)', "arg-type"),
    "a misspelt statistic": ('sd.medain("x")', "attr-defined"),
    "a misspelt tool of the lab": ('sd.lab.chek_engine(print)', "attr-defined"),
    "a misspelt mechanism": ('sd.mechanisms.Laplas(epsilon=1)', "attr-defined"),
    "a price that is no number": ('sd.mechanisms.Laplace(epsilon=None)', "arg-type"),
    "a mechanism without a price": ('sd.mechanisms.Laplace()', "call-arg"),
    "no statistic": ('table.agg(n="count")', "arg-type"),
    "an answer taken for a number": ('table.count().release(epsilon=1) + 1', "operator"),
    "a question taken for an answer": ('table.count().value', "attr-defined"),
    "a member's misspelt part": ('table.batch().ask(table.count()).valeu', "attr-defined"),
    "a misspelt option of a table": ('sd.table({}, bouds={})', "call-arg"),
    "a dataset's misspelt verb": ('opened.admissions.cuont()', "attr-defined"),
    "a server's misspelt verb": ('remote.admissions.cuont()', "attr-defined"),
    "a verb a server does not know": ('remote.admissions.apply(print, "x")', "attr-defined"),
    "something that is no request": ('ask("the rows")', "arg-type"),
    "a misspelt part of a summary": ('ask(Totals(())).vales', "attr-defined"),
    "a tally is no window": ('w: Window = ask(Counts())', "assignment"),
    "a law without a place": ('draw(LaplaceLaw())', "arg-type"),
    "bare noise": ('draw(3.5)', "arg-type"),
    "a draw of many as one": ('n: int = draw(LaplaceLaw().at(many, Fraction(2)))', "assignment"),
}  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The codes of the errors in each snippet, all from one run."""
    folder = tmp_path_factory.mktemp("snippets")
    files = {}
    for kind, snippets in (("good", GOOD), ("bad", {name: text for name, (text, _) in BAD.items()})):
        for i, (name, text) in enumerate(snippets.items()):
            files[f"{kind}_{i}.py"] = name
            (folder / f"{kind}_{i}.py").write_text(f"{HEAD}    {text}\n", encoding="utf-8")
    (folder / "mypy.ini").write_text("[mypy]\nstrict = true\nfollow_imports = silent\n")
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", *files],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": SOURCE, "NO_COLOR": "1"},
    )  # fmt: skip
    assert said.returncode == 1, said.stderr
    errors: dict[str, list[str]] = {name: [] for name in files.values()}
    for line in said.stdout.splitlines():
        match = re.match(r"(\w+\.py):\d+: error: .*\[([\w-]+)\]$", line)
        if match:
            errors[files[match[1]]].append(match[2])
    return errors


@pytest.mark.parametrize("name", GOOD)
def test_what_is_right_passes(found: dict[str, list[str]], name: str) -> None:
    assert found[name] == []


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_an_error(found: dict[str, list[str]], name: str) -> None:
    assert BAD[name][1] in found[name]


def test_every_public_part_of_a_release_is_declared_of_a_member() -> None:
    parts = {name for name in (*dir(Release), *Release.__dataclass_fields__) if not name.startswith("_")} - {"from_bytes"}
    declared = {name for name in dir(Member) if not name.startswith("_")} | set(Member.__dataclass_fields__)
    assert parts <= declared


def test_draw_samples_every_law_there_is() -> None:
    from sordino.noise import discrete

    names = {law.__name__ for law in LawOutcome.__subclasses__()}
    assert names == {"Placed", "PlacedVector", "Bernoulli", "UniformInteger", "Categorical", "DiscreteLaplace", "ArgMax"}
    source = Path(discrete.__file__).read_text(encoding="utf-8")
    assert set(re.findall(r"case (\w+)\(\):", source)) == names
