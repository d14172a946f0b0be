# SPDX-License-Identifier: MIT
"""The base of locks, semaphores, leaders and redlocks: a handle that holds something by a lease."""
from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Optional, Tuple, TypeVar

from . import _call
from ._component import Component, hook
from ._convert import Duration, Name, from_enum
from .errors import Busy, Error
from .records import Holders

if TYPE_CHECKING:
    from .client import Client


L = TypeVar("L", bound="Lease")


class Lease(Component):
    """A handle that holds something, or not. It belongs to the process that opened it, and is one
    owner: threads that compete open one each."""

    _kind: ClassVar[str]        # the part of the functions' names
    _acquires: ClassVar[str] = "acquire"
    _releases: ClassVar[str] = "release"
    name: Name

    def _start(self, clients: Tuple["Client", ...], name: Name, wait: Optional[Duration]) -> None:
        self.name = name
        self._clients = clients
        self._wait_for = wait

    def _get(self, what: str, *given: Any) -> Any:
        return _call.call(f"tkl_{self._kind}_{what}", self, *given)

    def _look(self, what: str) -> Any:
        return _call.value(f"tkl_{self._kind}_{what}", self)

    def _acquire(self, wait: Optional[Duration]) -> bool:
        code, _ = _call.wait(self._clients, f"tkl_{self._kind}_{self._acquires}", self, wait=wait,
                             undo=self._give_back)
        return code == _call.OK

    def _give_back(self, _: Any) -> None:
        self._release()

    def _release(self) -> None:
        self._get(self._releases)

    def __enter__(self: L) -> L:
        if not self._acquire(self._wait_for):
            raise Busy(f"{self._kind} {self.name!r}: held by others all the time")
        return self

    def __exit__(self, kind: Any, why: Any, trace: Any) -> None:
        """Releases it. A loss is an exception, unless the block has ended by one of its own."""
        try:
            self._release()
        except Error:
            if kind is None:
                raise

    @property
    def left(self) -> timedelta:
        """Time until the lease ends, by the local clock."""
        return timedelta(milliseconds=self._look("left_ms"))

    @property
    def token(self) -> str:
        """The secret of this acquisition; "" when nothing is held."""
        return str(self._look("token"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}{' closed' if self.closed else ''}>"


class Hold(Lease):
    """A lease that a server keeps, with waiters in a line and a number that grows: the fence."""

    @property
    def state(self) -> str:
        """"free", "held", "suspect" (renewing it fails) or "lost". Asks no server."""
        return from_enum(self._look("state"), "tkl_hold_state")

    @property
    def held(self) -> bool:
        return self.state in ("held", "suspect")

    def wait_lost(self, wait: Optional[Duration] = None) -> bool:
        """Waits until it is lost. False: it was still held when the time was up. NotOwner: nothing
        is held."""
        code, _ = _call.wait(self._clients, f"tkl_{self._kind}_wait_lost", self, wait=wait)
        if code not in (_call.OK, _call.BUSY):
            _call.raise_for(code)
        return code == _call.OK

    def show(self) -> Holders:
        """Who holds it, and who waits."""
        found: Holders = self._get("show")
        return found

    def break_(self) -> None:
        """Takes it away from all holders. NotFound: there is no holder."""
        self._get("break")


def lost_hook(struct: str, on_lost: Optional[Callable[[], None]]) -> Any:
    """The callback of a lease that is lost."""
    def call(*_: Any) -> None:
        if on_lost:
            on_lost()
    return hook(struct, "on_lost", call if on_lost else None)
