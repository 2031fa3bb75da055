"""Certificates as findings: the same verdict as their own check, with a curve and an exit code."""

import json

import pytest

from sordino.errors import QueryError
from sordino.lab import certify
from sordino.lab.question import PAIRS, TABLE_KINDS, declared, sides
from sordino.mechanisms import Gaussian, Laplace, StableHistogram
from sordino.session.table import table


class Quiet(Laplace):
    @property
    def scale(self):
        return super().scale / 2


@pytest.mark.parametrize("mechanism", [Laplace(1), Gaussian(1, "1e-6"), StableHistogram(1, "1e-6")], ids=repr)
def test_a_sound_certificate_is_consistent(mechanism):
    found, check = certify(mechanism), mechanism.certificate().check()
    assert (found.verdict, found.exit_code, found.epsilon, found.slack) == ("consistent", 0, check.epsilon, check.slack)
    assert certify(mechanism.certificate()) == found
    assert all(a[1] >= b[1] for a, b in zip(found.curve, found.curve[1:], strict=False))


def test_half_the_noise_is_refuted():
    found = certify(Quiet(1))
    assert (found.verdict, found.exit_code) == ("refuted", 1)
    assert found.epsilon == pytest.approx(2)
    assert repr(found).startswith("certificate: refuted, claimed epsilon 1")
    assert json.loads(found.to_json())["verdict"] == "refuted"
    assert "refuted" in found.plot().text
    assert "<script" not in found._repr_html_()


def test_a_question_has_the_certificates_of_its_plan():
    kind = TABLE_KINDS[0]
    with table(sides(PAIRS[0], kind)[0], **declared(kind)) as people:
        found = certify(people.group_by("zip").median("income", interval=False), epsilon=1, delta="0.01")
        assert found.verdict == "consistent"
        assert found.certificates == 2
        with pytest.raises(QueryError):
            certify(Laplace(1), epsilon=1)
    with pytest.raises(QueryError):
        certify(3)
