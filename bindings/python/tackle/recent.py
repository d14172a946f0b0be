# SPDX-License-Identifier: MIT
"""Recent contacts, completed while typing. docs/recent.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, List, Optional

from ._component import Component
from ._convert import Duration, Name
from .records import RecentContact

if TYPE_CHECKING:
    from .client import Client


class Recent(Component):
    """The contacts of a user, most recent first.

    >>> ann = client.recent("ann")
    >>> ann.add("Bob", "Bea")
    >>> ann.complete("b")
    ['Bea', 'Bob']
    """

    def __init__(self, client: "Client", name: Name, *, keep: Optional[int] = None,
                 accents: bool = False, pinyin: bool = False, ttl: Optional[Duration] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_recent_open", "tkl_recent_close", client, name, {
            "keep": keep, "accents": accents, "pinyin": pinyin, "ttl": ttl, "timeout": timeout})

    def add(self, *contacts: Name) -> None:
        """Moves contacts to the front; the last one becomes the first."""
        self._call("tkl_recent_add", contacts)

    def remove(self, contacts: Iterable[Name]) -> int:
        return int(self._call("tkl_recent_remove", contacts))

    def complete(self, prefix: Name = "", max: int = 10) -> List[str]:
        found: List[str] = self._call("tkl_recent_complete", prefix, max)
        return found

    def find(self, text: Name, max: int = 10) -> List[RecentContact]:
        """Contacts that are equal to the text, begin with it, end with it, or contain it."""
        found: List[RecentContact] = self._call("tkl_recent_find", text, max)
        return found

    def drop(self) -> None:
        self._call("tkl_recent_drop")
