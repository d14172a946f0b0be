# SPDX-License-Identifier: MIT
"""Runs the tests of the components, and of locks and queues, once more with tackle.aio: its clients
do what blocking clients do."""
import asyncio
import inspect
import threading

import pytest
import tackle
import tackle.aio
import test_components
import test_hold
import test_queue

# Tests of what differs: hooks of threads, and blocking objects that the test makes itself.
DIFFERENT = {"test_ip_hooks", "test_redlock"}

for module in (test_components, test_hold, test_queue):
    globals().update({name: test for name, test in vars(module).items()
                      if name.startswith("test_") and name not in DIFFERENT})


class Blocking:
    """An object of tackle.aio whose methods block: its coroutines run in the loop of a thread."""

    def __init__(self, target, loop):
        self.__dict__.update(_target=target, _loop=loop)

    def __getattr__(self, name):
        if name.startswith("_") and name not in ("_cell", "_pointer", "_native"):
            raise AttributeError(name)
        names = {"__len__": "length"}
        return self._wrapped(getattr(self._target, names.get(name, name)))

    def _wrapped(self, value):
        if inspect.ismethod(value) or inspect.isfunction(value) or type(value).__name__ == "partial":
            return lambda *given, **named: self._result(value(*map(plain, given), **{
                key: plain(one) for key, one in named.items()}))
        return self._result(value)

    def _result(self, value):
        if inspect.isasyncgen(value):
            return self._items(value)
        if inspect.isawaitable(value):
            return self._result(self._run(value))
        if type(value) in (list, tuple):
            return type(value)(map(self._result, value))
        if type(value).__module__.startswith("tackle.aio") or hasattr(type(value), "__aenter__"):
            return Blocking(value, self._loop)
        return value

    def _run(self, value):
        async def wait():
            return await value
        return asyncio.run_coroutine_threadsafe(wait(), self._loop).result()

    def _items(self, generator):
        try:
            while True:
                try:
                    yield self._result(self._run(generator.__anext__()))
                except StopAsyncIteration:
                    return
        finally:
            self._close(generator)

    def _close(self, generator):
        if self._loop.is_closed():
            return      # the collector comes late
        closed = asyncio.run_coroutine_threadsafe(generator.aclose(), self._loop)
        if asyncio._get_running_loop() is not self._loop:   # it is when the collector runs there
            closed.result()

    def __enter__(self):
        entered = self._run(self._target.__aenter__())
        return self if entered is self._target else self._result(entered)

    def __exit__(self, *why):
        return self._run(self._target.__aexit__(*why))

    def __iter__(self):
        found = self._target.__aiter__()
        return self._items(found) if inspect.isasyncgen(found) else self

    def __next__(self):
        try:
            return self._run(self._target.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def __len__(self):
        if not hasattr(self._target, "length"):
            raise TypeError("it has no length")     # list() asks, and does without
        return self._run(self._target.length())

    def __contains__(self, item):
        return self._run(self._target.contains(item))

    def __bool__(self):
        return bool(self._target)

    def __eq__(self, other):
        return self._target == plain(other)

    def __hash__(self):
        return hash(self._target)

    def __repr__(self):
        return repr(self._target)


def plain(value):
    """An argument without the wrappers in it."""
    if isinstance(value, Blocking):
        return value._target
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return value


@pytest.fixture
def client(url):
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    client = Blocking(tackle.aio.Client(url), loop)
    client.call("FLUSHALL")
    yield client
    client.close()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_cancelled_wait_leaves_the_line(url):
    async def cancel():
        async with tackle.aio.Client(url) as client:
            held = client.lock("x")
            await held.acquire()
            waiting = asyncio.ensure_future(client.lock("x").acquire())
            while (await held.show()).waiters == 0:
                await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            while (await held.show()).waiters > 0:
                await asyncio.sleep(0.01)
            await held.release()
            assert await client.lock("x").acquire(wait=0)

    asyncio.run(asyncio.wait_for(cancel(), 60))
