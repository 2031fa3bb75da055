"""The stream never hands out a word twice: not to a thread, a fork, a copy, or the far side of a new key."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import warnings

import numpy as np
import pytest
from scipy.stats import chi2

from sordino.noise import draw, stream  # type: ignore[attr-defined]
from sordino.noise.discrete import Stream
from sordino.privacy.families import LaplaceLaw

module = __import__("sordino.noise.discrete", fromlist=["REKEY_BYTES"])


def in_children(count: int, task: object) -> list[bytes]:
    """What each of so many forked children writes, with the parent's state as it is."""
    pipes = []
    for _ in range(count):
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # numerical libraries keep threads of their own
            child = os.fork()
        if child == 0:
            try:
                os.write(writer, task())  # type: ignore[operator]
            finally:
                os._exit(0)
        os.close(writer)
        pipes.append((reader, child))
    out = []
    for reader, child in pipes:
        out.append(os.read(reader, 4096))
        os.close(reader)
        os.waitpid(child, 0)
    return out


def test_eight_forked_children_and_their_parent_draw_distinct_words() -> None:
    stream.words(3)  # a buffer is waiting to be inherited
    seen = [*in_children(8, lambda: stream.words(4).tobytes()), stream.words(4).tobytes()]
    assert all(len(part) == 32 for part in seen)
    words = [part[i : i + 8] for part in seen for i in range(0, 32, 8)]
    assert len(set(words)) == 36


def test_eight_forked_children_draw_distinct_noise() -> None:
    law = LaplaceLaw().at(np.zeros(4, np.int64), 10**9)
    draw(law)
    seen = in_children(8, lambda: draw(law).tobytes())
    assert len({part for part in seen if len(part) == 32}) == 8


def test_a_fork_while_another_thread_holds_the_lock_does_not_hang() -> None:
    own = Stream()
    with own._lock:
        (seen,) = in_children(1, lambda: own.words(2).tobytes())
    assert len(seen) == 16


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_cannot_be_copied_or_pickled(twin: object) -> None:
    with pytest.raises(TypeError, match="same noise"):
        twin(Stream())  # type: ignore[operator]


def test_eight_threads_share_no_word() -> None:
    own, seen = Stream(), []

    def take() -> None:
        for size in (1, 7, 100, 3000, 9000) * 8:
            seen.append(own.words(size))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = np.concatenate(seen)
    assert len(words) == 8 * 8 * 12108
    assert len(np.unique(words)) == len(words)


def test_a_new_key_is_drawn_before_the_limit_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    own, keys = Stream(), []
    fresh = Stream._rekey
    monkeypatch.setattr(module, "REKEY_BYTES", 8 * 20_000)
    monkeypatch.setattr(Stream, "_rekey", lambda self: (keys.append(self._used), fresh(self))[1])
    words = np.concatenate([own.words(9_000) for _ in range(10)])
    assert len(keys) == 4
    assert max(keys) <= 8 * 20_000
    assert len(np.unique(words)) == 90_000


def test_the_limit_is_a_gib_and_a_request_beyond_it_still_gets_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert module.REKEY_BYTES == 2**30
    monkeypatch.setattr(module, "REKEY_BYTES", 80)
    assert len(np.unique(Stream().words(10_000))) == 10_000


def test_words_are_given_out_whatever_the_count() -> None:
    own = Stream()
    for count in (0, 1, 2, module.BUFFER_WORDS, module.BUFFER_WORDS + 1, 5):
        words = own.words(count)
        assert words.dtype == np.uint64
        assert len(words) == count


def test_a_word_handed_out_is_not_a_window_on_words_to_come() -> None:
    own = Stream()
    own.words(4)[:] = 0
    assert own.words(4).all()


def test_every_bit_of_a_word_is_fair() -> None:
    words = Stream().words(200_000)
    ones = np.array([np.count_nonzero(words & np.uint64(1 << i)) for i in range(64)])
    assert chi2.sf(np.sum((ones - 100_000) ** 2 / 50_000), 64) > 1e-9


@pytest.mark.parametrize("count", [0, 1, 5, 63, 64, 65, 200])
def test_bits_fill_their_range_and_no_more(count: int) -> None:
    own = Stream()
    values = [own.bits(count) for _ in range(400)]
    assert max(values) < 2**count
    if count:
        assert max(values) >= 2 ** (count - 1) > min(values)
