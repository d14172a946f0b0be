# SPDX-License-Identifier: MIT
"""Messages that stay until they are acknowledged, for mailboxes and chats."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._convert import Duration, Name, encode_data

Headers = Union[Mapping[str, Name], Sequence[Tuple[Name, Name]]]


class Letter:
    """A message with headers, for sending. A body alone needs no Letter."""

    __slots__ = ("body", "headers")

    def __init__(self, body: Any, headers: Headers = ()) -> None:
        self.body = body
        pairs: Any = headers.items() if isinstance(headers, Mapping) else headers
        self.headers: List[Tuple[Name, Name]] = list(pairs)


def letters(bodies: Iterable[Any]) -> List[Dict[str, Any]]:
    """Letters, or bodies, as the library takes them."""
    made = []
    for one in bodies:
        letter = one if isinstance(one, Letter) else Letter(one)
        made.append({"body": encode_data(letter.body),
                     "headers": [{"name": name, "value": value} for name, value in letter.headers]})
    return made


def limits(max_messages: Union[int, float, None], max_bytes: Union[int, float, None],
           max_age: Optional[Duration], ttl: Optional[Duration], when_full: Optional[str],
           history_messages: Optional[int] = None,
           history: Optional[Duration] = None) -> Dict[str, Any]:
    return {"max_messages": max_messages, "max_bytes": max_bytes, "max_age": max_age, "ttl": ttl,
            "when_full": when_full, "history_messages": history_messages, "history": history}
