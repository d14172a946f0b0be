# SPDX-License-Identifier: MIT
"""Workers: threads that run a function for each job. docs/worker.md has the contract."""
from __future__ import annotations

import ctypes
import signal
import threading
import traceback
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, TypeVar

from . import _call
from ._component import hook
from ._convert import Duration, Name, encode_data, from_enum, to_ms
from ._handle import Cell, Handle, InUse, closing
from ._native import ctype
from .errors import Closed, Dead, Error, InvalidArgument, error
from .queue import JobView, Queues, damaged_hook, error_hook, open_queues
from .records import WorkerStats

if TYPE_CHECKING:
    from .client import Client

Handler = Callable[["Task"], Any]
H = TypeVar("H", bound=Handler)


class Release(Exception):
    """Raised by a handler: the job returns to the queue, and this attempt does not count."""

    def __init__(self, delay: Duration = 0) -> None:
        super().__init__(f"after {delay}")
        self.delay_ms = to_ms(delay, "delay")


class Task(JobView):
    """A job being run. It is of no use after its handler has returned."""

    __slots__ = ("_pointer", "_native")

    def __init__(self, pointer: Any) -> None:
        self._pointer: Any = ctypes.c_void_p(pointer)
        self._native = _call.value("tkl_task_job", self._pointer)[0]

    def _view(self) -> Any:
        self._task()
        return self._native

    def _task(self) -> Any:
        if self._pointer is None:
            raise Closed("the handler of this job has returned")
        return self._pointer

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop: its claim is lost, its time is up, or the worker stops."""
        return bool(_call.value("tkl_task_cancelled", self._task()))

    @property
    def left(self) -> timedelta:
        """Time until the lease ends, unless it is renewed before."""
        return timedelta(milliseconds=_call.value("tkl_task_left_ms", self._task()))

    def progress(self, progress: Any) -> None:
        """Reports the progress, for Queue.show(). NotOwner: the claim is lost."""
        _call.call("tkl_task_progress", self._task(), encode_data(progress))

    def _run(self, handler: Handler) -> int:
        """Runs the handler; what it returns or raises decides how the job ends."""
        try:
            result = handler(self)
            if result is not None:
                _call.call("tkl_task_result", self._pointer, encode_data(result))
        except Release as why:
            _call.value("tkl_task_release", self._pointer, why.delay_ms / 1000)
        except Dead as why:
            _call.value("tkl_task_dead", self._pointer, _safe(str(why)))
        except BaseException as why:
            text = "".join(traceback.format_exception_only(type(why), why)).strip()
            _call.value("tkl_task_fail", self._pointer, _safe(text))
        finally:
            self._pointer = None
        return 0


def _safe(text: str) -> str:
    """A reason that C can read, and UTF-8 can say."""
    return text.replace("\0", "\\0").encode("utf-8", "replace").decode()


class Worker(Handle):
    """Runs handlers for the jobs of one or more queues; jobs of an earlier queue come first.

    >>> client.queue("mails").push({"to": "ann"}, kind="sendEmail", result_for=60).is_new
    True
    >>> worker = client.worker("mails", threads=2, drain=True)
    >>> @worker.on("sendEmail")
    ... def send(task):
    ...     print("to", task.payload.json()["to"])
    >>> worker.run()
    to ann

    A handler gets a Task and runs in one of `threads` threads of the library. What it returns, unless
    None, is the result of the job. An exception fails the job: it is retried after its backoff;
    tackle.Dead sends it to the dead letters, tackle.Release back to the queue. Handlers should be
    idempotent: a job may run more than once.

    `prefetch` jobs are fetched ahead for each thread. `drain`: end when no job is ready. `max_jobs`:
    end after so many. `label`: for Queue.workers(). `on_end(task, outcome, seconds)` is called after
    each job, `on_error(error)` when a round trip failed and will be repeated; neither may block.
    """

    def __init__(self, client: "Client", queues: Queues, *,
                 threads: Optional[int] = None, prefetch: Optional[int] = None,
                 lease: Optional[Duration] = None, drain: bool = False,
                 max_jobs: Optional[int] = None, label: Optional[Name] = None,
                 on_end: Optional[Callable[[JobView, str, float], None]] = None,
                 on_error: Optional[Callable[[Error], None]] = None,
                 on_damaged: Optional[Callable[[str, str], None]] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.client = client
        self.queues = open_queues(client, queues)
        self._handlers: Dict[str, Handler] = {}
        self._default: Optional[Handler] = None
        self._on_end, self._on_error, self._on_damaged = on_end, on_error, on_damaged
        self._options: Dict[str, Any] = {
            "timeout": timeout, "lease": lease, "threads": threads, "prefetch": prefetch,
            "drain": drain, "max_jobs": max_jobs, "label": label}

    def on(self, kind: Optional[str] = None) -> Callable[[H], H]:
        """Names the handler for the jobs of a kind ("": jobs that have none); without a kind, for all
        jobs that have no other handler."""
        def add(handler: H) -> H:
            if hasattr(self, "_cell"):
                raise InvalidArgument("the worker has started")
            if kind is None:
                self._default = handler
            else:
                self._handlers[kind] = handler
            return handler
        return add

    def start(self) -> "Worker":
        """Starts the threads. A server that is down is no error: the worker waits for it."""
        if hasattr(self, "_cell"):
            raise InvalidArgument("the worker has started")
        struct = "tkl_worker_options"
        hooks = {
            "on_end": hook(struct, "on_end", self._end if self._on_end else None),
            "on_error": hook(struct, "on_error", error_hook(self._on_error)),
            "on_damaged": hook(struct, "on_damaged", damaged_hook(self.queues, self._on_damaged))}
        kinds = [{"kind": kind, "handler": _native_handler(run)}
                 for kind, run in self._handlers.items()]
        default = _native_handler(self._default) if self._default else ctype("tkl_handler *")()
        parents = (self.client._cell, *(queue._cell for queue in self.queues))
        with InUse(*parents):
            pointer = _call.call("tkl_worker_start", self.queues, default, None,
                                 {**self._options, **hooks, "kinds": kinds or None})
            self._cell = Cell("tkl_worker", pointer, closing("tkl_worker_close"), parents,
                              keep=(hooks, kinds, default))
        return self

    def _end(self, job: Any, outcome: int, us: int, _: Any) -> None:
        if self._on_end:
            self._on_end(_Ended(job[0]), from_enum(outcome, "tkl_outcome"), us / 1e6)

    def run(self, grace: Optional[Duration] = 30) -> None:
        """Starts, and works until drain, max_jobs, quit(), Ctrl-C or SIGTERM ends it; then running
        jobs have `grace` seconds before `cancelled` is true for them."""
        with _StopSignals() as signals:
            self.start()
            try:
                signals.wait(self.wait)
            except _Stop:
                self.stop(grace)
            finally:
                self.close()

    def stop(self, grace: Optional[Duration] = None) -> bool:
        """Stops fetching, hands back jobs that were not started, and waits for running ones (None:
        for ever). False: some still run, and `cancelled` is now true for them."""
        return self._wait("tkl_worker_stop", grace)

    def quit(self) -> None:
        """Asks the worker to stop, and does not wait; a handler may call it."""
        _call.value("tkl_worker_quit", self)

    def wait(self, wait: Optional[Duration] = None) -> bool:
        """Waits until the worker has ended. False: it still runs."""
        return self._wait("tkl_worker_wait", wait)

    def _wait(self, name: str, wait: Optional[Duration]) -> bool:
        if not hasattr(self, "_cell"):
            raise InvalidArgument("the worker has not started")
        code, text = _call.wait_for((), _call.native(name, self, _call.WAIT), wait, at_once=True)
        if code < 0:
            raise error(code, text)
        return code == _call.OK

    def stats(self) -> WorkerStats:
        """The work so far. Asks no server."""
        found: WorkerStats = _call.value("tkl_worker_stats_get", self)
        return found

    def close(self) -> None:
        """Stops, and waits for running jobs without a limit."""
        if hasattr(self, "_cell"):
            super().close()

    def __enter__(self) -> "Worker":
        return self.start()


class _Ended(JobView):
    """The job of the hook on_end, valid until that returns."""

    __slots__ = ("_native",)

    def __init__(self, native: Any) -> None:
        self._native = native

    def _view(self) -> Any:
        return self._native


class _Stop(BaseException):
    """Ctrl-C or SIGTERM arrived."""


class _StopSignals:
    """Lets Ctrl-C and SIGTERM end the wait of a worker, and nothing else: not its start. A second
    signal does what it did before. Only the main thread gets signals; elsewhere nothing changes."""

    def __init__(self) -> None:
        self._before: Dict[signal.Signals, Any] = {}
        self._asked = self._waits = False

    def __enter__(self) -> "_StopSignals":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def _handle(self, *_: Any) -> None:
        self._asked = True
        self._restore()
        if self._waits:
            raise _Stop

    def wait(self, wait: Callable[[], Any]) -> None:
        """Waits; _Stop: a signal has arrived, now or before."""
        self._waits = True
        try:
            if self._asked:
                raise _Stop
            wait()
        finally:
            self._waits = False

    def _restore(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler or signal.SIG_DFL)

    def __exit__(self, *_: Any) -> None:
        self._restore()


def _native_handler(handler: Handler) -> Any:
    return ctype("tkl_handler *")(lambda task, _: Task(task)._run(handler))
