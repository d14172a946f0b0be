# SPDX-License-Identifier: MIT
"""Leader election by name. docs/leader.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Iterator, Optional

from . import _call
from ._convert import Duration, Name
from .hold import Hold, lost_hook
from .records import Holder, Holders

if TYPE_CHECKING:
    from .client import Client


class Leader(Hold):
    """An election: one of the programs that stand for a name leads.

    >>> with client.leader("scheduler", label="host a") as leader:
    ...     leader.leads, leader.term > 0, leader.show()[0].label
    (True, True, 'host a')

    `with` stands for the name, for `wait` seconds (Busy: not elected in time), and resigns at the
    end. A step that takes time asks `leads` before it acts. `on_lost` is called, in a thread of the
    library, when the term is lost.
    """

    _kind = "leader"
    _acquires = "campaign"
    _releases = "resign"

    def __init__(self, client: "Client", name: Name, *, wait: Optional[Duration] = None,
                 lease: Optional[Duration] = None, label: Optional[str] = None,
                 replicas: Optional[int] = None, on_lost: Optional[Callable[[], None]] = None,
                 timeout: Optional[Duration] = None) -> None:
        lost = lost_hook("tkl_leader_options", on_lost)
        self._open(client, "tkl_leader_open", "tkl_leader_close", client, name, {
            "timeout": timeout, "lease": lease, "label": label, "replicas": replicas,
            "on_lost": lost}, keep=lost)
        self._start((client,), name, wait)

    def campaign(self, wait: Optional[Duration] = None) -> bool:
        """Stands for the name. False: not elected in time."""
        return self._acquire(wait)

    def resign(self) -> None:
        """The next candidate leads at once. NotOwner: the term was lost before."""
        self._release()

    @property
    def leads(self) -> bool:
        """Whether it leads, by its own clock. Asks no server."""
        return bool(self._look("leads"))

    @property
    def term(self) -> int:
        """A number greater than that of every leader before; 0 when it was not elected."""
        return int(self._look("term"))

    def adopt(self, token: str) -> None:
        """Leads the term that another process won, to resign in its place."""
        self._get("adopt", token)

    def watch(self, term: int = 0, wait: Optional[Duration] = None) -> Optional[Holders]:
        """Waits until the term is another (0: until there is a leader), and says who leads then.
        None: nothing changed in time."""
        code, found = self._wait("tkl_leader_watch", term, wait=wait)
        return found if code == _call.OK else None

    def changes(self) -> Iterator[Optional[Holder]]:
        """Every leader, from now on; None: there is none."""
        term = 0
        while True:
            found = self.watch(term)
            if found is not None:
                leader = found[0] if len(found) else None
                term = leader.fence if leader else 0
                yield leader
