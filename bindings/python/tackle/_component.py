# SPDX-License-Identifier: MIT
"""What the classes of all components share."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple, Union

from . import _call
from ._convert import reader
from ._handle import Cell, Handle, hooks
from ._headers import FUNCTIONS, STRUCTS
from ._native import ctype, function
from .errors import Error, error, last_text

if TYPE_CHECKING:
    from .client import Client


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
        why.stats = reader(struct)(stats)  # type: ignore[attr-defined]
        return why

    return close


class Component(Handle):
    """A handle of a client: it is closed before the client."""

    client: "Client"

    def _open(self, client: "Client", opens: str, closes: Union[str, Close], *given: Any,
              parents: Tuple[Handle, ...] = (), keep: Any = None) -> None:
        """Opens the handle; `closes` names the function that closes it, or is one. What the handle
        needs stays open, and referred to, as long as it is: the client, or the `parents`."""
        pointer = _call.call(opens, *given)
        self.client = client
        self._parents = parents or (client,)
        kind = FUNCTIONS[opens][1][-1][0].rstrip(" *")      # the last parameter is the output
        self._cell = Cell(kind, pointer, closing(closes) if isinstance(closes, str) else closes,
                          tuple(parent._cell for parent in self._parents), keep)

    def _call(self, name: str, *given: Any) -> Any:
        return _call.call(name, self, *given)

    def _wait(self, name: str, *given: Any, wait: Any, at_once: bool = False) -> Tuple[int, Any]:
        """Calls a function that waits: TKL_OK or a "no", and its result."""
        return _call.wait((self.client,), name, self, *given, wait=wait, at_once=at_once)


def callback(struct: str, field: str, run: Callable[..., Any]) -> Any:
    """A function for a field of a struct. The library calls it in any thread; what it raises is
    reported by sys.unraisablehook."""
    kind = next(text for text, name, _ in STRUCTS[struct] if name == field)
    return ctype(kind)(run)


def record_callback(struct: str, field: str, kind: str,
                    run: Optional[Callable[[Any], None]]) -> Any:
    """A callback that gets a record of this kind. None stays None."""
    if run is None:
        return None
    read, call = reader(kind), run
    return callback(struct, field, lambda pointer, _: call(read(pointer[0])))


def hook(struct: str, field: str, run: Optional[Callable[..., Any]]) -> Any:
    """The same for a function that must not block or close anything. None stays None."""
    if run is None:
        return None
    call = run

    def guarded(*arguments: Any) -> Any:
        hooks.active = True
        try:
            return call(*arguments)
        finally:
            hooks.active = False

    return callback(struct, field, guarded)
