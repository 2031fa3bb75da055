"""The relational text of products and gradients: every coordinate a whole number, every row's share a function of that row alone.

What several rows of a person add up to is summed as integers before it is shrunk, so that no order of the rows can show.

Counts by the cells of several columns as one statement: GROUPING SETS over cell numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.engines.text import Text
from sordino.engines.value_text import bin_text, real
from sordino.errors import QueryError
from sordino.summaries.marginal import CellAxis, Marginals
from sordino.summaries.moment import COARSE, FINE, GRAIN, LINK, ONE, Gradient, Gram, Lengths, MomentTerm, Outer, scaled, steep

__all__ = ["SETS", "crossed", "gradient_text", "gram_text", "lengths_text", "marginal_text", "matrix", "outer_text", "reaches", "whole"]


def gram_text(text: Text, table: str, request: Gram, number: str = "DOUBLE") -> tuple[str, list[str]]:
    """A relation of coordinates, and the sums of the upper triangle of their products, row by row; at last the number of rows.

    Whole numbers of 15 bits: their products add up exactly in doubles for EXACT rows, and always as 128-bit integers (number BIGINT).
    """
    names = [f"x{i}" for i in range(len(request.terms))]
    made = [f"CAST({_whole(text, term)} AS {number}) + zero AS {name}" for term, name in zip(request.terms, names, strict=True)]
    rows = _kept(text, table, request.terms, request.required, f"CAST(0 AS {number})")
    rows = f"SELECT {', '.join((*text.keys, *made))} FROM ({rows}) AS kept"
    ones = {name for term, name in zip(request.terms, names, strict=True) if term == MomentTerm()}
    return f"({rows}) AS placed", [*(_product(a, b, ones) for i, a in enumerate(names) for b in names[i:]), "count(x0)"]


def _product(a: str, b: str, ones: set[str]) -> str:
    """The sum of a product; one multiplication less where a factor is the constant."""
    left = [name for name in (a, b) if name not in ones]
    return f"sum({' * '.join(left)})" if left else f"count({a})"


def gradient_text(text: Text, table: str, request: Gradient) -> tuple[str, list[str]]:
    """A relation of directions, one row per unit, and their sums; then the counts of residuals by octave."""
    if request.loss == "softmax":
        return _class_gradient(text, table, request)
    names, kept, rows = _weighed(text, table, request, request.theta, request.loss)
    cells = [f"o{j}" for j in range(request.octaves + 1 if request.octaves else 0)]
    counts = "".join(f", {count} AS {cell}" for count, cell in zip(_octaves(request.octaves), cells, strict=True))
    clipped = "r" if request.loss == "logistic" else f"greatest({-request.clip}, least({request.clip}, r))"
    clipped = f"CAST({_bent(request.psi)} AS BIGINT)" if request.loss == "psi" else clipped
    if request.cap is not None:
        clipped = f"CAST({_toward(f'CAST({clipped} AS DOUBLE) * {_share(names, request.cap)}')} AS BIGINT)"
    rows = f"SELECT {kept}, {clipped} AS w{counts} FROM ({rows}) AS left_over"
    vectors, sums = _shrunk(text, rows, names, cells, request)
    return f"({vectors}) AS told", [f"sum({name})" for name in (*sums, *cells)]


def lengths_text(text: Text, table: str, request: Lengths) -> tuple[str, list[str]]:
    """A relation of one length per row, and how many lie in each cell."""
    theta = (0,) * len(request.terms) if request.theta is None else request.theta
    names, _, rows = _weighed(text, table, request, theta, "huber")
    size = _size([f"CAST({x} AS DOUBLE)" for x in names], 2)
    long = size if request.theta is None else f"{size} * (CAST(abs(r) AS DOUBLE) / {real(ONE)})"
    rows = f"SELECT {_listed(text.keys)}{long} AS size FROM ({rows}) AS weighed"
    edges = [f"size <= {real(edge)}" for edge in request.edges]
    tests = [edges[0], *(f"NOT {low} AND {high}" for low, high in pairwise(edges)), f"NOT {edges[-1]}"]
    return f"({rows}) AS measured", [f"sum(CASE WHEN {test} THEN 1 ELSE 0 END)" for test in tests]


def outer_text(text: Text, table: str, request: Outer) -> tuple[str, list[str]]:
    """A relation of one whole vector per row, and the sums of the upper triangle of their products, row by row."""
    if request.loss == "softmax" and request.of == "residual":
        return _class_outer(text, table, request)
    theta = request.theta or (0,) * len(request.terms)
    names, kept, rows = _weighed(text, table, request, theta, "logistic" if request.of == "curvature" else request.loss)
    size = _size([f"CAST({x} AS DOUBLE)" for x in names], 2)
    factor = "1e0" if request.cap is None else _share(names, request.cap)
    if request.of == "curvature":
        factor += f" * (sqrt(chance * ({real(ONE)} - chance)) / {real(ONE)})"
    elif request.of == "residual":
        factor += f" * ({_bent(request.psi) if request.loss == 'psi' else 'CAST(r AS DOUBLE)'} / {real(ONE)})"
    elif request.of in ("rising", "falling"):
        stretches = steep(request.psi, rising=request.of == "rising")
        roots = [f"CASE WHEN r >= {a} AND r < {b} THEN {real(root)} ELSE 0e0 END" for a, b, root in stretches]
        factor += f" * ({' + '.join(roots) or '0e0'})"
    rows = f"SELECT {kept}, {size} AS size, ({factor}) * {real(GRAIN / request.norm)} AS f FROM ({rows}) AS weighed"
    rows = f"SELECT {kept}, f * least(1e0, {real(GRAIN)} / greatest(1e0, size * abs(f))) AS f FROM ({rows}) AS sized"
    made = ", ".join(f"{_toward(f'CAST({x} AS DOUBLE) * f')} AS v{i}" for i, x in enumerate(names))
    products = [f"sum({a} * {b})" for i, a in enumerate(_v(names)) for b in _v(names)[i:]]
    return f"(SELECT {_listed(text.keys)}{made} FROM ({rows}) AS shortened) AS told", products


def _bent(psi: Sequence[tuple[int, int]]) -> str:
    """The polygon at r, as `summaries.moment.bent` has it."""
    parts = [real(psi[0][1])]
    for (start, low), (stop, high) in pairwise(psi):
        step = f"greatest(0e0, least({real(stop - start)}, CAST(r AS DOUBLE) - {real(start)}))"
        parts.append(f"floor({real(high - low)} * {step} / {real(stop - start)})")
    most = max(abs(height) for _, height in psi)
    return f"greatest({real(-most)}, least({real(most)}, {' + '.join(parts)}))"


def _classed(text: Text, table: str, request: Gradient | Outer) -> tuple[list[str], int, str]:
    """The names of the coordinates, how many classes there are, and a relation of the coordinates with a w for each of them."""
    names = [f"x{i}" for i in range(len(request.terms))]
    many, terms = len(request.theta) // len(names), (*request.terms, request.target)
    made = [f"{_coordinate(text, term)} + zero AS {name}" for term, name in zip(terms, [*names, "y"], strict=True)]
    rows = _kept(text, table, terms, request.required, "CAST(0 AS BIGINT)")
    rows = f"SELECT {', '.join((*text.keys, *made))} FROM ({rows}) AS kept"
    kept = ", ".join((*text.keys, *names))
    points = []
    for k in range(many):
        own = request.theta[k * len(names) : (k + 1) * len(names)]
        predictor = " + ".join(f"{x} * {weight}" for x, weight in zip(names, own, strict=True))
        points.append(f"floor(CAST({predictor} AS DOUBLE) * {real(LINK / (ONE * FINE))} + 5e-1) AS t{k}")
    cell = f"least({real(many - 1)}, floor(CAST((y + {ONE}) * {many} AS DOUBLE) / {real(2 * ONE)})) AS cell"
    rows = f"SELECT {kept}, {cell}, {', '.join(points)} FROM ({rows}) AS placed"
    every = ", ".join(f"t{k}" for k in range(many))
    rows = f"SELECT {kept}, cell, {every}, greatest({every}) AS top FROM ({rows}) AS pointed"
    faded = ", ".join(f"floor({real(ONE)} * exp(-least({real(16 * LINK)}, top - t{k}) / {real(LINK)}) + 5e-1) AS e{k}" for k in range(many))
    rows = f"SELECT {kept}, cell, {faded} FROM ({rows}) AS topped"
    total = " + ".join(f"e{k}" for k in range(many))
    marks = [f"CASE WHEN cell = {real(k)} THEN {real(ONE)} ELSE 0e0 END" for k in range(many)]
    weights = ", ".join(f"{one} - floor({real(ONE)} * e{k} / greatest(1e0, {total})) AS w{k}" for k, one in enumerate(marks))
    return names, many, f"SELECT {kept}, {weights} FROM ({rows}) AS weighed"


def _class_gradient(text: Text, table: str, request: Gradient) -> tuple[str, list[str]]:
    names, many, rows = _classed(text, table, request)
    kept, weights = ", ".join((*text.keys, *names)), [f"w{k}" for k in range(many)]
    size = _size([f"CAST({x} AS DOUBLE)" for x in names], 2)
    if request.cap is not None:
        short = ", ".join(f"{_toward(f'{w} * {_share(names, request.cap)}')} AS {w}" for w in weights)
        rows = f"SELECT {kept}, {short} FROM ({rows}) AS capped"
    if request.norm is not None:
        share = f"least(1e0, {real(request.norm * ONE)} / greatest(1e0, {size} * {_size(weights, 2)})) AS share"
        rows = f"SELECT {kept}, {', '.join(weights)}, {share} FROM ({rows}) AS measured"
        short = ", ".join(f"{_toward(f'{w} * share')} AS {w}" for w in weights)
        rows = f"SELECT {kept}, {short} FROM ({rows}) AS shrunk"
    made = ", ".join(f"{x} * CAST({w} AS BIGINT) AS v{k * len(names) + i}" for k, w in enumerate(weights) for i, x in enumerate(names))
    return f"(SELECT {_listed(text.keys)}{made} FROM ({rows}) AS told_each) AS told", [f"sum(v{i})" for i in range(many * len(names))]


def _class_outer(text: Text, table: str, request: Outer) -> tuple[str, list[str]]:
    names, many, rows = _classed(text, table, request)
    kept, weights = ", ".join((*text.keys, *names)), [f"w{k}" for k in range(many)]
    size = _size([f"CAST({x} AS DOUBLE)" for x in names], 2)
    factor = "1e0" if request.cap is None else _share(names, request.cap)
    long = f"{size} * ({_size(weights, 2)} / {real(ONE)})"
    made = f"{', '.join(weights)}, {long} AS size, ({factor}) * {real(GRAIN / request.norm)} AS f"
    rows = f"SELECT {kept}, {made} FROM ({rows}) AS weighed_each"
    rows = f"SELECT {kept}, {', '.join(weights)}, f * least(1e0, {real(GRAIN)} / greatest(1e0, size * f)) AS f FROM ({rows}) AS sized"
    held = ", ".join(f"({w} / {real(ONE)}) * f AS {w}" for w in weights)
    rows = f"SELECT {kept}, {held} FROM ({rows}) AS shortened"
    every = [f"v{i}" for i in range(many * len(names))]
    made = ", ".join(
        f"{_toward(f'{w} * CAST({x} AS DOUBLE)')} AS v{k * len(names) + i}" for k, w in enumerate(weights) for i, x in enumerate(names)
    )
    sums = [f"sum({a} * {b})" for i, a in enumerate(every) for b in every[i:]]
    return f"(SELECT {_listed(text.keys)}{made} FROM ({rows}) AS told_each) AS told", sums


def _weighed(text: Text, table: str, request: Gradient | Lengths | Outer, theta: Sequence[int], loss: str) -> tuple[list[str], str, str]:
    """The names of the coordinates, the columns that go on, and a relation of them with the residual r; with the chance, if logistic."""
    names = [f"x{i}" for i in range(len(request.terms))]
    terms = (*request.terms, request.target)
    made = [f"{_coordinate(text, term)} + zero AS {name}" for term, name in zip(terms, [*names, "y"], strict=True)]
    rows = _kept(text, table, terms, request.required, "CAST(0 AS BIGINT)")
    rows = f"SELECT {', '.join((*_unit(text), *text.keys, *made))} FROM ({rows}) AS kept"
    predictor = " + ".join(f"{x} * {weight}" for x, weight in zip(names, theta, strict=True))
    kept = ", ".join((*_unit(text), *text.keys, *names))
    rows = f"SELECT {kept}, y, CAST({predictor} AS DOUBLE) AS z FROM ({rows}) AS placed"
    if loss != "logistic":
        return names, kept, f"SELECT {kept}, CAST(floor((y * {real(FINE)} - z) / {real(FINE)}) AS BIGINT) AS r FROM ({rows}) AS seen"
    point = f"greatest({real(-16 * LINK)}, least({real(16 * LINK)}, floor(z * {real(LINK / (ONE * FINE))} + 5e-1)))"
    rows = f"SELECT {kept}, y, floor({real(ONE)} / (1e0 + exp(-{point} / {real(LINK)})) + 5e-1) AS chance FROM ({rows}) AS seen"
    return names, kept, f"SELECT {kept}, chance, y - CAST(chance AS BIGINT) AS r FROM ({rows}) AS likely"


def _shrunk(text: Text, rows: str, names: list[str], cells: list[str], request: Gradient) -> tuple[str, list[str]]:
    """Each unit's direction, no longer than the norm."""
    made = [f"x{i} * w" for i in range(len(names))]
    beside = "".join(f", {cell}" for cell in cells)
    if request.norm is None:
        plain = ", ".join(f"{m} AS v{i}" for i, m in enumerate(made))
        return f"SELECT {_listed(text.keys)}{plain}{beside} FROM ({rows}) AS weighed", _v(names)
    if text.frame.unit_column is None or request.each:
        size = _size([f"CAST({x} AS DOUBLE)" for x in names], request.order)
        most = f"CAST(floor({real(request.norm * ONE)} / greatest(1e0, {size})) AS BIGINT)"
        rows = f"SELECT {', '.join((*text.keys, *names))}{beside}, w, {most} AS most FROM ({rows}) AS weighed"
        made = [f"x{i} * greatest(-most, least(most, w)) AS v{i}" for i in range(len(names))]
        return f"SELECT {_listed(text.keys)}{', '.join(made)}{beside} FROM ({rows}) AS measured", _v(names)
    pair, totals = ", ".join(("u", *text.keys)), "".join(f", sum({cell}) AS {cell}" for cell in cells)
    people = ", ".join(f"CAST(sum({m}) AS DOUBLE) AS v{i}" for i, m in enumerate(made))
    rows = f"SELECT {_listed(text.keys)}{people}{totals} FROM ({rows}) AS weighed GROUP BY {pair}"
    share = f"least(1e0, {real(request.norm * ONE)} / greatest(1e0, {_size(_v(names), request.order)}))"
    rows = f"SELECT {_listed(text.keys)}{', '.join(_v(names))}{beside}, {share} AS share FROM ({rows}) AS people"
    short = ", ".join(f"CAST({_toward(f'{v} * share')} AS BIGINT) AS v{i}" for i, v in enumerate(_v(names)))
    return f"SELECT {_listed(text.keys)}{short}{beside} FROM ({rows}) AS sized", _v(names)


