"""The former place of `sordino.course.notes`; the old name keeps working, and says where the new one is."""

from __future__ import annotations

import sys
import warnings

from sordino.course import notes

warnings.warn("sordino.lab.notes is now sordino.course.notes", DeprecationWarning, stacklevel=2)
sys.modules[__name__] = notes
