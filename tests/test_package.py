"""The package as a whole: its public names, how fast it loads, and that its documents run."""

import ast
import inspect
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import sordino as sd
from sordino import statistics


def test_every_public_name_of_the_package_can_be_reached():
    for name in sd.__all__:
        assert getattr(sd, name) is not None
    assert set(sd.__all__) <= set(dir(sd))


def test_every_public_name_of_each_room_can_be_reached():
    for room in (sd.mechanisms, sd.sensitivity, sd.privacy, sd.lab, sd.course, sd.errors):
        for name in room.__all__:
            assert getattr(room, name) is not None, f"{room.__name__}.{name}"


def test_no_two_public_classes_share_a_name():
    found = Counter(
        node.name
        for file in Path(sd.__file__).parent.rglob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, times in found.items() if times > 1} == {"RandomizedResponse"}  # the mechanism, and the survey that uses it


@pytest.mark.parametrize(
    "statement",
    [
        "from sordino.mechanisms.textbook import verdicts",
        "from sordino.mechanisms.textbook.estimator import plug_in",
        "from sordino.mechanisms import textbook; textbook.gaussian.rows",
        "from sordino.lab.notes import median_leak",
        "from sordino.lab import notes; notes.people()",
        "from sordino.lab.errata import rows",
        "import sordino.lab; sordino.lab.leverage",
    ],
)
def test_a_name_that_moved_to_the_course_still_works_and_says_so(statement):
    run = [sys.executable, "-W", "always", "-c", statement]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stderr
    assert "is now sordino.course" in said


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(sd, "no_such_name")
    assert not hasattr(sd.mechanisms, "NoSuchMechanism")
    assert not hasattr(sd.lab, "no_such_tool")


def test_importing_the_package_loads_no_heavy_library():
    heavy = "scipy numpy duckdb mpmath pandas pyarrow polars psycopg cryptography sqlglot"
    code = f"import sys, sordino; print([m for m in {heavy.split()!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_count_from_a_cold_process_loads_no_reader_of_sql_and_no_numerics_it_does_not_need():
    heavy = "sqlglot scipy mpmath rich typer pandas pyarrow polars sklearn fastapi"
    count = "sd.table({'x': [1, 2] * 50}, columns={'x': 'int'}, budget=sd.Budget(epsilon=9), ledger=':memory:').count().release(epsilon=1)"
    code = f"import sys, sordino as sd; print(len({count}.to_dict())); print([m for m in {heavy.split()!r} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[1] == "[]"


def test_no_module_is_named_like_a_public_function_of_its_package():
    for room in (sd, sd.mechanisms, sd.sensitivity, sd.privacy, sd.lab, sd.course, statistics):
        files = {path.stem for folder in room.__path__ for path in Path(folder).iterdir()}
        functions = {name for name in room.__all__ if inspect.isfunction(getattr(room, name))}
        assert not functions & files, room.__name__


BLOCK = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "pyarrow", "polars", "fastapi", "uvicorn", "jinja2", "sklearn", "psycopg", "pyspark"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""


def test_a_missing_extra_is_one_line_that_names_it_everywhere(tmp_path):
    tried = """
import sordino as sd
from sordino.cli import main
table = sd.table({"x": [1, 2] * 50}, bounds={"x": (0, 3)}, budget=sd.Budget(epsilon=9), ledger=":memory:")
release = table.count().release(epsilon=1)
calls = [release.to_pandas, release.to_polars, release.to_arrow, lambda: release.to_parquet("x.parquet"),
    lambda: sd.models.PrivateLinearRegression, lambda: sd.table("postgres://a@127.0.0.1/b?table=c", budget=sd.Budget(epsilon=1))]
for call in calls:
    try:
        call()
    except sd.errors.QueryError as error:
        assert error.code == "SRD-111", error
        assert "pip install" in error.fix
    else:
        raise AssertionError(call)
for words in (["serve", "x.toml"], ["learn"]):
    sys.argv = ["sordino", *words]
    assert main() == 2
"""
    ran = subprocess.run([sys.executable, "-c", BLOCK + tried], capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count('pip install "sordino[server]"') == 2
    assert "Traceback" not in ran.stderr


def test_the_package_runs_as_a_module():
    ran = subprocess.run([sys.executable, "-m", "sordino", "--help"], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0
    assert "price first" in ran.stdout
