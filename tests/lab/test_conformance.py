"""The whole catalogue draws what it is charged for: every mechanism and statistic found by walking the folders, and bad ones are named."""

import inspect
import json
import os
import pkgutil
from fractions import Fraction
from importlib import import_module

import pytest

import sordino as sd
from sordino import statistics
from sordino.errors import QueryError
from sordino.lab.case import UNSEEN, claimed_by, louder
from sordino.lab.conformance import PLACE_NAMES, World, check_mechanism, check_statistic
from sordino.lab.question import Question, examples
from sordino.lab.specimen import Specimen
from sordino.mechanisms import Laplace, QuantileExponential, catalog
from sordino.models import way
from sordino.privacy.cost import Cost
from sordino.privacy.families import LaplaceLaw
from sordino.statistics.port import Priced
from sordino.summaries import Value

# Why less than nine tenths of a price is shown; the campaign shows that twice the price would still be seen.
# logistic: a row attains the bound of a round where its outcome is certain, and that of the curvature where it is open
# ranks: the noise is for groups larger than the size that was drawn, where a row that comes also lessens the weight of all others
LEAST = {"regress by logistic loss": 0.5, "rank test of differences": 0.65, "rank test of two groups": 0.6}
# a score falls where more people than the target have more rows and rises where fewer have: these tables have all people on one side;
# small worlds of tests/session/test_private_limit.py have them on both
LEAST |= {"limit on rows": 0.45}
# where psi is at its bound its slope is zero, and the other way round: no row moves both sums at once
LEAST |= {"m_regress": 0.85, "m_regress of a falling psi": 0.5}

# objective perturbation: a row that pulls with its whole length does not bend, and the determinant is paid for
LEAST |= {"regress by objective perturbation": 0.15}


FULL = os.environ.get("SORDINO_AUDIT") == "full"
LEAST |= {} if FULL else {"aggregate": 0.75}  # shown whole between the tables of the audit; each table costs a process for every part
# whose draws are shown to be seen in every place and every way; the campaign asks this of all, and its page names those it saw nowhere
POWER = () if FULL else ("median", "mean", "count")


@pytest.fixture(scope="module")
def world():
    with World() as opened:
        yield opened


@pytest.mark.parametrize("kind", catalog(), ids=lambda kind: kind.__name__)
def test_a_mechanism_draws_what_it_certifies(kind):
    check_mechanism(kind, sampled=False).check()


@pytest.mark.parametrize("name", examples())
def test_a_statistic_draws_what_it_is_charged_for(name, world):
    places = ("", ", by public keys") if name == "aggregate" and not FULL else PLACE_NAMES  # its parts are processes
    found = check_statistic(Question(name), world=world, sparse=not FULL, places=places, power=name in POWER)
    found.check()
    assert not [said for said in found.blind if not said.endswith(tuple(UNSEEN))], "twice its price would not be seen"
    assert found.reached > LEAST.get(name, 0.9), found  # otherwise these neighbours could not have shown a mistake


def steps():
    """Whatever a statistic answers groups with, whether or not it is said to be priced."""
    for module in pkgutil.iter_modules(statistics.__path__):
        for thing in vars(import_module(f"sordino.statistics.{module.name}")).values():
            if inspect.isclass(thing) and thing.__module__.startswith("sordino.statistics") and not getattr(thing, "_is_protocol", False):
                takes = [*inspect.signature(thing.release).parameters] if hasattr(thing, "release") else []
                if (takes[1:4] == ["ask", "draw", "groups"] and hasattr(thing, "interval")) or (
                    issubclass(thing, Priced) and thing is not Priced
                ):
                    yield thing
    for thing in vars(way).values():  # and whatever a model fits with
        if inspect.isclass(thing) and hasattr(thing, "converse") and not getattr(thing, "_is_protocol", False):
            yield thing


