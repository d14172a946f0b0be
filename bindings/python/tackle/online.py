# SPDX-License-Identifier: MIT
"""Online users, by day or now. docs/online.md has the contract."""
from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Iterable, Iterator, NamedTuple, Optional, Union

from . import _call
from ._component import Component
from ._convert import Duration, Name
from .records import OnlineCohort, OnlineReport

if TYPE_CHECKING:
    from .client import Client

Day = Union[str, datetime.date, None]


class Returning(NamedTuple):
    """Today's users: those who were there before, and new ones."""

    returning: int
    fresh: int


class Online(Component):
    """Who was here today, who is here now, how many came on all of the last seven days.

    >>> visitors = client.online("visitors", kind="set")
    >>> visitors.mark("ann", "bob")
    2
    >>> visitors.count(), visitors.check("ann"), sorted(visitors.users())
    (2, True, ['ann', 'bob'])

    `kind`: "set", "bitmap" (users are numbers), "assigned", "hll" (estimates), "heartbeat" (who was
    marked in the last `window` seconds). The first mark fixes kind, `zone`, `keep_days` and `window`.
    """

    def __init__(self, client: "Client", name: Name, *, kind: Optional[str] = None,
                 zone: Optional[str] = None, keep_days: Optional[int] = None,
                 max_id: Optional[int] = None, window: Optional[Duration] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_online_open", "tkl_online_close", client, name, {
            "kind": kind, "zone": zone, "keep_days": keep_days, "max_id": max_id, "window": window,
            "timeout": timeout})

    def mark(self, *users: Name) -> Optional[int]:
        """Marks users as present: how many were not marked before; None: "hll" cannot tell."""
        return _fresh(self._call("tkl_online_mark", users))

    def mark_day(self, day: Day, users: Iterable[Name]) -> Optional[int]:
        """Marks users on an earlier day: a date, "2026-11-16", "yesterday"."""
        return _fresh(self._call("tkl_online_mark_day", _day(day), users))

    def unmark(self, users: Iterable[Name], day: Day = None) -> int:
        """Takes back marks: how many users were marked."""
        return int(self._call("tkl_online_unmark", _day(day), users))

    def count(self, days: int = 1, over: str = "any_day") -> int:
        """Counts the users of the last days: who came on "any_day" or on "every_day"."""
        return int(self._call("tkl_online_count", days, over))

    def check(self, user: Name, days_ago: int = 0) -> bool:
        """Whether a user was there on that day."""
        return bool(self._call("tkl_online_check", user, days_ago))

    def users(self, days_ago: int = 0) -> Iterator[str]:
        """The users of a day, in no order."""
        with _Users(self, days_ago) as walk:
            while True:
                code, user = _call.attempt("tkl_online_users_next", walk)
                if code == _call.EMPTY:
                    return
                if code:
                    raise _call.failure(code)
                yield user

    def returning(self, days: int) -> Returning:
        """Today's users who were, or were not, there on one of the `days` days before."""
        return Returning(*self._call("tkl_online_returning", days))

    def cohort(self, first: Day) -> OnlineCohort:
        """How many users of a day came back on each later day."""
        found: OnlineCohort = self._call("tkl_online_cohort_get", _day(first))
        return found

    def show(self) -> OnlineReport:
        found: OnlineReport = self._call("tkl_online_show")
        return found

    def drop(self) -> None:
        self._call("tkl_online_drop")


class _Users(Component):
    def __init__(self, online: Online, days_ago: int) -> None:
        self._open(online.client, "tkl_online_users_open", "tkl_online_users_close", online,
                   {"days_ago": days_ago}, parents=(online,))


def _day(day: Day) -> Optional[str]:
    return day.isoformat() if isinstance(day, datetime.date) else day


def _fresh(count: int) -> Optional[int]:
    return None if count < 0 else count
