"""The groups of a frame are public facts, or unknown."""

from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame


def test_public_groups_are_the_cross_product_in_the_order_declared():
    sex, ward = Column("sex", "cat", keys=("m", "f")), Column("ward", "int", keys=(2, 1, None))
    assert Frame(PrivacyUnit(), by=(sex, ward)).public_groups == (("m", 2), ("m", 1), ("m", None), ("f", 2), ("f", 1), ("f", None))
    assert Frame(PrivacyUnit()).public_groups == ((),)


def test_one_private_key_makes_the_groups_private():
    assert Frame(PrivacyUnit(), by=(Column("sex", "cat", keys=("m", "f")), Column("zip", "cat"))).public_groups is None
