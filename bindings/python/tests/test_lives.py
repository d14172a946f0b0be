# SPDX-License-Identifier: MIT
"""The lives of handles: closing in any order, threads, fork, signals, the collector, the end."""
import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import signal
import threading
import time
import weakref

import pytest
import tackle
import tackle.aio


def test_closed_things_say_so(url):
    client = tackle.Client(url)
    lock, queue, counter = client.lock("x"), client.queue("q"), client.counter("c")
    buffer = counter.buffer()
    consumer = client.consumer([queue])
    client.close()
    client.close()
    assert client.closed and lock.closed and queue.closed and buffer.closed and consumer.closed
    for use in (lambda: client.call("PING"), lambda: lock.acquire(), lambda: lock.state,
                lambda: queue.push("x"), lambda: buffer.add(), lambda: consumer.claim(wait=0),
                lambda: client.lock("y"), lambda: client.interrupt(), lambda: lock.token,
                lambda: client.names("lock"), lambda: client.key("lock", "x")):
        with pytest.raises(tackle.Closed):
            use()
    lock.close()
    buffer.close()


def test_children_keep_their_parents(client):
    buffer = client.counter("c").buffer(interval=60)
    buffer.add(3)
    gc.collect()        # nothing but the buffer refers to the counter
    buffer.close()
    assert sum(one.count for one in client.counter("c").read(60)) == 3
    follower = client.channel("news").follow(recent=1)
    gc.collect()
    client.channel("news").publish("a")
    assert follower.next(wait=30)[0].data == b"a"


def test_closing_a_parent_closes_its_children(client):
    counter = client.counter("c")
    buffer = counter.buffer(interval=60)
    buffer.add(3)
    counter.close()
    assert buffer.closed
    assert sum(one.count for one in client.counter("c").read(60)) == 3


def test_dropped_handles_are_closed(client, eventually):
    lock = client.lock("x")
    lock.acquire()
    del lock        # releases it
    assert client.lock("x").acquire(wait=30)


def test_cycles_are_collected(url):
    class Program:
        pass

    program = Program()
    program.client = tackle.Client(url)
    program.lock = program.client.lock("cycle")
    program.queue = program.client.queue("q")
    program.consumer = program.client.consumer([program.queue])
    program.self = program
    program.lock.acquire()
    seen = weakref.ref(program)
    del program
    gc.collect()
    assert seen() is None
    with tackle.Client(url) as client:
        assert client.lock("cycle").acquire(wait=30)


def test_handles_do_not_leak(client):
    """Opening and dropping a thousand of each handle leaves no cells."""
    for _ in range(1000):
        client.lock("x")
        client.counter("c").buffer()
    gc.collect()
    assert len(client._cell.children) < 10


def test_close_while_another_thread_waits(url):
    """The call of the other thread ends, then the handle is closed, without a crash."""
    client, other = tackle.Client(url), tackle.Client(url)
    holder = other.lock("x")
    holder.acquire()
    ended = []

    def work():
        try:
            client.lock("x").acquire()
        except tackle.Error as why:
            ended.append(why)

    thread = threading.Thread(target=work)
    thread.start()
    while not other.lock("x").show().waiters:
        time.sleep(0.01)
    client.close()
    thread.join(30)
    assert not thread.is_alive() and isinstance(ended[0], tackle.Closed)
    other.close()


def start_worker(client):
    worker = client.worker("q")
    worker.on()(lambda task: None)
    return worker.start()


# Handles that calls of the library open, beside those that classes open.
OPENED = {
    "tkl_worker_start": start_worker,
    "tkl_service_register": lambda client: client.service("shop").register("10.0.0.5:8080"),
    "tkl_config_client_borrow": lambda client: client.config_client("sessions").borrow().__enter__(),
}


@pytest.mark.parametrize("opens", OPENED)
def test_close_while_something_is_opened(url, client, monkeypatch, opens):
    """The client is closed after the handle that it has just opened."""
    client.config("server", "sessions").set(url)
    shut = tackle.Client(url)
    call, states = tackle._call.call, []

    def call_and_close(name, *given, **options):
        result = call(name, *given, **options)
        if name == opens:
            thread = threading.Thread(target=shut.close)
            thread.start()
            thread.join(30)
            states.append((shut.closed, shut._cell.pointer is not None))
        return result

    monkeypatch.setattr(tackle._call, "call", call_and_close)
    with pytest.raises(tackle.Closed):
        OPENED[opens](shut)
    assert states == [(True, True)] and shut._cell.pointer is None
    assert not client.service("shop").list()


