"""Cases about tables: who is protected, which neighbours, every method, and a question nobody can ask."""

from functools import partial

import pytest

from sordino.lab import question_case
from sordino.lab.case import QUICK, UNKNOWN, Effort
from sordino.lab.question import PAIRS, TABLE_KINDS, Question
from sordino.statistics.added import Added

EFFORT = Effort(seconds=9.0, most=3_000)  # no case needs so long, so a busy machine changes nothing


def run(question, kind=0, place=0, effort=EFFORT):
    methods = {"replay": question_case._replay, "exact": question_case._list, "sampled": question_case._sample}
    found = {name: method(question, TABLE_KINDS[kind], place, effort) for name, method in methods.items()}
    return {**found, "pathwise": question_case._trace(question, TABLE_KINDS[kind], place)}


def test_a_count_of_people_is_tight_by_every_method():
    for kind in range(4):
        found = run(Question("count"), kind)
        assert {item["verdict"] for item in found.values()} <= {"consistent", "no power"}
        assert found["pathwise"]["found"] <= 1 + 1e-6
        assert found["sampled"]["found"] <= found["exact"]["found"] + 1e-9
        if kind < 2:  # somebody with as many rows as allowed came
            assert found["exact"]["found"] > 0.99
            assert all(found[method]["twin"] for method in ("pathwise", "exact", "sampled"))


def test_half_the_noise_of_every_sum_is_seen_by_every_method(monkeypatch):
    monkeypatch.setattr(Added, "scale", property(lambda self: self.reach / self.epsilon / 2))
    found = run(Question("count"), kind=0)
    assert {name: item["verdict"] for name, item in found.items() if name != "replay"} == dict.fromkeys(
        ("pathwise", "exact", "sampled"), "refuted"
    )


def test_private_keys_are_not_replayed_and_large_worlds_not_listed():
    found = run(Question("mean", ", by private keys"), effort=Effort(seconds=9.0, most=300))
    assert found["replay"] is None
    assert found["exact"] is None
    assert found["sampled"]["verdict"] == "no power"
    traced = question_case._trace(Question("mean", ", by private keys"), TABLE_KINDS[0], 3)
    assert traced["twin"], traced


def test_a_question_is_asked_of_every_kind_and_pair(monkeypatch):
    monkeypatch.setattr(question_case, "questions", lambda *_: iter([Question("count"), Question("odd", problem="nobody knows")]))
    found = list(question_case.question_cases(Effort()))
    assert len(found) == 4 * (1 + 1 + 2 * question_case.LISTED + 1) + 4
    every = question_case._trace_all(Question("count"), TABLE_KINDS[0], Effort())
    assert every["walked"] == len(PAIRS)
    assert question_case._trace_all(Question("count"), TABLE_KINDS[0], QUICK)["walked"] < len(PAIRS)  # until the twin is caught
    assert every["twin"]
    assert sum(case.run(QUICK) == {"verdict": UNKNOWN, "witness": "nobody knows"} for case in found if case.subject == "odd") == 4
    certificate = partial(question_case._certify, Question("count"), TABLE_KINDS[0])
    assert certificate(QUICK)["verdict"] == "consistent"


@pytest.mark.parametrize(
    ("name", "place", "way", "pair"),
    [
        ("aggregate", ", by public keys", None, 1),
        ("apply a count over two columns of one's own", "", None, 0),
        ("apply a count over two columns of one's own", ", by public keys", "laplace", 0),
        ("apply a maximum of one's own", "", "ladder", len(PAIRS) - 2),
        ("apply a maximum of one's own", ", by public keys", "ladder", len(PAIRS) - 1),
    ],
)
def test_a_function_of_ones_own_drawn_at_twice_its_price_is_caught(name, place, way, pair):
    found = question_case._trace(Question(name, place, way), TABLE_KINDS[1], pair)
    assert found["twin"], found
