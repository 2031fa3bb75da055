"""The former place of `sordino.course.errata`; the old name keeps working, and says where the new one is."""

from __future__ import annotations

import sys
import warnings

from sordino.course import errata

warnings.warn("sordino.lab.errata is now sordino.course.errata", DeprecationWarning, stacklevel=2)
sys.modules[__name__] = errata