@pytest.mark.parametrize("opens", [name for name in OPENED if name != "tkl_worker_start"])
def test_close_while_asyncio_opens_something(url, client, monkeypatch, opens):
    client.config("server", "sessions").set(url)
    call, states = tackle.aio._call.call, []

    async def opening():
        shut = tackle.aio.Client(url)

        async def call_and_close(name, *given, **options):
            result = await call(name, *given, **options)
            if name == opens:
                shut._cell.close()
                states.append((shut.closed, shut._cell.pointer is not None))
            return result

        monkeypatch.setattr(tackle.aio._call, "call", call_and_close)
        with pytest.raises(tackle.Closed):
            if opens == "tkl_service_register":
                await shut.service("shop").register("10.0.0.5:8080")
            else:
                await shut.config_client("sessions").borrow().__aenter__()
        await shut.close()
        assert states == [(True, True)] and shut._cell.pointer is None

    asyncio.run(asyncio.wait_for(opening(), 60))
    assert not client.service("shop").list()


def test_threads_use_and_close_at_will(url):
    """Threads open, use and close everything at the same time; Closed is the only complaint."""
    stop = time.monotonic() + 2
    wrong = []
    shared = [tackle.Client(url)]

    def work():
        while time.monotonic() < stop:
            client = shared[0]
            try:
                queue = client.queue("q")
                queue.push("x")
                queue.stats()
                client.lock("y").acquire(wait=0)
                queue.close()
            except tackle.Closed:
                pass
            except Exception as why:
                wrong.append(why)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    while time.monotonic() < stop:
        time.sleep(0.02)
        old, shared[0] = shared[0], tackle.Client(url)
        old.close()
    for thread in threads:
        thread.join()
    shared[0].close()
    assert wrong == []


def test_other_threads_run_during_a_call(client):
    """A call that waits does not hold the interpreter."""
    ticks = []
    waiter = threading.Thread(target=lambda: client.blist("none").pop(wait=0.5))
    waiter.start()
    while waiter.is_alive():
        ticks.append(1)
        time.sleep(0.01)
    assert len(ticks) > 10


def test_copies_are_refused(client):
    for handle in (client, client.lock("x")):
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError):
                make(handle)


# ---- Interrupting -------------------------------------------------------------------------------

def test_interrupt(client, eventually):
    ended = []

    def work():
        try:
            client.blist("none").pop()
        except tackle.Interrupted as why:
            ended.append(why)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    client.interrupt()
    for thread in threads:
        thread.join(30)
    assert len(ended) == 3
    with pytest.raises(tackle.Interrupted):
        client.blist("none").pop(wait=60)
    client.resume()
    assert client.blist("none").pop(wait=0.01) is None


WAITS = {
    "lock": "client.lock('held').acquire()",
    "with lock": "client.lock('held').__enter__()",
    "claim": "next(client.queue('none').consume())",
    "pop": "client.blist('none').pop()",
    "fetch": "client.mail('none').fetch()",
    "follow": "next(iter(client.channel('none').follow()))",
    "limit": "client.limit('api', 1, 3600).wait('used')",
    "result": "client.queue('q').result(pushed.id)",
    "cache": "client.cache().fetch('computed', lambda key: 'x')",
    "worker": "client.worker('none').on()(print) and worker.run()",
    "files": "client.files('none').receive('a', '/tmp')",
    "log": "client.log('none').tail().next()",
    "long": "client.lock('held').acquire(wait=3600)",
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait(wait, url, python, tmp_path):
    """KeyboardInterrupt comes at once, and the client can be used afterwards."""
    program = f"""
import os, signal, threading, time
client = tackle.Client(url)
other = tackle.Client(url)
held = other.lock('held'); held.acquire()
other.limit('api', 1, 3600).check('used')
pushed = client.queue('q').push('x', result_for=60)
computing = threading.Event()
def compute(key):
    computing.set()
    time.sleep(60)
threading.Thread(target=lambda: other.cache().fetch('computed', compute), daemon=True).start()
computing.wait(60)
worker = client.worker('none'); worker.on()(print)
begun = time.monotonic()
try:
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    {WAITS[wait].replace("client.worker('none').on()(print) and ", "")}
    print('returned')
except KeyboardInterrupt:
    print('interrupted')
assert time.monotonic() - begun < 30
assert client.call('PING') == b'PONG'
assert client.blist('none').pop(wait=0.01) is None
held.release()
os._exit(0)
"""
    ended = python(program.replace("os._exit(0)", "print(end='', flush=True); os._exit(0)"), cwd=tmp_path)
    expected = "returned\n" if wait == "worker" else "interrupted\n"     # a worker stops cleanly
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, expected, "")


