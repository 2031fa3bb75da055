"""Surveys by randomized response: the price of an answer, the shares of many, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.survey import Questionnaire, RandomizedResponse


@pytest.mark.parametrize("encoding", ["direct", "unary"])
@pytest.mark.parametrize("options", [["yes", "no"], ["a", "b", "c", "d", "e"]])
def test_estimates_are_unbiased_and_inside_six_deviations(encoding, options):
    survey = RandomizedResponse(options, epsilon=1, encoding=encoding)
    answers = [options[0]] * 6_000 + [options[1]] * 3_000
    shares = survey.estimate([survey.randomize(answer) for answer in answers])
    for option, truth in zip(options, [2 / 3, 1 / 3, 0, 0, 0], strict=False):
        share, low, high = shares[option]
        assert abs(share - truth) < 6 * survey.mechanism.variance(truth, 9_000) ** 0.5
        assert 0 <= low <= high <= 1
    assert shares.reports == 9_000


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 1.0])
def test_intervals_cover_the_share_at_least_as_often_as_they_say(share):
    """Counts drawn from their exact law: n f coins of p and the others of q, 20,000 surveys of 200 people."""
    survey = RandomizedResponse(["yes", "no"], epsilon="1.2")
    p, q, n = float(survey.mechanism.keep), float(survey.mechanism.lie), 200
    rng = np.random.default_rng(4)
    yes = round(share * n)
    counts = rng.binomial(yes, p, 20_000) + rng.binomial(n - yes, q, 20_000)
    ends = {}
    for count in np.unique(counts):
        _, low, high = survey.estimate(["yes"] * int(count) + ["no"] * int(n - count))["yes"]
        ends[int(count)] = low - 1e-12 <= share <= high + 1e-12
    assert np.mean([ends[int(count)] for count in counts]) >= 0.945


def test_the_law_is_the_one_of_the_card():
    survey = RandomizedResponse(["yes", "no"], epsilon=1, question="Did you ever?")
    assert survey.mechanism.certificate().check().sound
    assert survey.mechanism.keep / survey.mechanism.lie <= Fraction(2718281829, 10**9)
    assert "73.1%" in survey.card["what happens"]
    assert survey.card["ledger"].startswith("not charged")
    assert "Did you ever?" in survey.card.to_markdown()


def test_many_options_are_sent_as_bits_when_that_is_quieter():
    assert RandomizedResponse([str(i) for i in range(50)], epsilon=1, encoding="auto").encoding == "unary"
    assert RandomizedResponse(["a", "b"], epsilon=3, encoding="auto").encoding == "direct"


def test_more_respondents_and_a_higher_price_are_more_accurate():
    survey = RandomizedResponse(["a", "b"], epsilon=1)
    assert survey.within(400) == pytest.approx(survey.within(100) / 2)
    assert RandomizedResponse(["a", "b"], epsilon=2).within(100) < survey.within(100)


def test_several_questions_share_one_budget():
    survey = Questionnaire.of({"smoke": ["yes", "no"], "drink": ["never", "some", "much"]}, epsilon=3, weights={"drink": 2})
    assert survey.epsilon == 3
    assert survey.questions["drink"].epsilon == 2
    reports = [survey.randomize({"smoke": "yes", "drink": "much"}) for _ in range(500)]
    found = survey.estimate(reports)
    assert found["drink"]["much"][1] > 0.5
    assert survey.card["this answer"]["epsilon"] == "3"
    assert "20.1" in survey.card["odds"]


@pytest.mark.parametrize("wrong", [
    lambda: RandomizedResponse(["yes"], epsilon=1),
    lambda: RandomizedResponse(["yes", "yes"], epsilon=1),
    lambda: RandomizedResponse(["yes", 3], epsilon=1),
    lambda: RandomizedResponse(["yes", " "], epsilon=1),
    lambda: RandomizedResponse(["yes", "no"], epsilon=0),
    lambda: RandomizedResponse(["yes", "no"], epsilon=1, encoding="morse"),
    lambda: RandomizedResponse(["yes", "no"], epsilon=1).randomize("maybe"),
    lambda: RandomizedResponse(["yes", "no"], epsilon=1).estimate([]),
    lambda: RandomizedResponse(["yes", "no"], epsilon=1).estimate(["yes", "maybe"]),
    lambda: RandomizedResponse(["yes", "no"], epsilon=1).estimate(["yes"], level=2),
    lambda: RandomizedResponse(["yes", "no"], epsilon=1, encoding="unary").estimate([(1, 0, 1)]),
    lambda: RandomizedResponse(["yes", "no"], epsilon=1).within(0),
    lambda: RandomizedResponse(["yes", "no"], epsilon=1).html("x.html", send_to="javascript:alert(1)"),
    lambda: RandomizedResponse(["yes", "no"], epsilon=1).html("x.html", send_to="https://a.b; script-src *"),
    lambda: Questionnaire({}),
    lambda: Questionnaire.of({"a": ["x", "y"]}, epsilon=1, weights={"b": 1}),
    lambda: Questionnaire.of({"a": ["x", "y"]}, epsilon=1).randomize({}),
    lambda: Questionnaire.of({"a": ["x", "y"]}, epsilon=1).estimate([{"b": "x"}]),
])  # fmt: skip
def test_bad_input_is_refused(wrong):
    with pytest.raises(QueryError):
        wrong()


def test_the_page_says_what_chance_does_and_may_send_to_one_place_only(tmp_path):
    file = tmp_path / "page.html"
    RandomizedResponse(["<script>", "no"], epsilon=1, question="</script><b>").html(file, send_to="https://survey.example/in?x=1")
    text = file.read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    assert "connect-src https://survey.example" in text.replace("&#x27;", "'")
    assert "sha256-" in text


def test_results_show_themselves():
    shares = RandomizedResponse(["yes", "no"], epsilon=1).estimate(["yes"] * 30 + ["no"] * 70)
    assert "epsilon 1" in str(shares)
    assert json.loads(shares.to_json())["reports"] == 100
    assert "<svg" in shares._repr_html_()
    assert list(shares) == ["yes", "no"]
    assert len(shares) == 2
    assert sd.survey.Shares is type(shares)
