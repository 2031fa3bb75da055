"""What a database writes down is private while it lives and gone afterwards."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from sordino.engines.duckdb import Spill
from sordino.engines.source import open_source
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Totals


def test_the_folder_is_private_and_gone_after_close() -> None:
    spill = Spill()
    assert stat.S_IMODE(spill.folder.stat().st_mode) == stat.S_IMODE(spill.root.stat().st_mode) == 0o700
    (spill.folder / "rows").write_text("secret")
    spill.close()
    spill.close()
    assert not any(spill.root.iterdir())


def test_a_dead_ones_folder_is_deleted_by_the_next_and_a_living_ones_is_not() -> None:
    code = "import sys, time; from pathlib import Path; from sordino.engines.duckdb import Spill; s = Spill(Path(sys.argv[1]));"
    code += "(s.folder / 'rows').write_text('secret'); print(s.folder, flush=True); time.sleep(60)"
    root = Path(tempfile.gettempdir()) / "root"
    child = subprocess.Popen([sys.executable, "-c", code, str(root)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    folder = Path(child.stdout.readline().strip())
    living = Spill(root)
    assert (folder / "rows").exists()
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert (folder / "rows").exists()
    Spill(root).close()
    assert not folder.exists()
    assert living.folder.exists()
    living.close()
    assert not any(root.iterdir())


def test_a_folder_a_stranger_could_enter_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "elsewhere")
    spill = Spill(tmp_path / "root")
    assert spill.root != tmp_path / "root"
    spill.close()
    assert not any((tmp_path / "elsewhere").iterdir())
    spill.root.rmdir()


def test_a_release_larger_than_memory_spills_there_and_leaves_nothing() -> None:
    person, value = Column("person", "id"), Column("v", "int", bounds=(0, 10**6))
    table = {"person": np.arange(1_500_000) // 3, "v": np.arange(1_500_000) % 999_983}
    frame = Frame(PrivacyUnit("person", max_rows=2), person, columns=(value,))
    with open_source(table, (person, value), memory="60MB", threads=1) as engine:
        assert engine._spill is not None
        folder = engine._spill.folder
        with engine.bounded(frame, 1) as bounded:
            assert bounded.ask(Totals((Item("rows"),))).values[Item("rows")].tolist() == [1_000_000]
            assert any(folder.iterdir())
    assert not folder.exists()


def test_a_forked_child_opens_a_database_of_its_own() -> None:
    value = Column("v", "int", bounds=(0, 100))
    with open_source({"v": [1, 2, 3]}, (value,)) as engine:
        frame, item = Frame(PrivacyUnit(), columns=(value,)), Item("sum", "v")
        with engine.bounded(frame, 1) as bounded:
            bounded.ask(Totals((item,)))
        child = os.fork()
        if child == 0:
            with engine.bounded(frame, 1) as bounded:
                right = bounded.ask(Totals((item,))).values[item].tolist() == [6]
            engine.close()
            os._exit(0 if right else 1)
        assert os.waitpid(child, 0)[1] == 0
        with engine.bounded(frame, 1) as bounded:
            assert bounded.ask(Totals((item,))).values[item].tolist() == [6]
        assert engine._spill is not None
        assert engine._spill.folder.exists()
