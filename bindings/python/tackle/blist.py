# SPDX-License-Identifier: MIT
"""Plain blocking queues: a popped item is gone. docs/blist.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple

from . import _call
from ._component import Component
from ._convert import Duration, Name, encode_data
from ._record import Data

if TYPE_CHECKING:
    from .client import Client


class Blist(Component):
    """A list on the server. Use client.queue() for jobs that must not be lost.

    >>> events = client.blist("events")
    >>> events.push("signup", {"user": 7})
    2
    >>> events.pop(), events.pop().json()
    (b'signup', {'user': 7})
    >>> events.pop(wait=0) is None
    True

    `push_first` and `pop_last` change the ends; together they make a queue from the other side, one
    of them a stack.
    """

    def __init__(self, client: "Client", name: Name, *, push_first: bool = False,
                 pop_last: bool = False, ttl: Optional[Duration] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._pop_last, self._ttl = pop_last, ttl
        self._open(client, "tkl_blist_open", "tkl_blist_close", client, name, {
            "push_first": push_first, "pop_last": pop_last, "ttl": ttl, "timeout": timeout})

    def push(self, *items: Any) -> int:
        """Appends items, all or none: the new length of the list."""
        return int(self._call("tkl_blist_push", [encode_data(item) for item in items]))

    def pop(self, wait: Optional[Duration] = None) -> Optional[Data]:
        """Takes one item, waiting for it. None: none in time."""
        items = self.pop_many(1, wait)
        return items[0] if items else None

    def pop_many(self, max: int, wait: Optional[Duration] = None) -> List[Data]:
        """Takes up to `max` items, waiting for the first."""
        found = pop([self], max, wait)
        return found[1] if found else []

    def _put_back(self, items: List[Data]) -> None:
        """Puts popped items back to where they were."""
        end = Blist(self.client, self.name, push_first=not self._pop_last, ttl=self._ttl)
        end._call("tkl_blist_push", items[::-1])

    def __len__(self) -> int:
        return int(self._call("tkl_blist_length"))

    def __bool__(self) -> bool:
        return True

    def drop(self) -> None:
        """Removes all items. NotFound: there were none."""
        self._call("tkl_blist_drop")


def pop(lists: Sequence[Blist], max: int = 1,
        wait: Optional[Duration] = None) -> Optional[Tuple[Blist, List[Data]]]:
    """Takes items from the first of the lists that has any: the list and the items."""
    named = list(lists)
    if not named:
        raise ValueError("lists: none")
    code, found = _call.wait((named[0].client,), "tkl_blist_pop", named, max, wait=wait,
                             patience=_call.is_unsent,
                             undo=lambda found: named[found.which]._put_back(found.items))
    return (named[found.which], found.items) if code == _call.OK else None

