# SPDX-License-Identifier: MIT
"""Pipelines: many commands, and operations of any components, in one round trip."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Optional

from . import _call
from ._component import Component
from ._convert import Duration, Name, Time, encode_data, from_text, to_bytes
from ._native import function
from .board import Board
from .cache import Cache
from .channel import Channel
from .client import Argument, command_arguments, read_reply
from .counter import Counter
from .errors import Error, NotSent, error
from .limit import Limit, allowed
from .log import Log
from .online import Online
from .queue import EXISTS, Push, Pushed, Queue
from .script import Script, script_arguments
from .session import Sessions
from .stats import Stats

if TYPE_CHECKING:
    from .client import Client


class Result:
    """The result of an operation of a pipeline, after run()."""

    __slots__ = ("_value", "_error")

    def __init__(self) -> None:
        self._value: Any = None
        self._error: Optional[Error] = NotSent("the pipeline has not run")

    @property
    def value(self) -> Any:
        """The value; raises what the operation without a pipeline would raise."""
        if self._error:
            raise self._error
        return self._value

    @property
    def error(self) -> Optional[Error]:
        """Why it did not succeed; None: it did."""
        return self._error

    def __repr__(self) -> str:
        return f"<Result {self._error!r}>" if self._error else f"<Result {self._value!r}>"


class Pipeline(Component):
    """Commands and operations that are sent together. As `with` it runs at the end of the block.

    >>> api, hits = client.limit("api", 30, 60), client.counter("hits")
    >>> with client.pipeline() as page:
    ...     greeting = page.call("SET", "greeting", "hello")
    ...     allowed = page.limit_check(api, "alice")
    ...     counted = page.counter_add(hits)
    >>> greeting.value, allowed.value.allowed, counted.error
    (b'OK', True, None)

    `transaction`: the server runs all commands in one step; commands only. One thread at a time uses
    a pipeline. After run() it is empty, and can be used again.
    """

    def __init__(self, client: "Client", *, transaction: bool = False,
                 timeout: Optional[Duration] = None) -> None:
        self._results: List[Callable[[Any], None]] = []
        self._cells: List[Any] = []
        self._open(client, "tkl_pipeline_open", "tkl_pipeline_close", client, {
            "transaction": transaction, "timeout": timeout})

    def call(self, *command: Argument) -> Result:
        """Adds a command."""
        result = Result()
        _call.run_local("tkl_pipeline_add", self, *command_arguments(command))
        self._results.append(lambda reply: _settle_command(result, reply))
        return result

    def script(self, script: Script, keys: Iterable[Name] = (), args: Iterable[Any] = ()) -> Result:
        """Adds a call of a script; not in a transaction."""
        result = Result()
        given = script_arguments(keys, args)
        self._use(_call.cell_of(script, "tkl_script"))
        _call.run_local("tkl_pipeline_add_script", self, script, *given)
        self._results.append(lambda reply: _settle_command(result, reply))
        return result

    def run(self) -> None:
        """Sends the commands and operations. Raises the first failure of the connection; the results
        have the answers of the server."""
        replies = ctypes.c_void_p()
        try:
            code = _call.invoke(_call.native("tkl_pipeline_run", self, None, ctypes.byref(replies)))
            why = _call.failure(code) if code else None
            at = function("tkl_reply_at")
            for index, settle in enumerate(self._results):
                settle(at(replies, index))
        finally:
            function("tkl_reply_free")(replies)
            self._forget()
        if why:
            raise why

    def __exit__(self, kind: Any, why: Any, trace: Any) -> None:
        try:
            if kind is None:
                self.run()
        finally:
            self.close()

    def close(self) -> None:
        """Drops the commands and operations that were not run."""
        super().close()
        self._forget()

    # ---- Operations of components -----------------------------------------------------------

    def limit_check(self, limit: Limit, key: Name, quantity: int = 1) -> Result:
        """Limit.check()"""
        return self._add("tkl_limit_check_in", limit, key, quantity,
                         read=lambda answer: allowed(_call.OK, answer), fine=(_call.LIMITED,))

    def counter_add(self, counter: Counter, amount: int = 1) -> Result:
        """Counter.add()"""
        return self._add("tkl_counter_add_in", counter, amount)

    def counter_read(self, counter: Counter, every: Duration, start: Optional[Time] = None,
                     end: Optional[Time] = None) -> Result:
        """Counter.read()"""
        return self._add("tkl_counter_read_in", counter, every, start, end)

    def queue_push(self, queue: Queue, payload: Any, **options: Any) -> Result:
        """Queue.push()"""
        result = self._add("tkl_queue_push_in", queue, Push(payload, **options).fields,
                           read=lambda id: Pushed(id, True), fine=(EXISTS,),
                           otherwise=lambda id: Pushed(id, False))
        return result

    def cache_get(self, cache: Cache, key: Name) -> Result:
        """Cache.get(); None: there is none, or it is not known."""
        return self._add("tkl_cache_get_in", cache, key, fine=(_call.NOTFOUND,),
                         read=lambda found: None if found is None or found.none else found.data)

    def cache_set(self, cache: Cache, key: Name, value: Any) -> Result:
        """Cache.set()"""
        return self._add("tkl_cache_set_in", cache, key,
                         None if value is None else to_bytes(encode_data(value)))

    def board_add(self, board: Board, member: Name, score: float) -> Result:
        """Board.add() of one member: whether its score changed."""
        return self._add("tkl_board_add_in", board, {"member": member, "score": score}, read=bool)

    def channel_publish(self, channel: Channel, message: Any) -> Result:
        """Channel.publish()"""
        return self._add("tkl_channel_publish_in", channel, encode_data(message))

    def log_write(self, log: Log, message: Name, severity: str = "info",
                  at: Optional[Time] = None) -> Result:
        """Log.write()"""
        return self._add("tkl_log_write_in", log, {"text": message, "severity": severity, "at": at})

    def online_mark(self, online: Online, user: Name) -> Result:
        """Online.mark() of one user: whether it was not marked before."""
        return self._add("tkl_online_mark_in", online, user,
                         read=lambda fresh: None if fresh < 0 else bool(fresh))

    def stats_record(self, stats: Stats, context: Name, value: float,
                     at: Optional[Time] = None) -> Result:
        """Stats.record()"""
        return self._add("tkl_stats_record_in", stats, {"context": context, "value": value, "at": at})

    def session_touch(self, sessions: Sessions, token: str, item: Name = "") -> Result:
        """Sessions.touch()"""
        return self._add("tkl_session_touch_in", sessions, {"token": token, "item": item})

    def session_use(self, sessions: Sessions, token: str, item: Name = "") -> Result:
        """Sessions.use()"""
        return self._add("tkl_session_use_in", sessions, {"token": token, "item": item})

    # ---- How they are added -----------------------------------------------------------------

    def _add(self, name: str, handle: Any, *given: Any, read: Callable[[Any], Any] = lambda v: v,
             fine: Any = (), otherwise: Optional[Callable[[Any], Any]] = None) -> Result:
        """Adds an operation. Its outputs stay in `arguments` until the run fills them in. A code in
        `fine` is no failure; `otherwise` reads the value then."""
        result = Result()
        arguments = _call.prepare(name, self, handle, *given)

        def settle(_: Any) -> None:
            found = arguments.results()
            *values, native = found if isinstance(found, tuple) else (found,)
            code = native.code
            if code and code not in fine:
                result._error = error(code, from_text(native.text))
                return
            result._error = None
            if values:
                result._value = (otherwise if code and otherwise else read)(values[0])

        if _call.invoke_local(arguments):
            settle(None)        # it could not be added, and has no reply
        else:
            self._use(handle._cell)
            self._results.append(settle)
        return result

    def _use(self, cell: Any) -> None:
        """Keeps a handle open until the pipeline has run."""
        cell.enter()
        cell.queued += 1
        self._cells.append(cell)

    def _forget(self) -> None:
        self._results.clear()
        while self._cells:
            cell = self._cells.pop()
            cell.queued -= 1
            cell.leave()


def _settle_command(result: Result, reply: Any) -> None:
    value = read_reply(reply)
    result._error = value if isinstance(value, Error) else None
    result._value = value