def test_ctrl_c_leaves_other_threads_alone(python):
    ended = python("""
import os, signal, threading, time
client = tackle.Client(url)
got = []
thread = threading.Thread(target=lambda: got.append(client.blist('later').pop(wait=60)))
thread.start()
try:
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    client.blist('never').pop()
except KeyboardInterrupt:
    pass
client.blist('later').push('it came')
thread.join()
print(got)
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[b'it came']\n", "")


def test_signal_handlers_run_during_a_wait(python):
    ended = python("""
import os, signal, threading
client = tackle.Client(url)
def stop(*_):
    print('signal', flush=True)
    client.interrupt()
signal.signal(signal.SIGUSR1, stop)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
try:
    client.blist('never').pop()
except tackle.Interrupted:
    print('interrupted')
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "signal\ninterrupted\n", "")


# ---- Fork ---------------------------------------------------------------------------------------

def in_child(run):
    """Runs it in a forked child: what it returns, as text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = repr(run())
        except BaseException as why:
            answer = f"raised {why!r}"
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        answer = stream.read().decode()
    os.waitpid(pid, 0)
    return answer


def test_child_uses_its_parents_client(client):
    client.call("SET", "k", "v")
    queue = client.queue("q")
    assert in_child(lambda: client.call("GET", "k")) == "b'v'"
    assert in_child(lambda: queue.push("x").is_new) == "True"
    assert in_child(lambda: client.lock("new").acquire(wait=0)) == "True"
    assert client.call("GET", "k") == b"v"


def test_child_does_not_own_what_its_parent_holds(client):
    lock = client.lock("x")
    lock.acquire()
    assert "InvalidArgument" in in_child(lambda: lock.release())
    assert in_child(lambda: (lock.close(), lock.closed)) == "(None, True)"
    assert in_child(lambda: client.close()) == "None"
    assert lock.held and client.lock("x").acquire(wait=0) is False
    lock.release()


def test_fork_while_threads_call(client):
    """A fork in the middle of other threads' calls leaves no lock behind."""
    stop = threading.Event()

    def work():
        while not stop.is_set():
            client.call("PING")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert in_child(lambda: client.call("PING")) == "b'PONG'"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def push_one(number):
    return GLOBAL.queue("pool").push(number).is_new


GLOBAL = None


def test_multiprocessing_pool(url):
    """A client is opened before the fork and used in the children, as with gunicorn."""
    global GLOBAL
    GLOBAL = tackle.Client(url)
    GLOBAL.call("FLUSHALL")
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert all(pool.map(push_one, range(100)))
    assert GLOBAL.queue("pool").stats().ready == 100
    GLOBAL.close()


def test_private_server_survives_its_children():
    with tackle.Client("embedded:") as client:
        client.call("SET", "k", "v")
        pid = os.fork()
        if pid == 0:
            client.close()
            os._exit(0)
        os.waitpid(pid, 0)
        assert client.call("GET", "k") == b"v"


# ---- The end of the interpreter -----------------------------------------------------------------

@pytest.mark.parametrize("source", [
    "client = tackle.Client(url); lock = client.lock('end'); lock.acquire()",
    "client = tackle.Client(url, on_event=print); worker = client.worker('q'); worker.on()(print); worker.start()",
    "client = tackle.Client('embedded:'); client.call('PING'); c = client.counter('c').buffer(); c.add()",
    "import threading; client = tackle.Client(url)\n"
    "threading.Thread(target=lambda: client.blist('none').pop(), daemon=True).start()\n"
    "import time; time.sleep(0.2)",
])
def test_a_program_ends_cleanly(python, source):
    ended = python("import warnings; warnings.simplefilter('ignore', ResourceWarning)\n" + source)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_library_is_named_when_it_is_missing(python):
    ended = python("", env={**os.environ, "TACKLE_LIBRARY": "/nowhere/libtackle.so"})
    assert ended.returncode == 1 and "ImportError: tackle: /nowhere/libtackle.so" in ended.stderr


# ---- Hooks --------------------------------------------------------------------------------------

def test_hooks_must_not_close(client):
    seen = []

    def lost():
        try:
            lock.close()
        except RuntimeError as why:
            seen.append(why)

    lock = client.lock("x", watch=True, on_lost=lost)
    lock.acquire()
    client.lock("x").break_()
    lock.wait_lost(30)
    lock.close()
    assert len(seen) == 1


def test_exceptions_in_hooks_are_reported(url, python):
    ended = python("""
client = tackle.Client(url, on_event=lambda event: 1 / 0)
print(client.call('PING'))
""")
    assert ended.returncode == 0 and "b'PONG'" in ended.stdout and "ZeroDivisionError" in ended.stderr


def test_events(url):
    events = []
    with tackle.Client(url, on_event=events.append) as client:
        client.call("PING")
    assert (events[0].type, events[0].code) == ("connected", 0) and events[0].server


def test_signal_is_restored_after_a_worker(client):
    before = signal.getsignal(signal.SIGTERM)
    worker = client.worker("q", drain=True)
    worker.on()(lambda task: None)
    worker.run()
    assert signal.getsignal(signal.SIGTERM) is before
