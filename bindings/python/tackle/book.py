# SPDX-License-Identifier: MIT
"""Address books. docs/book.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Tuple, Union

from ._component import Component
from ._convert import Duration, Name
from .records import BookAnswers, BookInfo

if TYPE_CHECKING:
    from .client import Client

# A text, or an id and a text.
Entry = Union[Name, Tuple[Name, Name]]


class Book(Component):
    """Names that are completed while typing, and found by any part.

    >>> staff = client.book("staff", contains=True)
    >>> staff.add(["Ann Miller", ("7", "Bob Mill")])
    2
    >>> [answer.text for answer in staff.complete("ann")], [a.text for a in staff.find("mill")]
    (['Ann Miller'], ['Bob Mill', 'Ann Miller'])

    `accents`, `pinyin` and `contains` are fixed by the first add; None takes them as they are.
    """

    def __init__(self, client: "Client", name: Name, *, accents: Optional[bool] = None,
                 pinyin: Optional[bool] = None, contains: Optional[bool] = None,
                 ttl: Optional[Duration] = None, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_book_open", "tkl_book_close", client, name, {
            "accents": accents, "pinyin": pinyin, "contains": contains, "ttl": ttl,
            "timeout": timeout})

    def add(self, entries: Iterable[Entry]) -> int:
        """Adds texts, or pairs of id and text; an id that is there gets the new text. How many are
        new."""
        return int(self._call("tkl_book_add", _entries(entries)))

    def remove(self, entries: Iterable[Entry]) -> int:
        """Removes entries by text, or by id in a pair (id, ""). How many existed."""
        return int(self._call("tkl_book_remove", _entries(entries)))

    def rename(self, entry: Entry, text: Name) -> None:
        """Gives an entry another text. NotFound. Exists: another entry has that text."""
        self._call("tkl_book_rename", _entries([entry])[0], text)

    def complete(self, prefix: Name, max: int = 10, after: Name = b"") -> BookAnswers:
        """Entries that begin with the prefix; `after` is `next` of the page before."""
        found: BookAnswers = self._call("tkl_book_complete", prefix, max, after)
        return found

    def find(self, text: Name, max: int = 10) -> BookAnswers:
        """Entries that are equal to the text, begin with it, end with it, or contain it."""
        found: BookAnswers = self._call("tkl_book_find", text, max)
        return found

    def show(self) -> BookInfo:
        found: BookInfo = self._call("tkl_book_show")
        return found

    def drop(self) -> None:
        self._call("tkl_book_drop")


def _entries(entries: Iterable[Entry]) -> List[Dict[str, Any]]:
    return [{"id": entry[0], "text": entry[1]} if isinstance(entry, tuple) else {"text": entry}
            for entry in entries]
