"""The former place of `sordino.course.textbook`; the old name keeps working, and says where the new one is."""

from __future__ import annotations

import sys
import warnings

from sordino.course import textbook
from sordino.course.textbook import additive, estimator, gaussian, smooth, stability, verdict

warnings.warn("sordino.mechanisms.textbook is now sordino.course.textbook", DeprecationWarning, stacklevel=2)
for _part in (additive, estimator, gaussian, smooth, stability, verdict):
    sys.modules[f"{__name__}.{_part.__name__.rpartition('.')[2]}"] = _part
sys.modules[__name__] = textbook
