"""An environment of its own for every peer, pinned, under the build folder; made once and used again."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import time
import venv
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RECORD = "bench.json"


@dataclass(frozen=True)
class Peer:
    """A package as it is installed, the module it is imported by, and what our own scripts need beside it (not counted as its size)."""

    name: str
    module: str
    pins: tuple[str, ...]
    beside: tuple[str, ...] = ()

    @property
    def script(self) -> Path:
        return HERE / f"ask_{self.name.replace('-', '_').replace('.', '_')}.py"


PEERS = {
    peer.name: peer
    for peer in (
        Peer("opendp", "opendp", ("opendp[polars]==0.16.0",)),
        Peer("diffprivlib", "diffprivlib", ("diffprivlib==0.6.6", "scikit-learn==1.7.2")),  # newer ones break its LogisticRegression
        Peer("python-dp", "pydp", ("python-dp==1.1.5",), ("numpy",)),
        Peer("pipeline-dp", "pipeline_dp", ("pipeline-dp==0.3.1",), ("duckdb",)),
        Peer("tmlt.analytics", "tmlt.analytics", ("tmlt.analytics==0.21.0",)),
        Peer("smartnoise-sql", "snsql", ("smartnoise-sql==1.0.10",), ("pyarrow",)),
        Peer("pyqrlew", "pyqrlew", ("pyqrlew==0.9.27",), ("duckdb",)),
        Peer("dp-accounting", "dp_accounting", ("dp-accounting==0.6.0",)),
    )
}


@dataclass(frozen=True)
class Installed:
    """How long it took and how much it weighs; or why there is none."""

    pins: tuple[str, ...]
    seconds: float = 0.0
    megabytes: float = 0.0
    failed: str = ""


def python_of(name: str, build: Path) -> Path:
    return build / name / "bin" / "python"


def ourselves() -> Peer:
    """This package as a user installs it: from its source, not editable. The pin is of all of it, so that no older one is asked."""
    files = [ROOT / "pyproject.toml", *sorted((ROOT / "src").rglob("*.py"))]
    pin = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    return Peer("sordino", "sordino", (f"sordino of {pin}",), ("scikit-learn",))


def install(peer: Peer, build: Path) -> Installed:
    """The environment of a peer. What was installed before with the same pins is used as it is, with the figures of that day."""
    folder = build / peer.name
    wanted = (*peer.pins, *peer.beside)
    if (folder / RECORD).exists():
        found = json.loads((folder / RECORD).read_text())
        if tuple(found["pins"]) == wanted:
            return Installed(wanted, found["seconds"], found["megabytes"])
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    before, start = weight(folder), time.perf_counter()
    if peer.name == "sordino":
        source = folder / "source"  # a copy: building in place leaves files behind
        shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source / name)
        before, start = weight(folder), time.perf_counter()
        failed = pip(folder, [str(source)])
    else:
        failed = pip(folder, list(peer.pins))
    seconds, megabytes = time.perf_counter() - start, (weight(folder) - before) / 1e6
    failed = failed or (pip(folder, list(peer.beside)) if peer.beside else "")
    if failed:
        return Installed(wanted, failed=failed)
    found = Installed(wanted, round(seconds, 1), round(megabytes, 1))
    (folder / RECORD).write_text(json.dumps(asdict(found)))
    return found


def pip(folder: Path, wanted: list[str]) -> str:
    """Nothing, or pip's last word. Files come over the wire or from the index's own cache, never from pip's."""
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-cache-dir", *wanted]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    except subprocess.TimeoutExpired:
        return "pip did not end within ten minutes"
    return "" if done.returncode == 0 else last_line(done.stderr)


def last_line(text: str) -> str:
    """The last line that says something, without addresses and places of this machine."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("WARNING")]
    errors = [line for line in lines if line.startswith("ERROR") or "Error" in line] or lines or ["no reason given"]
    return plain(errors[-1])


def plain(text: str) -> str:
    """Without addresses, hosts and places of this machine."""
    return re.sub(r"\b\w+://\S+|(?<!\w)/[\w./+-]+|\b[\w-]+(?:\.[\w-]+)*\.(?:org|com|io)\b\S*", "...", text)[:200]


def weight(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def version(peer: Peer, build: Path) -> str:
    of = re.split(r"[=\[ ]", peer.pins[0])[0]
    text = f"from importlib.metadata import version; print(version({of!r}))"
    return subprocess.run([python_of(peer.name, build), "-c", text], capture_output=True, text=True, check=True).stdout.strip()
