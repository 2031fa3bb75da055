from __future__ import annotations

import pytest
from tests.session.people import QUESTIONS, fresh, rows, table

import sordino as sd
from sordino.errors import QueryError

EVIL = "<script>alert(1)</script>\x1b[2J\nx"


def test_a_key_from_the_data_reaches_neither_the_terminal_nor_the_page_alive():
    with table(rows() | {"zip": [EVIL] * 240}) as people:
        for ask in (people.group_by("zip").count(), people.histogram("zip"), people.mode("zip"), people.group_by("zip").median("income")):
            release = ask.release(epsilon=20)
            assert EVIL[:8] in str(release)
            assert "\x1b" not in str(release)
            page = release._repr_html_() + release.card.to_html()
            assert "<script" not in page
            assert "\x1b" not in page


def test_text_shows_the_value_its_ends_the_price_and_the_bar():
    with table() as people:
        about, line = str(people.count().release(epsilon=1)).splitlines()
        assert about == "about at most 3 rows of one person: their number; the 95% interval covers the noise, not sampling"
        assert line.startswith("count = ")
        assert "(discrete Laplace, epsilon 1, bar: exact, budget for about 999,999 more like it)" in line
        about, *grid = str(people.group_by("sex").agg(n=sd.count(), mid=sd.median("income")).release(epsilon=1)).splitlines()
        assert about.startswith("about at most 3 rows of one person, in at most 2 of the 3 groups, by sex: n is their number; mid is ")
        assert grid[0].split() == ["sex", "n", "n_low", "n_high", "mid", "mid_low", "mid_high"]
        ranked = people.group_by("sex").agg(n=sd.count(), mid=sd.median("income", interval=False)).release(epsilon=1)
        assert str(ranked).splitlines()[1].split() == ["sex", "n", "n_low", "n_high", "mid"]
        assert [line.split()[0] for line in grid[1:4]] == ["m", "f", "x"]
        assert "bar: mixed" in grid[4]
        assert repr(people.count()).startswith("Query")


def test_long_tables_are_cut_and_say_so():
    many = {"keys": {"zip": [f"k{i}" for i in range(500)]}}
    with sd.table(rows(), **many, budget=sd.Budget(epsilon=3), ledger=":memory:") as people:
        release = people.group_by("zip").count().release(epsilon=1)
        assert "... 460 more rows" in str(release)
        assert "300 more rows" in release._repr_html_()
        assert len(str(release).splitlines()) == 44


@pytest.mark.parametrize("name", [name for name in QUESTIONS if not name.startswith(("mode", "top_k", "median of days"))])
def test_numbers_can_be_drawn(name, opened_once):
    release = QUESTIONS[name](fresh(opened_once)).release(epsilon=20)
    picture = release.plot()
    assert "<svg" in picture._repr_html_()
    assert "<svg" in release._repr_html_()
    assert str(picture)


def test_what_is_no_number_is_not_drawn():
    with table() as people:
        for ask in (people.mode("sex"), people.top_k("sex", 2), people.median("born")):
            release = ask.release(epsilon=1)
            with pytest.raises(QueryError, match="no numbers to draw"):
                release.plot()
            assert "<svg" not in release._repr_html_()
