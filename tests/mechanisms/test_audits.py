"""The auditor watches every mechanism on neighbours and must not refute it, at confidence 1 - 1e-9 each.

SORDINO_AUDIT=full is the figure of the release: two epsilons, three pairs, a hundred thousand draws for every mechanism. Without it the
regressions are left out: so few of their outcomes can be drawn that nothing would be seen; their draws are traced exactly instead.
"""

import os
from fractions import Fraction

import pytest
from mechanism_world import CASES

from sordino.lab.auditing import audit
from sordino.lab.simulation import outcomes

FULL = os.environ.get("SORDINO_AUDIT") == "full"


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)], ids=["one half", "two"])
@pytest.mark.parametrize("case", [case for case in CASES if FULL or not case.slow], ids=repr)
def test_no_mechanism_is_refuted(case, epsilon):
    mechanism = case.make(epsilon)
    cost = mechanism.certificate().cost
    pairs = [*case.pairs, *([case.new_key] if case.new_key else [])]
    if not FULL and not case.vectorised:
        pairs = pairs[-1:] if epsilon < 1 else pairs[:2]
    for d0, d1 in pairs:
        found = audit(
            lambda data, n: outcomes(mechanism, data, repeats=n, **case.options),
            d0,
            d1,
            claimed=(float(cost.epsilon), float(cost.delta)),
            trials=2_000 if case.slow else 100_000 if FULL or case.vectorised else 1_000,
            confidence=1 - 1e-9,
            vectorised=True,
        )
        assert found.verdict == "consistent", found
