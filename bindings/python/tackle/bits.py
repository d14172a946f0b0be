# SPDX-License-Identifier: MIT
"""Bitmaps, and numbers packed side by side. docs/sketches.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, Optional, Tuple

from ._component import Component
from ._convert import Duration, Name
from ._native import ctype
from .records import BitsValue

if TYPE_CHECKING:
    from .client import Client

Range = Tuple[int, int]


class Bits(Component):
    """A bitmap of up to 2^32 bits.

    >>> days = client.bits("user:7:days")
    >>> days.set(319), days.get(319), days.get(0)
    (False, True, False)
    >>> days.count(), days.find()
    (1, 319)
    """

    def __init__(self, client: "Client", name: Name, *, ttl: Optional[Duration] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_bits_open", "tkl_bits_close", client, name,
                   {"ttl": ttl, "timeout": timeout})

    def get(self, at: int) -> bool:
        return bool(self._call("tkl_bits_get", at))

    def set(self, at: int, value: bool = True) -> bool:
        """Sets a bit, and gives its old value."""
        return bool(self._call("tkl_bits_set", at, value))

    def count(self, within: Optional[Range] = None) -> int:
        """Counts the bits that are 1, from the first to the last of `within`; -1 is the last bit."""
        return int(self._call("tkl_bits_count", _range(within)))

    def find(self, value: bool = True, within: Optional[Range] = None) -> int:
        """The first bit of that value. NotFound: there is none."""
        return int(self._call("tkl_bits_find", value, _range(within)))

    def combine(self, op: str, sources: Iterable["Bits"]) -> int:
        """Stores "and", "or", "xor" or "not" of the sources here: the size of the result in bytes."""
        return int(self._call("tkl_bits_combine", op, sources))

    def fields(self, operations: Iterable[Mapping[str, Any]]) -> List[BitsValue]:
        """Numbers of 1 to 64 bits: operations with `verb` ("get", "set", "add"), `width`, `at`,
        `value`, `is_signed`, `by_index` and `overflow` ("wrap", "saturate", "fail"), in one step.

        >>> [field.value for field in client.bits("packed").fields([
        ...     {"verb": "add", "width": 8, "at": 0, "value": 5},
        ...     {"verb": "get", "width": 8, "at": 0}])]
        [5, 5]
        """
        found: List[BitsValue] = self._call("tkl_bits_fields", operations)
        return found

    def drop(self) -> None:
        self._call("tkl_bits_drop")


def _range(within: Optional[Range]) -> Any:
    return None if within is None else ctype("tkl_bits_range")(*within)
