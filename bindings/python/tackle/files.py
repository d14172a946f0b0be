# SPDX-License-Identifier: MIT
"""Files sent through the server to named receivers. docs/files.md has the contract."""
from __future__ import annotations

import ctypes
import os
from typing import (IO, TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional,
                    Union)

from . import _call
from ._component import Component, callback, record_callback
from ._convert import Duration, Name, build, from_bytes, from_data, raw_bytes, wait_ms
from ._handle import Cell, Handle, closing
from ._native import ctype, function
from ._record import Data
from .errors import error
from .records import FilesInfo, FilesOutcome, FilesProgress, FilesTotals, FilesWaiting

if TYPE_CHECKING:
    from .client import Client

Path = Union[str, "os.PathLike[str]"]


class Stream(NamedTuple):
    """A stream to send: a name, and a file or the like whose read() gives bytes."""

    name: Name
    stream: "IO[bytes]"


class Files(Component):
    """A channel for files: they wait on the server for each receiver.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "access.log").write_text("GET /\\n")
    >>> logs = client.files("logs")
    >>> logs.send(["a"], [folder / "access.log"]).files
    1
    >>> (folder / "in").mkdir()
    >>> logs.receive("a", folder / "in", wait=0).files
    1
    >>> from tackle.files import reading
    >>> list(reading(folder / "in", "access.log"))
    [b'GET /']

    `ttl`: a file that is not received so long is given up. `lease`: after this long without a sign a
    sender or receiver counts as gone. `resume`: how long a sender may come back; 0: not at all.
    `max_bytes`: memory of the channel.
    """

    def __init__(self, client: "Client", channel: Name, *, ttl: Optional[Duration] = None,
                 lease: Optional[Duration] = None, resume: Optional[Duration] = None,
                 max_bytes: Optional[int] = None, timeout: Optional[Duration] = None) -> None:
        self.name = channel
        self._open(client, "tkl_files_open", "tkl_files_close", client, channel, {
            "ttl": ttl, "lease": lease, "resume": resume, "max_bytes": max_bytes,
            "timeout": timeout})

    def send(self, to: Iterable[Name], sources: Iterable[Union[Path, Stream]], *,
             wait: Optional[Duration] = 0, drop_after: Optional[Duration] = None, more: bool = False,
             on_progress: Optional[Callable[[FilesProgress], None]] = None,
             on_file: Optional[Callable[[FilesOutcome], None]] = None,
             on_waiting: Optional[Callable[[FilesWaiting], None]] = None,
             timeout: Optional[Duration] = None) -> FilesTotals:
        """Sends files, directories and streams. `wait`: how long to wait until the receivers have
        everything (0: return once it is on the server, None: for ever). Failures of single files are
        reported to `on_file`; the first of them is raised at the end, with `totals`."""
        keep: List[Any] = []
        struct = "tkl_files_send_options"
        options = {
            "drop_after": drop_after, "more": more, "timeout": timeout,
            "on_progress": record_callback(struct, "on_progress", "tkl_files_progress", on_progress),
            "on_file": record_callback(struct, "on_file", "tkl_files_outcome", on_file),
            "on_waiting": record_callback(struct, "on_waiting", "tkl_files_waiting", on_waiting)}
        native = build(struct, options)
        native.wait_ms = wait_ms(wait)
        return self._transfer("tkl_files_send", to, [_source(one, keep) for one in sources], native,
                              wait=0, callbacks=_call.Callbacks())

    def receive(self, receiver: Name, directory: Path = ".", *, wait: Optional[Duration] = None,
                unpack: bool = False, sync: bool = False, exit_when_done: bool = False,
                on_line: Optional[Callable[[str, bytes], Any]] = None,
                on_flush: Optional[Callable[[], Any]] = None,
                on_file: Optional[Callable[[FilesOutcome], None]] = None,
                on_progress: Optional[Callable[[FilesProgress], None]] = None,
                timeout: Optional[Duration] = None) -> FilesTotals:
        """Receives the files for this receiver, and waits for more. With `on_line(file, line)`
        lines are delivered instead of files; an exception ends the call, and the lines since the last
        on_flush() come again. Empty: nothing arrived in time."""
        callbacks = _call.Callbacks()
        struct = "tkl_files_receive_options"

        def line(file: Any, text: Any, _: Any) -> int:
            return _ends(callbacks, lambda: on_line and on_line(from_bytes(file), raw_bytes(text)))

        def flush(_: Any) -> int:
            return _ends(callbacks, lambda: on_flush and on_flush())

        options = {
            "dir": os.fspath(directory), "unpack": unpack, "sync": sync,
            "exit_when_done": exit_when_done, "timeout": timeout,
            "on_line": callback(struct, "on_line", line) if on_line else None,
            "on_flush": callback(struct, "on_flush", flush) if on_flush else None,
            "on_file": record_callback(struct, "on_file", "tkl_files_outcome", on_file),
            "on_progress": record_callback(struct, "on_progress", "tkl_files_progress", on_progress)}
        return self._transfer("tkl_files_receive", receiver, options, wait=wait, callbacks=callbacks)

    def _transfer(self, name: str, *given: Any, wait: Any,
                  callbacks: _call.Callbacks) -> FilesTotals:
        """Runs a transfer, which an exception of a callback ends."""
        arguments = _call.prepare(name, self, *given)
        code, text = _call.wait_for((self.client,), arguments, wait, callbacks=callbacks, at_once=True)
        totals: FilesTotals = arguments.results()
        if callbacks.raised:
            raise callbacks.raised[0]
        if code:
            why = error(code, text)
            why.totals = totals
            raise why
        return totals

    def status(self) -> FilesInfo:
        found: FilesInfo = self._call("tkl_files_status")
        return found

    def drop_receiver(self, receiver: Name) -> int:
        """Drops a receiver from all files: how many it still had to receive."""
        return int(self._call("tkl_files_drop_receiver", receiver))

    def add_receiver(self, receiver: Name) -> int:
        """Adds a receiver to all files that are still complete: how many."""
        return int(self._call("tkl_files_add_receiver", receiver))


