# SPDX-License-Identifier: MIT
"""Chats: each message goes to all members. docs/chat.md has the contract."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Union

from . import _call
from ._component import Component
from ._convert import Duration, Name, from_bytes, reader
from ._native import ctype, function
from .errors import error
from .message import letters, limits
from .records import ChatInfo, InboxChat, Messages

if TYPE_CHECKING:
    from .client import Client


class Chat(Component):
    """A chat; `id` "" makes a new unique one.

    >>> lunch = client.chat("lunch")
    >>> lunch.create(["ann", "bob"])
    >>> lunch.send("ann", "noodles?")
    1
    >>> with client.inbox("bob") as bob:        # all chats of one member
    ...     for chat in bob.fetch(wait=1):
    ...         print(chat.id, chat.messages[0].sender, chat.messages[0].body.text)
    ...     bob.ack_all()
    lunch ann noodles?
    """

    def __init__(self, client: "Client", id: Name = "", *, timeout: Optional[Duration] = None) -> None:
        self._open(client, "tkl_chat_open", "tkl_chat_close", client, id, {"timeout": timeout})

    @property
    def id(self) -> str:
        return from_bytes(_call.value("tkl_chat_id", self))

    def create(self, members: Iterable[Name], *, max_messages: Union[int, float, None] = None,
               max_bytes: Union[int, float, None] = None, max_age: Optional[Duration] = None,
               ttl: Optional[Duration] = None, when_full: Optional[str] = None,
               history_messages: Optional[int] = None, history: Optional[Duration] = None) -> None:
        """Creates the chat. `history_messages`, `history`: how many messages stay, and how long,
        after all members have acknowledged them. Exists: a chat has this id. Full: a member is in too
        many chats."""
        self._call("tkl_chat_create", members,
                   limits(max_messages, max_bytes, max_age, ttl, when_full, history_messages, history))

    def create_and_send(self, members: Iterable[Name], sender: Name, bodies: Iterable[Any], *,
                        max_messages: Union[int, float, None] = None,
                        max_bytes: Union[int, float, None] = None,
                        max_age: Optional[Duration] = None, ttl: Optional[Duration] = None,
                        when_full: Optional[str] = None, history_messages: Optional[int] = None,
                        history: Optional[Duration] = None) -> None:
        """Creates the chat with first messages of a member, in one step. NotOwner: the sender is not
        among the members."""
        self._call("tkl_chat_create_and_send", members,
                   limits(max_messages, max_bytes, max_age, ttl, when_full, history_messages, history),
                   sender, letters(bodies))

    def join(self, member: Name, start: str = "default") -> None:
        """Adds a member, who begins at the "end" or with the "oldest" message."""
        self._call("tkl_chat_join", member, start)

    def leave(self, member: Name) -> None:
        """The last member to leave removes the chat."""
        self._call("tkl_chat_leave", member)

    def send(self, sender: Name, body: Any) -> int:
        """Sends a message, or a Letter with headers: its id. NotOwner: the sender is no member."""
        return self.send_all(sender, [body])

    def send_all(self, sender: Name, bodies: Iterable[Any]) -> int:
        """Sends messages, all or none: the id of the first one."""
        return int(self._call("tkl_chat_send", sender, letters(bodies)))

    def fetch(self, member: Name, max: int = 100, wait: Optional[Duration] = None) -> Messages:
        """Messages of others that the member has not acknowledged, waiting for one. Empty: none in
        time."""
        code, found = self._wait("tkl_chat_fetch", member, max, wait=wait)
        if code:
            raise error(code, "")
        messages: Messages = found
        return messages

    def history(self, member: Name, max: int = 100, before_id: int = 0) -> Messages:
        """The newest messages that are kept, oldest first, also those that are acknowledged and the
        member's own; `before_id`: those before that message. Acknowledges nothing. Empty: there is
        none."""
        found: Messages = self._call("tkl_chat_history", member, before_id, max)
        return found

    def ack(self, member: Name, id: int) -> int:
        """The member acknowledges all messages up to `id`: how many are left."""
        return int(self._call("tkl_chat_ack", member, id))

    def show(self) -> ChatInfo:
        found: ChatInfo = self._call("tkl_chat_show")
        return found

    def limit(self, *, max_messages: Union[int, float, None] = None,
              max_bytes: Union[int, float, None] = None, max_age: Optional[Duration] = None,
              ttl: Optional[Duration] = None, when_full: Optional[str] = None,
              history_messages: Optional[int] = None, history: Optional[Duration] = None) -> None:
        """Sets the limits of messages, as Mail.limit(), and of the history, as create()."""
        self._call("tkl_chat_limit", limits(max_messages, max_bytes, max_age, ttl, when_full,
                                            history_messages, history))

    def drop(self) -> None:
        self._call("tkl_chat_drop")


class Inbox(Component):
    """All chats of one member."""

    def __init__(self, client: "Client", member: Name, *, timeout: Optional[Duration] = None) -> None:
        self.name = member
        self._fetched: Optional[_Fetched] = None
        self._open(client, "tkl_inbox_open", "tkl_inbox_close", client, member, {"timeout": timeout})

    def fetch(self, max: int = 100, wait: Optional[Duration] = None) -> List[InboxChat]:
        """The messages that the member has not acknowledged in its chats, waiting for one; []: none
        in time."""
        pointer = ctypes.POINTER(ctype("tkl_inbox_chats"))()
        arguments = _call.native("tkl_inbox_fetch", self, max, _call.WAIT,
                                 _call.Out(pointer, _Fetched))
        code, text = _call.wait_for((self.client,), arguments, wait)
        if code == _call.EMPTY:
            return []
        if code:
            raise error(code, text)
        self._fetched = arguments.results()
        found: List[InboxChat] = reader("tkl_inbox_chats")(pointer[0])
        return found

    def ack_all(self) -> None:
        """Acknowledges everything that the last fetch() returned, in one round trip."""
        fetched, self._fetched = self._fetched, None
        if fetched is not None:
            self._call("tkl_inbox_ack_all", fetched.pointer)

    def show(self) -> List[InboxChat]:
        """All chats of the member, with numbers of unread messages, without the messages."""
        found: List[InboxChat] = self._call("tkl_inbox_show")
        return found


class _Fetched:
    """Fetched messages, as the library wants them back for an acknowledgement."""

    def __init__(self, pointer: Any) -> None:
        self.pointer = pointer

    def __del__(self) -> None:
        function("tkl_inbox_chats_free")(self.pointer)
