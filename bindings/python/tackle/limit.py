# SPDX-License-Identifier: MIT
"""Rate limits that programs on many machines share. docs/limit.md has the contract."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Tuple

from . import _call, records
from ._component import Component
from ._convert import Duration, Name
from ._headers import CODES
from .records import LimitUsage

if TYPE_CHECKING:
    from .client import Client

LIMITED = CODES["TKL_LIMITED"][0]


class Answer(records.LimitAnswer):
    """The answer to a check; true if it was allowed."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return self.allowed


def allowed(code: int, answer: Any) -> Answer:
    """The answer of a call; every code but TKL_OK and TKL_LIMITED is an exception."""
    if code not in (_call.OK, LIMITED):
        _call.raise_for(code)
    answer.__class__ = Answer
    found: Answer = answer
    return found


class Limit(Component):
    """A limit: a count in a period, for each key by itself.

    >>> api = client.limit("api", 2, 60)        # 2 in 60 seconds
    >>> [bool(api.check("alice")) for _ in range(3)]
    [True, True, False]
    >>> answer = api.check("alice")
    >>> answer.allowed, answer.remaining, answer.retry_after.total_seconds() > 10
    (False, 0, True)

    `algorithm`: "gcra" (a funnel, the default), "bucket", "window" (exact), "window_approx",
    "concurrency". `burst`: how many fit at once beyond the rate; 0: none. `in_order`: wait() serves
    first come, first served. `count_denied`: denied checks count, too. `counted`: allowed checks are
    counted for operators, as refused ones always are: see Client.refusals().
    """

    def __init__(self, client: "Client", name: Name, count: int, period: Duration, *,
                 algorithm: Optional[str] = None, burst: Optional[int] = None,
                 in_order: bool = False, count_denied: bool = False, counted: bool = False,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_limit_open", "tkl_limit_close", client, name, {
            "algorithm": algorithm, "count": count, "period": period, "burst": burst,
            "in_order": in_order, "count_denied": count_denied}, {"timeout": timeout, "counted": counted})

    def check(self, key: Name, quantity: int = 1) -> Answer:
        """Takes the quantity if it fits. 0 takes nothing, and says whether one would fit."""
        return allowed(*_call.attempt("tkl_limit_check", self, key, quantity))

    def wait(self, key: Name, quantity: int = 1, wait: Optional[Duration] = None) -> Answer:
        """Waits until the quantity fits, and takes it. Not allowed: it would not fit in time."""
        return allowed(*self._wait(
            "tkl_limit_wait", key, quantity, wait=wait,
            undo=lambda answer: self.refund(key, quantity, answer.ticket or None)))

    def refund(self, key: Name, quantity: int = 1, ticket: Optional[str] = None) -> None:
        """Gives back what was not needed, or a slot; "window" and "concurrency" need the ticket of
        the answer. NotFound: all of it has expired or was given back."""
        self._call("tkl_limit_refund", key, quantity, ticket)

    def renew(self, key: Name, quantity: int, ticket: str) -> None:
        """Keeps slots of "concurrency" for another period. NotFound: they have expired."""
        self._call("tkl_limit_renew", key, quantity, ticket)

    def reset(self, key: Name) -> None:
        """Resets the use of the key to zero. NotFound: it was not in use."""
        self._call("tkl_limit_reset", key)

    def show(self, key: Name) -> LimitUsage:
        """What the key has used; takes nothing. NotFound: it is not in use."""
        found: LimitUsage = _call.call("tkl_limit_show", self.client, self.name, key)
        return found

    def keys(self) -> List[str]:
        """The keys that are in use."""
        found: List[str] = _call.call("tkl_limit_keys", self.client, self.name)
        return found

    def slice(self, key: Name, *, timeout: Optional[Duration] = None) -> "Slice":
        """A part of the budget of one key that this process spends without asking the server."""
        return Slice(self, key, timeout=timeout)


class Slice(Component):
    """A part of a limit for very hot keys: most checks need no round trip.

    >>> with client.limit("hot", 100000, 1).slice("alice") as part:
    ...     all(part.check() for _ in range(100))
    True
    """

    def __init__(self, limit: Limit, key: Name, *, timeout: Optional[Duration] = None) -> None:
        self._open(limit.client, "tkl_limit_slice_open", "tkl_limit_slice_close", limit, key,
                   {"timeout": timeout}, parents=(limit,))

    def check(self, quantity: int = 1) -> Answer:
        return allowed(*_call.attempt("tkl_limit_slice_check", self, quantity))


Item = Tuple[Limit, Name, int]


def _items(items: Iterable[Item]) -> Tuple[List[Any], List[Any]]:
    found = [(_call.cell_of(limit, "tkl_limit"), key, quantity) for limit, key, quantity in items]
    return ([{"limit": cell.pointer, "key": key, "quantity": quantity}
             for cell, key, quantity in found], [cell for cell, _, _ in found])


def _check(name: str, items: Iterable[Item]) -> List[Answer]:
    fields, cells = _items(items)
    arguments = _call.prepare(name, fields)
    arguments.cells = cells
    code = _call.invoke(arguments)
    if code not in (_call.OK, LIMITED):
        _call.finish(code, arguments)
    return [allowed(_call.OK, answer) for answer in arguments.results()]


def check_each(items: Iterable[Item]) -> List[Answer]:
    """Checks (limit, key, quantity) each by itself, in one round trip to each server."""
    return _check("tkl_limit_check_each", items)


def check_all(items: Iterable[Item]) -> List[Answer]:
    """Takes all of (limit, key, quantity) or none: the answers say which would have been allowed.

    >>> from tackle.limit import check_all
    >>> second, hour = client.limit("second", 1, 1), client.limit("hour", 50, 3600)
    >>> all(check_all([(second, "alice", 1), (hour, "alice", 1)]))
    True
    >>> all(check_all([(second, "alice", 1), (hour, "alice", 1)]))
    False
    """
    return _check("tkl_limit_check_all", items)
