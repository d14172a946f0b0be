# SPDX-License-Identifier: MIT
"""Operations: calls of the library that run while the tasks of an asyncio loop go on.

The library has a loop of its own for each client (tkl_loop, docs/loop.md), whose threads run the
functions of the library. asyncio watches its descriptor, and the callbacks of the library run in the
thread of asyncio. No task needs a thread while it waits.
"""
from __future__ import annotations

import asyncio
import ctypes
import os
from typing import Any, Callable, Dict, Optional

from .._call import OK, Arguments
from .._native import ctype, function
from ..errors import Closed, error, last_text

Ended = Callable[[int, str], None]

# The stack of an operation that calls functions of Python: as large as that of a thread.
STACK_FOR_PYTHON = 8 << 20


class Operation:
    """A function that was submitted. The library has pointers to its arguments until it ends."""

    __slots__ = ("arguments", "id", "ended", "_array", "_stored")

    def __init__(self, arguments: Arguments, ended: Ended) -> None:
        self.arguments = arguments
        self.ended = ended
        self.id = ctypes.c_uint64()
        kinds = function(arguments.name).argtypes
        self._stored = [stored(kind, value) for kind, value in zip(kinds, arguments.values)]
        self._array = (ctypes.c_void_p * len(self._stored))(*map(ctypes.addressof, self._stored))

    @property
    def address(self) -> int:
        return ctypes.addressof(self._array)


def stored(kind: Any, value: Any) -> Any:
    """An argument in memory of its type, made from the value that ctypes takes in a call."""
    if isinstance(value, kind):
        return value
    if type(value) is _reference:
        return ctypes.cast(value, ctypes.c_void_p)
    if isinstance(value, ctypes.Array):
        return ctypes.c_void_p(ctypes.addressof(value))
    if isinstance(value, ctypes.Structure):     # where a pointer to it is expected
        return ctypes.pointer(value)
    return kind() if value is None else kind(value)


_reference = type(ctypes.byref(ctypes.c_int()))

# Operations under way, by the addresses of their arguments.
_operations: Dict[int, Operation] = {}
_runs: Dict[str, Any] = {}


def _on_done(address: int, code: int, text: Any) -> None:
    _operations.pop(address).ended(code, text.value.decode("utf-8", "replace") if code else "")


_done = ctype("tkl_loop_done *")(_on_done)


def _run_of(name: str) -> Any:
    """The function of the library that calls `name` with an array of arguments."""
    found = _runs.get(name)
    if found is None:
        found = _runs[name] = function("tkl_loop_operation")(name.encode())
    return found


class NativeLoop:
    """A loop of the library, watched by an asyncio loop."""

    def __init__(self, client: Any, watcher: asyncio.AbstractEventLoop, threads: int = 0,
                 stack_bytes: int = 0) -> None:
        self.pointer = ctypes.c_void_p()
        options = ctype("tkl_loop_options")(threads=threads, stack_bytes=stack_bytes)
        code = function("tkl_loop_open")(client, options, ctypes.byref(self.pointer))
        if code:
            raise error(code, last_text())
        self.watch(watcher)

    def watch(self, watcher: asyncio.AbstractEventLoop) -> None:
        self.watcher = watcher
        watcher.add_reader(function("tkl_loop_fd")(self.pointer), self.dispatch)

    def dispatch(self) -> None:
        function("tkl_loop_dispatch")(self.pointer)

    def submit(self, operation: Operation) -> None:
        _operations[operation.address] = operation
        code = function("tkl_loop_submit")(self.pointer, _run_of(operation.arguments.name), _done,
                                           operation.address, ctypes.byref(operation.id))
        if code:
            del _operations[operation.address]
            raise error(code, last_text())

    def cancel(self, operation: Operation) -> None:
        function("tkl_loop_cancel")(self.pointer, operation.id)

    def unwatch(self) -> None:
        if not self.watcher.is_closed():
            self.watcher.remove_reader(function("tkl_loop_fd")(self.pointer))

    def close(self) -> None:
        """Cancels the operations, waits until they have ended, and calls back. In a forked child it
        only frees memory."""
        function("tkl_loop_close")(self.pointer)


class Loop:
    """The operations of one client. They belong to the asyncio loop that runs at the first of them;
    when that loop is closed, to the next one. A forked child starts over."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._native: Optional[NativeLoop] = None
        self._process = 0

    def bind(self) -> NativeLoop:
        """The loop of the library, for the asyncio loop that runs now."""
        running = asyncio.get_running_loop()
        native = self._native
        if native is not None and self._process != os.getpid():
            native.close()
            native = None
        if native is None:
            native = self._native = NativeLoop(self._client, running)
            self._process = os.getpid()
        elif native.watcher is not running:
            if not native.watcher.is_closed():
                raise RuntimeError("the client belongs to another event loop, which is not closed")
            native.watch(running)
        return native

    def submit(self, operation: Operation) -> Callable[[], None]:
        """Begins an operation: the function that cancels it."""
        native = self.bind()
        native.submit(operation)
        return lambda: native.cancel(operation)

    def submit_alone(self, operation: Operation) -> Callable[[], None]:
        """Begins an operation in a thread of its own, for functions that call functions of Python,
        compute, or use files: other operations of its thread would stand still."""
        native = NativeLoop(self._client, self.bind().watcher, 1, STACK_FOR_PYTHON)
        ended = operation.ended

        def end(code: int, text: str) -> None:
            native.unwatch()
            native.watcher.call_soon(native.close)      # not in its own dispatch
            ended(code, text)

        operation.ended = end
        native.submit(operation)
        return lambda: native.cancel(operation)

    def submit_close(self, operation: Operation) -> None:
        """Begins the close of a handle, from any thread. Without an asyncio loop the caller waits for
        its end."""
        native = self._native
        if native is not None and self.watched():
            try:
                native.submit(operation)
                return
            except Closed:
                pass
        arguments = operation.arguments
        code = function(arguments.name)(*arguments.values) or OK
        operation.ended(code, last_text() if code else "")

    def watched(self) -> bool:
        """Whether an asyncio loop of this process calls back."""
        native = self._native
        return (native is not None and self._process == os.getpid()
                and not native.watcher.is_closed())

    def take_native(self) -> Optional[NativeLoop]:
        """The loop of the library, to be closed. Nothing is submitted from now on."""
        native, self._native = self._native, None
        return native
