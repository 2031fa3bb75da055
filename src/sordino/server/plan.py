"""A plan's address is the plan: dataset and statement packed into the id, so the server keeps nothing that a restart could lose."""

from __future__ import annotations

import binascii
import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from functools import lru_cache

from sordino.server.problem import Refusal

__all__ = ["Plan"]

LONGEST = 16_000  # characters of an id
UNPACKED = 64_000  # bytes it may unpack to: a short id must not become a long text


@dataclass(frozen=True)
class Plan:
    """One statement about one dataset. Equal plans have equal ids."""

    dataset: str
    sql: str

    @property
    def id(self) -> str:
        packed = zlib.compress(json.dumps([self.dataset, self.sql]).encode("ascii"), 9)
        return urlsafe_b64encode(packed).rstrip(b"=").decode("ascii")

    @staticmethod
    @lru_cache(1024)
    def of(id: str) -> Plan:
        """The plan of an id, if the id is one this server could have given."""
        try:
            if len(id) > LONGEST:
                raise ValueError
            unpacker = zlib.decompressobj()
            text = unpacker.decompress(urlsafe_b64decode(id.encode("ascii") + b"=" * (-len(id) % 4)), UNPACKED)
            dataset, sql = json.loads(text)
            plan = Plan(str(dataset), str(sql))
            if not unpacker.eof or plan.id != id:
                raise ValueError
        except (ValueError, TypeError, binascii.Error, zlib.error, RecursionError):
            raise Refusal(404, "SRD-505", "there is no such plan.", "POST /v1/plans gives the id of a plan.") from None
        return plan
