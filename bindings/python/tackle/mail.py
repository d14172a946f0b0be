# SPDX-License-Identifier: MIT
"""Mailboxes: messages for one receiver, who may be offline. docs/mail.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Optional, Union

from ._component import Component
from ._convert import Duration, Name
from .errors import error
from .message import letters, limits
from .records import MailInfo, Messages

if TYPE_CHECKING:
    from .client import Client


class Mail(Component):
    """The mailbox of an owner. Delivery is at least once: the same messages come again until they are
    acknowledged.

    >>> box = client.mail("ann")
    >>> box.send("hello", sender="bob")
    1
    >>> messages = box.fetch(wait=1)
    >>> messages[0].sender, messages[0].body.text
    ('bob', 'hello')
    >>> box.ack(messages[-1].id)        # how many are left
    0
    """

    def __init__(self, client: "Client", owner: Name, *, timeout: Optional[Duration] = None) -> None:
        self.name = owner
        self._open(client, "tkl_mail_open", "tkl_mail_close", client, owner, {"timeout": timeout})

    def send(self, body: Any, sender: Name = "") -> int:
        """Sends a message, or a Letter with headers: its id. Full: a limit of the mailbox."""
        return self.send_all([body], sender)

    def send_all(self, bodies: Iterable[Any], sender: Name = "") -> int:
        """Sends messages, all or none: the id of the first one."""
        return int(self._call("tkl_mail_send", sender, letters(bodies)))

    def fetch(self, max: int = 100, wait: Optional[Duration] = None) -> Messages:
        """The oldest messages that are not acknowledged, waiting for one. Empty: none in time."""
        code, found = self._wait("tkl_mail_fetch", max, wait=wait)
        if code:
            raise error(code, "no message in time")
        messages: Messages = found
        return messages

    def ack(self, id: int) -> int:
        """Acknowledges all messages up to `id`: how many are left."""
        return int(self._call("tkl_mail_ack", id))

    def show(self) -> MailInfo:
        found: MailInfo = self._call("tkl_mail_show")
        return found

    def limit(self, *, max_messages: Union[int, float, None] = None,
              max_bytes: Union[int, float, None] = None, max_age: Optional[Duration] = None,
              ttl: Optional[Duration] = None, when_full: Optional[str] = None) -> None:
        """Sets the limits; math.inf: no limit. `when_full`: "refuse" or "drop_oldest"."""
        self._call("tkl_mail_limit", limits(max_messages, max_bytes, max_age, ttl, when_full))

    def purge(self) -> int:
        """Removes all messages: how many."""
        return int(self._call("tkl_mail_purge"))

    def drop(self) -> None:
        self._call("tkl_mail_drop")
