# SPDX-License-Identifier: MIT
"""Handles of the library, and their lives.

The library wants every handle closed once, children before parents, and no thread inside a call.
A program in Python closes things in any order, from any thread, or leaves it to the collector. A
Cell stands in between: it counts the users of a handle (calls under way, and children), and the last
of them closes it. Counting needs no lock, which a fork could leave locked for ever: append() and
pop() of a list are atomic.
"""
from __future__ import annotations

import atexit
import ctypes
import threading
import warnings
from typing import Any, Callable, List, Optional, Set, Tuple, TypeVar

from ._convert import reader
from ._native import ctype, function
from .errors import Closed, Error, error, last_text

# Set in a thread while it runs a hook, from which the library allows no close.
hooks = threading.local()


class Cell:
    """The life of one handle."""

    __slots__ = ("kind", "pointer", "parents", "children", "keep", "error", "closing", "interrupt",
                 "queued", "_native_close", "_users", "_once")

    def __init__(self, kind: str, pointer: Any, native_close: Callable[[Any], Optional[Error]],
                 parents: Tuple["Cell", ...] = (), keep: Any = None) -> None:
        self.kind = kind        # its type in C: "tkl_lock"
        self.pointer = pointer
        self.parents = parents
        self.children: Set[Cell] = set()
        self.keep = keep        # callbacks and arrays that the handle points to
        self.error: Optional[Error] = None      # of closing
        self.closing = False
        self.queued = 0         # operations in pipelines that have not run yet
        self.interrupt: Optional[Callable[[Any], None]] = None      # ends waits before it is closed
        self._native_close = native_close
        self._users: List[None] = []
        self._once = [None]
        for index, parent in enumerate(parents):
            try:
                parent.enter()
            except Closed:
                for entered in parents[:index]:
                    entered.leave()
                native_close(pointer)
                raise
            parent.children.add(self)

    def enter(self) -> None:
        """Begins a call. A handle that is being closed takes no more calls."""
        self._users.append(None)
        if self.closing:
            self.leave()
            raise Closed("it is closed")

    def leave(self) -> None:
        self._users.pop()
        if self.closing and not self._users:
            self._finish()

    def close(self) -> None:
        """Lets no call begin any more. The last user, perhaps this caller, closes the handle."""
        if getattr(hooks, "active", False):
            raise RuntimeError("a hook of the library must not close a handle")
        if self.interrupt and not self.closing:
            self._interrupt_waits()
        self.closing = True
        for child in list(self.children):
            child.close()
        if not self._users:
            self._finish()

    def _interrupt_waits(self) -> None:
        try:
            self.enter()
        except Closed:
            return      # another thread closes it
        if self.interrupt:
            self.interrupt(self.pointer)
        self.leave()

    def _finish(self) -> None:
        try:
            self._once.pop()
        except IndexError:
            return      # another thread does it
        self.error = self._native_close(self.pointer)
        self.pointer = self.keep = None
        for parent in self.parents:
            parent.children.discard(self)
            parent.leave()


class InUse:
    """Keeps handles open during a block, `with InUse(cell):`, also when another thread closes them.
    Handles that are opened in the block are closed before them."""

    def __init__(self, *cells: Cell) -> None:
        self._cells = cells
        self._entered: List[Cell] = []

    def __enter__(self) -> None:
        try:
            for cell in self._cells:
                cell.enter()
                self._entered.append(cell)
        except Closed:
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        while self._entered:
            self._entered.pop().leave()

    async def __aenter__(self) -> None:
        self.__enter__()

    async def __aexit__(self, *_: Any) -> None:
        self.__exit__()


# Cells of open clients. Threads of the library must not call into an interpreter that has ended.
clients: Set[Cell] = set()


@atexit.register
def _close_clients() -> None:
    for cell in list(clients):
        cell.close()


# ---- How handles are closed -------------------------------------------------------------------

Close = Callable[[Any], Optional[Error]]


def closing(name: str) -> Close:
    """The function that closes a handle; some of them return a code."""
    target = function(name)

    def close(pointer: Any) -> Optional[Error]:
        code = target(pointer)
        return error(code, last_text()) if code else None

    return close


def closing_with_stats(name: str, struct: str) -> Close:
    """The function that closes a buffer; its error has the last `stats`: what is pending is lost."""
    def close(pointer: Any) -> Optional[Error]:
        stats = ctype(struct)()
        code = function(name)(pointer, ctypes.byref(stats))
        if not code:
            return None
        why = error(code, last_text())
        why.stats = reader(struct)(stats)
        return why

    return close


def client_cell(pointer: Any, keep: Any) -> Cell:
    """The life of a client, which ends with the interpreter at the latest."""
    close = closing("tkl_close")

    def forget(closed: Any) -> Optional[Error]:
        clients.discard(cell)
        return close(closed)

    cell = Cell("tkl_client", pointer, forget, keep=keep)
    cell.interrupt = function("tkl_interrupt")
    clients.add(cell)
    return cell


def lent_cell(pointer: Any, lender: Cell) -> Cell:
    """The life of a borrowed client."""
    def give_back(closed: Any) -> None:
        function("tkl_config_client_return")(lender.pointer, closed)

    return Cell("tkl_client", pointer, give_back, (lender,))


# ---- Handles ----------------------------------------------------------------------------------

class Owner:
    """An object that owns a handle, which is closed with it."""

    _cell: Cell

    @property
    def closed(self) -> bool:
        return self._cell.closing

    def __del__(self) -> None:
        cell = getattr(self, "_cell", None)
        if cell is not None and not cell.closing:
            try:
                cell.close()
            except Exception as why:
                warnings.warn(f"{type(self).__name__}: {why}", ResourceWarning, stacklevel=2)

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} cannot be pickled: open it in each process")

    __copy__ = __deepcopy__ = __reduce__


H = TypeVar("H", bound="Handle")


class Handle(Owner):
    """An object of the library that is closed at its end: by close(), by `with`, or when nothing
    refers to it any more."""

    def close(self) -> None:
        """Closes it; again is fine. Calls of other threads that are under way end first."""
        self._cell.close()
        error, self._cell.error = self._cell.error, None
        if error:
            raise error

    def __enter__(self: H) -> H:
        return self

    def __exit__(self, kind: Any, why: Any, trace: Any) -> None:
        self.close()
