# SPDX-License-Identifier: MIT
"""The base of the classes of all components."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple, Union

from . import _call
from ._call import Callbacks, Undo
from ._convert import reader
from ._handle import Cell, Close, Handle, InUse, closing, hooks
from ._headers import FUNCTIONS, STRUCTS
from ._native import ctype

if TYPE_CHECKING:
    from .client import Client


class Component(Handle):
    """A handle of a client: it is closed before the client."""

    client: "Client"

    def _open(self, client: "Client", opens: str, closes: Union[str, Close], *given: Any,
              parents: Tuple[Handle, ...] = (), keep: Any = None) -> None:
        """Opens the handle; `closes` names the function that closes it, or is one. The client, or the
        `parents`, stay open and referred to as long as the handle is open."""
        with InUse(*(parent._cell for parent in parents or (client,))):
            self._take(client, opens, closes, _call.local(opens, *given), parents, keep)

    def _take(self, client: "Client", opens: str, closes: Union[str, Close], pointer: Any,
              parents: Tuple[Handle, ...] = (), keep: Any = None) -> None:
        """Takes over a handle: a pointer that `opens` has given."""
        self.client = client
        self._parents = parents or (client,)
        kind = FUNCTIONS[opens][1][-1][0].rstrip(" *")      # the last parameter is the output
        self._cell = Cell(kind, pointer, closing(closes) if isinstance(closes, str) else closes,
                          tuple(parent._cell for parent in self._parents), keep)

    def _call(self, name: str, *given: Any, undo: Optional[Undo] = None) -> Any:
        return _call.call(name, self, *given, undo=undo)

    def _call_long(self, name: str, *given: Any) -> Any:
        """Calls a function that computes or uses files for long."""
        arguments = _call.prepare(name, self, *given)
        return _call.finish(_call.invoke_long(arguments), arguments)

    def _wait(self, name: str, *given: Any, wait: Any,
              undo: Optional[Undo] = None, callbacks: Optional[Callbacks] = None) -> Tuple[int, Any]:
        """Calls a function that waits: TKL_OK or a "no", and its result."""
        return _call.wait((self.client,), name, self, *given, wait=wait, undo=undo,
                          callbacks=callbacks)


def callback(struct: str, field: str, run: Callable[..., Any]) -> Any:
    """A function for a field of a struct. The library calls it in any thread; sys.unraisablehook
    reports its exceptions."""
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
    """A callback that must not block or close anything. None stays None."""
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
