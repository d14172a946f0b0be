# SPDX-License-Identifier: MIT
"""Sessions: the user of a token, and viewed items. docs/session.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import _call
from ._component import Component
from ._convert import Duration, Name, encode_data
from .errors import Error, error
from .records import SessionInfo, SessionItem, SessionStats

if TYPE_CHECKING:
    from .client import Client


class Sessions(Component):
    """A store of sessions.

    >>> shop = client.sessions("shop")
    >>> token = shop.create("alice")                    # log in
    >>> session = shop.use(token, "teapot")             # each page: one round trip
    >>> session.user, [item.item for item in shop.recent(token)]
    ('alice', ['teapot'])
    >>> shop.set(token, {"cart": ["teapot"], "language": "en"})
    >>> from tackle.session import data
    >>> data(shop.check(token))["language"]
    b'en'
    >>> shop.end(token)                                 # log out

    A session ends when it is not used for `ttl`. `most` sessions are kept, `items` of each, `ranked`
    in the ranking, where a view counts half after `half_life` (math.inf: views do not age).
    """

    def __init__(self, client: "Client", name: Name, *, ttl: Optional[Duration] = None,
                 most: Optional[int] = None, items: Optional[int] = None,
                 ranked: Optional[int] = None, half_life: Union[Duration, None] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_session_open", "tkl_session_close", client, name, {
            "ttl": ttl, "most": most, "items": items, "ranked": ranked, "half_life": half_life,
            "timeout": timeout})

    def create(self, user: Name, ttl: Optional[Duration] = None) -> str:
        """Begins a session: its token, which is a secret."""
        return str(self._call("tkl_session_create", user, ttl))

    def check(self, token: str) -> SessionInfo:
        """The session of a token; this does not count as a use. NotFound: it has ended."""
        found: SessionInfo = self._call("tkl_session_check", token)
        return found

    def use(self, token: str, item: Name = "") -> SessionInfo:
        """Records a use, and gives the session. NotFound: it has ended."""
        found: SessionInfo = self._call("tkl_session_use", {"token": token, "item": item})
        return found

    def touch(self, views: Iterable[Tuple[str, Name]]) -> List[Optional[Error]]:
        """Records many uses, (token, item), in one round trip; NotFound in the list: that session has
        ended."""
        _, codes = _call.attempt("tkl_session_touch", self,
                                 [{"token": token, "item": item} for token, item in views])
        return [error(code, "") if code else None for code in codes]

    def set(self, token: str, fields: Mapping[str, Any]) -> None:
        """Sets fields of the session's data; None removes one."""
        self._call("tkl_session_set", token, [
            {"name": name, "value": b"" if value is None else encode_data(value)}
            for name, value in fields.items()])

    def end(self, token: str) -> None:
        self._call("tkl_session_end", token)

    def of_user(self, user: Name, skip: int = 0, max: int = 100) -> List[SessionInfo]:
        """The sessions of a user, without their data."""
        found: List[SessionInfo] = self._call("tkl_session_of_user", user, skip, max)
        return found

    def end_user(self, user: Name) -> int:
        """Ends all sessions of a user: how many."""
        return int(self._call("tkl_session_end_user", user))

    def recent(self, token: str, skip: int = 0, max: int = 25) -> List[SessionItem]:
        """The items that the session viewed, the most recent first."""
        found: List[SessionItem] = self._call("tkl_session_recent", token, skip, max)
        return found

    def top(self, skip: int = 0, max: int = 10) -> List[SessionItem]:
        """The items that all sessions viewed, the most viewed first."""
        found: List[SessionItem] = self._call("tkl_session_top", skip, max)
        return found

    def view_items(self, items: Iterable[Name]) -> None:
        """Counts views without a session."""
        self._call("tkl_session_view_items", items)

    def rename_item(self, item: Name, name: Name) -> None:
        self._call("tkl_session_rename_item", item, name)

    def drop_item(self, item: Name) -> None:
        self._call("tkl_session_drop_item", item)

    def drop_ranking(self) -> None:
        self._call("tkl_session_drop_ranking")

    def stats(self) -> SessionStats:
        found: SessionStats = self._call("tkl_session_stats_get")
        return found

    def drop(self) -> None:
        self._call("tkl_session_drop")


def data(session: SessionInfo) -> Dict[str, Any]:
    """The data of a session as a dict."""
    return {field.name: field.value for field in session.fields}
