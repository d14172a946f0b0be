# SPDX-License-Identifier: MIT
"""Everything at once, for views that look again and again. docs/operators.md has the contract."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Optional

from . import _call
from ._convert import Duration, build, reader
from ._native import ctype, function
from .records import Overview

if TYPE_CHECKING:
    from .client import Client


class Overviews:
    """Reads queues, locks, semaphores, leaders, counters and INFO of the server, in one round trip
    for each master, however many names there are.

    >>> pushed = client.queue("mails").push("x")
    >>> overviews = client.overviews()
    >>> [(queue.name, queue.stats.ready) for queue in overviews.read().queues]
    [('mails', 1)]

    `max`: about how many names of each kind are read, those used last.
    """

    def __init__(self, client: "Client", *, max: Optional[int] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.client = client
        self._options = build("tkl_overview_options", {"max": max, "timeout": timeout})
        self._last: Optional[_Read] = None

    def read(self) -> Overview:
        """An overview of now. The first one takes a second round trip; a name that is new since the
        last one has its numbers in the next one. A part that the server refused is None, and its
        result (`queues_result` and so on) has the reason."""
        last = self._last
        now: _Read = _call.run("tkl_overview_read", self.client, ctypes.byref(self._options),
                               last.pointer if last else None,
                               _call.Out(ctypes.POINTER(ctype("tkl_overview"))(), _Read))
        found: Overview = reader("tkl_overview")(now.pointer[0])
        self._last = now
        return found


class _Read:
    """An overview, as the library wants it back for the next one."""

    def __init__(self, pointer: Any) -> None:
        self.pointer = pointer

    def __del__(self) -> None:
        function("tkl_overview_free")(self.pointer)
