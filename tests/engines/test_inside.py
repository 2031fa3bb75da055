"""Bounding again inside named keys, from what was bounded before: the same rows as bounding anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sordino.engines.source import open_source
from sordino.engines.text import Text
from sordino.lab.awkward_tables import AGE, CITY, PERSON
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.frame import Frame

from .everything import everything

LIMITS = [(3, 2, 2), (4, 4, 1), (2, 9, 2), (6, 1, 6), (50, 50, 50), (5, 3, 4)]  # rows in all, groups, rows in a group
NAMED: tuple[tuple[Any, ...], ...] = (("a",), ("a", "c", None), ("a", "b", "c", "it's", None), ("nobody",))


def table(seed: int, people: int = 15) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    n = people * 5
    city = rng.choice(np.array(["a", "b", "c", "it's", None], object), n)
    return {"person": rng.choice([f"p{i}" for i in range(people)], n).tolist(), "age": rng.integers(0, 50, n), "city": city.tolist()}


def compared(engine: Any, own: Frame, inside: Frame) -> None:
    class Again:
        """The second table as an engine of its own."""

        def bounded(self, frame: Frame, salt: int) -> Any:
            return self

        def __enter__(self) -> Any:
            self.first = engine.bounded(own, 12345)
            return self.first.__enter__().again(inside)

        def __exit__(self, *error: Any) -> None:
            self.first.__exit__(*error)

    assert everything(Again(), inside) == everything(engine, inside)


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("large", [10**9, 1])
def test_rows_inside_named_keys_are_those_of_bounding_anew(monkeypatch: pytest.MonkeyPatch, portable: bool, large: int) -> None:
    monkeypatch.setattr("sordino.engines.text.LARGE", large)  # from so many rows on a sample decides who is ranked
    for seed, (rows, groups, each) in enumerate(LIMITS if large == 1 else LIMITS[:3]):
        unit = PrivacyUnit("person", max_rows=rows, max_groups=groups, max_rows_per_group=each)
        own = Frame(unit, PERSON, by=(CITY,), columns=(AGE,))
        with open_source(table(seed), (PERSON, AGE, CITY), portable=portable) as engine:
            for named in NAMED:
                compared(engine, own, replace(own, by=(replace(CITY, keys=named),)))


def test_a_wrong_choice_of_who_is_ranked_again_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: nobody is ranked again, so that people over a limit lose what they have in named keys."""

    def planted(self: Text, keep: Any, number: Any, held: str, over: str) -> str:
        keep("inside", f"SELECT * FROM {held} WHERE k0 = 'a'")
        return "inside"

    monkeypatch.setattr(Text, "again", planted)
    unit = PrivacyUnit("person", max_rows=3, max_groups=2, max_rows_per_group=2)
    own = Frame(unit, PERSON, by=(CITY,), columns=(AGE,))
    with open_source(table(1), (PERSON, AGE, CITY)) as engine, pytest.raises(AssertionError):
        compared(engine, own, replace(own, by=(replace(CITY, keys=("a",)),)))
