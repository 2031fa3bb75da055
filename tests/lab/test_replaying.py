"""Record and replay: what counts as a difference, and what does not."""

import json
from fractions import Fraction

import pytest

import sordino as sd
from sordino.lab import replay
from sordino.lab.question import PAIRS, TABLE_KINDS, declared, sides
from sordino.lab.recording import seen
from sordino.mechanisms import Laplace, QuantileExponential, Smooth, Stability, StableHistogram
from sordino.privacy.discrete import Bernoulli
from sordino.privacy.families import LaplaceLaw
from sordino.privacy.relation import Limits
from sordino.session.table import table
from sordino.statistics.added import Added
from sordino.summaries import Near, Nearness, Rung, Value

SMALL = Fraction(1, 10**6)
MEDIAN = {"statistic": "median", "bounds": (0, 100), "resolution": 1}


def test_pinned_outcomes_are_the_recorded_ones():
    found = replay(Laplace(1), 5, 6)
    assert found.ok
    assert found.recording.visible == seen(found.recording.draws[0].outcome)
    assert "nothing visible differs" in repr(found)


def test_a_choice_among_private_cells_is_pinned_by_what_leaves():
    for _ in range(50):
        assert replay(QuantileExponential(1, high=50), [], [25] * 3).ok


def test_different_lengths_and_families_are_differences():
    found = replay(StableHistogram(1, SMALL), {"a": 5}, {"a": 5, "b": 1})
    assert "1 outcomes" in found.differences[0]
    assert "2 outcomes" in found.differences[0]


class Talkative(Laplace):
    def release(self, ask, draw):
        value = ask(Value())
        if value > 5:
            raise ValueError(f"{value} is too much")
        return super().release(ask, draw)


class TwoDraws(Laplace):
    def release(self, ask, draw):
        for _ in range(ask(Value())):
            draw(LaplaceLaw().at(0, Fraction(1)))
        return 0


class OwnLaw(Laplace):
    def release(self, ask, draw):
        return draw(Bernoulli.of(Fraction(1, 2)) if ask(Value()) else LaplaceLaw().at(0, Fraction(1)))


@pytest.mark.parametrize(("mechanism", "word"), [(Talkative(1), "raised ValueError: 6"), (TwoDraws(1), "no"), (OwnLaw(1), "Bernoulli")])
def test_errors_draws_and_laws_that_follow_the_data_are_differences(mechanism, word):
    pair = (5, 6) if isinstance(mechanism, Talkative) else (0, 1) if isinstance(mechanism, OwnLaw) else (2, 1)
    for d0, d1 in (pair, pair[::-1]):
        found = replay(mechanism, d0, d1)
        assert not found.ok
        assert word in repr(found)


class Jumps(Smooth):
    """A ladder that moves by more than a theorem allows."""

    def release(self, ask, draw):
        def jumping(request):
            rung = ask(request)
            return Rung(rung.location, rung.index if rung.location < 75 else rung.index - 9, rung.scales, rung.low, rung.high, rung.step)

        return super().release(jumping, draw)


def test_a_scale_that_moves_too_far_is_a_difference():
    found = replay(Jumps(1), [50] * 9, [50] * 4 + [100] * 5, **MEDIAN)
    assert any("ln S moves" in difference for difference in found.differences)


def test_a_distance_that_moves_too_far_is_a_difference():
    assert replay(Stability(1, SMALL), Near(3, "x"), Near(4, "x")).ok
    found = replay(Stability(1, SMALL), Near(3, "x"), Near(6, "x"))
    assert found.differences == ("turn 1: the distance moves from 3 to 6",)
    assert replay(Stability(1, SMALL), Near(3, "x"), Near(3, "x", step=Fraction(2))).differences == (
        "turn 1: step should be public, but differs",
    )
    assert repr(Nearness()) in found.recording.requests


