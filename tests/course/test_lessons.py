"""The lessons without a browser: the pages are the ones the code writes, and every answer is what the library computes."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from importlib import import_module

import pytest

import sordino as sd
from sordino.cli import main
from sordino.course.errata import PASSAGES
from sordino.course.lecture import LECTURES
from sordino.course.lessons import LESSONS, lesson
from sordino.course.writing import SITE, export, files, formula, pages
from sordino.errors import QueryError
from sordino.lab.exploitation import Exploitation


def test_the_pages_in_the_package_are_the_ones_the_code_writes():
    """Also that every Python cell runs and prints what its page shows: the cells run while pages are written."""
    written = pages()
    assert len(written) == 1 + 16 + 5
    for name, text in written.items():
        assert (SITE / name).read_text(encoding="utf-8") == text, f"{name}: python -m sordino.course.writing"


def test_no_page_has_code_or_style_inside_and_everything_it_loads_is_beside_it():
    for name, (body, _) in files().items():
        text = body.decode("utf-8")
        if name.endswith(".html"):
            assert not re.search(r"<script(?! src=)|<style|\son\w+=|\sstyle=|javascript:", text), name
            loaded = re.findall(r'(?:src|href)="([^"#]+)"', text)
            assert set(loaded) <= set(files()), name
            total = len(body) + sum(len(files()[other][0]) for other in set(loaded) if not other.endswith(".html"))
            assert total < 100_000, name
        if name.endswith(".js"):
            assert not re.search(r"\beval\(|new Function|innerHTML|\.style\b|\bimport\b|\bexport\b", text), name


@pytest.mark.parametrize("found", LESSONS, ids=lambda found: found.slug)
def test_a_lesson_names_what_exists(found):
    parts = found.call.split(".")
    thing = import_module(parts[0])
    for part in parts[1:]:
        thing = getattr(thing, part)
    assert thing is not None
    numbers = found.at()
    assert set(found.shown) <= set(numbers)
    assert found.guess.number in numbers
    assert {(row.note, row.place) for row in PASSAGES} >= set(found.errata)
    assert set(re.findall(r"\{(\w+)\}", found.words)) <= {*numbers, *found.defaults()}
    assert len(found.settings) == 5
    for trap, reply in found.exercise.traps:
        assert abs(trap - found.exercise.answer) > found.exercise.tolerance
        assert reply


def at(slug, number, **changes):
    return lesson(slug).at(**changes)[number]


ANSWERS = {
    "loss": lambda: math.log((0.75 - 0.1) / 0.25),
    "response": lambda: sd.survey.RandomizedResponse(["yes", "no"], "1.0986").estimate(["yes"] * 120 + ["no"] * 180)["yes"][0],
    "laplace": lambda: math.log(20) / (1000 * 0.01),
    "dimension": lambda: at("dimension", "first"),
    "delta": lambda: at("delta", "tail"),
    "composition": lambda: at("composition", "exact"),
    "median": lambda: next(b / 10_000 for b in range(8_000, 9_000) if at("median", "smooth", beta=b / 10_000) <= 6 + 1e-9),
    "which": lambda: (1 + Exploitation.limit(1)) / 2,
    "admissible": lambda: at("admissible", "beta"),
    "propose": lambda: at("propose", "need"),
    "mode": lambda: sd.course.textbook.stability.mode_success().holds,
    "histogram": lambda: at("histogram", "least"),
    "hat": lambda: at("hat", "between"),
    "outlier": lambda: at("outlier", "huber", row=50.0),
    "descent": lambda: at("descent", "best"),
    "attacks": lambda: sd.lab.reconstruct(people=64, questions=256, noise=2, repeats=60, seed=3).right,
}


@pytest.mark.parametrize("slug", ANSWERS)
def test_the_answer_of_an_exercise_is_the_librarys(slug):
    found = lesson(slug).exercise
    assert ANSWERS[slug]() == pytest.approx(found.answer, abs=max(found.tolerance, 1e-9))


LECTURE_ANSWERS = {
    ("001", 1): lambda: 2 / 100**2,
    ("001", 2): lambda: 1 - (1 - 0.00099) ** 1000,
    ("003", 1): lambda: at("dimension", "printed"),
    ("002", 0): lambda: sd.mechanisms.ProposeTestRelease(1, "1e-6", 1, "laplace").threshold,
    ("000", 0): lambda: at("median", "local", relation="replace"),
    ("000", 1): lambda: at("admissible", "note"),
    ("000", 2): lambda: (1 + math.exp(0.5)) * 1e-6 / 2,
    ("004", 0): lambda: at("attacks", "alone"),
    ("004", 1): lambda: at("outlier", "ges"),
    ("004", 2): lambda: at("descent", "scale"),
}


def test_the_exercises_of_a_lecture_are_the_librarys_or_a_pages():
    own = {found.exercise for found in LESSONS}
    for lecture in LECTURES:
        for i, exercise in enumerate(lecture.exercises):
            if exercise not in own:
                assert LECTURE_ANSWERS[lecture.note, i]() == pytest.approx(exercise.answer, abs=exercise.tolerance), exercise.question
            for trap, _ in exercise.traps:
                assert abs(trap - exercise.answer) > exercise.tolerance


def test_every_erratum_stands_in_its_lecture_once_and_every_lesson_in_some_lecture():
    shown = [(lecture.note, place) for lecture in LECTURES for section in lecture.sections for place in section.errata]
    assert sorted(shown) == sorted((row.note, row.place) for row in PASSAGES)
    linked = {slug for lecture in LECTURES for section in lecture.sections for slug in section.lessons}
    assert linked == {found.slug for found in LESSONS}
    assert [lecture.note for lecture in LECTURES] == ["001", "003", "002", "000", "004"]


def test_the_course_is_exported_to_a_folder_and_a_file_is_no_folder(tmp_path, capsys):
    assert main(["learn", "--export", str(tmp_path / "course"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"] == len(files()) == len(list((tmp_path / "course").iterdir()))
    assert (tmp_path / "course" / "index.html").exists()
    (tmp_path / "taken").write_text("x")
    with pytest.raises(QueryError, match="is a file"):
        export(tmp_path / "taken")


def test_formulas_become_mathml():
    text = formula("S = max_{k ≥ 0} e^{−β k} frac{a}{b}, #{x < y}")
    for part in ("<msub>", "<msup>", "<mfrac>", "<mo>#</mo>", "&lt;", 'alttext="S = max'):
        assert part in text
    for found in LESSONS:
        for line in found.symbols:
            made = formula(line)
            assert made.count("<mrow>") == made.count("</mrow>")
            assert unescape(re.search('alttext="([^"]*)"', made)[1]) == line


def test_the_curves_of_composition_agree_with_the_products_own_rule():
    each = [sd.privacy.Cost.pure("0.1")] * 100
    assert float(sd.privacy.compose(each, rule="pld", delta=1e-6).epsilon) == pytest.approx(at("composition", "exact"), rel=0.01)


def test_the_largest_stretch_of_the_page_is_the_one_admissible_finds():
    for name, law in (("laplace", sd.privacy.LaplaceLaw()), ("gaussian", sd.privacy.GaussianLaw())):
        assert at("admissible", "beta", law=name) == pytest.approx(sd.privacy.admissible(law, 1, 1e-6).beta, rel=1e-4)
