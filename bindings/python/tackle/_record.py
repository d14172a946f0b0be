# SPDX-License-Identifier: MIT
"""The base of all results, and bytes that know how to be read."""
from __future__ import annotations

import json
from typing import Any, Dict, Generic, Iterator, List, Tuple, TypeVar

T = TypeVar("T")


class Data(bytes):
    """Bytes of the user's own form: a payload, a body, a value.

    >>> from tackle import Data
    >>> payload = Data(b'{"to": "ann"}')
    >>> payload.text
    '{"to": "ann"}'
    >>> payload.json()["to"]
    'ann'
    """

    __slots__ = ()

    @property
    def text(self) -> str:
        """The bytes as UTF-8; UnicodeDecodeError: they are not."""
        return self.decode("utf-8")

    def json(self) -> Any:
        """The value of JSON; ValueError: it is not JSON."""
        return json.loads(self)


class Record:
    """A result: a plain object with attributes."""

    __slots__ = ()
    __match_args__: Tuple[str, ...] = ()        # the names of the attributes

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__match_args__ += tuple(cls.__slots__)  # type: ignore[misc]

    def asdict(self) -> Dict[str, Any]:
        """The attributes as a dict, records inside it, too."""
        return {name: _plain(getattr(self, name)) for name in self.__match_args__}

    def __repr__(self) -> str:
        fields = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({', '.join(fields)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return _restore, (type(self), [getattr(self, name) for name in self.__match_args__])


class Records(Record, Generic[T]):
    """A record that is a list, too: of its `items`."""

    __slots__ = ()
    items: List[T]

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> T:
        return self.items[index]


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.asdict()
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _restore(kind: Any, values: List[Any]) -> Any:
    """Makes a record that was pickled."""
    record = kind.__new__(kind)
    for name, value in zip(kind.__match_args__, values):
        setattr(record, name, value)
    return record