def _ends(callbacks: _call.Callbacks, run: Callable[[], Any]) -> int:
    """Runs a callback; an exception of it ends the call of the library."""
    try:
        callbacks.result(run())
        return 0
    except BaseException as why:
        callbacks.raised.append(why)
        return 1


def _source(source: Union[Path, Stream], keep: List[Any]) -> Dict[str, Any]:
    if not isinstance(source, Stream):
        return {"path": os.fspath(source)}
    read = source.stream.read

    def fill(buffer: int, size: int, _: Any) -> int:
        try:
            part = read(size)
        except Exception:
            ctypes.set_errno(5)     # EIO
            return -1
        ctypes.memmove(buffer, part, len(part))
        return len(part)

    made = callback("tkl_files_source", "read", fill)
    keep.append(made)
    return {"name": source.name, "read": made}


class Reader(Handle):
    """A received file, read like a stream. Its iterator gives lines. One thread at a time."""

    def __init__(self, directory: Path, name: Name, *, unpack: bool = False) -> None:
        pointer = _call.local("tkl_files_reader_open", os.fspath(directory), name, {"unpack": unpack})
        self._cell = Cell("tkl_files_reader", pointer, closing("tkl_files_reader_close"))

    def read(self, size: int = 65536) -> bytes:
        """Up to `size` bytes; b"": the end."""
        buffer = ctypes.create_string_buffer(size)
        length = ctypes.c_size_t()
        self._cell.enter()
        try:
            code = function("tkl_files_reader_read")(self._cell.pointer, buffer, size,
                                                           ctypes.byref(length))
            if code not in (_call.OK, _call.EMPTY):
                _call.raise_for(code)
        finally:
            self._cell.leave()
        return buffer.raw[:length.value]

    def __iter__(self) -> Iterator[Data]:
        while True:
            line = ctype("tkl_bytes")()
            self._cell.enter()
            try:
                code = function("tkl_files_reader_line")(self._cell.pointer, ctypes.byref(line))
                if code == _call.EMPTY:
                    return
                _call.raise_for(code)
                text = from_data(line)
            finally:
                self._cell.leave()
            yield text


def reading(directory: Path, name: Name, *, unpack: bool = False) -> Reader:
    """Opens a file that was received in the directory. NotFound."""
    return Reader(directory, name, unpack=unpack)


def safe_name(name: Name) -> str:
    """The name under which a receiver puts a file in place.

    >>> from tackle import files
    >>> files.safe_name("a/b")
    'a%2Fb'
    """
    return str(_call.value("tkl_files_safe_name", name))
