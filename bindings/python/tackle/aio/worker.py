# SPDX-License-Identifier: MIT
"""Workers: tasks that run a coroutine for each job."""
from __future__ import annotations

import asyncio
import traceback
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Dict, Optional, Set, TypeVar

from .._convert import Duration, Name
from ..errors import Dead, Error, InvalidArgument
from ..worker import Release
from .queue import Consumer, Job, Queues, open_queues

if TYPE_CHECKING:
    from .client import Client

Handler = Callable[[Job], Awaitable[Any]]
H = TypeVar("H", bound=Handler)


class Worker:
    """Runs handlers for the jobs of one or more queues; jobs of an earlier queue come first.

        worker = client.worker("mails", tasks=100)

        @worker.on("sendEmail")
        async def send(job):
            await deliver(job.payload.json())

        await worker.run()

    A handler gets a Job, and is one of up to `tasks` tasks. What it returns, unless None, is the
    result of the job. An exception fails the job: it is retried after its backoff; tackle.Dead sends
    it to the dead letters, tackle.Release back to the queue. Handlers should be idempotent: a job may
    run more than once.

    `drain`: end when no job is ready. `label`: for Queue.workers(). `on_error(error)` is called when
    the server cannot be reached, or the end of a job could not be reported; the worker goes on.
    """

    def __init__(self, client: "Client", queues: Queues, *,
                 tasks: int = 10, lease: Optional[Duration] = None, drain: bool = False,
                 label: Optional[Name] = None, on_error: Optional[Callable[[Error], None]] = None,
                 timeout: Optional[Duration] = None) -> None:
        self.client = client
        self.queues = open_queues(client, queues)
        if tasks < 1:
            raise ValueError("tasks: at least 1 expected")
        self._tasks = tasks
        self._drain = drain
        self._on_error = on_error
        self._options: Dict[str, Any] = {"lease": lease, "label": label, "timeout": timeout}
        self._handlers: Dict[Optional[str], Handler] = {}
        self._consumer: Optional[Consumer] = None
        self._quits = False

    def on(self, kind: Optional[str] = None) -> Callable[[H], H]:
        """Decorates the handler of a kind of jobs; None: of all other kinds."""
        def add(handler: H) -> H:
            self._handlers[kind] = handler
            return handler
        return add

    async def run(self) -> None:
        """Works until quit() or, with `drain`, until no job is ready; running jobs end first. When
        this task is cancelled, they are cancelled, too, and return to the queue."""
        if not self._handlers:
            raise InvalidArgument("the worker has no handler")
        running: Set["asyncio.Task[None]"] = set()
        async with Consumer(self.client, self.queues, threads=self._tasks, on_error=self._on_error,
                            **self._options) as consumer:
            self._consumer = consumer
            try:
                while not self._quits:
                    if len(running) == self._tasks:
                        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                        continue
                    jobs = await consumer.claim(self._tasks - len(running),
                                                wait=0 if self._drain else None)
                    for job in jobs:
                        task = asyncio.ensure_future(self._run(job))
                        running.add(task)
                        task.add_done_callback(running.discard)
                    if not jobs and self._drain:
                        if not running:
                            break
                        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            except BaseException:
                for task in running:
                    task.cancel()
                raise
            finally:
                self._consumer = None
                await asyncio.gather(*running, return_exceptions=True)

    def quit(self) -> None:
        """Claims no further job; run() returns when the running ones have ended."""
        self._quits = True
        if self._consumer:
            self._consumer.wake()

    async def _run(self, job: Job) -> None:
        try:
            await self._end(job)
        except Error as why:        # the job runs again when its lease has ended
            if self._on_error:
                self._on_error(why)

    async def _end(self, job: Job) -> None:
        """Runs the handler; what it returns or raises decides how the job ends."""
        handler = self._handlers.get(job.kind) or self._handlers.get(None)
        if handler is None:
            await job.fail(f"no handler for jobs of kind {job.kind!r}")
            return
        try:
            result = await handler(job)
        except Release as why:
            await job.release(why.delay_ms / 1000)
        except Dead as why:
            await job.dead(str(why))
        except asyncio.CancelledError:
            await asyncio.shield(job.release())
            raise
        except Exception as why:
            await job.fail("".join(traceback.format_exception_only(type(why), why)).strip())
        else:
            await job.ack(result)
