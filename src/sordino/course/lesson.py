"""What a lesson is: a question, knobs, numbers from the library, a sentence, a formula, a few lines of Python and an exercise.

What a lecture is: the sections of one note, with the pages that show them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sordino.pictures import Picture

__all__ = [
    "Exercise",
    "Knob",
    "Lecture",
    "Lesson",
    "LessonGuess",
    "Numbers",
    "Section",
    "choice",
    "delta_knob",
    "epsilon_knob",
    "log",
    "number",
    "relation_knob",
    "switch",
    "values",
    "whole",
]  # fmt: skip

Numbers = Mapping[str, Any]


@dataclass(frozen=True)
class Knob:
    """Something a reader moves: a number, a whole number, a number on a logarithmic slide, a list, a choice or a switch."""

    name: str
    label: str
    kind: str
    default: Any
    low: float = 0.0
    high: float = 1.0
    step: float = 0.0
    options: tuple[tuple[str, str], ...] = ()
    least: int = 1
    most: int = 1


def number(name: str, label: str, default: float, low: float, high: float, step: float) -> Knob:
    return Knob(name, label, "number", default, low, high, step)


def whole(name: str, label: str, default: int, low: int, high: int) -> Knob:
    return Knob(name, label, "whole", default, low, high, 1)


def log(name: str, label: str, default: float, low: float, high: float) -> Knob:
    return Knob(name, label, "log", default, low, high)


def values(name: str, label: str, default: list[float], low: float, high: float, step: float, sizes: tuple[int, int]) -> Knob:
    return Knob(name, label, "list", default, low, high, step, least=sizes[0], most=sizes[1])


def choice(name: str, label: str, options: Mapping[str, str]) -> Knob:
    return Knob(name, label, "choice", next(iter(options)), options=tuple(options.items()))


def switch(name: str, label: str) -> Knob:
    return Knob(name, label, "switch", False)


def epsilon_knob(default: float = 1.0, low: float = 0.1, high: float = 4.0) -> Knob:
    return number("epsilon", "ε, the price", default, low, high, 0.01)


def delta_knob(default: float = 1e-6) -> Knob:
    return log("delta", "δ", default, 1e-9, 1e-3)


def relation_knob(label: str = "neighbours") -> Knob:
    return choice("relation", label, {"add_remove": "one person is added or removed", "replace": "one person is replaced"})


@dataclass(frozen=True)
class LessonGuess:
    """What the reader guesses before the picture is uncovered; `ghost` is the chart and the axis on which the guess stays."""

    question: str
    number: str
    ghost: tuple[int, str] | None = None


@dataclass(frozen=True)
class Exercise:
    """A question with a number as answer. Each trap is an answer that a known mistake gives, with a reply of its own."""

    question: str
    answer: float
    tolerance: float
    why: str
    hint: str
    traps: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Lesson:
    """One page. `numbers` computes with the library what the page's script computes in the browser; a test compares them."""

    slug: str
    title: str
    about: str  # in one line, for the list of pages
    knobs: tuple[Knob, ...]
    numbers: Callable[..., Numbers]
    shown: Mapping[str, str]
    guess: LessonGuess
    words: str
    symbols: tuple[str, ...]
    aha: str
    trap: str
    code: str
    exercise: Exercise
    errata: tuple[tuple[str, str], ...]  # note and place of the passages this page shows
    call: str  # the name in the package that must agree
    picture: Callable[[], Picture]
    settings: tuple[Mapping[str, Any], ...]  # five rows for readers without script
    places: tuple[str, ...] = ()  # where in the notes
    loose: Mapping[str, float] = field(default_factory=dict)  # numbers the library itself knows to this relative precision only

    def defaults(self) -> dict[str, Any]:
        return {knob.name: list(knob.default) if knob.kind == "list" else knob.default for knob in self.knobs}

    def at(self, **changes: Any) -> Numbers:
        """The library's numbers at the defaults, but for these."""
        return self.numbers(**{**self.defaults(), **changes})


@dataclass(frozen=True)
class Section:
    """A heading of the note: the statement, the idea of its proof, the pages that show it, the errata that belong to it."""

    heading: str
    statement: str
    proof: str = ""
    lessons: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lecture:
    """One note."""

    note: str
    title: str
    about: str
    sections: tuple[Section, ...]
    code: str
    exercises: tuple[Exercise, Exercise, Exercise]

    @property
    def slug(self) -> str:
        return f"lecture-{self.note}"
