# SPDX-License-Identifier: MIT
"""From an IP address to a place. docs/ip.md has the contract."""
from __future__ import annotations

import ctypes
import os
from typing import (TYPE_CHECKING, Any, Callable, Iterable, List, Mapping, NamedTuple, Optional, Tuple,
                    Union)

from . import _call
from ._component import Component, record_callback
from ._convert import Duration, Name, from_text
from ._native import ctype, function
from .records import IpAnswer, IpImportStats, IpProgress, IpStats

if TYPE_CHECKING:
    from .client import Client

Path = Union[str, "os.PathLike[str]"]


class Problem(NamedTuple):
    """A bad row of an import."""

    file: str
    line: int
    text: str


class Ip(Component):
    """A table of address ranges, IPv4 and IPv6 together.

    >>> table = client.ip("geo")
    >>> with table.importing() as rows:
    ...     rows.places([{"id": "1", "city": "Paris", "country_code": "FR"}])
    ...     rows.ranges([("203.0.113.0/24", "1")])
    >>> answer = table.lookup("203.0.113.9")
    >>> answer.known, answer.place.city, table.lookup("192.0.2.1").known
    (True, 'Paris', False)

    `cache_size`: addresses in a cache of this handle, which keeps answers for `cache` seconds.
    """

    def __init__(self, client: "Client", name: Name, *, cache_size: Optional[int] = None,
                 cache: Optional[Duration] = None, timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_ip_open", "tkl_ip_close", client, name, {
            "cache_size": cache_size, "cache": cache, "timeout": timeout})

    def lookup(self, address: Name) -> IpAnswer:
        """NotFound: there is no such table. InvalidArgument: it is no address."""
        return self.lookup_all([address])[0]

    def lookup_all(self, addresses: Iterable[Name]) -> List[IpAnswer]:
        found: List[IpAnswer] = self._call("tkl_ip_lookup", addresses)
        return found

    def importing(self, *, max_bad: Union[int, float, None] = None,
                  max_reports: Optional[int] = None, columns: Optional[str] = None,
                  place_columns: Optional[str] = None,
                  on_progress: Optional[Callable[[IpProgress], None]] = None,
                  timeout: Optional[Duration] = None) -> "IpImport":
        """Begins an import, which `with` commits at the end of the block. `max_bad`: bad rows that
        are allowed (math.inf: any number)."""
        return IpImport(self, max_bad=max_bad, max_reports=max_reports, columns=columns,
                        place_columns=place_columns, on_progress=on_progress, timeout=timeout)

    def stats(self) -> IpStats:
        found: IpStats = self._call("tkl_ip_stats_get")
        return found

    def drop(self) -> None:
        self._call("tkl_ip_drop")


class IpImport(Component):
    """A new generation of a table. Nothing is sent before commit()."""

    def __init__(self, table: Ip, *, max_bad: Union[int, float, None] = None,
                 max_reports: Optional[int] = None, columns: Optional[str] = None,
                 place_columns: Optional[str] = None,
                 on_progress: Optional[Callable[[IpProgress], None]] = None,
                 timeout: Optional[Duration] = None) -> None:
        progress = record_callback("tkl_ip_import_options", "progress", "tkl_ip_progress", on_progress)
        self._open(table.client, "tkl_ip_import_open", "tkl_ip_import_close", table, {
            "max_bad": max_bad, "max_reports": max_reports, "columns": columns,
            "place_columns": place_columns, "progress": progress, "timeout": timeout},
            parents=(table,), keep=progress)
        self.stats: Optional[IpImportStats] = None

    def places_file(self, path: Path) -> None:
        """Reads places from a CSV file, which may be compressed by gzip."""
        self._call_long("tkl_ip_import_places_file", os.fspath(path))

    def blocks_file(self, path: Path) -> None:
        """Reads ranges from a CSV file, after the places."""
        self._call_long("tkl_ip_import_blocks_file", os.fspath(path))

    def places(self, places: Iterable[Mapping[str, Name]]) -> None:
        """Places with `id`, `city`, `region`, `country`, `country_code` and so on."""
        self._call_long("tkl_ip_import_add_places", places)

    def ranges(self, ranges: Iterable[Tuple[Name, Name]]) -> None:
        """Ranges: (network, id of its place)."""
        self._call_long("tkl_ip_import_add_ranges", [
            {"network": network, "place": place} for network, place in ranges])

    def commit(self) -> IpImportStats:
        """Sends the generation and switches to it in one step. InvalidArgument: too many bad rows, or
        no range; `stats` and problems() say more."""
        arguments = _call.prepare("tkl_ip_import_commit", self)
        code = _call.invoke_long(arguments)
        self.stats = arguments.results()
        _call.raise_for(code)
        assert self.stats is not None
        return self.stats

    def problems(self) -> List[Problem]:
        """The bad rows so far."""
        array = ctypes.POINTER(ctype("tkl_ip_problem"))()
        count = ctypes.c_size_t()
        self._cell.enter()
        try:
            function("tkl_ip_import_problems")(self._cell.pointer, ctypes.byref(array),
                                               ctypes.byref(count))
            return [Problem(from_text(array[i].file), array[i].line, from_text(array[i].text))
                    for i in range(count.value)]
        finally:
            self._cell.leave()

    def __exit__(self, kind: Any, why: Any, trace: Any) -> None:
        try:
            if kind is None:
                self.commit()
        finally:
            self.close()
