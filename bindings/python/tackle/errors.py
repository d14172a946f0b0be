# SPDX-License-Identifier: MIT
"""Exceptions: one for each code of the library, grouped by what a caller can do about it.

    Error                     everything
      No                      an expected "no": nothing is broken
        Busy, Empty, Limited, NotFound, Full, NotOwner, Exists, Dead, Conflict
      OutcomeUnknown          sent, and no usable answer: it may have happened or not
        Timeout, ConnectionLost, ProtocolError
      NotSent, NotReady, ReadOnly, ServerFull, InvalidArgument ...     it has not happened

>>> import tackle
>>> client = tackle.Client(url)
>>> with client.lock("one at a time"):
...     try:
...         with client.lock("one at a time", wait=0):
...             pass
...     except tackle.Busy as why:
...         print(why.code, why.name)
1 TKL_BUSY
"""
from __future__ import annotations

from typing import Any, Dict, Type

from ._headers import CODES
from ._native import function


_by_code: Dict[int, Type["Error"]] = {}


class Error(Exception):
    """A call did not succeed: `code` and `name` are those of the library, `text` says why."""

    code: int = 0
    name: str = ""

    # Further facts that some calls report.
    pushed: Any     # Queue.push_all(): the outcome of each job
    totals: Any     # Files.send(), receive(): the files and bytes until then
    version: Any    # Config.set(): the current one
    stats: Any      # close() of a buffer: the amounts that are lost

    def __init_subclass__(cls, code: str = "") -> None:
        if code:
            cls.name = code
            cls.code = CODES[code][0]
            _by_code[cls.code] = cls

    def __init__(self, text: str = "") -> None:
        self.text = text or function("tkl_strerror")(self.code).value.decode()
        super().__init__(self.text)

    @property
    def transient(self) -> bool:
        """The same call may succeed later."""
        return bool(function("tkl_is_transient")(self.code))

    @property
    def unknown(self) -> bool:
        """The request may have taken effect or not."""
        return bool(function("tkl_is_unknown")(self.code))


class No(Error):
    """An expected "no": nothing is broken."""


class Busy(No, code="TKL_BUSY"):
    """Held by another owner."""


class Empty(No, code="TKL_EMPTY"):
    """Nothing there, or nothing in time."""


class Limited(No, code="TKL_LIMITED"):
    """The limit is reached."""


class NotFound(No, code="TKL_NOTFOUND"):
    """Not found."""


class Full(No, code="TKL_FULL"):
    """Full."""


class NotOwner(No, code="TKL_NOTOWNER"):
    """Not held by this owner, or not any more."""


class Exists(No, code="TKL_EXISTS"):
    """Exists already."""


class Dead(No, code="TKL_DEAD"):
    """Failed for good. Raised by the handler of a worker: the job goes to the dead letters."""


class Conflict(No, code="TKL_CONFLICT"):
    """Changed meanwhile by another caller."""


class OutcomeUnknown(Error):
    """The request was sent, and no usable answer came: it may have taken effect or not."""


class Timeout(OutcomeUnknown, TimeoutError, code="TKL_ETIMEOUT"):
    """No reply in time."""


class ConnectionLost(OutcomeUnknown, ConnectionError, code="TKL_EUNKNOWN"):
    """The connection broke after the request was sent."""


class ProtocolError(OutcomeUnknown, code="TKL_EPROTO"):
    """The server broke the protocol."""


class InvalidArgument(Error, ValueError, code="TKL_EINVAL"):
    """An argument is wrong; nothing was sent."""


class OutOfMemory(Error, MemoryError, code="TKL_ENOMEM"):
    """This process is out of memory."""


class NotSent(Error, ConnectionError, code="TKL_ENOTSENT"):
    """The server was not reached: nothing was sent."""


class Refused(Error, code="TKL_EREFUSED"):
    """The server refused the request."""


class NotPermitted(Error, PermissionError, code="TKL_EAUTH"):
    """Wrong credentials, or not permitted."""


class WrongType(Error, code="TKL_ETYPE"):
    """The key holds another type of value."""


class ServerFull(Error, code="TKL_EOOM"):
    """The server is out of memory."""


class ReadOnly(Error, code="TKL_EREADONLY"):
    """The server is a read-only replica."""


class NotReady(Error, code="TKL_EUNREADY"):
    """The server is loading, busy, or its cluster is down."""


class CrossSlot(Error, code="TKL_ECROSSSLOT"):
    """Keys of one command live in different slots of the cluster."""


class TLSError(Error, code="TKL_ETLS"):
    """TLS failed."""


class Lost(Error, code="TKL_ELOST"):
    """The lease was lost."""


class SpawnFailed(Error, code="TKL_ESPAWN"):
    """The private server could not be started."""


class SystemFailure(Error, OSError, code="TKL_EIO"):
    """A file or the system failed."""


class NoScript(Error, code="TKL_ENOSCRIPT"):
    """The server does not know this script."""


class InternalError(Error, code="TKL_EBUG"):
    """A mistake in tackle: please report it."""


class Interrupted(Error, code="TKL_EINTR"):
    """Client.interrupt() ended the wait."""


class Damaged(Error, code="TKL_EDAMAGED"):
    """Stored data is damaged."""


class Closed(InvalidArgument):
    """The client or the handle is closed."""


def last_text() -> str:
    """Why the last call of this thread did not succeed."""
    return str(function("tkl_errmsg")().value.decode("utf-8", "replace"))


def error(code: int, text: str) -> Error:
    """The exception of a code."""
    return _by_code.get(code, Error)(text)