def _kept(text: Text, table: str, terms: Sequence[MomentTerm], required: Sequence[int], zero: str) -> str:
    """The bounded rows with a zero that is null where a row does not count, so that sums pass over it.

    Not a WHERE: the database would move it to where every coordinate is computed twice.
    """
    tests = [f"{text.column(term.column)} IS NOT NULL" for term in terms if term.column is not None] + [f"b{i}" for i in required]
    return f"SELECT {text.rows}, CASE WHEN {' AND '.join(dict.fromkeys(tests)) or 'TRUE'} THEN {zero} END AS zero FROM {table} AS bounded"


def _coarse(text: Text, name: str, bits: int) -> tuple[str, int]:
    """A column's grid integer of at most this many bits, and its largest value."""
    grid = next(column for column in text.frame.columns if column.name == name).grid()
    shift = max(0, grid.width.bit_length() - bits)
    if grid.width >> shift < 1:
        raise QueryError("SRD-202", f"the bounds of {name!r} leave one value.", "Declare low < high, at least one grid step apart.")
    return text.column(name) if not shift else f"({text.column(name)} >> {shift})", grid.width >> shift


def reaches(text: Text, terms: Sequence[MomentTerm]) -> list[int]:
    """What stands for 1 in each coordinate of a product."""
    return [1 if term.column is None else _coarse(text, term.column, COARSE)[1] for term in terms]


