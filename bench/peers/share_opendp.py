"""opendp: contingency tables by AIM and MST, sampled in both of the ways it has."""

from __future__ import annotations

import re
import resource
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from opendp.extras.mbi import AIM, MST
from work import serve

dp.enable_features("contrib", "honest-but-curious")
TRIES = 2


def share(folder: Path, *, method: str, epsilon: float, delta: float, seed: int, out: str, limit: int) -> Any:
    """It has no seed to give; a run is one draw. Where its own sum of the budget exceeds that by a last bit, it is asked for less."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    found = np.load(folder / "train.npz")
    codes, sizes = found["codes"], found["sizes"].tolist()
    frame = pl.LazyFrame({f"c{i}": codes[:, i] for i in range(codes.shape[1])})
    keys = {f"c{i}": list(range(size)) for i, size in enumerate(sizes)}
    rho = rho_of(epsilon, delta)
    for turn in range(TRIES):
        unit, loss = dp.unit_of(contributions=1), dp.loss_of(rho=rho * (1 - turn / 1_000))
        context = dp.Context.compositor(data=frame, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1)
        try:
            table = context.query().contingency_table(keys=keys, algorithm={"AIM": AIM, "MST": MST}[method]()).release()
            break
        except dp.OpenDPException as error:
            over = re.search(r"insufficient budget[^\"]*", str(error))
            if over is None or turn == TRIES - 1:
                raise RuntimeError(f"{turn + 1} tries, the last one with {turn / 10:g}% less: {over[0] if over else error}") from None
    for way in ("round", "sample"):
        rows = table.synthesize(method=way)
        np.save(folder / out.replace(".npy", f"-{way}.npy"), rows.select(list(keys)).to_numpy().astype(np.int64))
    return {"seconds": spent(), "ways": ["round", "sample"]}


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho that its own conversion sells as (epsilon, delta)."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)

    def bought(rho: float) -> float:
        gaussian = dp.m.make_gaussian(*space, scale=(1 / (2 * rho)) ** 0.5)
        return float(dp.c.make_zCDP_to_approxDP(gaussian).map(1.0).epsilon(delta))

    low, high = 1e-8, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if bought(middle) <= epsilon else (low, middle)
    return low


def spent() -> float:
    """Processor seconds of this process and of all it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


serve({"share": share})
