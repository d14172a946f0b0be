# SPDX-License-Identifier: MIT
"""Scripts of your own, which the server runs in one step. docs/script.md has the contract."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Iterable, List, Optional

from . import _call
from ._component import Component
from ._convert import Duration, Name, build, build_array

if TYPE_CHECKING:
    from .client import Client


class Script(Component):
    """Lua that the server runs with KEYS and ARGV. It is loaded where it is missing.

    >>> take = client.script("take.lua", '''
    ...     local left = tonumber(redis.call('GET', KEYS[1]) or 0)
    ...     if left < tonumber(ARGV[1]) then return -1 end
    ...     return redis.call('DECRBY', KEYS[1], ARGV[1])''')
    >>> client.call("SET", "stock", 10)
    b'OK'
    >>> take.run(["stock"], [3])
    7

    `reads_only`: it does not write. `frees`: it may run on a full server, because it makes room.
    """

    def __init__(self, client: "Client", name: str, source: Name, *, reads_only: bool = False,
                 frees: bool = False, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_script_open", "tkl_script_close", client, name, source, {
            "reads_only": reads_only, "frees": frees, "timeout": timeout})

    def run(self, keys: Iterable[Name] = (), args: Iterable[Any] = (), *,
            timeout: Optional[Duration] = None, retry_safe: bool = False) -> Any:
        """Runs the script. Gives its result in the form of Client.call()."""
        from .client import take_reply
        options = build("tkl_call_options", {"timeout": timeout, "retry_safe": retry_safe})
        return _call.run("tkl_script_run", self, *script_arguments(keys, args), options,
                         _call.Out(ctypes.c_void_p(), take_reply))


def script_arguments(keys: Iterable[Name], args: Iterable[Any]) -> List[Any]:
    """KEYS and ARGV, each as an array and its length; numbers become text."""
    texts = [str(arg) if isinstance(arg, (int, float)) else arg for arg in args]
    return [*build_array("tkl_bytes", keys), *build_array("tkl_bytes", texts)]
