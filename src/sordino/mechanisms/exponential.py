"""The exponential mechanism over public candidates."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.mechanisms.listing import listed
from sordino.mechanisms.selection import Selection
from sordino.privacy.cost import Cost

__all__ = ["Exponential"]


@listed("exponential mechanism", note="004 goal (algorithms); 002 mode")
@dataclass(frozen=True)
class Exponential(Selection):
    r"""Choose a candidate with probability proportional to e^{epsilon score / (2 sensitivity)}.

    Theorem. If one unit moves every score by at most Delta the choice is epsilon-DP; if all scores move the same way (monotone, under
    add_remove) the exponent epsilon score / Delta is allowed. All log-ratios of one pair lie in an interval of length epsilon, so zCDP
    costs epsilon^2/8.
    Proof. A candidate's weight changes by at most e^{epsilon/2}, the normaliser by at most e^{epsilon/2} the other way; in the monotone
    case only one of the two can happen. The range of log-ratios is that of one candidate's weight. The draw is the largest of scores
    plus Gumbel noise, which has exactly this law. QED
    """

    noise = "gumbel"

    @property
    def cost(self) -> Cost:
        return Cost.bounded_range(self.epsilon)
