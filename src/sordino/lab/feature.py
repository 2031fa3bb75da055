"""What an attacker can read off an output: its value, its last bits, its type, its shape, its error message.

Columns have two rows, one per dataset, and one entry per trial. Every sixth trial teaches (bins, vocabularies and scores are read from it),
the next one chooses events, and the other four of six are never looked at before the final count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PARTS", "Feature", "Outputs", "features", "read"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

PARTS = 6
_WIDTH = 64  # numbers of one output that enter the learned score
_CLOSE = 8  # numbers of one output whose bits are examined one by one
_CYCLE = 6720  # lcm(64, 420): residues modulo either follow from this one


@dataclass(frozen=True)
class Outputs:
    """All outputs as columns; entry [w, i] belongs to trial i on dataset w."""

    kind: Codes
    text: Codes
    kinds: Sequence[str]
    texts: Sequence[str]
    numbers: Floats  # [w, i, j], NaN where an output has no j-th number
    residue: Codes  # [w, i, j], the number modulo 6720 if it is a whole number by type, else -1
    count: Codes  # how many numbers an output has
    total: Floats  # their sum


@dataclass(frozen=True, eq=False)
class Feature:
    """One number per output whose tails are events, and how to say such an event aloud. NaN belongs to no event."""

    name: str
    column: Floats
    say: Callable[[str, float], str]


def read(first: Any, second: Any) -> Outputs:
    """Outputs on two datasets, n each, as columns. Plain numeric arrays are taken whole, anything else is walked leaf by leaf."""
    plain = type(first) is type(second) is np.ndarray and first.dtype.kind in "biuf"
    if plain and first.dtype == second.dtype and first.shape == second.shape:
        return _whole(np.stack([first, second]), f"{first.dtype}{list(first.shape[1:]) or ''}")
    both = [list(first), list(second)]
    types = {type(x) for side in both for x in side}
    if types == {float} or types == {np.float64}:
        return _whole(np.array(both, dtype=np.float64), types.pop().__name__)
    if types == {int}:
        try:
            return _whole(np.array(both, dtype=np.int64), "int")
        except OverflowError:
            pass
    return _walked(both)


def _whole(stack: NDArray[Any], kind: str) -> Outputs:
    n = stack.shape[1]
    table = stack.reshape(2, n, -1)
    close, nothing = table[:, :, :_WIDTH], np.zeros((2, n), dtype=np.int64)
    exact = {"b": np.int64, "i": np.int64, "u": np.uint64}.get(stack.dtype.kind)
    residue = (close.astype(exact) % _CYCLE).astype(np.int64) if exact else np.full((1, 1, 1), -1)
    with np.errstate(all="ignore"):
        numbers, total = close.astype(np.float64), table.sum(axis=2, dtype=np.float64)
    shape = (2, n, close.shape[2])
    return Outputs(nothing, nothing, [kind], [""], numbers, np.broadcast_to(residue, shape), np.full((2, n), table.shape[2]), total)


def _walked(both: list[list[Any]]) -> Outputs:
    n = len(both[0])
    kinds: dict[str, int] = {}
    texts: dict[str, int] = {}
    kind, text, count = (np.zeros((2, n), dtype=np.int64) for _ in range(3))
    rows: list[list[Any]] = []
    for w, side in enumerate(both):
        for i, output in enumerate(side):
            said: list[str] = []
            leaves: list[Any] = []
            kind[w, i] = kinds.setdefault(_walk(output, said, leaves), len(kinds))
            text[w, i] = texts.setdefault("; ".join(said), len(texts))
            count[w, i] = len(leaves)
            rows.append(leaves)
    width = min(_WIDTH, int(count[:, ::PARTS].max(initial=0)))
    numbers, residue = np.full((2 * n, width), np.nan), np.full((2 * n, width), -1, dtype=np.int64)
    total = np.zeros(2 * n)
    with np.errstate(all="ignore"):
        for i, leaves in enumerate(rows):
            floats = [_float(x) for x in leaves]
            numbers[i, : len(leaves)] = floats[:width]
            residue[i, : len(leaves)] = [x % _CYCLE if isinstance(x, int) else -1 for x in leaves[:width]]
            total[i] = np.sum(floats)
    shape = (2, n, width)
    return Outputs(kind, text, list(kinds), list(texts), numbers.reshape(shape), residue.reshape(shape), count, total.reshape(2, n))


def _walk(x: Any, said: list[str], leaves: list[Any]) -> str:
    """The kind of an output; its texts and numbers are appended on the way."""
    name = type(x).__name__
    if x is None:
        return "None"
    if isinstance(x, BaseException):
        said.append(str(x))
        return f"raised {name}"
    if isinstance(x, int | float):
        leaves.append(x)
        return name
    if isinstance(x, str | bytes):
        said.append(x if isinstance(x, str) else repr(x))
        try:
            leaves.append(float(x))
        except ValueError:
            return name
        return f"{name} of a number"
    if isinstance(x, np.integer):
        leaves.append(int(x))
        return name
    if isinstance(x, np.ndarray) and not isinstance(x, np.ma.MaskedArray) and x.dtype.kind in "biuf":
        leaves.extend(x.ravel().tolist())
        return f"{x.dtype}{list(x.shape)}"
    if isinstance(x, complex | np.complexfloating):
        leaves.extend([float(x.real), float(x.imag)])
        return name
    if isinstance(x, Mapping):
        return f"{name}{{{', '.join(f'{key!r}: {_walk(value, said, leaves)}' for key, value in x.items())}}}"
    if isinstance(x, set | frozenset):
        return f"{name}({', '.join(_walk(y, said, leaves) for y in sorted(x, key=repr))})"
    if isinstance(x, list | tuple) or (isinstance(x, np.ndarray) and x.ndim):
        return f"{name}({', '.join(_walk(y, said, leaves) for y in x)})"
    if is_dataclass(x) and not isinstance(x, type):
        return f"{name}({', '.join(_walk(getattr(x, f.name), said, leaves) for f in fields(x))})"
    try:
        leaves.append(float(x))
    except Exception:
        said.append(repr(x))
    return name


def _float(x: Any) -> float:
    try:
        return float(x)
    except OverflowError:
        return np.inf if x > 0 else -np.inf


def features(outputs: Outputs) -> Iterator[Feature]:
    """Every column an event may be made of. Which there are is decided by the teaching trials alone, like everything else."""
    kind = _learned("type", outputs.kind, lambda code: outputs.kinds[int(code)])
    score = kind.column
    yield kind
    if np.ptp(outputs.text[:, ::PARTS]):
        yield _learned("text", outputs.text, lambda code: repr(outputs.texts[int(code)]))
        yield _ordered("length of the text", np.array([len(t) for t in outputs.texts], dtype=np.float64)[outputs.text])
    if np.ptp(outputs.count[:, ::PARTS]):
        yield _ordered("how many numbers", outputs.count.astype(np.float64))
    width = outputs.numbers.shape[2]
    for j in range(width):
        name = "value" if width == 1 else f"value[{j}]"
        x = outputs.numbers[:, :, j]
        binned = _binned(name, x)
        score = score + binned.column
        if j < _CLOSE:
            yield binned
            yield from _numeric(name, x, outputs.residue[:, :, j], j < outputs.count)
    if width > 1:
        yield from _numeric("sum", outputs.total, np.full_like(outputs.count, -1), outputs.count > 0)
    if width:
        yield _exact(outputs)
    if width > 1 or np.ptp(outputs.kind[:, ::PARTS]):
        yield _ordered("learned score of the whole output", score)


def _ordered(name: str, column: Floats) -> Feature:
    return Feature(name, column, lambda side, t: f"{name} {side} {t:.12g}")


def _learned(name: str, keys: Codes, label: Callable[[np.int64], str]) -> Feature:
    """Classes ranked by how much likelier the second dataset makes them on the teaching trials; the rare ones share a class."""
    seen, counts = np.unique(keys[:, ::PARTS], return_counts=True)
    vocabulary = seen[counts >= 5]
    code = np.searchsorted(vocabulary, keys)
    code[np.append(vocabulary, 0)[code] != keys] = vocabulary.size
    one, two = (np.bincount(side[::PARTS], minlength=vocabulary.size + 1) for side in code)
    scores = np.log((two + 1) / (one + 1))

    def say(side: str, t: float) -> str:
        inside = np.flatnonzero(scores >= t if side == ">=" else scores <= t)
        inside = inside[np.argsort(-(one + two)[inside], kind="stable")]
        named = [label(vocabulary[k]) if k < vocabulary.size else "a rare one" for k in inside[:4]]
        more = f" and {inside.size - 4} more" if inside.size > 4 else ""
        return f"{name} is {' or '.join(s if len(s) <= 60 else s[:59] + '…' for s in named)}{more}"

    return Feature(name, scores[code], say)


def _binned(name: str, x: Floats) -> Feature:
    """Bins of equal weight; absent and NaN are a bin of their own. More bins follow a density closer, but their scores are noisier."""
    known = x[:, ::PARTS]
    known = np.sort(known[np.isfinite(known)])
    bins = 2 + round(known.size ** (1 / 3) / 2)
    edges = np.unique(known[np.linspace(0, known.size - 1, bins + 1).astype(int)][1:-1]) if known.size else known
    code = np.where(np.isnan(x), edges.size + 1, np.searchsorted(edges, x, side="right")).astype(np.int64)
    ends = [-np.inf, *edges.tolist(), np.inf]
    return _learned(f"bin of {name}", code, lambda k: f"[{ends[k]:.6g}, {ends[k + 1]:.6g})" if k <= edges.size else "absent or NaN")


def _numeric(name: str, x: Floats, residue: Codes, present: NDArray[np.bool_]) -> Iterator[Feature]:
    finite = np.isfinite(x)
    yield _ordered(name, x)
    known = x[:, ::PARTS][finite[:, ::PARTS]]
    with np.errstate(all="ignore"):
        middle = float(np.median(known)) if known.size else 0.0
        distance = np.abs(x - middle)
    yield Feature(f"distance of {name} from {middle:.6g}", distance, lambda side, t: f"|{name} - {middle:.12g}| {side} {t:.12g}")
    zero = finite & (x == 0)
    sorts = [~present, np.isnan(x), x == np.inf, x == -np.inf, zero & np.signbit(x), zero]
    special = np.select(sorts, [1, 2, 3, 4, 5, 6], 0).astype(np.int64)
    if special[:, ::PARTS].any():
        words = ("an ordinary number", "absent", "NaN", "inf", "-inf", "-0.0", "0.0")
        yield _learned(f"sort of {name}", special, lambda k: words[k])

    bits = np.ascontiguousarray(x).view(np.int64)
    exponent = np.maximum((bits >> 52) & 0x7FF, 1) - 1075
    significand = (bits & ((1 << 52) - 1)) | np.where((bits >> 52) & 0x7FF, 1 << 52, 0)
    zeros = np.frexp((significand & -significand).astype(np.float64))[1].astype(np.int64) - 1
    regular = finite & ~zero
    last = exponent + zeros
    yield _ordered(f"exponent of the last set bit of {name}", np.where(regular, last, np.nan).astype(np.float64))
    pair = np.where(regular, exponent * 64 + zeros, 1 << 40)

    def size(k: np.int64) -> str:
        return f"last bit 2^{k // 64 + k % 64} at size 2^{k // 64 + 52}" if k < 1 << 40 else "not regular"

    yield _learned(f"precision of {name}", pair, size)
    taught = regular[:, ::PARTS]
    grain, spare = (int(column[:, ::PARTS][taught].min(initial=1023)) for column in (last, zeros))
    spare = min(spare, 52)
    tail = np.where(regular, (significand >> spare) & 63, -1)
    yield _learned(f"last six bits of {name}", tail, lambda k: format(k, "06b") if k >= 0 else "not regular")
    with np.errstate(all="ignore"):
        steps = np.mod(np.ldexp(x, -grain), _CYCLE)
        cycle = np.where(residue >= 0, residue, np.where(np.isfinite(steps), steps, -1).astype(np.int64))
    for modulus in (64, 420):
        rest = np.where(cycle >= 0, cycle % modulus, -1)
        unit = f"{name} modulo {modulus} steps of 2^{0 if residue[:, ::PARTS].max() >= 0 else grain}"
        yield _learned(unit, rest, lambda k: str(k) if k >= 0 else "undefined")


def _exact(outputs: Outputs) -> Feature:
    """The whole output as one word: kind, text and the bits of every number, mixed into 64 bits."""
    width = outputs.numbers.shape[2]
    odd = np.random.default_rng(0).integers(1 << 62, size=width + 2, dtype=np.int64) * 2 + 1
    bits = np.ascontiguousarray(outputs.numbers).view(np.int64)
    bits = bits ^ (bits >> 29)  # round numbers end in zero bits; without this their products would collide
    key = (bits * odd[:width]).sum(axis=2, dtype=np.int64) + outputs.kind * odd[width] + outputs.text * odd[width + 1]
    flat = key.ravel()
    numbers = outputs.numbers.reshape(flat.size, width)

    def label(k: np.int64) -> str:
        here = int(np.argmax(flat == k))
        said = ", ".join(f"{v:.12g}" for v in numbers[here, :6]) + (", ..." if width > 6 else "")
        kind, text = outputs.kinds[outputs.kind.ravel()[here]], outputs.texts[outputs.text.ravel()[here]]
        return f"{kind} {said} {text}".strip() if len(outputs.kinds) > 1 or text else said

    return _learned("output", key, label)
