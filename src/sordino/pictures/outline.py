"""What hangs together: tables under the person they lead to, and how well pairs of columns were kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sordino.pictures.picture import NARROW, PENS, WIDTH, Picture, heading, number, sheet, shorten, words

__all__ = ["matrix", "outline"]

Node = tuple[int, str, str, bool]  # how deep, its name, what is said of it, whether it is set apart
_INDENT, _HIGH, _GAP = 22, 40, 12


def outline(nodes: Sequence[Node], *, title: str = "") -> Picture:
    """Boxes under each other, indented by depth and joined to the one above that they hang from; those set apart are dashed."""
    said = "; ".join(f"{'under that ' * depth}{name}: {note}" if note else name for depth, name, note, _ in nodes)

    def drawn(width: int) -> str:
        head, down = heading(title, width)
        parts, top, above = list(head), (30 if title else 8) + down, dict[int, float]()
        for depth, name, note, apart in nodes:
            left = 4 + _INDENT * depth
            dash = ' stroke-dasharray="5 4"' if apart else ""
            box = f'x="{left}" y="{top:.0f}" width="{width - left - 4}" height="{_HIGH}" rx="5" fill="none" stroke="currentColor"'
            if depth and depth - 1 in above:
                start, middle = 4 + _INDENT * (depth - 1) + 9, top + _HIGH / 2
                line = f"M{start} {above[depth - 1]:.0f}V{middle:.0f}H{left}"
                parts.append(f'<path d="{line}" fill="none" stroke="{PENS[0].colour}" stroke-width="2"{dash}/>')
            room = int((width - left - 16) / 6.8)
            parts.append(f"<rect {box}{dash}/>")
            parts.append(words(left + 8, top + 16, shorten(name, room), size=13, extra=' font-weight="700"'))
            parts.append(words(left + 8, top + 32, shorten(note, room)))
            above[depth] = top + _HIGH
            top += _HIGH + _GAP
        return sheet(title or "Tables", said, top, parts, width)

    lines = ("  " * depth + shorten(f"{name}{f': {note}' if note else ''}", 80 - 2 * depth) for depth, name, note, _ in nodes)
    text = "\n".join(lines)
    return Picture(drawn(WIDTH), "\n".join(filter(None, [shorten(title, 80), text])), title or "Tables", drawn(NARROW))


def matrix(
    names: Sequence[str], values: Mapping[tuple[int, int], float], framed: set[tuple[int, int]], *, title: str = "", x: str = ""
) -> Picture:
    """A number for every pair of names, darker the larger; framed pairs are set apart."""
    worst = max(values.values(), default=0.0) or 1.0
    marks = {pair: f"{names[pair[0]]}, {names[pair[1]]}: {number(float(f'{value:.3g}'))}" for pair, value in values.items()}
    said = "; ".join(text + (" (framed)" if pair in framed else "") for pair, text in marks.items())

    def drawn(width: int) -> str:
        head, down = heading(title, width)
        left = 190 if width == WIDTH else 96
        each = min(64.0, (width - left - 6) / max(len(names), 1))
        parts, top = list(head), 30.0 + down
        for row, name in enumerate(names):
            level = top + 26 * row
            parts.append(words(left - 8, level + 17, shorten(f"{name} {row + 1}", 26 if width == WIDTH else 13), anchor="end"))
            parts.append(words(left + each * row + each / 2, level + 17, str(row + 1), anchor="middle"))
            for column in range(row):
                value = values.get((column, row))
                at = f'x="{left + each * column + 1.5:.1f}" y="{level + 1.5:.1f}" width="{each - 3:.1f}" height="23"'
                frame = (
                    'stroke="currentColor" stroke-width="2"' if (column, row) in framed else 'stroke="currentColor" stroke-opacity="0.3"'
                )
                shade = 0.0 if value is None else 0.06 + 0.5 * value / worst
                parts.append(f'<rect {at} fill="{PENS[1].colour}" fill-opacity="{shade:.2f}" {frame}/>')
                if value is not None and each >= 34:
                    parts.append(words(left + each * column + each / 2, level + 17, f"{value:.2g}".lstrip("0") or "0", anchor="middle"))
        bottom = top + 26 * len(names) + 16
        parts.append(words(width / 2, bottom, shorten(x, 80 if width == WIDTH else 38), anchor="middle"))
        return sheet(title or "Pairs", said, bottom + 10, parts, width)

    text = "\n".join(shorten(f"{line}{' *' if pair in framed else ''}", 80) for pair, line in marks.items())
    return Picture(drawn(WIDTH), "\n".join(filter(None, [shorten(title, 80), text])), title or "Pairs", drawn(NARROW))
