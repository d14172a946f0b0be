# SPDX-License-Identifier: MIT
"""Calls of the library by name, see tackle/_call.py, as operations of a loop.

A task that is cancelled meanwhile cancels its operation, and waits until that has ended: a wait ends
at once. An operation that succeeded at the last moment is undone.
"""
from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import inspect
import threading
from typing import Any, Awaitable, Callable, List, Optional, Sequence, Tuple, TypeVar, cast

from .. import _call
from .._call import (BUSY, EMPTY, LIMITED, NOTFOUND, OK, WAIT, Arguments, Out, Patience, Undo, cell_of,
                     invoke_local, is_transient, is_unsent, local, native, prepare, run_local, value)
from .._convert import wait_ms
from ..errors import Error, error, last_text
from ._loop import Operation

__all__ = [
    "BUSY", "Callbacks", "EMPTY", "LIMITED", "NOTFOUND", "OK", "Out", "Undo", "WAIT", "attempt", "call",
    "cell_of", "failure", "finish", "invoke", "invoke_local", "invoke_long", "is_transient", "is_unsent",
    "local", "native", "on_loop", "prepare", "raise_for", "run", "run_local", "value", "wait", "wait_for",
]

# The text of the operation that the running task has just awaited.
_last = threading.local()


class Callbacks(_call.Callbacks):
    """The functions of Python that a function of the library calls meanwhile, in a thread of its own.
    Coroutines run in the asyncio loop, while that thread waits for them."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._running: List[concurrent.futures.Future[Any]] = []

    def result(self, made: Any) -> Any:
        if not inspect.isawaitable(made):
            return made
        future = asyncio.run_coroutine_threadsafe(_awaited(made), self._loop)
        self._running.append(future)
        return future.result()

    def cancel(self) -> None:
        for future in self._running:
            future.cancel()


async def _awaited(made: Awaitable[Any]) -> Any:
    return await made


F = TypeVar("F", bound=Optional[Callable[..., None]])


def on_loop(run: F) -> F:
    """A hook that runs in the asyncio loop, wherever the library calls it."""
    if run is None:
        return run
    call: Any = run
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return run

    def hook(*arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):     # the asyncio loop is closed
            loop.call_soon_threadsafe(call, *arguments)

    return cast(F, hook)


# ---- Calls ------------------------------------------------------------------------------------

async def attempt(name: str, *given: Any) -> Tuple[int, Any]:
    arguments = prepare(name, *given)
    code = await invoke(arguments)
    return code, arguments.results()


async def call(name: str, *given: Any, undo: Optional[Undo] = None) -> Any:
    arguments = prepare(name, *given)
    code, _last.text = await _operate(arguments, undo)
    return finish(code, arguments)


async def run(name: str, *values: Any) -> Any:
    arguments = native(name, *values)
    return finish(await invoke(arguments), arguments)


async def invoke(arguments: Arguments) -> int:
    code, _last.text = await _operate(arguments)
    return code


async def invoke_long(arguments: Arguments) -> int:
    code, _last.text = await _operate(arguments, callbacks=Callbacks())
    return code


def finish(code: int, arguments: Arguments) -> Any:
    """The results of a call that has just returned this code."""
    if code:
        why = failure(code)
        arguments.results()     # frees them
        raise why
    return arguments.results()


def failure(code: int) -> Error:
    """The exception of a code that this task has just got."""
    return error(code, _last.text)


def raise_for(code: int) -> None:
    if code:
        raise failure(code)


async def wait(clients: Sequence[Any], name: str, *given: Any, wait: Any,
               undo: Optional[Undo] = None, callbacks: Optional[Callbacks] = None,
               patience: Optional[Patience] = None) -> Tuple[int, Any]:
    arguments = prepare(name, *given)
    code, text = await wait_for(clients, arguments, wait, undo=undo, callbacks=callbacks)
    results = arguments.results()
    if code < 0:
        raise error(code, text)
    return code, results


async def wait_for(clients: Sequence[Any], arguments: Arguments, wait: Any, *,
                   undo: Optional[Undo] = None, callbacks: Optional[Callbacks] = None,
                   at_once: bool = False, patience: Optional[Patience] = None) -> Tuple[int, str]:
    ms = wait_ms(wait)
    if arguments.wait_at >= 0:
        arguments.values[arguments.wait_at] = ms
    code, text = await _operate(arguments, undo, callbacks)
    _last.text = text
    return code, text


# ---- Operations -------------------------------------------------------------------------------

async def _operate(arguments: Arguments, undo: Optional[Undo] = None,
                   callbacks: Optional[Callbacks] = None) -> Tuple[int, str]:
    """Runs a function of the library; returns code and text. Its handles stay open meanwhile."""
    if not arguments.cells:     # an empty batch
        return invoke_local(arguments), last_text()
    loop = arguments.cells[0].loop
    result: List[Tuple[int, str]] = []
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def ended(code: int, text: str) -> None:
        result.append((code, text))
        for cell in arguments.cells:
            cell.leave()
        if not future.done():
            with contextlib.suppress(RuntimeError):     # the asyncio loop is closed
                future.set_result(None)

    _enter(arguments.cells)
    try:
        operation = Operation(arguments, ended)
        cancel = (loop.submit_alone if callbacks else loop.submit)(operation)
    except BaseException:
        for cell in arguments.cells:
            cell.leave()
        raise
    cancelled: Optional[asyncio.CancelledError] = None
    while not result:
        try:
            await future
        except asyncio.CancelledError as why:
            cancelled = why
            if not result:
                future = asyncio.get_running_loop().create_future()
                cancel()
                if callbacks:
                    callbacks.cancel()
    if cancelled:
        await _give_back(result[0][0], arguments, undo)
        raise cancelled
    return result[0]


def _enter(cells: Sequence[Any]) -> None:
    """Keeps the handles open from now on: all of them, or none."""
    entered: List[Any] = []
    try:
        for cell in cells:
            cell.enter()
            entered.append(cell)
    except BaseException:
        for cell in entered:
            cell.leave()
        raise


async def _give_back(code: int, arguments: Arguments, undo: Optional[Undo]) -> None:
    """Undoes a cancelled operation, however often its task is cancelled meanwhile."""
    results = arguments.results()       # frees them, too
    if code != OK or undo is None:
        return
    given_back = asyncio.ensure_future(_undo(undo, results))
    while not given_back.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(given_back)


async def _undo(undo: Undo, results: Any) -> None:
    with contextlib.suppress(Error):        # a lease that cannot be given back ends
        made = undo(results)
        if inspect.isawaitable(made):
            await made
