# SPDX-License-Identifier: MIT
"""Statistics and timers. docs/stats.md has the contract."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, Optional, Tuple

from . import _call
from ._component import Component
from ._convert import Duration, Name, Time, reader, to_bytes
from ._native import ctype, function
from .records import StatsRanking, StatsSummary, TimerResult

if TYPE_CHECKING:
    from .client import Client


class Stats(Component):
    """Count, mean, deviation and quantiles of values of one type, for this hour and the last.

    >>> times = client.stats("time")
    >>> times.record({"/cart": 0.2, "/pay": 0.4})
    >>> summary = times.show(["/cart", "/pay"])
    >>> summary.count, round(summary.mean, 3), round(summary.quantile(1), 3)
    (2, 0.3, 0.4)
    >>> with times.timer("/cart") as timer:
    ...     pass
    >>> timer.result.seconds < 1
    True

    `ranked`: contexts kept in the ranking. `slow_log`: the log that timers write slow contexts to.
    """

    def __init__(self, client: "Client", type: Name, *, ranked: Optional[int] = None,
                 slow_log: Optional[Name] = None, no_slow_log: bool = False,
                 timeout: Optional[Duration] = None) -> None:
        self.name = type
        self._open(client, "tkl_stats_open", "tkl_stats_close", client, type, {
            "ranked": ranked, "slow_log": slow_log, "no_slow_log": no_slow_log, "timeout": timeout})

    def record(self, values: Mapping[Any, float]) -> None:
        """Records a value of each context."""
        self.record_all([(context, value, None) for context, value in values.items()])

    def record_all(self, values: Iterable[Tuple[Name, float, Optional[Time]]]) -> None:
        """Records (context, value, time); None: now."""
        self._call("tkl_stats_record", [{"context": context, "value": value, "at": at}
                                        for context, value, at in values])

    def show(self, contexts: Iterable[Name], hour: str = "this") -> "Summary":
        """The values of all these contexts together, of "this" hour, the "last" or "both". NotFound:
        there are none."""
        pointer = ctypes.POINTER(ctype("tkl_stats_summary"))()
        arguments = _call.prepare("tkl_stats_show", self, contexts, hour)
        arguments.values[-1] = ctypes.byref(pointer)
        arguments.outputs = [(pointer, Summary)]
        found: Summary = _call.finish(_call.invoke(arguments), arguments)
        return found

    def slowest(self, hour: str = "this", max: int = 10) -> StatsRanking:
        """The contexts with the largest means."""
        found: StatsRanking = self._call("tkl_stats_slowest", hour, max)
        return found

    def contexts(self) -> List[str]:
        found: List[str] = self._call("tkl_stats_contexts")
        return found

    def timer(self, context: Name) -> "Timer":
        """Measures a block: `with times.timer("/cart"):`."""
        return Timer(self, context)

    def drop(self, context: Name) -> None:
        self._call("tkl_stats_drop", context)


class Summary(StatsSummary):
    """Values of one or more contexts, with their distribution."""

    __slots__ = ("_pointer",)

    def __init__(self, pointer: Any) -> None:
        self._pointer = pointer
        if pointer:
            self._fill()

    def _fill(self) -> None:
        found = reader("tkl_stats_summary")(self._pointer[0])
        for name in found.__match_args__:
            setattr(self, name, getattr(found, name))

    def quantile(self, quantile: float) -> float:
        """The value of that rank, 0 to 1, within 1 %."""
        return float(_call.value("tkl_stats_quantile", self._pointer, quantile))

    def merge(self, other: "Summary") -> None:
        """Adds the values of another summary, of any type or server."""
        _call.run_local("tkl_stats_merge", self._pointer, other._pointer)
        self._fill()

    def __reduce__(self) -> Any:
        raise TypeError("a Summary cannot be pickled")

    def __del__(self) -> None:
        function("tkl_stats_summary_free")(self._pointer)


class Timer:
    """Measures a block, and records the seconds at its end, also when an exception ends it. `result`
    says how long it took, and whether the context is slower than the mean of the type."""

    def __init__(self, stats: Stats, context: Name) -> None:
        self.stats = stats
        self.context = context
        self.result: Optional[TimerResult] = None

    def __enter__(self) -> "Timer":
        self._native = _call.value("tkl_timer_start", self.stats, self.context)
        return self

    def __exit__(self, kind: Any, why: Any, trace: Any) -> None:
        self._native.context = to_bytes(self.context)
        result = ctype("tkl_timer_result")()
        arguments = _call.native("tkl_timer_stop", ctypes.byref(self._native), ctypes.byref(result))
        arguments.cells = [self.stats._cell]
        code = _call.invoke(arguments)
        if kind is None:
            _call.raise_for(code)
        self.result = reader("tkl_timer_result")(result)
