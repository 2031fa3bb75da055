"""One exact draw of any law, and how discrete laws are drawn: coins with rational bias, integer ranges, weighted choices, noisy maxima.

The only entropy in the house: an AES-256-CTR keystream keyed by the operating system.
"""

from __future__ import annotations

import math
import os
import threading
from fractions import Fraction
from itertools import accumulate
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.noise.ideal import SLACK, exactly, in_floats
from sordino.noise.rounding import rounded, spherical
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace, UniformInteger
from sordino.privacy.law import LawOutcome, Placed
from sordino.privacy.sphere import PlacedVector

__all__ = [
    "Stream", "argmax", "bernoulli", "categorical", "discrete_laplace", "draw", "fresh_id", "stream", "uniform_integer",
]  # fmt: skip

Out = TypeVar("Out")
REKEY_BYTES = 2**30
BUFFER_WORDS = 2**13


class Stream:
    """Uniform 64-bit words. A child of a fork gets a fresh key, a long run a new one every GiB, and no copy or pickle exists."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rekey()
        os.register_at_fork(after_in_child=self._after_fork)

    def _rekey(self) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._encryptor = Cipher(algorithms.AES(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
        self._used = 0
        self._buffer: NDArray[np.uint64] = np.empty(0, np.uint64)

    def _after_fork(self) -> None:
        self._lock = threading.Lock()  # the parent may have held it
        self._rekey()

    def _keystream(self, count: int) -> NDArray[np.uint64]:
        if self._used + 8 * count > REKEY_BYTES:
            self._rekey()
        self._used += 8 * count
        out = np.empty(8 * count + 16, np.uint8)
        self._encryptor.update_into(bytes(8 * count), out)  # type: ignore[arg-type]
        return out[: 8 * count].view(np.uint64)

    def words(self, count: int) -> NDArray[np.uint64]:
        """This many fresh uniform words, each handed out once."""
        with self._lock:
            if count > BUFFER_WORDS:
                return self._keystream(count)
            if count > len(self._buffer):
                self._buffer = self._keystream(BUFFER_WORDS)
            taken, self._buffer = self._buffer[:count].copy(), self._buffer[count:]
            return taken

    def bits(self, count: int) -> int:
        """A uniform integer of this many bits."""
        words = self.words(-(-count // 64))
        return int.from_bytes(words.tobytes(), "little") >> (64 * len(words) - count)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a noise stream cannot be pickled or copied: two copies would draw the same noise")


stream = Stream()


def draw(law: LawOutcome[Out]) -> Out:
    """One exact outcome of a placed or discrete law."""
    return cast(Out, _sampled(law))


def _sampled(law: object) -> object:
    match law:
        case Placed():
            return rounded(law, stream)
        case PlacedVector():
            return spherical(law, stream)
        case Bernoulli():
            return bernoulli(law, stream)
        case UniformInteger():
            return uniform_integer(law, stream)
        case Categorical():
            return categorical(law, stream)
        case DiscreteLaplace():
            return discrete_laplace(law, stream)
        case ArgMax():
            return argmax(law, stream)
    raise QueryError("SRD-108", f"{type(law).__name__} is not a law with an exact sampler.", "Hand draw() a placed or discrete law.")


def fresh_id() -> str:
    """A request id nobody has used before: 128 fresh bits in hexadecimal."""
    return f"{stream.bits(128):032x}"


WORD = 2**64
FARTHEST = 2**62


def _tie(probability: Fraction, stream: Stream) -> bool:
    """Continue the comparison of a uniform real with a probability whose first 64 bits agreed."""
    rest = probability * WORD % 1
    while True:
        if rest == 0:
            return False
        word = stream.bits(64)
        whole = int(rest * WORD)
        if word != whole:
            return word < whole
        rest = rest * WORD % 1


def bernoulli(law: Bernoulli, stream: Stream) -> bool | NDArray[np.bool_]:
    """A uniform real, revealed 64 bits at a time, falls below the probability."""
    thresholds = [min(int(p * WORD), WORD - 1) for p in law.probabilities]
    certain = np.array([p == 1 for p in law.probabilities], bool)
    index = np.zeros(1, np.int64) if law.index is None else np.asarray(law.index, np.int64)
    words = stream.words(len(index))
    mine = np.array(thresholds, np.uint64)[index]
    out = (words < mine) | certain[index]
    for i in np.flatnonzero((words == mine) & ~certain[index]).tolist():
        out[i] = _tie(law.probabilities[int(index[i])], stream)
    return bool(out[0]) if law.index is None else out


def uniform_integer(law: UniformInteger, stream: Stream) -> int:
    """Multiply a long uniform word by the width; reject the few products that would favour some integers."""
    width = law.high - law.low + 1
    bits = width.bit_length() + 64  # rejection has probability below 2^-64
    limit = 2**bits // width * width
    while True:
        word = stream.bits(bits)
        if word < limit:
            return law.low + word % width


def categorical(law: Categorical, stream: Stream) -> int:
    """Weights are mantissa 2^exponent. Pick an exponent by its exact total, then a mantissa inside it by exact integer sums.

    Mantissas are cut into 27 high and 26 low bits, so that sums over four million cells stay exact in 64 bits.
    """
    if isinstance(law.weights, tuple):
        point = uniform_integer(UniformInteger(0, sum(law.weights) - 1), stream)
        return next(i for i, total in enumerate(accumulate(law.weights)) if point < total)
    weights = np.asarray(law.weights, np.float64)
    mantissa, exponent = np.frexp(weights)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    low_exponent = int(exponent.min())
    bucket = (exponent - low_exponent).astype(np.int64)
    size = int(bucket.max()) + 1
    high, low = whole >> 26, whole & (2**26 - 1)
    high_sum = np.bincount(bucket, high.astype(float), size)
    low_sum = np.bincount(bucket, low.astype(float), size)
    totals = [((int(h) << 26) + int(w)) << i for i, (h, w) in enumerate(zip(high_sum, low_sum, strict=True))]
    point = uniform_integer(UniformInteger(0, sum(totals) - 1), stream)
    chosen = 0
    while point >= totals[chosen]:
        point -= totals[chosen]
        chosen += 1
    point >>= chosen  # uniform on 0 .. total of the bucket's mantissas - 1
    members = np.flatnonzero(bucket == chosen)
    highs, lows = np.cumsum(high[members]), np.cumsum(low[members])
    first, last = 0, len(members) - 1
    while first < last:
        middle = (first + last) // 2
        if (int(highs[middle]) << 26) + int(lows[middle]) > point:
            last = middle
        else:
            first = middle + 1
    return int(members[first])


def discrete_laplace(law: DiscreteLaplace[Any], stream: Stream) -> int | NDArray[np.int64]:
    """Invert the tail: |K| = max(0, floor(scale E + c)), E a standard exponential, c = scale ln(2/(1 + e^{-1/scale})), with a fair sign.

    P(scale E + c >= t) = e^{-(t-c)/scale} = 2 e^{-t/scale}/(1 + e^{-1/scale}), which is the tail of |K|. The floor is made exact as in
    `rounding`: one word decides all but about scale 2^-41 of the draws, whatever the location. Outcomes are clamped to
    2^62 either way, where 64 bits end.
    """
    location = np.clip(np.atleast_1d(np.asarray(law.location, np.int64)), -FARTHEST, FARTHEST)
    words = stream.words(len(location))
    b = in_floats(law.scale)
    offset = b * math.log(2 / (1 + math.exp(-1 / b)))
    cell = (words >> np.uint64(12)).astype(np.float64)
    with np.errstate(divide="ignore"):
        near, far = -np.log((cell + 1) * 2.0**-52) * b, -np.log(cell * 2.0**-52) * b
    slack = SLACK * (b + 1)
    lower, upper = np.floor(near * (1 - SLACK) + offset - slack), np.floor(far * (1 + SLACK) + offset + slack)
    sure = (lower == upper) & (upper < 2.0**52)
    size = np.where(sure, np.maximum(lower, 0.0), 0.0).astype(np.int64)
    out = np.clip(location + np.where(words & np.uint64(1), -size, size), -FARTHEST, FARTHEST)
    for i in np.flatnonzero(~sure).tolist():
        exact = _refine_exponential(law.scale, int(words[i]) >> 12, stream)
        out[i] = min(max(int(location[i]) + (-exact if words[i] & np.uint64(1) else exact), -FARTHEST), FARTHEST)
    return int(out[0]) if np.ndim(law.location) == 0 else out


def _refine_exponential(scale: Fraction, cell: int, stream: Stream) -> int:
    bits = 52
    while True:
        cell, bits = (cell << 64) | stream.bits(64), bits + 64
        with exactly(2 * bits + 120) as mp:
            b = mp.mpf(scale.numerator) / scale.denominator
            offset = b * mp.log(2 / (1 + mp.exp(-1 / b)))
            wide = (b + 1) * mp.mpf(2) ** -(bits + 20)
            if cell == 0:
                continue
            near, far = (-mp.log(mp.mpf(end) / 2**bits) * b + offset for end in (cell + 1, cell))
            lower, upper = max(0, int(mp.floor(near - wide))), max(0, int(mp.floor(far + wide)))
            if lower == upper:
                return lower


def argmax(law: ArgMax, stream: Stream) -> int:
    """Bracket every noisy score; where the brackets leave more than one possible winner, draw more bits for the contenders."""
    scores = np.asarray(law.scores, np.int64)
    words = stream.words(len(scores))
    step = float(1 / law.scale)
    shifted = -(scores.max() - scores).view(np.uint64).astype(float) * step  # the gap of two int64 always fits a uint64
    low, high = _bracket(law.noise, words)
    slack = 2.0**-42 * (np.abs(shifted) + np.abs(low) + np.where(np.isfinite(high), np.abs(high), 0.0) + 1)
    low, high = shifted + low - slack, shifted + high + slack
    contenders = np.flatnonzero(high >= low.max())
    if len(contenders) == 1:
        return int(contenders[0])
    cells = {int(i): int(words[i]) for i in contenders}
    bits = 64
    while True:
        bits += 64
        cells = {i: (word << 64) | stream.bits(64) for i, word in cells.items()}
        with exactly(3 * bits + 160) as mp:
            ends: dict[int, tuple[Any, Any]] = {}
            for i, word in cells.items():
                base = mp.mpf(int(scores[i]) - int(scores.max())) * law.scale.denominator / law.scale.numerator
                ends[i] = _refined(mp, law.noise, base, word, bits)
            best = max(end[0] for end in ends.values())
            cells = {i: word for i, word in cells.items() if ends[i][1] >= best}
        if len(cells) == 1:
            return next(iter(cells))


def _bracket(noise: str, words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The noise of a uniform word's 52-bit cell, at both ends, increasing."""
    cell = (words >> np.uint64(12)).astype(float)
    left, right = cell * 2.0**-52, (cell + 1) * 2.0**-52
    with np.errstate(divide="ignore"):
        if noise == "gumbel":  # -ln(-ln U)
            return -np.log(-np.log(left)), -np.log(-np.log(right))
        if noise == "exponential":  # -ln(1 - U)
            return -np.log1p(-left), -np.log1p(-right)
        return tuple(np.where(u < 0.5, np.log(2 * u), -np.log(2 * np.maximum(1 - u, 0.0))) for u in (left, right))  # type: ignore[return-value]


def _refined(mp: Any, noise: str, base: Any, word: int, bits: int) -> tuple[Any, Any]:
    def quantile(u: Any) -> Any:
        if noise == "gumbel":
            return -mp.inf if u == 0 else (mp.inf if u == 1 else -mp.log(-mp.log(u)))
        if noise == "exponential":
            return mp.inf if u == 1 else -mp.log(1 - u)
        if u * 2 < 1:
            return -mp.inf if u == 0 else mp.log(2 * u)
        return mp.inf if u == 1 else -mp.log(2 * (1 - u))

    wide = mp.mpf(2) ** -(bits + 30)
    ends = [base + quantile(mp.mpf(w) / 2**bits) for w in (word, word + 1)]
    return ends[0] - wide * (1 + abs(base)), ends[1] + wide * (1 + abs(base))
