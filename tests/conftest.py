"""What every test shares: a state directory of its own, noise with a key of its own, and examples that a busy machine cannot fail."""

import hashlib
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: tests run beside one another, and threads that wait take a core

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import HealthCheck, settings

from sordino.noise import stream  # type: ignore[attr-defined]

settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Key the noise with the test's own name, so that it gives one verdict in any order; a full audit draws from the operating system."""
    if os.environ.get("SORDINO_AUDIT") != "full":
        key = hashlib.sha256(item.nodeid.encode()).digest()
        stream._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        stream._buffer, stream._used = stream._buffer[:0], 0


@pytest.fixture(autouse=True)
def _state(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path_factory.mktemp("state")))