def _whole(text: Text, term: MomentTerm) -> str:
    if term.column is None:
        return "1" if term.index is None else f"CASE WHEN b{term.index} THEN 1 ELSE 0 END"
    coarse, width = _coarse(text, term.column, COARSE)
    return f"{coarse} * 2 - {width}"


def _coordinate(text: Text, term: MomentTerm) -> str:
    if term.cells:
        middles = [(2 * k + 1) * ONE // len(term.cells) - ONE for k in range(len(term.cells))]
        whens = " ".join(f"WHEN b{i} THEN {middle}" for i, middle in zip(term.cells, middles, strict=True))
        return f"CAST(CASE {whens} ELSE {middles[0]} END AS BIGINT)"
    if term.index is not None:
        return f"CAST(CASE WHEN b{term.index} THEN {ONE} ELSE 0 END AS BIGINT)"
    if term.column is None:
        return f"CAST({ONE} AS BIGINT)"
    coarse, width = _coarse(text, term.column, 20)
    # the quotient of numbers of 41 and 20 bits is never rounded across a whole number
    return f"CAST(floor({coarse} * {real(2 * ONE)} / {real(width)}) AS BIGINT) - {ONE}"


def _octaves(octaves: int) -> list[str]:
    """One count per cell of |r|, in units of 1/ONE."""
    if not octaves:
        return []
    edges = [f"abs(r) <= {ONE >> (octaves - j)}" for j in range(octaves)]
    tests = [edges[0], *(f"NOT {low} AND {high}" for low, high in pairwise(edges)), f"NOT {edges[-1]}"]
    return [f"CASE WHEN {test} THEN 1 ELSE 0 END" for test in tests]


def _size(parts: Sequence[str], order: int) -> str:
    return f"sqrt({' + '.join(f'{p} * {p}' for p in parts)})" if order == 2 else f"({' + '.join(f'abs({p})' for p in parts)})"


def _share(names: Sequence[str], cap: int) -> str:
    """What a row longer than the cap is multiplied by."""
    return f"least(1e0, {real(cap)} / greatest(1e0, {_size([f'CAST({x} AS DOUBLE)' for x in names], 2)}))"


def _toward(number: str) -> str:
    """A number cut to a whole one, towards zero."""
    return f"CASE WHEN {number} < 0e0 THEN -floor(-({number})) ELSE floor({number}) END"


def _unit(text: Text) -> tuple[str, ...]:
    return ("u",) if text.frame.unit_column is not None else ()


def _listed(names: Sequence[str]) -> str:
    return "".join(f"{name}, " for name in names)


def _v(names: Sequence[str]) -> list[str]:
    return [f"v{i}" for i in range(len(names))]


def whole(found: dict[str, Any], first: int, count: int, place: NDArray[np.intp], groups: int) -> NDArray[np.object_]:
    """The sums s_first .. as Python integers, one row per group in public order."""
    values = np.zeros((groups, count), object)
    for i in range(count):
        values[place, i] = [int(float(text)) if set("e.") & set(str(text)) else int(text) for text in found[f"s{first + i}"]]
    return values


def matrix(values: NDArray[np.object_], units: Sequence[int]) -> NDArray[np.object_]:
    """Symmetric matrices in units of ONE^-2 from upper triangles of sums in these units."""
    size = len(units)
    full = np.zeros((len(values), size, size), object)
    rows, columns = np.triu_indices(size)
    for place, (i, j) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        full[:, i, j] = full[:, j, i] = [scaled(int(total), units[i], units[j]) for total in values[:, place]]
    return full


SETS = 64  # grouping sets of one statement


def _place(text: Text, axis: CellAxis) -> str:
    """Where a row stands among the axis' edges; null where it has no value."""
    q = text.column(axis.column)
    return q if axis.edges is None else bin_text(q, axis.edges)


def _cell(place: str, axis: CellAxis) -> str:
    """The cell of a place, never null. The place is a name: written out, it would be computed once for every branch.

    Where values are listed, null has a place of its own and is no null any more: it goes by the same way as all that is in no branch.
    """
    *cells, null = axis.cells
    if axis.cells == tuple(range(len(axis.cells))):
        return f"COALESCE({place}, {null})"
    whens = " ".join(f"WHEN {i} THEN {cell}" for i, cell in enumerate(cells))
    return f"CASE {place} {whens} ELSE {null} END"


def marginal_text(text: Text, table: str, request: Marginals) -> str:
    """One row per set and cell that occurs: a cell number per axis of the set, null for the others, and how much is there."""
    used = sorted({i for chosen in request.sets for i in chosen})
    places = [f"{_place(text, request.axes[i])} AS p{i}" for i in used]
    cells = [f"{_cell(f'p{i}', request.axes[i])} AS c{i}" for i in used]
    amount = "count(*)"
    if request.parts > 1 and text.frame.unit_column is not None:
        places.append(f"{request.parts} // count(*) OVER (PARTITION BY u) AS w")
        cells.append("w")
        amount = "CAST(sum(w) AS BIGINT)"
    elif request.parts > 1:
        amount = f"{request.parts} * count(*)"
    names = ", ".join(f"c{i}" for i in used)
    sets = ", ".join(f"({', '.join(f'c{i}' for i in chosen)})" for chosen in request.sets)
    placed = f"SELECT {', '.join(places)} FROM {table} AS bounded"
    coded = f"SELECT {', '.join(cells)} FROM ({placed}) AS placed"
    return f"SELECT {names}, {amount} AS amount FROM ({coded}) AS coded GROUP BY GROUPING SETS ({sets})"


def crossed(found: dict[str, Any], request: Marginals) -> tuple[NDArray[np.int64], ...]:
    """The arrays of a statement's rows."""
    used = sorted({i for chosen in request.sets for i in chosen})
    amount = np.ma.getdata(found["amount"]).astype(np.int64)
    cells = {i: np.ma.getdata(np.ma.filled(np.ma.asarray(found[f"c{i}"]).astype(np.float64), -1)) for i in used}
    cells = {i: np.where(np.isnan(values), -1, values).astype(np.int64) for i, values in cells.items()}
    marks = np.zeros(len(amount), object if len(used) > 62 else np.int64)
    for bit, i in enumerate(used):
        marks += np.where(cells[i] >= 0, 1 << bit, 0)
    place = {i: bit for bit, i in enumerate(used)}
    out = []
    for chosen in request.sets:
        table = np.zeros(request.shape(chosen), np.int64)
        here = np.flatnonzero(marks == sum(1 << place[i] for i in chosen))
        if len(here):
            table[tuple(cells[i][here] for i in chosen)] = amount[here]
        out.append(table)
    return tuple(out)
