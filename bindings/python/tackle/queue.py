# SPDX-License-Identifier: MIT
"""Queues of jobs, and consumers that claim them. docs/queue.md has the contract."""
from __future__ import annotations

import ctypes
import traceback
from datetime import datetime, timedelta
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional,
                    Sequence, Tuple, Union)

from . import _call
from ._component import Component, hook
from ._convert import (Duration, Name, Time, build, encode_data, from_bytes, from_data, from_text,
                       from_time)
from ._headers import CODES, CONSTANTS
from ._native import ctype, function
from ._record import Data
from ._stream import Stream
from .errors import Error, error
from .records import (Flow, JobInfo, Listing, QueueEvent, QueueEvents, QueueKind, QueueLevel,
                      QueueLimits, QueueReasons, QueueStats, QueueWorkerList, ScheduleInfo)

if TYPE_CHECKING:
    from .client import Client

EXISTS, NOTOWNER = (CODES[name][0] for name in ("TKL_EXISTS", "TKL_NOTOWNER"))
BUCKETS = int(CONSTANTS["TKL_QUEUE_BUCKETS"])      # of a histogram of Queue.times()


class Pushed(NamedTuple):
    """A job in the queue. `is_new` is false for a unique job that was there before. `error` says why
    a job of a batch was not pushed; it has no id then."""

    id: str
    is_new: bool
    error: Optional[Error] = None


class Push:
    """A job of a batch, with the options of Queue.push()."""

    __slots__ = ("fields",)

    def __init__(self, payload: Any, *, kind: Optional[str] = None, meta: Any = None,
                 priority: Optional[int] = None, delay: Optional[Duration] = None,
                 at: Optional[Time] = None, unique: Optional[Name] = None,
                 unique_mode: Optional[str] = None, unique_for: Optional[Duration] = None,
                 retries: Optional[int] = None, backoff: Optional[Duration] = None,
                 backoff_max: Optional[Duration] = None, time_limit: Optional[Duration] = None,
                 group: Optional[Name] = None, result_for: Optional[Duration] = None,
                 after: Sequence[int] = ()) -> None:
        self.fields = {
            "payload": encode_data(payload), "kind": kind,
            "meta": None if meta is None else encode_data(meta), "priority": priority,
            "delay": delay, "at": at, "unique": unique, "unique_mode": unique_mode,
            "unique_for": unique_for, "retries": retries, "backoff": backoff,
            "backoff_max": backoff_max, "time_limit": time_limit, "group": group,
            "result": result_for, "after": after or None}


class JobView:
    """The fields of a job, for jobs of consumers and of workers."""

    __slots__ = ()

    def _view(self) -> Any:
        raise NotImplementedError

    @property
    def id(self) -> str:
        return from_text(self._view().id)

    @property
    def payload(self) -> Data:
        """The bytes that were pushed; .text and .json() read them."""
        return from_data(self._view().payload)

    @property
    def meta(self) -> Data:
        return from_data(self._view().meta)

    @property
    def kind(self) -> str:
        """The kind of the job; "" if it has none."""
        return from_bytes(self._view().kind)

    @property
    def group(self) -> str:
        return from_bytes(self._view().group)

    @property
    def error(self) -> str:
        """Why the attempt before this one failed."""
        return from_bytes(self._view().error)

    @property
    def priority(self) -> int:
        return int(self._view().priority)

    @property
    def attempt(self) -> int:
        """Number of this attempt, from 1."""
        return int(self._view().attempt)

    @property
    def retries(self) -> int:
        """Attempts that may follow the first."""
        return int(self._view().retries)

    @property
    def time_limit(self) -> timedelta:
        return timedelta(milliseconds=self._view().time_limit_ms)

    @property
    def pushed(self) -> Optional[datetime]:
        return from_time(self._view().pushed_ms)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


class _Batch:
    """Claimed jobs, freed with the last of them."""

    __slots__ = ("pointer",)

    def __init__(self, pointer: Any) -> None:
        self.pointer = pointer

    def __del__(self) -> None:
        function("tkl_jobs_free")(self.pointer)


