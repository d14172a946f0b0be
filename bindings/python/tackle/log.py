# SPDX-License-Identifier: MIT
"""Logs shared by all programs. docs/log.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, Iterator, Optional, Tuple, Union

from . import _call
from ._component import Component
from ._convert import Duration, Name, Time
from ._handle import closing_with_stats
from ._stream import Stream
from .records import LogCounts, LogEntries, LogEntry, LogWriterStats

if TYPE_CHECKING:
    from .client import Client


class Log(Component):
    """The recent messages of each severity, and how often each message occurred.

    >>> log = client.log("shop")
    >>> log.write("disk 91% full", "warning")
    >>> [(entry.severity, entry.message) for entry in log.recent()]
    [('warning', 'disk 91% full')]
    >>> log.common()[0].times
    1

    Severities: "emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"; for
    reading also "any". Recent messages stay for `ttl` (math.inf: for ever), `keep` of each severity;
    the table of an hour has `distinct` different ones.
    """

    def __init__(self, client: "Client", name: Name, *, ttl: Union[Duration, None] = None,
                 keep: Optional[int] = None, distinct: Optional[int] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_log_open", "tkl_log_close", client, name, {
            "ttl": ttl, "keep": keep, "distinct": distinct, "timeout": timeout})

    def write(self, message: Name, severity: str = "info", at: Optional[Time] = None) -> None:
        """Writes a message. OutcomeUnknown: it may have been written or not."""
        self.write_all([(message, severity, at)])

    def write_all(self, messages: Iterable[Tuple[Name, str, Optional[Time]]]) -> None:
        """Writes (message, severity, time) in their order; None: now."""
        self._call("tkl_log_write", [{"text": text, "severity": severity, "at": at}
                                     for text, severity, at in messages])

    def recent(self, severity: str = "any", max: int = 20) -> LogEntries:
        """The last messages, the oldest first."""
        found: LogEntries = self._call("tkl_log_recent", severity, max)
        return found

    def since(self, start: Time, severity: str = "any", max: int = 1000) -> LogEntries:
        """The last messages that are not older than `start`."""
        found: LogEntries = self._call("tkl_log_since", severity, start, max)
        return found

    def common(self, severity: str = "any", hour: str = "this", max: int = 20) -> LogCounts:
        """How often each message occurred in "this" hour, the "last", "both", or the "sliding" last
        60 minutes."""
        found: LogCounts = self._call("tkl_log_common", severity, hour, max)
        return found

    def tail(self, severity: str = "any", recent: int = 0,
             timeout: Optional[Duration] = None) -> "LogTail":
        """Follows the log, beginning with the last `recent` messages."""
        return LogTail(self, severity, recent, timeout)

    def writer(self, *, interval: Optional[Duration] = None, batch: Optional[int] = None,
               most: Optional[int] = None, timeout: Optional[Duration] = None) -> "LogWriter":
        """Collects messages and sends them in batches."""
        return LogWriter(self, interval=interval, batch=batch, most=most, timeout=timeout)

    def drop(self) -> None:
        self._call("tkl_log_drop")


class LogTail(Stream):
    """Follows a log, like tail -f. One thread at a time uses it."""

    def __init__(self, log: Log, severity: str = "any", recent: int = 0,
                 timeout: Optional[Duration] = None) -> None:
        self._open(log.client, "tkl_log_tail_open", "tkl_log_tail_close", log, severity, recent,
                   {"timeout": timeout}, parents=(log,))

    def next(self, wait: Optional[Duration] = None) -> LogEntries:
        """The next messages; `missed` were removed before they were read. Empty: none in time."""
        found: LogEntries = self._next("tkl_log_tail_next", wait=wait)
        return found

    def __iter__(self) -> Iterator[LogEntry]:
        while True:
            yield from self.next()


class LogWriter(Component):
    """A writer for hot paths. close() sends what is pending.

    >>> with client.log("shop").writer() as writer:
    ...     writer.write("sold", "info")
    >>> client.log("shop").recent("info")[0].message
    'sold'
    """

    def __init__(self, log: Log, *, interval: Optional[Duration] = None, batch: Optional[int] = None,
                 most: Optional[int] = None, timeout: Optional[Duration] = None) -> None:
        close = closing_with_stats("tkl_log_writer_close", "tkl_log_writer_stats")
        self._open(log.client, "tkl_log_writer_open", close, log, {
            "interval": interval, "batch": batch, "most": most, "timeout": timeout},
            parents=(log,))

    def write(self, message: Name, severity: str = "info") -> None:
        """Full: too many messages are pending."""
        self._call("tkl_log_writer_write", severity, message)

    def flush(self) -> None:
        self._call("tkl_log_writer_flush")

    def stats(self) -> LogWriterStats:
        found: LogWriterStats = _call.value("tkl_log_writer_stats_get", self)
        return found


def severity(text: str) -> str:
    """The severity of a word such as "err" or "WARN", as syslog has them.

    >>> from tackle import log
    >>> log.severity("WARN")
    'warning'
    """
    return str(_call.local("tkl_log_severity_parse", text))
