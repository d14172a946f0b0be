# SPDX-License-Identifier: MIT
"""Counts of different items. docs/sketches.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Optional

from . import _call
from ._component import Component
from ._convert import Duration, Name

if TYPE_CHECKING:
    from .client import Client


class Unique(Component):
    """Estimates how many different items were added, in at most 12 KB.

    >>> visitors = client.unique("today")
    >>> visitors.add("ann", "bob", "ann")
    True
    >>> visitors.count()
    2
    """

    def __init__(self, client: "Client", name: Name, *, ttl: Optional[Duration] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_unique_open", "tkl_unique_close", client, name,
                   {"ttl": ttl, "timeout": timeout})

    def add(self, *items: Name) -> bool:
        """True: at least one of them is new."""
        return bool(self._call("tkl_unique_add", items))

    def count(self, *others: "Unique") -> int:
        """How many different items there are, in this and the others together."""
        return int(_call.call("tkl_unique_count", [self, *others]))

    def merge(self, others: Iterable["Unique"]) -> None:
        """Adds all items of the other counts."""
        self._call("tkl_unique_merge", others)

    def drop(self) -> None:
        self._call("tkl_unique_drop")
