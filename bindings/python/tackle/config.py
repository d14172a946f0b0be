# SPDX-License-Identifier: MIT
"""Configuration, maintenance flags, and clients by component. docs/config.md has the contract."""
from __future__ import annotations

import contextlib
import ctypes
import json
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple

from . import _call
from ._component import Component
from ._handle import InUse, lent_cell
from ._convert import Duration, Name, from_text, to_bytes, to_ms
from ._headers import CODES
from ._native import ctype, function
from .errors import error
from .records import ConfigClientInfo, ConfigValue, MaintenanceState

if TYPE_CHECKING:
    from .client import Client

NOTFOUND = CODES["TKL_NOTFOUND"][0]


class Config(Component):
    """A configuration: JSON by kind and component, with versions.

    >>> limits = client.config("limits", "search")
    >>> limits.set({"results": 50})
    1
    >>> limits.read()["results"]        # from memory
    50
    >>> limits.get().version
    1

    `history`: versions that are kept. `author` is shown in the history.
    """

    def __init__(self, client: "Client", kind: Name, component: Name, *,
                 history: Optional[int] = None, author: Optional[str] = None,
                 timeout: Optional[Duration] = None) -> None:
        self._open(client, "tkl_config_open", "tkl_config_close", client, kind, component, {
            "history": history, "author": author, "timeout": timeout})

    def set(self, value: Any, if_version: Optional[int] = None) -> int:
        """Sets the value, which becomes JSON: the new version. `if_version`: only if this is the
        current one (0: if there is none), else Conflict, whose `version` is the current one."""
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        code, version = _call.attempt("tkl_config_set", self, text, {"if_version": if_version})
        if code:
            why = _call.failure(code)
            why.version = version
            raise why
        return int(version)

    def get(self) -> ConfigValue:
        """The value with its version, from the server; .json.json() is its value. NotFound."""
        found: ConfigValue = self._call("tkl_config_get")
        return found

    def read(self, default: Any = None) -> Any:
        """The value from memory, which follows the server; `default`: it was never set."""
        found = self.read_value()[0]
        return default if found is None else found.json.json()

    def read_value(self) -> Tuple[Optional[ConfigValue], float]:
        """The value from memory, and its age in seconds: 0 while the server is followed."""
        code, (found, age_ms) = _call.attempt("tkl_config_read", self)
        if code != NOTFOUND:
            _call.raise_for(code)
        return found, age_ms / 1000

    def watch(self, seen: Optional[ConfigValue] = None,
              wait: Optional[Duration] = None) -> Optional[ConfigValue]:
        """Waits until the value differs from `seen`. None: it did not change in time. NotFound: it
        was dropped."""
        code, found = self._wait("tkl_config_watch", _seen(seen), wait=wait)
        if code == _call.EMPTY:
            return None
        if code:
            raise error(code, "it was dropped")
        value: ConfigValue = found
        return value

    def changes(self) -> Iterator[ConfigValue]:
        """Every value, from the current one on."""
        seen: Optional[ConfigValue] = None
        while True:
            found = self.watch(seen)
            if found is not None:
                seen = found
                yield found

    def history(self, max: int = 0) -> List[ConfigValue]:
        """The last versions, newest first."""
        found: List[ConfigValue] = self._call("tkl_config_history", max)
        return found

    def drop(self) -> None:
        self._call("tkl_config_drop")


def _seen(value: Optional[ConfigValue]) -> Any:
    if value is None:
        return None
    native = ctype("tkl_config_value")()
    native.json, native.author = to_bytes(value.json), to_bytes(value.author)
    native.version = value.version
    native.changed_ms = to_ms(value.changed, "changed") if value.changed else 0
    return native


class ConfigClient(Component):
    """Clients for the server that the configuration of kind "server" names for a component. When it
    changes, later borrowers get a client for the new server.

    >>> client.config("server", "sessions").set(url)
    1
    >>> with client.config_client("sessions") as source:
    ...     source.url() == url
    ...     with source.borrow() as sessions:
    ...         sessions.call("PING")
    True
    b'PONG'
    """

    def __init__(self, client: "Client", component: Name, *, timeout: Optional[Duration] = None) -> None:
        self.name = component
        self._open(client, "tkl_config_client_open", "tkl_config_client_close", client, component,
                   {"timeout": timeout})

    @contextlib.contextmanager
    def borrow(self) -> Iterator["Client"]:
        """Lends the client for one piece of work. NotFound: no server is configured."""
        with InUse(self._cell):
            client = self._lent(self._call("tkl_config_client_borrow",
                                           undo=lambda pointer: self._lent(pointer).close()))
        try:
            yield client
        finally:
            client.close()

    def _lent(self, pointer: Any) -> "Client":
        from .client import Client
        client = Client.__new__(Client)
        client._interrupted = False
        client._cell = lent_cell(pointer, self._cell)
        return client

    def url(self) -> str:
        """The URL of the server that is configured now, read from the server, with everything that
        the configuration says but the size of the pool. It may have a password. NotFound: no server
        is configured."""
        return str(_call.run("tkl_config_url", self.client, to_bytes(self.name),
                             _call.Out(ctypes.c_void_p(), _take_url)))

    def show(self) -> ConfigClientInfo:
        found: ConfigClientInfo = self._call("tkl_config_client_show")
        return found


def _take_url(url: Any) -> str:
    try:
        return from_text(ctypes.cast(url, ctypes.c_char_p).value)
    finally:
        function("tkl_config_url_free")(url)


class Maintenance(Component):
    """A flag that programs can read very often, from memory.

    >>> shop = client.maintenance("shop")
    >>> shop.set(True, "new disks")
    >>> shop.read().on, shop.read().reason
    (True, 'new disks')
    """

    def __init__(self, client: "Client", name: Name, *, author: Optional[str] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_maintenance_open", "tkl_maintenance_close", client, name,
                   {"author": author, "timeout": timeout})

    def set(self, on: bool, reason: str = "") -> None:
        self._call("tkl_maintenance_set", on, reason)

    def read(self) -> MaintenanceState:
        found: MaintenanceState = self._call("tkl_maintenance_read")
        return found
