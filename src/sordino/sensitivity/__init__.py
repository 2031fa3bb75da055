"""How far a statistic can move: in the worst case, here, nearby, and how far away trouble is.

worst_case    on any table
local         on this table
rungs         within k steps of this table
smooth        the least bound on local that changes slowly
distance      steps to instability
exhaustive    all of it from the definitions, on tiny universes
influence     the large-sample limit of all this, for public data
ScaleLadder   smooth bounds in whole numbers
Ridge         the same for the coefficients of a ridge regression
"""

from sordino.sensitivity import distance, influence, local, rungs, smooth, worst_case
from sordino.sensitivity.ridge import Ridge
from sordino.sensitivity.scale import ScaleLadder
from sordino.sensitivity.universe import exhaustive

__all__ = ["Ridge", "ScaleLadder", "distance", "exhaustive", "influence", "local", "rungs", "smooth", "worst_case"]