class Job(JobView):
    """A claimed job. Report its end: ack(), fail(), dead() or release(). As `with job:` it is
    acknowledged, or failed by the exception that ends the block."""

    __slots__ = ("consumer", "reported", "_batch", "_native")

    def __init__(self, consumer: "Consumer", batch: _Batch, native: Any) -> None:
        self.consumer = consumer
        self.reported = False
        self._batch = batch
        self._native = native

    def _view(self) -> Any:
        return self._native

    @property
    def token(self) -> str:
        """The secret of this claim, for Queue.finish() in another process."""
        return from_text(self._native.token)

    @property
    def left(self) -> timedelta:
        """Time until the lease ends; it is renewed as long as the consumer is open."""
        ms = _call.value("tkl_consumer_left_ms", self.consumer, self._native)
        return timedelta(milliseconds=ms)

    def ack(self, result: Any = None) -> None:
        """The job is done; `result` is kept if it was pushed with result_for. NotOwner: the lease
        has ended, and the job runs again elsewhere."""
        self.consumer._report([_report(self, "done", result)])

    def fail(self, why: str = "", delay: Optional[Duration] = None) -> None:
        """Fails the job: it is retried after the backoff, or after `delay`, while retries are left."""
        self.consumer._report([_report(self, "failed", why, delay)])

    def dead(self, why: str = "") -> None:
        """Moves the job to the dead letters."""
        self.consumer._report([_report(self, "dead", why)])

    def release(self, delay: Optional[Duration] = None) -> None:
        """Returns the job to the queue; this attempt does not count."""
        self.consumer._report([_report(self, "released", None, delay)])

    def renew(self, lease: Duration, progress: Any = None) -> None:
        """Makes the lease last for `lease` from now, and stores the progress for Queue.show()."""
        queue = next(queue for queue in self.consumer.queues
                     if queue._cell.pointer == self._native.queue)
        _call.call("tkl_queue_renew", queue, self.id, self.token, lease,
                   b"" if progress is None else encode_data(progress))

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, kind: Any, why: Any, trace: Any) -> None:
        if self.reported:
            return
        if kind is None:
            self.ack()
        elif issubclass(kind, Exception):
            self.fail("".join(traceback.format_exception_only(kind, why)).strip())
        else:
            self.release()      # Ctrl-C: the job is not to blame


def _report(job: Job, outcome: str, text: Any, delay: Optional[Duration] = None) -> Tuple[Job, Any]:
    report = build("tkl_report", {"outcome": outcome, "delay": delay,
                                  "text": None if text is None else encode_data(text)})
    report.job = ctypes.pointer(job._native)
    return job, report


def _note_reported(jobs: Sequence[Job], reports: Any) -> None:
    """A job whose report failed is still claimed."""
    for job, report in zip(jobs, reports):
        job.reported = report.code in (_call.OK, NOTOWNER)


