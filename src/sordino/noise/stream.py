"""The only entropy in the house: an AES-256-CTR keystream keyed by the operating system."""

from __future__ import annotations

import os
import threading
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

__all__ = ["Stream", "stream"]

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
