# SPDX-License-Identifier: MIT
"""Cached values, computed by one caller at a time. docs/cache.md has the contract."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

from . import _call
from ._component import Component
from ._convert import Duration, Name, encode_data, from_bytes, to_bytes
from ._headers import CODES
from ._native import ctype
from ._record import Data
from .errors import Error, NotFound, error
from .records import CacheInfo, CacheLocalStats, CacheValue

if TYPE_CHECKING:
    from .client import Client

NOTFOUND, FAILED = CODES["TKL_NOTFOUND"][0], CODES["TKL_EREFUSED"][0]


class Cache(Component):
    """Values that expire: a value that is missing is computed by one of all callers.

    >>> pages = client.cache(ttl=60)
    >>> pages.fetch("page/7", lambda key: "the page of " + key)
    b'the page of page/7'
    >>> pages.get("page/7").text
    'the page of page/7'
    >>> pages.get("page/8") is None
    True

    A value is fresh for `ttl`; `refresh` before its end one caller computes it again; for `stale`
    after its end the old value is used while it is computed, or when that fails. `none_ttl`: how long
    "there is none" is fresh. `local_bytes`: memory of a local copy, which the servers invalidate.
    """

    def __init__(self, client: "Client", *, ttl: Optional[Duration] = None,
                 stale: Optional[Duration] = None, none_ttl: Optional[Duration] = None,
                 refresh: Optional[Duration] = None, tags: Optional[Sequence[Name]] = None,
                 local_bytes: Optional[int] = None, timeout: Optional[Duration] = None) -> None:
        self._open(client, "tkl_cache_open", "tkl_cache_close", client, {
            "ttl": ttl, "stale": stale, "none_ttl": none_ttl, "refresh": refresh, "tags": tags,
            "local_bytes": local_bytes, "timeout": timeout})

    def fetch(self, key: Name, compute: Callable[[str], Any],
              wait: Optional[Duration] = None) -> Optional[Data]:
        """The value, from the server or by compute(key), which may take long. None, here and as the
        result of compute(): there is none. `wait`: how long to wait while another caller computes.

        Busy: not computed in time. Dead: another caller's computation failed. An exception of
        compute() is raised here, unless there is an old value."""
        found = self.fetch_value(key, compute, wait)
        return None if found.none else found.data

    def fetch_value(self, key: Name, compute: Callable[[str], Any],
                    wait: Optional[Duration] = None) -> CacheValue:
        """The value as fetch() gives it, with its age and other facts."""
        callbacks = _call.Callbacks()

        def run(native_key: Any, result: Any, _: Any) -> int:
            try:
                made = callbacks.result(compute(from_bytes(native_key)))
                if made is None:
                    return int(NOTFOUND)
                _call.local("tkl_cache_give", ctypes.c_void_p(result), encode_data(made))
                return 0
            except NotFound:
                return int(NOTFOUND)
            except BaseException as why:
                callbacks.raised.append(why)
                return int(FAILED)

        native = ctype("tkl_cache_compute *")(run)
        try:
            code, found = self._wait("tkl_cache_fetch", key, native, None, wait=wait,
                                     callbacks=callbacks)
        except Error:
            if callbacks.raised:
                raise callbacks.raised[0] from None
            raise
        if code:
            raise error(code, "")
        value: CacheValue = found
        return value

    def get(self, key: Name) -> Optional[Data]:
        """The value; None: there is none, or it is not known."""
        code, found = _call.attempt("tkl_cache_get", self, key)
        if code == NOTFOUND:
            return None
        _call.raise_for(code)
        return None if found.none else found.data

    def set(self, key: Name, value: Any) -> None:
        """Stores a value; None: "there is none"."""
        self._call("tkl_cache_set", key, None if value is None else to_bytes(encode_data(value)))

    def drop(self, key: Name) -> None:
        """NotFound: there is no value."""
        self._call("tkl_cache_drop", key)

    def drop_tag(self, tag: Name) -> int:
        """Removes all values with the tag: how many."""
        return int(self._call("tkl_cache_drop_tag", tag))

    def show(self, key: Name) -> CacheInfo:
        found: CacheInfo = self._call("tkl_cache_show", key)
        return found

    def local_stats(self) -> CacheLocalStats:
        """The local copy. Asks no server."""
        found: CacheLocalStats = self._call("tkl_cache_local_stats_get")
        return found
