"""The look of pages: a few files that stay as they are while the server runs, packed once and kept by browsers.

Only these are compressed. A page holds a form's proof beside text somebody else may choose, and how well that compresses would tell.
"""

from __future__ import annotations

import gzip
import mimetypes
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sordino.server.problem import Refusal

__all__ = ["PackedFiles"]


class PackedFiles:
    """Every file of a folder, in memory, with and without packing."""

    def __init__(self, folder: Path) -> None:
        self._kept = {}
        for path in folder.iterdir():
            body = path.read_bytes()
            packed, kind = gzip.compress(body, 9, mtime=0), mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            self._kept[path.name] = (body, packed if len(packed) < len(body) else None, kind, f'"{sha256(body).hexdigest()[:32]}"')

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, name = Request(scope), scope["path"].removeprefix(scope.get("root_path", "")).lstrip("/")
        if scope["method"] != "GET" or name not in self._kept:
            raise Refusal(404, "SRD-505", "there is no such file.", "The pages name those there are.")
        body, packed, kind, tag = self._kept[name]
        headers = {"ETag": tag, "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == tag:
            await Response(status_code=304, headers=headers)(scope, receive, send)
            return
        wanted = packed is not None and "gzip" in request.headers.get("accept-encoding", "")
        content = packed if wanted and packed is not None else body
        await Response(content, headers=headers | ({"Content-Encoding": "gzip"} if wanted else {}), media_type=kind)(scope, receive, send)
