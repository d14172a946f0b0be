# SPDX-License-Identifier: MIT
"""Counting semaphores. docs/semaphore.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Optional

from ._convert import Duration, Name
from .hold import lost_hook
from .lock import Permit

if TYPE_CHECKING:
    from .client import Client


class Semaphore(Permit):
    """At most `limit` holders of a name at once. A handle is one permit; the options are those of a
    lock.

    >>> with client.semaphore("crawlers", 2), client.semaphore("crawlers", 2):
    ...     client.semaphore("crawlers", 2).acquire(wait=0)
    False
    """

    _kind = "semaphore"

    def __init__(self, client: "Client", name: Name, limit: int, *, wait: Optional[Duration] = None,
                 lease: Optional[Duration] = None, auto_renew: bool = True, watch: bool = False,
                 label: Optional[str] = None, replicas: Optional[int] = None,
                 on_lost: Optional[Callable[[], None]] = None,
                 timeout: Optional[Duration] = None) -> None:
        lost = lost_hook("tkl_semaphore_options", on_lost)
        self._open(client, "tkl_semaphore_open", "tkl_semaphore_close", client, name, limit, {
            "timeout": timeout, "lease": lease, "auto_renew": auto_renew, "watch": watch,
            "label": label, "replicas": replicas, "on_lost": lost}, keep=lost)
        self._start((client,), name, wait)
