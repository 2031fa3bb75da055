"""An unknown name is answered with the one that was probably meant."""

import time

from sordino.schema.column import nearest


def test_the_closest_name_is_offered_whatever_its_case():
    assert nearest("incme", ["age", "income"]) == "Did you mean 'income'?"
    assert nearest("AGE", ["age", "income"]) == "Did you mean 'age'?"


def test_far_names_are_answered_with_the_list():
    assert nearest("zzz", ["age", "income"], "columns") == "Known columns: 'age', 'income'."
    assert nearest("zzz", [], "columns") == "There are no columns."
    assert nearest("zzz", [f"c{i}" for i in range(50)]).endswith("...")


def test_hostile_names_take_no_time():
    start = time.thread_time()
    nearest("x" * 10**6, ["x" * 190 + str(i) for i in range(50)])
    assert time.thread_time() - start < 1
