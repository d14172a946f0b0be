# SPDX-License-Identifier: MIT
"""Locks over several independent servers. docs/redlock.md says what they can guarantee."""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence

from ._convert import Duration, Name
from .hold import Lease

if TYPE_CHECKING:
    from .client import Client


class Redlock(Lease):
    """A lock that is held while a majority of servers says so. It has no fence, its waiters poll,
    and nothing renews it: prefer client.lock() where one server is enough.

    >>> import tackle
    >>> with tackle.Redlock([client], "invoices", wait=5, lease=10) as lock:
    ...     lock.left.total_seconds() > 5
    True
    """

    _kind = "redlock"

    def __init__(self, clients: Sequence["Client"], name: Name, *, wait: Optional[Duration] = None,
                 lease: Optional[Duration] = None, retry_delay: Optional[Duration] = None,
                 timeout: Optional[Duration] = None) -> None:
        nodes = tuple(clients)
        if not nodes:
            raise ValueError("clients: none")
        self._open(nodes[0], "tkl_redlock_open", "tkl_redlock_close", nodes, name, {
            "timeout": timeout, "lease": lease, "retry_delay": retry_delay},
            parents=nodes)
        self._start(nodes, name, wait)

    def acquire(self, wait: Optional[Duration] = None) -> bool:
        """Takes it on a majority of servers. False: no majority was free in time."""
        return self._acquire(wait)

    def release(self) -> None:
        """Releases it everywhere. NotOwner: no majority held it any more."""
        self._release()

    def renew(self, lease: Optional[Duration] = None) -> None:
        """Makes the lease last for `lease` from now. NotOwner: it is lost."""
        self._get("renew", lease)

    def detach(self) -> str:
        """Leaves it held until the lease ends; another process can adopt() the token."""
        token = self.token
        self._get("detach")
        return token

    def adopt(self, token: str) -> None:
        """Becomes the owner of a token, to release or renew it."""
        self._get("adopt", token)
