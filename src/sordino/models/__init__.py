"""Private regression for scikit-learn: estimators that pay before they look, and say what they paid.

scikit-learn is loaded when an estimator is first named.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sordino.errors import not_installed

if TYPE_CHECKING:
    from sordino.models.box import BoundedScaler
    from sordino.models.conformance import expected_failed_checks
    from sordino.models.linear import PrivateHuberRegressor, PrivateLinearRegression
    from sordino.models.logistic import PrivateLogisticRegression

__all__ = ["BoundedScaler", "PrivateHuberRegressor", "PrivateLinearRegression", "PrivateLogisticRegression", "expected_failed_checks"]

_HOMES = {
    "BoundedScaler": "box",
    "PrivateHuberRegressor": "linear",
    "PrivateLinearRegression": "linear",
    "PrivateLogisticRegression": "logistic",
    "expected_failed_checks": "conformance",
}


if not TYPE_CHECKING:  # a name that is not there is an error to a type checker too

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"sordino.models.{_HOMES[name]}"), name)
        except ModuleNotFoundError as error:
            raise not_installed(error) or error from None
