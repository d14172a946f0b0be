# SPDX-License-Identifier: MIT
"""Locks that programs on many machines share. docs/lock.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Optional

from ._convert import Duration, Name
from .hold import Hold, lost_hook

if TYPE_CHECKING:
    from .client import Client


class Permit(Hold):
    """A lock, or a permit of a semaphore: what can be acquired, released and handed on."""

    def acquire(self, wait: Optional[Duration] = None) -> bool:
        """Takes it, waiting for `wait` seconds (None: for ever, 0: not at all). False: others held
        it all the time."""
        return self._acquire(wait)

    def release(self) -> None:
        """NotOwner: it was lost before, and the work since then was not protected."""
        self._release()

    def release_nowait(self) -> None:
        """Releases without waiting for the answer of the server."""
        self._get("release_nowait")

    def renew(self, lease: Optional[Duration] = None) -> None:
        """Makes the lease last for `lease` from now (None: as it was opened). NotOwner: it is lost."""
        self._get("renew", lease)

    @property
    def fence(self) -> int:
        """A number greater than that of every acquisition before; 0 when nothing is held."""
        return int(self._look("fence"))

    def detach(self) -> str:
        """Leaves it held on the server until the lease ends; another process can adopt() the
        token."""
        token = self.token
        self._get("detach")
        return token

    def adopt(self, token: str, lease: Optional[Duration] = None) -> None:
        """Becomes the owner of a lock or permit that another process detached. NotOwner: the token
        holds nothing."""
        self._get("adopt", token, lease)


class Lock(Permit):
    """A lock with a lease: a holder that dies blocks the others no longer than that.

    >>> with client.lock("invoices", wait=5) as lock:
    ...     lock.state, lock.fence > 0
    ('held', True)
    >>> lock.state
    'free'
    >>> with client.lock("invoices") as lock:
    ...     client.lock("invoices").acquire(wait=0)
    False

    `wait` is how long `with` waits; Busy: not in time. `lease` is 30 seconds unless given; a thread
    of the library renews it as long as the lock is held (`auto_renew`). `on_lost` is called, in that
    thread, when the lock is lost meanwhile; it must not block. `shared`: a read lock, many at once
    but none beside a writer. `watch`: a lock that an operator breaks is lost at once, not at the next
    renewal. `reentrant`: this handle may acquire it again. `replicas` must have it before it counts.
    """

    _kind = "lock"

    def __init__(self, client: "Client", name: Name, *, wait: Optional[Duration] = None,
                 lease: Optional[Duration] = None, auto_renew: bool = True, watch: bool = False,
                 reentrant: bool = False, shared: bool = False, label: Optional[str] = None,
                 replicas: Optional[int] = None, on_lost: Optional[Callable[[], None]] = None,
                 timeout: Optional[Duration] = None) -> None:
        lost = lost_hook("tkl_lock_options", on_lost)
        self._open(client, "tkl_lock_open", "tkl_lock_close", client, name, {
            "timeout": timeout, "lease": lease, "auto_renew": auto_renew, "watch": watch,
            "reentrant": reentrant, "shared": shared, "label": label, "replicas": replicas,
            "on_lost": lost}, keep=lost)
        self._start((client,), name, wait)

    def downgrade(self) -> None:
        """Turns a held write lock into a read lock; waiting readers get it, too."""
        self._get("downgrade")
