# SPDX-License-Identifier: MIT
"""Handles of the library, and their lives, in a program with asyncio: see tackle/_handle.py. What
closes a handle may ask the server, so it is an operation, too."""
from __future__ import annotations

import asyncio
import ctypes
from typing import Any, Callable, List, Optional, Tuple, TypeVar

from .. import _handle
from .._call import Arguments, Out, native
from .._convert import reader
from .._handle import Owner, clients
from .._native import ctype, function
from ..errors import Error, error
from ._loop import Loop, Operation

# Makes the arguments of the function that closes a handle, from its pointer.
Close = Callable[[Any], Arguments]


def closing(name: str) -> Close:
    """How a handle is closed by this function."""
    return lambda pointer: native(name, pointer)


def closing_with_stats(name: str, struct: str) -> Close:
    """How a buffer is closed; its error has the last `stats`: what is pending is lost."""
    return lambda pointer: native(name, pointer, Out(ctype(struct)(), reader(struct)))


class Cell(_handle.Cell):
    """The life of one handle."""

    __slots__ = ("loop", "_closes", "_finished", "_awaited")
    loop: Loop

    def __init__(self, kind: str, pointer: Any, closes: Close, parents: Tuple["Cell", ...] = (),
                 keep: Any = None, loop: Optional[Loop] = None) -> None:
        self.loop = loop or parents[0].loop
        self._closes = closes
        self._finished = False
        self._awaited: List[asyncio.Future[None]] = []
        super().__init__(kind, pointer, self._close_unused, parents, keep)

    def _close_unused(self, pointer: Any) -> None:
        """Closes a handle whose parent was closed meanwhile."""
        arguments = self._closes(pointer)
        function(arguments.name)(*arguments.values)

    def _finish(self) -> None:
        try:
            self._once.pop()
        except IndexError:
            return      # it is being closed already
        arguments = self._closes(self.pointer)

        def ended(code: int, text: str) -> None:
            if code:
                self.error = error(code, text)
                if arguments.outputs:
                    self.error.stats = arguments.results()
            self._end()

        self.loop.submit_close(Operation(arguments, ended))

    def _end(self) -> None:
        """Notes that the handle is closed."""
        self.pointer = self.keep = None
        self._finished = True
        for parent in self.parents:
            parent.children.discard(self)
            parent.leave()
        for future in self._awaited:
            if not future.done():
                future.set_result(None)

    async def wait_closed(self) -> None:
        """Waits for its users. Pipelines that have not run yet are left out: this task may be the
        one that runs them."""
        if not self._finished and not self.queued:
            future = asyncio.get_running_loop().create_future()
            self._awaited.append(future)
            await future


class ClientCell(Cell):
    """The life of a client and of its loop. The thread of asyncio does not wait for its end."""

    __slots__ = ()

    def close(self) -> None:
        super().close()
        if not self.loop.watched():     # no loop calls back: end the operations here
            taken = self.loop.take_native()
            if taken:
                taken.close()

    def _finish(self) -> None:
        try:
            self._once.pop()
        except IndexError:
            return
        clients.discard(self)
        watched = self.loop.watched()
        taken = self.loop.take_native()
        pointer = self.pointer

        def close() -> None:
            if taken:
                taken.close()
            function("tkl_close")(pointer)

        if not watched or taken is None:
            close()
            self._end()
            return
        native, watcher = taken, taken.watcher

        def begin() -> None:
            native.unwatch()
            watcher.run_in_executor(None, close).add_done_callback(lambda _: self._end())

        watcher.call_soon_threadsafe(begin)     # the collector may run in any thread


def client_cell(pointer: Any, keep: Any) -> Cell:
    """The life of a client, which ends with the interpreter at the latest."""
    cell = ClientCell("tkl_client", pointer, closing("tkl_close"), keep=keep, loop=Loop(pointer))
    cell.interrupt = function("tkl_interrupt")
    clients.add(cell)
    return cell


def lent_cell(pointer: Any, lender: Cell) -> Cell:
    """The life of a borrowed client."""
    return Cell("tkl_client", pointer,
                lambda closed: native("tkl_config_client_return", ctypes.c_void_p(lender.pointer), closed),
                (lender,))


H = TypeVar("H", bound="Handle")


class Handle(Owner):
    """An object of the library that is closed at its end: by close(), by `async with`, or when
    nothing refers to it any more."""

    _cell: Cell

    async def close(self) -> None:
        """Closes it; again is fine. Operations that are under way end first; those of a client are
        cancelled."""
        self._cell.close()
        await self._cell.wait_closed()
        error, self._cell.error = self._cell.error, None
        if error:
            raise error

    async def __aenter__(self: H) -> H:
        return self

    async def __aexit__(self, kind: Any, why: Any, trace: Any) -> None:
        await self.close()
