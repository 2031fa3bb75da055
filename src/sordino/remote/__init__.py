"""Datasets on a server somewhere else: the same verbs over HTTP, with nothing to install beside Sordino."""

from sordino.remote.connection import Remote, RemoteQuery, connect

__all__ = ["Remote", "RemoteQuery", "connect"]
