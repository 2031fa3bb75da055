"""The package as a whole: its public names, how fast it loads, and that its documents run."""

import inspect
import subprocess
import sys
from pathlib import Path

import sordino as sd
from sordino import statistics


def test_every_public_name_of_the_package_can_be_reached():
    for name in sd.__all__:
        assert getattr(sd, name) is not None
    assert set(sd.__all__) <= set(dir(sd))


def test_every_public_name_of_each_room_can_be_reached():
    for room in (sd.mechanisms, sd.sensitivity, sd.privacy, sd.lab, sd.errors):
        for name in room.__all__:
            assert getattr(room, name) is not None, f"{room.__name__}.{name}"


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(sd, "no_such_name")
    assert not hasattr(sd.mechanisms, "NoSuchMechanism")
    assert not hasattr(sd.lab, "no_such_tool")


def test_importing_the_package_loads_no_heavy_library():
    heavy = "scipy numpy duckdb mpmath pandas pyarrow polars psycopg cryptography sqlglot"
    code = f"import sys, sordino; print([m for m in {heavy.split()!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_no_module_is_named_like_a_public_function_of_its_package():
    for room in (sd, sd.mechanisms, sd.sensitivity, sd.privacy, sd.lab, statistics):
        files = {path.stem for folder in room.__path__ for path in Path(folder).iterdir()}
        functions = {name for name in room.__all__ if inspect.isfunction(getattr(room, name))}
        assert not functions & files, room.__name__