class Consumer(Component):
    """Claims jobs from one or more queues; those of an earlier queue come first. One thread at a
    time claims. Leases are renewed until the end of a job is reported, unless `renew` is false.

    >>> mails = client.queue("mails")
    >>> pushed = mails.push("to ann")
    >>> with client.consumer(mails, lease=30) as consumer:
    ...     for job in consumer.claim(10, wait=1):
    ...         with job:
    ...             print(job.payload.text, job.attempt)
    to ann 1

    `on_lost(id, token)`: a claim is lost. `on_error(error)`: the server cannot be reached; the claim
    goes on. `on_damaged(queue, id)`: a job cannot be read, and went to the dead letters. Queue.workers()
    shows `label` and `threads`, the jobs that the program runs at once.
    """

    def __init__(self, client: "Client", queues: "Queues", *, lease: Optional[Duration] = None,
                 renew: bool = True, on_lost: Optional[Callable[[str, str], None]] = None,
                 on_error: Optional[Callable[[Error], None]] = None,
                 on_damaged: Optional[Callable[[str, str], None]] = None,
                 label: Optional[Name] = None, threads: Optional[int] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.queues = open_queues(client, queues)
        struct = "tkl_consumer_options"
        hooks = [hook(struct, "on_lost", lost_hook(on_lost)),
                 hook(struct, "on_error", error_hook(on_error)),
                 hook(struct, "on_damaged", damaged_hook(self.queues, on_damaged))]
        self._open(client, "tkl_consumer_open", "tkl_consumer_close", self.queues, {
            "timeout": timeout, "lease": lease, "no_renewal": not renew, "on_lost": hooks[0],
            "on_error": hooks[1], "on_damaged": hooks[2], "label": label, "threads": threads},
            parents=(client, *self.queues), keep=hooks)

    def claim(self, max: int = 1, wait: Optional[Duration] = None) -> List[Job]:
        """Claims up to `max` jobs, waiting for the first. []: none in time."""
        return self._claim("tkl_consumer_claim", max, wait=wait)

    def ack_and_claim(self, done: Iterable[Job], max: int = 1,
                      wait: Optional[Duration] = None) -> Tuple[List[Job], List[Job]]:
        """Acknowledges jobs and claims the next ones, in one round trip when there are any: the new
        jobs, and those of `done` that were too late."""
        jobs, reports = self._reports([_report(job, "done", None) for job in done])
        try:
            claimed = self._claim("tkl_consumer_next", reports, len(jobs), max, wait=0)
        finally:
            _note_reported(jobs, reports)
        late = [job for job, report in zip(jobs, reports) if report.code]
        return claimed or self.claim(max, wait), late

    def _claim(self, name: str, *given: Any, wait: Any) -> List[Job]:
        pointer = ctypes.POINTER(ctype("tkl_jobs"))()
        arguments = _call.native(name, self, *given, _call.WAIT, _call.Out(pointer, self._claimed))
        code, text = _call.wait_for((self.client,), arguments, wait, undo=self._release,
                                    patience=_call.is_transient)
        if code == _call.EMPTY:
            return []
        if code:
            raise error(code, text)
        found: List[Job] = arguments.results()
        return found

    def _claimed(self, pointer: Any) -> List[Job]:
        if not pointer:
            return []
        batch = _Batch(pointer)
        jobs = pointer[0]
        return [Job(self, batch, jobs.items[i]) for i in range(jobs.count)]

    def _release(self, jobs: Iterable[Job]) -> None:
        """Returns jobs to the queue; these attempts do not count."""
        self._report([_report(job, "released", None) for job in jobs])

    def ack(self, jobs: Iterable[Job]) -> None:
        """Acknowledges many jobs in one round trip. NotOwner: some came too late."""
        self._report([_report(job, "done", None) for job in jobs])

    def _reports(self, reports: Sequence[Tuple[Job, Any]]) -> Tuple[List[Job], Any]:
        jobs = [job for job, _ in reports]
        for job in jobs:
            if job.consumer is not self:
                raise ValueError("a job of another consumer")
            job.reported = True
        return jobs, (ctype("tkl_report") * len(jobs))(*(report for _, report in reports))

    def _report(self, reports: Sequence[Tuple[Job, Any]]) -> None:
        jobs, array = self._reports(reports)
        code = _call.invoke(_call.native("tkl_consumer_finish", self, array, len(jobs)))
        if code:
            why = _call.failure(code)
            _note_reported(jobs, array)
            raise why

    def cancel(self) -> None:
        """Ends a claim that waits in another thread. Later claims do not wait."""
        _call.value("tkl_consumer_cancel", self)

    def wake(self) -> None:
        """Ends the claim that waits in another thread, or the next one."""
        _call.value("tkl_consumer_wake", self)

    def jobs(self, wait: Optional[Duration] = None, batch: int = 1) -> Iterator[Job]:
        """The jobs, one after the other, until none comes for `wait` seconds (None: for ever).

        `batch` jobs are claimed at once. Those that the loop has not reached when it ends return to
        the queue at once; the last one returns when its lease ends, unless it was reported."""
        waiting: List[Job] = []
        try:
            while True:
                waiting = self.claim(batch, wait)
                if not waiting:
                    return
                waiting.reverse()
                while waiting:
                    yield waiting.pop()
        finally:
            if waiting and not self.closed:
                self._release(waiting)

    def __iter__(self) -> Iterator[Job]:
        return self.jobs()


def _filter(id: Optional[str] = None, *, kind: Optional[str] = None, reason: Optional[Name] = None,
            text: Optional[Name] = None, older: Optional[Duration] = None,
            within: Optional[Duration] = None) -> Optional[Dict[str, Any]]:
    """A tkl_job_filter; None for any job."""
    given = {"id": id, "kind": kind, "reason": reason, "text": text, "older": older,
             "within": within}
    return None if all(value is None for value in given.values()) else given


def lost_hook(run: Optional[Callable[[str, str], None]]) -> Optional[Callable[..., None]]:
    def call(id: Any, token: Any, _: Any) -> None:
        if run:
            run(from_text(id), from_text(token))
    return call if run else None


def error_hook(run: Optional[Callable[[Error], None]]) -> Optional[Callable[..., None]]:
    def call(code: int, message: Any, _: Any) -> None:
        if run:
            run(error(code, from_text(message)))
    return call if run else None


def damaged_hook(queues: Sequence["Queue"],
                 run: Optional[Callable[[str, str], None]]) -> Optional[Callable[..., None]]:
    names = {queue._cell.pointer: queue.name for queue in queues}

    def call(queue: Any, id: Any, _: Any) -> None:
        if run:
            run(str(names.get(queue, "")), from_text(id))
    return call if run else None


class Watcher(Stream):
    """Events of the jobs of a queue: "pushed", "claimed", "done", "failed" and so on. They are not
    kept: it gets the events from its first next() on. One thread at a time uses it."""

    def __init__(self, queue: "Queue") -> None:
        self._open(queue.client, "tkl_queue_watch", "tkl_queue_watcher_close", queue, parents=(queue,))

    def next(self, wait: Optional[Duration] = None) -> QueueEvents:
        """The next events, waiting for the first; `lost`: the connection was lost before them, and
        some may be missing. Empty: none in time. NotFound: there is no such queue."""
        found: QueueEvents = self._next("tkl_queue_watch_next", wait=wait)
        return found

    def __iter__(self) -> Iterator[QueueEvent]:
        while True:
            yield from self.next()


def bounds() -> List[Optional[timedelta]]:
    """The bounds of the buckets of a histogram: times up to it are in this bucket or an earlier one.
    None: the last bucket has no bound.

    >>> from tackle.queue import bounds
    >>> bounds()[0].total_seconds(), bounds()[-1]
    (0.001, None)
    """
    found = [int(_call.value("tkl_queue_bound_ms", bucket)) for bucket in range(BUCKETS)]
    return [None if ms < 0 else timedelta(milliseconds=ms) for ms in found]


class Queue(Component):
    """A queue of jobs that programs on many machines share. Delivery is at least once.

    >>> mails = client.queue("mails")
    >>> mails.push({"to": "ann"}).is_new
    True
    >>> mails.push({"to": "bob"}, delay=60, unique="bob").is_new
    True
    >>> for job in mails.consume(wait=0):
    ...     print(job.payload.json()["to"])
    ...     job.ack()
    ann
    >>> mails.stats().delayed
    1

    All programs that use a queue must give the same number of `partitions`.
    """

    def __init__(self, client: "Client", name: Name, *, partitions: Optional[int] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.name = name
        self._open(client, "tkl_queue_open", "tkl_queue_close", client, name, {
            "timeout": timeout, "partitions": partitions})

    # ---- Pushing ----------------------------------------------------------------------------

    def push(self, payload: Any, *, kind: Optional[str] = None, meta: Any = None,
             priority: Optional[int] = None, delay: Optional[Duration] = None,
             at: Optional[Time] = None, unique: Optional[Name] = None,
             unique_mode: Optional[str] = None, unique_for: Optional[Duration] = None,
             retries: Optional[int] = None, backoff: Optional[Duration] = None,
             backoff_max: Optional[Duration] = None, time_limit: Optional[Duration] = None,
             group: Optional[Name] = None, result_for: Optional[Duration] = None,
             request: Optional[Name] = None, timeout: Optional[Duration] = None) -> Pushed:
        """Pushes a job: bytes and str as they are, everything else as JSON.

        `priority`: -1000 (first) to 1000. `delay` or `at`: when it can be claimed. `unique`: a key
        that one job at a time may have; `unique_mode` "until_finished", "until_started" or
        "for_a_time" (with `unique_for`). `retries`: attempts after the first, 10 unless given.
        `backoff`: delay before the first retry. `result_for`: how long the result is kept for
        result(). `request`: a push that is repeated with it within ten minutes pushes nothing twice.
        Full: a limit of the queue."""
        job = Push(payload, kind=kind, meta=meta, priority=priority, delay=delay, at=at,
                   unique=unique, unique_mode=unique_mode, unique_for=unique_for, retries=retries,
                   backoff=backoff, backoff_max=backoff_max, time_limit=time_limit, group=group,
                   result_for=result_for)
        return self.push_all([job], request=request, timeout=timeout)[0]

    def push_all(self, jobs: Iterable[Any], *, request: Optional[Name] = None,
                 timeout: Optional[Duration] = None) -> List[Pushed]:
        """Pushes many jobs in one round trip: payloads, or Push() with options. In a flow, `after`
        of a Push has the indexes of the jobs before it that must end first.

        When some cannot be pushed, the exception has `pushed`: the outcome of each."""
        fields = [(job if isinstance(job, Push) else Push(job)).fields for job in jobs]
        code, found = _call.attempt("tkl_queue_push", self, fields,
                                    {"request": request, "timeout": timeout})
        why = _call.failure(code) if code else None
        pushed = [Pushed(one.id, one.code == _call.OK,
                         None if one.code in (_call.OK, EXISTS) else error(one.code, ""))
                  for one in found]
        if why:
            why.pushed = pushed
            raise why
        return pushed

    def schedule(self, id: Name, payload: Any = b"", *, cron: Optional[str] = None,
                 every: Optional[Duration] = None, zone: Optional[str] = None,
                 missed: Optional[str] = None, **job: Any) -> None:
        """Pushes a job again and again: by a cron expression in a time zone, or every so often.
        Setting the same schedule again changes nothing. `missed`: "fire_once" or "skip". Further
        options are those of push().

        >>> client.queue("reports").schedule("nightly", "report", cron="30 2 * * mon-fri",
        ...                                  zone="Europe/Berlin")
        >>> [schedule.cron for schedule in client.queue("reports").schedules()]
        ['30 2 * * mon-fri']
        """
        _call.call("tkl_schedule_set", self, id, {
            "cron": cron, "every": every, "zone": zone, "missed": missed,
            "job": Push(payload, **job).fields})

    def unschedule(self, id: Name) -> None:
        """Removes a schedule; jobs that it pushed stay. NotFound."""
        self._call("tkl_schedule_remove", id)

    def pause_schedule(self, id: Name) -> None:
        """Stops a schedule until resume_schedule(), even if it is set again. NotFound."""
        self._call("tkl_schedule_pause", id)

    def resume_schedule(self, id: Name) -> None:
        """Continues a schedule, with its first time from now on. NotFound."""
        self._call("tkl_schedule_resume", id)

    def fire_schedule(self, id: Name) -> str:
        """Pushes the job of the schedule now, and returns its id; the next time stays. Exists:
        another job has its unique key. Full. NotFound.

        >>> reports = client.queue("fired")
        >>> reports.schedule("nightly", "report", cron="30 2 * * *")
        >>> reports.pause_schedule("nightly")
        >>> reports.schedules()[0].paused
        True
        >>> reports.show(reports.fire_schedule("nightly")).payload.text
        'report'
        """
        return str(self._call("tkl_schedule_fire", id))

    def schedules(self) -> List[ScheduleInfo]:
        found: List[ScheduleInfo] = self._call("tkl_schedule_list")
        return found

    # ---- Consuming --------------------------------------------------------------------------

    def consume(self, *, wait: Optional[Duration] = None, batch: int = 1,
                lease: Optional[Duration] = None) -> Iterator[Job]:
        """The jobs of this queue, one after the other, until none comes for `wait` seconds (None:
        for ever). See Consumer.jobs(); client.worker() does it with threads. The consumer is closed
        with the loop, or with the last job that it gave."""
        return Consumer(self.client, [self], lease=lease).jobs(wait, batch)

    def finish(self, id: str, token: str, outcome: str = "done", text: Any = b"",
               delay: Optional[Duration] = None) -> None:
        """Reports the end of a job that was claimed elsewhere: "done", "failed", "dead" or
        "released". NotOwner: the claim is not valid any more."""
        self._call("tkl_queue_finish", id, token, outcome, encode_data(text), delay)

    def renew(self, id: str, token: str, lease: Duration, progress: Any = b"") -> None:
        """Renews the claim of a job that was claimed elsewhere."""
        self._call("tkl_queue_renew", id, token, lease, encode_data(progress))

    def result(self, id: str, wait: Optional[Duration] = None) -> Data:
        """The result of a job that was pushed with `result_for`, waiting for its end. Dead: it is in
        the dead letters, and the text says why. Empty: it did not end in time. NotFound."""
        code, found = self._wait("tkl_queue_result", id, wait=wait)
        if code:
            raise error(code, found.text.decode("utf-8", "replace") if found else "")
        data: Data = found.text
        return data

    # ---- For operators ----------------------------------------------------------------------

    def stats(self) -> QueueStats:
        found: QueueStats = self._call("tkl_queue_stats_get")
        return found

    def levels(self) -> List[QueueLevel]:
        """Ready jobs of each priority."""
        found: List[QueueLevel] = self._call("tkl_queue_levels")
        return found

    def workers(self, *others: "Queue") -> QueueWorkerList:
        """Who works on this queue, and on others of the same client, in one round trip: consumers and
        workers with the jobs that they have claimed."""
        found: QueueWorkerList = _call.call("tkl_queue_workers", (self, *others))
        return found

    def times(self, *others: "Queue") -> List[QueueKind]:
        """How long the jobs of each kind waited and ran since the queue was created, of this queue and
        others of the same client, in one round trip. bounds() says what the buckets mean.

        >>> mails = client.queue("mails")
        >>> pushed = mails.push("x", kind="send")
        >>> done = [job.ack() for job in mails.consume(wait=0)]
        >>> [(kind.kind, kind.done, sum(kind.run.counts)) for kind in mails.times()]
        [('send', 1, 1)]
        """
        found: List[QueueKind] = _call.call("tkl_queue_times", (self, *others))
        return found

    def why(self, id: Optional[str] = None) -> QueueReasons:
        """Why a job, or the job that should come next, does not run: the decisive cause first; no
        cause: a worker gets it in a moment. NotFound: there is no such job, or none that waits.

        >>> mails = client.queue("mails")
        >>> id = mails.push("x", delay=60).id
        >>> [reason.cause for reason in mails.why(id)]
        ['delayed']
        """
        found: QueueReasons = self._call("tkl_queue_why", id)
        return found

    def flow(self, id: str, max: int = 50) -> Flow:
        """The jobs that a job waits for, those that wait for it, and so on: the nearest `max` of them.
        `after` of a job has the positions of those in the list that it waits for. NotFound.

        >>> from tackle import Push
        >>> mails = client.queue("mails")
        >>> ids = [job.id for job in mails.push_all(["cut", Push("paint", after=[0])])]
        >>> [(job.state, job.waits_for, list(job.after)) for job in mails.flow(ids[0])]
        [('ready', 0, []), ('held', 1, [0])]
        """
        found: Flow = self._call("tkl_queue_flow", id, max)
        return found

    def watch(self) -> "Watcher":
        """A watcher of the events of this queue's jobs from now on."""
        return Watcher(self)

    def peek(self, state: str = "ready", skip: int = 0, max: int = 100, cut: int = 0) -> Listing:
        """Looks at jobs that are "ready", "delayed", "held", "active", "dead", or "done" and kept: see
        set_limits(). With `cut` the server sends only so many bytes of each payload; `payload_size`
        has the size of the whole.

        >>> mails = client.queue("mails")
        >>> id = mails.push("to alice").id
        >>> [(job.payload.text, job.payload_size) for job in mails.peek(cut=2)]
        [('to', 8)]
        """
        found: Listing = self._call("tkl_queue_peek", state, skip, max, cut)
        return found

    def find(self, text: Name = "", *, state: Optional[str] = None, kind: Optional[str] = None,
             reason: Optional[Name] = None, older: Optional[Duration] = None,
             after: Optional[str] = None, within: Optional[Duration] = None, max: int = 100,
             cut: int = 0) -> Listing:
        """Jobs whose payload, kind, last error or id contains `text`, of one state or of all.
        When `next` of the result is not empty, there may be more: pass it as `after`.
        `within`: how long to search, the time-out of the queue unless given. `cut`: as for peek().

        >>> mails = client.queue("mails")
        >>> pushed = mails.push_all(["to ann", "to bob"])
        >>> [job.payload.text for job in mails.find("bob")]
        ['to bob']
        """
        found: Listing = self._call("tkl_queue_find", state or "unknown",
                                    _filter(kind=kind, reason=reason, text=text, older=older,
                                            within=within), after, max, cut)
        return found

    def show(self, id: str, cut: int = 0) -> JobInfo:
        """One job, in whichever state. `cut`: as for peek(). NotFound."""
        found: Listing = self._call("tkl_queue_show", id, cut)
        return found[0]

    def cancel(self, id: str) -> None:
        """Removes a job, in any state. NotFound."""
        self._call("tkl_queue_cancel", id)

    def promote(self, id: str) -> None:
        """Makes a delayed job ready now. NotFound."""
        self._call("tkl_queue_promote", id)

    def edit(self, id: str, payload: Any) -> None:
        """Gives a job that waits, or a dead letter, another payload. Busy: a worker has it. Full.
        NotFound.

        >>> mails = client.queue("edited")
        >>> job = mails.push("to an")
        >>> mails.edit(job.id, "to ann")
        >>> mails.show(job.id).payload.text
        'to ann'
        """
        self._call("tkl_queue_edit", id, encode_data(payload))

    def requeue(self, id: str, force: bool = False) -> None:
        """Puts a claimed job back to the front of the queue, for a worker that hangs; the attempt does
        not count. Busy: its lease still runs, and `force` is false. NotFound."""
        self._call("tkl_queue_requeue", id, force)

    def retry(self, id: Optional[str] = None, **conditions: Any) -> int:
        """Puts a dead letter, those that fit, or all of them, back into the queue. `kind`; `reason`,
        a part of the last error; `text`, a part of payload, kind, last error or id; `older`, the
        least time since it died. NotFound: none fits."""
        return int(self._call("tkl_queue_retry", _filter(id, **conditions)))

    def drop_dead(self, id: Optional[str] = None, **conditions: Any) -> int:
        """Deletes a dead letter, those that fit (see retry()), or all of them."""
        return int(self._call("tkl_queue_drop_dead", _filter(id, **conditions)))

    def move_dead(self, to: "Queue", id: Optional[str] = None, **conditions: Any) -> int:
        """Moves a dead letter, those that fit (see retry()), or all of them, to another queue, where
        their retries start over. Exists: some stay, because of their unique keys. Full.

        >>> mails, later = client.queue("mails"), client.queue("later")
        >>> pushed = mails.push("to ann", kind="mail")
        >>> dead = [job.dead("no such user") for job in mails.consume(wait=0)]
        >>> mails.count_dead(reason="user"), mails.move_dead(later, kind="mail")
        (1, 1)
        """
        return int(self._call("tkl_queue_move_dead", _filter(id, **conditions), to))

    def count_dead(self, id: Optional[str] = None, **conditions: Any) -> int:
        """How many dead letters fit (see retry()). Changes nothing."""
        return int(self._call("tkl_queue_count_dead", _filter(id, **conditions)))

    def drop_done(self, id: Optional[str] = None, **conditions: Any) -> int:
        """Deletes a done job that is kept, those that fit (see retry()), or all of them."""
        return int(self._call("tkl_queue_drop_done", _filter(id, **conditions)))

    def count_done(self, id: Optional[str] = None, **conditions: Any) -> int:
        """How many done jobs that are kept fit (see retry()). Changes nothing."""
        return int(self._call("tkl_queue_count_done", _filter(id, **conditions)))

    def pause(self) -> None:
        """Hands out no job until resume()."""
        self._call("tkl_queue_pause")

    def resume(self) -> None:
        self._call("tkl_queue_resume")

    def drain(self) -> int:
        """Removes all jobs that are ready, held or delayed."""
        return int(self._call("tkl_queue_drain"))

    def drop(self) -> None:
        """Removes the queue with everything in it. NotFound."""
        self._call("tkl_queue_drop")

    def partitions(self) -> int:
        """The number of partitions that are in use. NotFound: there is no such queue."""
        return int(_call.call("tkl_queue_partitions", self.client, self.name))

    def limits(self) -> QueueLimits:
        """The settings of the queue; None: no limit."""
        found: QueueLimits = self._call("tkl_queue_limits_get")
        return found

    def set_limits(self, *, max_jobs: Union[int, float, None] = None,
                   max_bytes: Union[int, float, None] = None,
                   concurrency: Union[int, float, None] = None, rate: Union[int, float, None] = None,
                   rate_period: Optional[Duration] = None,
                   group_concurrency: Union[int, float, None] = None,
                   group_rate: Union[int, float, None] = None,
                   group_rate_period: Optional[Duration] = None,
                   dead_max: Union[int, float, None] = None,
                   dead_for: Union[Duration, None] = None,
                   keep: Union[Duration, None] = None,
                   keep_max: Union[int, float, None] = None,
                   keep_bytes: Union[int, float, None] = None) -> None:
        """Sets some of the limits for all programs; math.inf removes one. Done jobs stay for `keep`
        seconds to be looked at, the newest `keep_max` in `keep_bytes`.

        >>> mails = client.queue("kept")
        >>> mails.set_limits(keep=3600)
        >>> pushed = mails.push("to ann")
        >>> acked = [job.ack() for job in mails.consume(wait=0)]
        >>> [(job.payload.text, job.state) for job in mails.peek("done")], mails.stats().kept_jobs
        ([('to ann', 'done')], 1)
        >>> mails.drop_done(text="ann"), mails.count_done()
        (1, 0)
        """
        self._call("tkl_queue_limits_set", {
            "max_jobs": max_jobs, "max_bytes": max_bytes, "concurrency": concurrency, "rate": rate,
            "rate_period": rate_period, "group_concurrency": group_concurrency,
            "group_rate": group_rate, "group_rate_period": group_rate_period, "dead_max": dead_max,
            "dead": dead_for, "keep": keep, "keep_max": keep_max, "keep_bytes": keep_bytes})

    def __repr__(self) -> str:
        return f"<Queue {self.name!r}>"


Queues = Union[Name, Queue, Sequence[Union[Name, Queue]]]


def open_queues(client: "Client", queues: Queues) -> Tuple[Queue, ...]:
    """One queue or several, which may be given by their names."""
    listed = [queues] if isinstance(queues, (str, bytes, Queue)) else list(queues)
    return tuple(one if isinstance(one, Queue) else Queue(client, one) for one in listed)
