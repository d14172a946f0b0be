# SPDX-License-Identifier: MIT
"""Walking over keys, or the members of one key. docs/scan.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, Optional

from . import _call
from ._component import Component
from ._convert import Duration, Name
from .records import ScanElement

if TYPE_CHECKING:
    from .client import Client


class Scan(Component):
    """An iterator over all keys that match, or over the members of the key `key`, each once, without
    blocking the server.

    >>> client.call("SET", "user:7", "ann")
    b'OK'
    >>> [element.name for element in client.scan("user:*")]
    ['user:7']

    One thread at a time uses it. `cursor` goes on where another scan stopped.
    """

    def __init__(self, client: "Client", match: Optional[Name] = None, *, key: Optional[Name] = None,
                 type: Optional[str] = None, count: Optional[int] = None,
                 remember: Optional[int] = None, cursor: Optional[str] = None,
                 timeout: Optional[Duration] = None) -> None:
        self._open(client, "tkl_scan_open", "tkl_scan_close", client, {
            "match": match, "key": key, "type": type, "count": count, "remember": remember,
            "cursor": cursor, "timeout": timeout})

    def __iter__(self) -> Iterator[ScanElement]:
        return self

    def __next__(self) -> ScanElement:
        code, found = _call.attempt("tkl_scan_next", self)
        if code == _call.EMPTY:
            raise StopIteration
        if code:
            raise _call.failure(code)
        element: ScanElement = found
        return element

    @property
    def rest(self) -> int:
        """How many elements of the last step are left, which come without a round trip."""
        return int(_call.value("tkl_scan_rest", self))

    def cursor(self) -> str:
        """Where the scan is, for another one. Empty: nothing is left."""
        return str(self._call("tkl_scan_cursor"))
