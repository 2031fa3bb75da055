"""Pictures of plain numbers: a static SVG, a text that fits 80 columns, and nothing to install."""

from sordino.pictures.curve import chain, density, lines, roc, steps
from sordino.pictures.outline import matrix, outline
from sordino.pictures.picture import Picture
from sordino.pictures.row import bars, intervals, ladder

__all__ = ["Picture", "bars", "chain", "density", "intervals", "ladder", "lines", "matrix", "outline", "roc", "steps"]
