# SPDX-License-Identifier: MIT
"""Counters over time. docs/counter.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Sequence, Tuple, Union

from . import _call
from ._component import Component
from ._convert import Duration, Name, Time
from ._handle import closing_with_stats
from .errors import Error, error
from .records import CounterBufferStats, CounterSeries

if TYPE_CHECKING:
    from .client import Client


class Counter(Component):
    """How often something happened in each second, minute, hour and day.

    >>> hits = client.counter("hits")
    >>> hits.add(2)
    >>> sum(slice.count for slice in hits.read(60))     # the last 120 minutes
    2

    `every`: the precisions, in seconds. `samples`: slices kept of each. The first add fixes both.
    """

    def __init__(self, client: "Client", name: Name, *, every: Optional[Sequence[Duration]] = None,
                 samples: Optional[int] = None, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_counter_open", "tkl_counter_close", client, name, {
            "every": every, "samples": samples, "timeout": timeout})

    def add(self, amount: int = 1) -> None:
        """Counts. OutcomeUnknown: it may have been counted or not."""
        self._call("tkl_counter_add", amount)

    def read(self, every: Duration, start: Optional[Time] = None,
             end: Optional[Time] = None) -> CounterSeries:
        """The slices of one precision, without gaps. NotFound: nothing was counted."""
        found: CounterSeries = self._call("tkl_counter_read", every, start, end)
        return found

    def drop(self) -> None:
        self._call("tkl_counter_drop")

    def buffer(self, *, interval: Optional[Duration] = None,
               timeout: Optional[Duration] = None) -> "CounterBuffer":
        """A buffer for very hot counters."""
        return CounterBuffer(self, interval=interval, timeout=timeout)


class CounterBuffer(Component):
    """Adds up in memory; a thread of the library sends the sum once per interval.

    >>> with client.counter("clicks").buffer(interval=60) as clicks:
    ...     for _ in range(1000):
    ...         clicks.add()
    ...     clicks.stats().pending
    1000
    >>> sum(slice.count for slice in client.counter("clicks").read(60))
    1000
    """

    def __init__(self, counter: Counter, *, interval: Optional[Duration] = None,
                 timeout: Optional[Duration] = None) -> None:
        close = closing_with_stats("tkl_counter_buffer_close", "tkl_counter_buffer_stats")
        self._open(counter.client, "tkl_counter_buffer_open", close, counter, {
            "interval": interval, "timeout": timeout}, parents=(counter,))

    def add(self, amount: int = 1) -> None:
        self._call("tkl_counter_buffer_add", amount)

    def flush(self) -> None:
        """Sends the pending amount now."""
        self._call("tkl_counter_buffer_flush")

    def stats(self) -> CounterBufferStats:
        found: CounterBufferStats = _call.value("tkl_counter_buffer_stats_get", self)
        return found


Item = Union[Tuple[Counter, int], Tuple[Counter, int, Time]]


def add_each(items: Iterable[Item]) -> List[Optional[Error]]:
    """Adds to many counters in one round trip: (counter, amount) or (counter, amount, time). A refused
    amount has an error in the list; the others count.

    >>> from tackle.counter import add_each
    >>> add_each([(client.counter("a"), 1), (client.counter("b"), 2)])
    [None, None]
    """
    listed: List[Any] = list(items)
    cells = [_call.cell_of(item[0], "tkl_counter") for item in listed]
    arguments = _call.prepare("tkl_counter_add_each", [
        {"counter": cell.pointer, "amount": item[1], "at": item[2] if len(item) > 2 else None}
        for cell, item in zip(cells, listed)])
    arguments.cells = cells
    _call.invoke(arguments)
    return [error(code, "") if code else None for code in arguments.results()]


def clean(client: "Client") -> int:
    """Removes, from all counters, slices that have left the window. Never needed."""
    return int(_call.call("tkl_counter_clean", client))
