"""The calculus of privacy: relations, laws, losses, prices, certificates."""

from __future__ import annotations

from sordino.privacy.certificate import Certificate, Verdict
from sordino.privacy.composition import compose
from sordino.privacy.cost import Cost
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT
from sordino.privacy.law import Law
from sordino.privacy.losses import Admissible, Loss, admissible, loss
from sordino.privacy.relation import PrivacyUnit, Relation

__all__ = [
    "Admissible",
    "Certificate",
    "Cost",
    "GaussianLaw",
    "GeneralizedCauchy",
    "LaplaceLaw",
    "Law",
    "Loss",
    "PowerLaw",
    "PrivacyUnit",
    "Relation",
    "StudentT",
    "Verdict",
    "admissible",
    "compose",
    "loss",
]
