# SPDX-License-Identifier: MIT
"""Times that a cron expression names. Schedules are methods of Queue."""
from __future__ import annotations

from datetime import datetime, timezone
from typing import Optional

from . import _call
from ._convert import EPOCH, Time, from_time


def cron_next(cron: str, zone: Optional[str] = None, after: Optional[Time] = None) -> datetime:
    """The first time after `after` (None: now) that the expression names, on a clock in `zone`.

    >>> import tackle, datetime
    >>> tackle.cron_next("30 2 * * mon-fri", "Europe/Berlin", datetime.datetime(2026, 11, 18, 12,
    ...                  tzinfo=datetime.timezone.utc)).isoformat()
    '2026-11-19T01:30:00+00:00'
    """
    start = datetime.now(timezone.utc) if after is None else after
    return from_time(_call.local("tkl_cron_next", cron, zone, start)) or EPOCH