def test_a_failure_that_delta_pays_for_is_no_difference_and_a_frequent_one_is():
    class Hasty(Stability):
        def release(self, ask, draw):
            return ask(Nearness()).value if draw(Bernoulli.of(Fraction(1, 2))) else "refused"

    here, there = Near(0, "x"), Near(0, "y")
    assert all(replay(Stability(1, Fraction(1, 20)), here, there).ok for _ in range(300))
    found = [replay(Hasty(1, Fraction(1, 20)), here, there) for _ in range(40)]
    assert any(item.differences == ("visible: str 'x' against str 'y'",) for item in found)


def test_a_replay_has_a_verdict_an_exit_code_a_picture_and_json():
    for pair, verdict, code in (((5, 6), "consistent", 0), ((6, 7), "refuted", 1)):
        found = replay(Talkative(1), *pair[::-1]) if code else replay(Laplace(1), *pair)
        assert (found.verdict, found.exit_code, found.confidence) == (verdict, code, 1.0)
        body = json.loads(found.to_json())
        assert body["verdict"] == verdict
        assert len(body["differences"]) == len(found.differences)
        assert verdict in found.plot().text
        assert "<script" not in found._repr_html_()


def test_moves_are_reported_with_what_is_allowed():
    found = replay(Smooth(1), [0] * 4 + [50] + [100] * 4, [0] * 4 + [50] * 2 + [100] * 4, **MEDIAN)
    assert found.ok
    assert {move.what for move in found.moves} == {"place on the ladder", "statistic over its scale", "ln S", "statistic over S"}
    assert all(move.moved <= move.allowed for move in found.moves)


def test_the_draws_of_a_replay_are_priced():
    assert replay(Laplace(1), 5, 6).spent.epsilon == pytest.approx(1)
    assert replay(Laplace(1), 5, 5).spent.epsilon == 0
    assert 0 < replay(QuantileExponential(1, high=9), [1], [1, 2]).spent.epsilon <= 1


def test_a_question_is_replayed_on_two_tables_and_priced(monkeypatch):
    kind, pair = TABLE_KINDS[0], PAIRS[0]
    with table(sides(pair, kind)[0], **declared(kind)) as here, table(sides(pair, kind)[1], **declared(kind)) as there:

        def total(people):
            return people.count()

        found = replay(total, here, there, epsilon=1)
        assert found.ok, found
        assert found.spent.epsilon == pytest.approx(1, rel=1e-6)
        monkeypatch.setattr(Added, "scale", property(lambda self, scale=Added.scale: scale.func(self) / 2))
        quiet = replay(total, here, there, epsilon=1)
        assert quiet.verdict == "refuted"
        assert "found epsilon 2" in quiet.differences[-1]


@pytest.mark.parametrize("most", [2, 5])
def test_somebody_in_all_of_few_public_groups_costs_the_price_and_no_more(most, monkeypatch):
    facts = {"unit": "who", "max_rows": 5, "max_rows_per_group": 1, "max_groups": most, "keys": {"side": ["left", "right"]}}
    facts["budget"] = sd.Budget(9)

    def asked(people):
        return people.group_by("side").count()

    with (
        sd.table({"who": ["a"], "side": ["left"]}, **facts, ledger=":memory:") as here,
        sd.table({"who": ["a", "b", "b"], "side": ["left", "left", "right"]}, **facts, ledger=":memory:") as there,
    ):
        found = replay(asked, here, there, epsilon=1)
        assert found.ok, found
        assert found.spent.epsilon == pytest.approx(1, rel=1e-6)
        monkeypatch.setattr(Limits, "counted", property(lambda _: 1))  # as if a person were in one group
        assert "found epsilon 2" in replay(asked, here, there, epsilon=1).differences[-1]


def test_what_is_neither_a_mechanism_nor_a_question_is_refused():
    for wrong in (3, lambda data: data):
        with pytest.raises(sd.errors.QueryError):
            replay(wrong, 0, 1)
