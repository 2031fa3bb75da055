"""dpmm: AIM and MST on codes whose domain is told, so that nothing is spent on bins."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline
from work import serve


def share(folder: Path, *, method: str, epsilon: float, delta: float, seed: int, out: str, limit: int) -> Any:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    found = np.load(folder / "train.npz")
    codes, sizes = found["codes"], found["sizes"].tolist()
    frame = pd.DataFrame({f"c{i}": codes[:, i] for i in range(codes.shape[1])})
    domain = {f"c{i}": size for i, size in enumerate(sizes)}
    made = {"AIM": AIMPipeline, "MST": MSTPipeline}[method](epsilon=epsilon, delta=delta, disable_processing=True)
    made.fit(frame, domain=domain, random_state=seed)
    rows = made.generate(n_records=len(codes), random_state=seed)
    np.save(folder / out, np.column_stack([rows[name].to_numpy() for name in domain]).astype(np.int64))
    return {"seconds": spent()}


def spent() -> float:
    """Processor seconds of this process and of all it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


serve({"share": share})
