"""The registry of questions knows every statistic, and says so when it does not."""

import inspect
import pkgutil
from importlib import import_module

import pytest

from sordino import statistics
from sordino.lab.question import EXAMPLES, PAIRS, TABLE_KINDS, Question, declared, examples, questions, sides
from sordino.session.table import table


@pytest.fixture(scope="module")
def people():
    with table(sides(PAIRS[0], TABLE_KINDS[0])[0], **declared(TABLE_KINDS[0])) as opened:
        yield opened


def test_every_statistic_has_a_question_that_can_be_asked(people):
    """A red line here means: give the statistic an example where it is registered."""
    asked = list(questions(people))
    assert [question.problem for question in asked if question.problem] == []
    makers = [name for name in statistics.__all__ if inspect.isfunction(getattr(statistics, name))]
    names = set(makers) - {"bundles", "catalog", "make", "plan_steps", "registered", "statistic", "written"}
    assert names == {name for name, one in statistics.catalog().items() if one.verb}
    assert names <= {call[0] for question in asked for call in examples()[question.name].values()}
    assert len({str(question) for question in asked}) == len(asked)


def test_every_class_of_statistics_is_asked_for(people):
    """Found by walking the folder, also those that only SQL, tests and comparisons make."""
    kinds = set()
    for module in pkgutil.iter_modules(statistics.__path__):
        for thing in vars(import_module(f"sordino.statistics.{module.name}")).values():
            ours = inspect.isclass(thing) and thing.__module__.startswith("sordino.statistics")
            if ours and hasattr(thing, "ways") and hasattr(thing, "question") and not getattr(thing, "_is_protocol", False):
                kinds.add(thing)
    asked = {type(made) for name in examples() for made in Question(name).ask(people).asked.statistics.values()}
    assert {kind.__name__ for kind in kinds if not any(issubclass(made, kind) for made in asked)} == set()
    assert len(kinds) > 20


def test_every_mechanism_that_can_answer_is_among_them(people):
    ways = {question.way for question in questions(people) if question.name == "mode"}
    assert ways == {None, "exponential", "noisy_max"}


listing = import_module("sordino.statistics.registry")


def test_a_statistic_nobody_knows_parameters_for_is_a_problem_and_not_a_crash(people, monkeypatch):
    def odd(column, zeal):
        return statistics.sum(column)

    known = {"count": statistics.Registered("count", statistics.count), "odd": statistics.Registered("odd", odd)}
    monkeypatch.setattr(listing, "_KNOWN", known)
    monkeypatch.setitem(EXAMPLES, "count", (("", (7,), {}),))
    examples.cache_clear()
    try:
        found = {question.name: question.problem for question in questions(people) if not question.place}
    finally:
        examples.cache_clear()
    assert "TypeError" in found["count"]
    assert "zeal" in found["odd"]
