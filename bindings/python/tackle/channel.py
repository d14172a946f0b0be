# SPDX-License-Identifier: MIT
"""Channels: publish and subscribe with a history. docs/channel.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Iterator, Optional, Union

from . import _call
from ._component import Component
from ._convert import Duration, Name, encode_data, from_text, to_ms
from ._headers import CONSTANTS
from ._native import ctype, function
from ._stream import Stream
from .records import ChannelId, ChannelInfo, ChannelMessage, ChannelMessages

if TYPE_CHECKING:
    from .client import Client


class Channel(Component):
    """Messages for followers, also for those that come late.

    >>> prices = client.channel("prices")
    >>> follower = prices.follow(recent=10)
    >>> prices.publish("price 42").number
    1
    >>> [message.data.text for message in follower.next(wait=1)]
    ['price 42']

    `history`: how many messages stay, for `ttl`.
    """

    def __init__(self, client: "Client", name: Name, *, ttl: Optional[Duration] = None,
                 history: Optional[int] = None, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_channel_open", "tkl_channel_close", client, name, {
            "ttl": ttl, "history": history, "timeout": timeout})

    def publish(self, message: Any) -> ChannelId:
        """Publishes a message: bytes and str as they are, everything else as JSON."""
        return self.publish_all([message])

    def publish_all(self, messages: Iterable[Any]) -> ChannelId:
        """Publishes messages, all or none: the id of the last one."""
        found: ChannelId = self._call("tkl_channel_publish",
                                      [encode_data(message) for message in messages])
        return found

    def follow(self, *, recent: Union[int, float, None] = None,
               after: Union[str, ChannelId, None] = None,
               timeout: Optional[Duration] = None) -> "Follower":
        """A follower that begins with the last `recent` messages (math.inf: all), or behind the
        message `after`; else with the next message."""
        return Follower(self, recent=recent, after=after, timeout=timeout)

    def show(self) -> ChannelInfo:
        found: ChannelInfo = self._call("tkl_channel_show")
        return found

    def drop(self) -> None:
        self._call("tkl_channel_drop")


class Follower(Stream):
    """Gets all messages in order, each once. One thread at a time uses it."""

    def __init__(self, channel: Channel, *, recent: Union[int, float, None] = None,
                 after: Union[str, ChannelId, None] = None,
                 timeout: Optional[Duration] = None) -> None:
        place = None
        if isinstance(after, ChannelId):
            place = _id_fields(after)
        elif after is not None:
            place = _id_fields(parse_id(after))
        self._open(channel.client, "tkl_channel_follow", "tkl_channel_follower_close", channel, {
            "recent": recent, "after": place, "timeout": timeout}, parents=(channel,))

    def next(self, max: int = 0, wait: Optional[Duration] = None) -> ChannelMessages:
        """The next messages, waiting for the first; `lost` says how many were removed before they
        were read. Empty: none in time."""
        found: ChannelMessages = self._next("tkl_channel_next", max, wait=wait)
        return found

    def __iter__(self) -> Iterator[ChannelMessage]:
        while True:
            yield from self.next()


def _id_fields(id: ChannelId) -> Any:
    return {"time": id.time, "number": id.number}


def id_text(id: ChannelId) -> str:
    """An id as text: "1763447400123-42", to be kept and given to follow(after=...)."""
    native = ctype("tkl_channel_id")(to_ms(id.time, "time") if id.time else 0, id.number)
    buffer = ctype(f"char[{CONSTANTS['TKL_CHANNEL_ID_SIZE']}]")()
    return from_text(function("tkl_channel_id_text")(native, buffer))


def parse_id(text: str) -> ChannelId:
    """The id of a text.

    >>> from tackle import channel
    >>> channel.id_text(channel.parse_id("1763447400123-42"))
    '1763447400123-42'
    """
    found: ChannelId = _call.local("tkl_channel_id_parse", text)
    return found
