# SPDX-License-Identifier: MIT
"""Application components on Redis and Valkey: locks, queues, rate limits and the like.

>>> import tackle
>>> with tackle.Client(url) as client:
...     with client.lock("backup", wait=5) as lock:
...         print("held, fence", lock.fence > 0)
...     mails = client.queue("mails")
...     mails.push({"to": "ann"}).id != ""
...     for job in mails.consume(wait=0):
...         print(job.payload.json()["to"])
...         job.ack()
held, fence True
True
ann

docs/python.md is the guide. Seconds and timedelta are durations everywhere, names are str or bytes,
data is bytes, str, or what JSON can say. `wait=None` waits for ever, `wait=0` not at all.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._record import Data, Record
from .client import (Client, default_server, server_backup, server_rewrite, server_save,
                     server_start, server_status, server_stop, version)
from .errors import (Busy, Closed, Conflict, ConnectionLost, CrossSlot, Damaged, Dead, Empty, Error,
                     Exists, Full, InternalError, Interrupted, InvalidArgument, Limited, Lost, No,
                     NoScript, NotFound, NotOwner, NotPermitted, NotReady, NotSent, OutcomeUnknown,
                     OutOfMemory, ProtocolError, ReadOnly, Refused, ServerFull, SpawnFailed,
                     SystemFailure, Timeout, TLSError, WrongType)

if TYPE_CHECKING:
    from .queue import Job, Push
    from .redlock import Redlock
    from .schedule import cron_next
    from .worker import Release, Task, Worker

# Further names, imported when they are first used.
_LATER = {"Job": "queue", "Push": "queue", "Redlock": "redlock", "Release": "worker",
          "Task": "worker", "Worker": "worker", "cron_next": "schedule"}

__version__ = version()

__all__ = [
    "Busy", "Client", "Closed", "Conflict", "ConnectionLost", "CrossSlot", "Damaged", "Data", "Dead",
    "Empty", "Error", "Exists", "Full", "InternalError", "Interrupted", "InvalidArgument", "Job",
    "Limited", "Lost", "No", "NoScript", "NotFound", "NotOwner", "NotPermitted", "NotReady",
    "NotSent", "OutOfMemory", "OutcomeUnknown", "ProtocolError", "Push", "ReadOnly", "Record",
    "Redlock", "Refused", "Release", "ServerFull", "SpawnFailed", "SystemFailure", "TLSError",
    "Task", "Timeout", "Worker", "WrongType", "cron_next", "default_server", "server_backup",
    "server_rewrite", "server_save", "server_start", "server_status", "server_stop", "version",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'tackle' has no attribute {name!r}")
    return getattr(importlib.import_module("." + _LATER[name], __name__), name)
