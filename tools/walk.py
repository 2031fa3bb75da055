"""Which files one call enters, in order: `python tools/walk.py median`, or all walks into the page with `--page docs/architecture.md`.

A file is entered when a function of it is called; class bodies and module bodies, which run on import, do not count, and each walk is
done once before it is watched, so that nothing is imported during it. A switch is a call whose caller is in another file of Sordino
(frames of other packages between the two are skipped).
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import sordino as sd
from sordino.mechanisms import Laplace
from sordino.models import PrivateLinearRegression

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.server.hall import Visitor, write

ROOM = Path(sd.__file__).parent
START, END = "<!-- walks: tools/walk.py --page docs/architecture.md -->", "<!-- end of walks -->"
PEOPLE = {"person": [i // 2 for i in range(400)], "cost": [float(i % 97) for i in range(400)], "ward": ["a", "b", "c", "d"] * 100}


@dataclass
class Walk:
    """The files in the order of their first call, and how often a call left one file of Sordino for another."""

    files: list[str] = field(default_factory=list)
    switches: int = 0
    watching: bool = False

    def step(self, frame: FrameType, event: str, _: Any) -> None:
        function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # neither a class body nor a module's
        if not self.watching or event != "call" or not function or not (here := _inside(frame)):
            return
        if here not in self.files:
            self.files.append(here)
        caller = frame.f_back
        while caller is not None and not _inside(caller):
            caller = caller.f_back
        self.switches += caller is None or _inside(caller) != here

    def text(self) -> str:
        rooms: dict[str, list[str]] = {}
        for file in self.files:
            room, _, name = file.rpartition("/")
            rooms.setdefault(room or "sordino", []).append(name.removesuffix(".py"))
        return "\n".join(f"{room:<14}{', '.join(names)}" for room, names in rooms.items())


def _inside(frame: FrameType) -> str:
    file = Path(frame.f_code.co_filename)
    return str(file.relative_to(ROOM)) if file.is_relative_to(ROOM) else ""


def walked(begin: Callable[[Path], Callable[[], object]]) -> Walk:
    """The second of two runs, watched in every thread."""
    walk = Walk()
    threading.setprofile(walk.step)
    sys.setprofile(walk.step)
    try:
        for number in range(2):
            with tempfile.TemporaryDirectory() as folder:
                act = begin(Path(folder))
                walk.watching = number == 1
                act()
                walk.watching = False
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return walk


def _table(folder: Path) -> Any:
    return sd.table(
        PEOPLE, unit="person", max_rows=2, max_groups=1, bounds={"cost": (0, 100)}, keys={"ward": list("abcd")},
        budget=sd.Budget(epsilon=100, delta=1e-5), ledger=folder / "walk.ledger",
    )  # fmt: skip


def median(folder: Path) -> Callable[[], object]:
    """`table.median("cost").release(epsilon=1)`"""
    query = _table(folder)
    return lambda: query.median("cost").release(epsilon=1)


def group_by(folder: Path) -> Callable[[], object]:
    """`table.sql("SELECT ward, COUNT(*), AVG(cost) FROM t GROUP BY ward").release(epsilon=1)`"""
    table = _table(folder)
    return lambda: table.sql("SELECT ward, COUNT(*), AVG(cost) FROM t GROUP BY ward").release(epsilon=1)


def http(folder: Path) -> Callable[[], object]:
    """a statement planned and paid over HTTP, on a server in this process"""
    hall = Visitor(write(folder))
    token = hall.token()
    return lambda: hall.pay(token, "SELECT MEDIAN(cost) AS m FROM admissions", "key", epsilon="0.5")


def fit(folder: Path) -> Callable[[], object]:
    """`PrivateLinearRegression(...).fit(X, y)`"""
    del folder
    x = np.linspace(0, 1, 200)[:, None]
    model = PrivateLinearRegression(epsilon=1, delta=1e-6, bounds_X=(0, 1), bounds_y=(0, 2))
    return lambda: model.fit(x, 2 * x[:, 0])


def audit(folder: Path) -> Callable[[], object]:
    """`sd.lab.audit(release, 0, 1, claimed=1)` of a Laplace release"""
    del folder
    return lambda: sd.lab.audit(lambda x: sd.release(Laplace(epsilon=1, sensitivity=1), x).value, 0, 1, claimed=1, trials=2_000)


WALKS = {"a median": median, "a group-by in SQL": group_by, "a median over HTTP": http, "a fit": fit, "an audit": audit}


def page() -> str:
    """Every walk, as the architecture page shows it."""
    parts = [START, ""]
    for name, begin in WALKS.items():
        walk = walked(begin)
        parts += [
            f"{name[0].upper()}{name[1:]}, {begin.__doc__}: {len(walk.files)} files, {walk.switches:,} switches.",
            "",
            "```",
            walk.text(),
            "```",
            "",
        ]
    return "\n".join([*parts, END])


def main() -> None:
    asked = sys.argv[1:]
    if asked[:1] == ["--page"]:
        file = Path(asked[1])
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub(f"{re.escape(START)}.*{re.escape(END)}", lambda _: page(), text, flags=re.DOTALL), encoding="utf-8")
        return
    for name in asked or WALKS:
        found = next((begin for title, begin in WALKS.items() if name in (title, begin.__name__)), None)
        if found is None:
            raise SystemExit(f"no walk is called {name}; there are {', '.join(begin.__name__ for begin in WALKS.values())}")
        walk = walked(found)
        print(f"{found.__doc__}: {len(walk.files)} files, {walk.switches:,} switches, in the order of their first call")
        print("\n".join(f"  {file}" for file in walk.files))


if __name__ == "__main__":
    main()