def test_no_step_writes_a_price_or_a_certificate_beside_its_parts():
    found = set(steps())
    assert len(found) > 15
    assert found >= {way.TheilSen, way.SmoothRidge, way.Odds}
    for step in found:
        where = f"{step.__module__} {step.__name__}"
        assert issubclass(step, Priced), f"{where} answers groups or fits and is not priced by its parts"
        beside = [name for kind in step.__mro__[: step.__mro__.index(Priced)] for name in ("cost", "certificates") if name in vars(kind)]
        assert not beside, f"{where} defines {beside} itself; its parts say it"


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(1, 3)])
def test_a_robust_line_and_a_ridge_cost_their_epsilon_and_no_delta(epsilon, relation):
    for fit in (way.TheilSen(epsilon, relation), way.SmoothRidge(epsilon, 3, relation)):
        assert (fit.cost.epsilon, fit.cost.delta) == (epsilon, 0)
        assert fit.cost == Cost.sum((certificate.cost, 1) for certificate in fit.certificates())


class Half(Laplace):
    """Half the noise it claims."""

    def release(self, ask, draw):
        return draw(LaplaceLaw().at(ask(Value()), self.scale / 2))


def test_a_mechanism_from_outside_is_checked_and_named():
    found = check_mechanism(Half(1), sampled=False)
    assert not found.ok
    assert "found epsilon 2 for a charge of 1: test_conformance.py Half" in repr(found)
    assert "from zero" in repr(found)
    assert json.loads(found.to_json())["rows"][1]["verdict"] == "refuted"
    assert "<table>" in found._repr_html_()
    with pytest.raises(AssertionError, match="found epsilon 2"):
        found.check()
    assert any(row.method == "sampled" and not row.ok for row in check_mechanism(Half(1), trials=4_000).rows)


class Own(Laplace):
    def neighbours(self):
        return [("my own pair", 3, 4)]


def test_neighbours_of_ones_own_are_used():
    assert {row.pair for row in check_mechanism(Own(1), sampled=False).rows} == {"all neighbours", "my own pair"}
    assert Specimen("x", 0, 1).options == {}


def test_a_statistic_a_question_and_ones_own_are_checked():
    assert check_statistic(statistics.sum("salary"), places=("",)).ok
    found = check_statistic(lambda place: place.median("income"), places=("", ", where"))
    assert found.ok
    assert {row.subject.partition(",")[0] for row in found.rows} == {"a question"}
    rich = statistics.statistic(sensitivity=1, bounds=(0, 1_000_000))(lambda x: int((x > 5).sum()))
    assert check_statistic(rich, places=("",)).ok
    for wrong in (3, "median"):
        with pytest.raises(QueryError):
            check_statistic(wrong)
    assert sd.lab.check_statistic is check_statistic


def test_what_a_statistic_of_ones_own_hides_is_found():
    """It says that a row moves it by one, and a row moves it by two."""
    liar = statistics.statistic(sensitivity=1, bounds=(0, 1_000_000))(lambda x: 2 * len(x))
    found = check_statistic(liar, places=("",))
    assert not found.ok
    assert "test_conformance.py test_what_a_statistic_of_ones_own_hides_is_found.<locals>.<lambda>, by src/sordino/statistics" in repr(
        found
    )


@pytest.mark.parametrize("wrong", [3, statistics.sum("income"), int, lambda place: place.count()])
def test_what_is_no_mechanism_is_refused(wrong):
    with pytest.raises(QueryError, match="SRD-103"):
        check_mechanism(wrong)


@pytest.mark.parametrize("kind", catalog(), ids=lambda kind: kind.__name__)
def test_the_certificate_of_a_mechanism_at_twice_its_price_is_refuted(kind):
    for mechanism in kind.examples():
        twin = louder(mechanism)
        if twin is not None and not mechanism.certificate().loose:
            assert not claimed_by(mechanism, twin).check().sound, mechanism


def test_a_private_cell_stays_private():
    window = QuantileExponential(Fraction(1), high=9)
    laws = []
    sd.lab.replay(window, [1], [1, 2], draw=lambda law: laws.append(law) or (0 if not hasattr(law, "low") else law.low))
    assert "cells" not in repr(laws[0])
