# SPDX-License-Identifier: MIT
"""Leaderboards. docs/board.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, Optional

from ._component import Component
from ._convert import Duration, Name
from .records import BoardEntries

if TYPE_CHECKING:
    from .client import Client

Scores = Mapping[Any, float]


class Board(Component):
    """Members by score, for ever or in seasons.

    >>> chess = client.board("chess")
    >>> chess.add({"ann": 15, "bob": 9})
    2
    >>> [(entry.rank, entry.member, entry.score) for entry in chess.top()]
    [(1, 'ann', 15.0), (2, 'bob', 9.0)]
    >>> chess.around("bob", 1, 1)[1].rank, len(chess)
    (2, 2)

    `order`: "higher" or "lower" is better. `per`: "forever", "day", "week", "month", "year", in the
    time `zone`; `keep` seasons stay. `season`: which one is read: None, "previous" or a day in it.
    """

    def __init__(self, client: "Client", name: Name, *, order: Optional[str] = None,
                 per: Optional[str] = None, zone: Optional[str] = None, keep: Optional[int] = None,
                 season: Optional[str] = None, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_board_open", "tkl_board_close", client, name, {
            "order": order, "per": per, "zone": zone, "keep": keep, "season": season,
            "timeout": timeout})

    def add(self, scores: Scores) -> int:
        """Adds to the scores: how many changed."""
        return int(self._call("tkl_board_add", _scores(scores)))

    def set(self, scores: Scores) -> int:
        return int(self._call("tkl_board_set", _scores(scores)))

    def best(self, scores: Scores) -> int:
        """Sets the scores that are better than before."""
        return int(self._call("tkl_board_best", _scores(scores)))

    def remove(self, members: Iterable[Name]) -> int:
        return int(self._call("tkl_board_remove", members))

    def top(self, first: int = 1, count: int = 10) -> BoardEntries:
        """The members with the ranks from `first` on."""
        found: BoardEntries = self._call("tkl_board_top", first, count)
        return found

    def around(self, member: Name, before: int = 5, after: int = 5) -> BoardEntries:
        """A member and its neighbours. NotFound."""
        found: BoardEntries = self._call("tkl_board_around", member, before, after)
        return found

    def rank(self, members: Iterable[Name]) -> BoardEntries:
        """The entries of these members, the best first; members that are not there are left out."""
        found: BoardEntries = self._call("tkl_board_rank", members)
        return found

    def __len__(self) -> int:
        return int(self._call("tkl_board_count"))

    def __bool__(self) -> bool:
        return True

    def seasons(self) -> List[str]:
        found: List[str] = self._call("tkl_board_seasons")
        return found

    def drop(self) -> None:
        self._call("tkl_board_drop")


def _scores(scores: Scores) -> List[Mapping[str, Any]]:
    return [{"member": member, "score": score} for member, score in scores.items()]
