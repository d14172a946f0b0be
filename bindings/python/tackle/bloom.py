# SPDX-License-Identifier: MIT
"""Bloom filters. docs/bloom.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, List, Optional

from ._component import Component
from ._convert import Duration, Name
from .records import BloomInfo

if TYPE_CHECKING:
    from .client import Client


class Bloom(Component):
    """Was this seen before? "No" is certain, "yes" is wrong with the rate `error`.

    >>> seen = client.bloom("seen", error=0.001, capacity=1000)
    >>> seen.add("https://example.org/"), seen.add("https://example.org/")
    (True, False)
    >>> "https://example.org/" in seen
    True
    """

    def __init__(self, client: "Client", name: Name, *, error: Optional[float] = None,
                 capacity: Optional[int] = None, fixed: bool = False,
                 ttl: Optional[Duration] = None, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_bloom_open", "tkl_bloom_close", client, name, {
            "error": error, "capacity": capacity, "fixed": fixed, "ttl": ttl, "timeout": timeout})

    def reserve(self) -> None:
        """Creates the filter now. Exists: it was there."""
        self._call("tkl_bloom_reserve")

    def add(self, item: Name) -> bool:
        """True: the item was certainly not there before."""
        return self.add_all([item])[0]

    def add_all(self, items: Iterable[Name]) -> List[bool]:
        found: List[bool] = self._call("tkl_bloom_add", items)
        return found

    def exists(self, items: Iterable[Name]) -> List[bool]:
        """Whether each item was added. NotFound: there is no such filter."""
        found: List[bool] = self._call("tkl_bloom_exists", items)
        return found

    def __contains__(self, item: Name) -> bool:
        return self.exists([item])[0]

    def show(self) -> BloomInfo:
        found: BloomInfo = self._call("tkl_bloom_show")
        return found

    def merge(self, source: "Bloom") -> None:
        """Adds all items of another filter with the same settings."""
        self._call("tkl_bloom_merge", source)

    def drop(self) -> None:
        self._call("tkl_bloom_drop")
