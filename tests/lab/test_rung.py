"""The audit ladder."""

import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.mechanisms import Laplace


def audited(epsilon):
    release = lambda data, n: sd.lab.simulate(Laplace(epsilon=epsilon, sensitivity=1), data, repeats=n)  # noqa: E731
    return sd.lab.audit(release, 0, 1, claimed=1.0, trials=4_000, vectorised=True)


def test_a_ladder_has_a_rung_for_samples_and_for_certificates_and_names_what_is_refuted():
    found = {"sampled": audited(1), "integrated": sd.lab.certify(Laplace(epsilon=1, sensitivity=1)), "wrong": audited(3)}
    picture = sd.lab.ladder(found, title="Three releases")
    assert [line.split()[-1] for line in picture.text.splitlines()[-3:]] == ["holds", "holds", "refuted"]
    assert "integrated: claimed 1, measured 1, holds" in picture.svg


def test_what_is_no_audit_is_no_rung():
    for odd in (3, "audit", {"claimed": 1}):
        with pytest.raises(QueryError, match="not the result of an audit"):
            sd.lab.ladder({"odd": odd})
