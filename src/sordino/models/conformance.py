"""Which of scikit-learn's own checks a private estimator must fail, and why: `check_estimator(model, expected_failed_checks=...)`."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier, is_regressor

__all__ = ["expected_failed_checks"]

VALUES = {
    "check_dtype_object": "a value that is no number counts as missing: an error would publish that somebody's value is odd",
    "check_estimators_empty_data_messages": "the number of rows is private: an error about an empty table would publish it",
}
NOISE = {
    "check_fit_idempotent": "fits twice and wants equal numbers: noise that repeats is no noise",
    "check_supervised_y_2d": "fits twice and wants equal numbers",
    "check_supervised_y_no_nan": "wants an error learnt from y: infinite targets are clamped, missing ones drop out",
}
REGRESSOR = {
    "check_regressor_data_not_an_array": "fits twice and wants equal numbers",
    "check_regressors_int": "fits twice and wants equal numbers",
}
CLASSIFIER = {
    "check_classifier_data_not_an_array": "fits twice and wants equal numbers",
    "check_classifiers_classes": "wants classes learnt from y: they are declared, because a label only one person has would be published",
    "check_classifiers_regression_target": "wants an error learnt from y: labels that are no class drop out",
    "check_classifier_not_supporting_multiclass": "wants an error learnt from y: labels that are no class drop out",
}


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Each with its reason in one line; every other check passes."""
    found = dict(VALUES)
    if is_regressor(estimator):
        found |= NOISE | REGRESSOR
    if is_classifier(estimator):
        found |= NOISE | CLASSIFIER
    return found
