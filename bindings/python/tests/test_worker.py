# SPDX-License-Identifier: MIT
"""Workers, and what handlers may do."""
import gc
import signal
import threading
import time

import pytest
import tackle


def run(client, handler, **options):
    worker = client.worker("q", drain=True, **options)
    worker.on()(handler)
    worker.run()
    return worker


def test_workers_have_labels(client):
    queue, seen = client.queue("q"), []
    queue.push("x")
    run(client, lambda task: seen.extend(one.label for one in queue.workers()), label="blue")
    assert seen == ["blue"]


def test_handlers_by_kind(client):
    queue = client.queue("q")
    for kind in ("send", "resize", "other", None):
        queue.push("x", kind=kind)
    seen = []
    worker = client.worker(queue, drain=True)

    @worker.on("send")
    def send(task):
        seen.append(("send", task.kind))

    @worker.on("resize")
    def resize(task):
        seen.append(("resize", task.kind))

    @worker.on()
    def other(task):
        seen.append(("other", task.kind))

    assert send.__name__ == "send"      # the decorator leaves functions alone
    worker.run()
    assert sorted(seen) == [("other", ""), ("other", "other"), ("resize", "resize"), ("send", "send")]


def test_a_kind_without_handler_is_retried(client):
    queue = client.queue("q")
    id = queue.push("x", kind="unknown").id
    worker = client.worker("q", drain=True)
    worker.on("known")(lambda task: None)
    worker.run()
    assert "no handler for the kind" in queue.show(id).error


@pytest.mark.parametrize("raised, state, error", [
    (ValueError("bad input"), "delayed", "ValueError: bad input"),
    (tackle.Dead("never again"), "dead", "never again"),
    (tackle.Release(delay=60), "delayed", ""),
    (KeyError("k\0\udcff"), "delayed", "KeyError: 'k\\x00\\udcff'"),
    (SystemExit(3), "delayed", "SystemExit: 3"),
    (KeyboardInterrupt(), "delayed", "KeyboardInterrupt"),
    (RuntimeError("é" * 2000), "delayed", None),
])
def test_exceptions_end_the_job(client, raised, state, error):
    queue = client.queue("q")
    id = queue.push("x").id

    def handler(task):
        raise raised

    run(client, handler)
    job = queue.show(id)
    assert job.state == state
    assert error is None or job.error == error
    assert job.attempt == (0 if isinstance(raised, tackle.Release) else 1)


def test_results_and_progress(client):
    queue = client.queue("q")
    ids = [queue.push(n, result_for=60).id for n in range(3)]

    def handler(task):
        task.progress({"half": True})
        assert queue.show(task.id).progress.json() == {"half": True}
        assert not task.cancelled and task.left.total_seconds() > 0
        number = task.payload.json()
        return {"n": number} if number else b"raw"

    run(client, handler)
    assert queue.result(ids[0]) == b"raw" and queue.result(ids[2]).json() == {"n": 2}


def test_results_that_are_no_json_fail_the_job(client):
    queue = client.queue("q")
    id = queue.push("x").id
    run(client, lambda task: object())
    assert "TypeError" in queue.show(id).error


def test_a_task_ends_with_its_handler(client):
    client.queue("q").push("x")
    kept = []
    run(client, kept.append)
    for use in (lambda: kept[0].payload, lambda: kept[0].cancelled, lambda: kept[0].progress("x")):
        with pytest.raises(tackle.Closed):
            use()


def test_threads_run_at_once(client):
    queue = client.queue("q")
    queue.push_all(range(4))
    barrier = threading.Barrier(4, timeout=60)
    run(client, lambda task: barrier.wait(), threads=4)
    assert queue.stats().done == 4


def test_hooks(client):
    queue = client.queue("q")
    queue.push("good")
    queue.push("bad")
    ended = []

    def handler(task):
        if task.payload == b"bad":
            raise ValueError

    run(client, handler, on_end=lambda job, outcome, seconds: ended.append(
        (job.payload.text, outcome, seconds >= 0)))
    assert sorted(ended) == [("bad", "failed", True), ("good", "done", True)]


def test_stop_and_stats(client, eventually):
    queue = client.queue("q")
    queue.push("long")
    started = threading.Event()
    worker = client.worker("q")

    @worker.on()
    def work(task):
        started.set()
        while not task.cancelled:
            time.sleep(0.01)

    with worker:
        assert started.wait(30)
        assert worker.stats().running == 1
        assert worker.wait(0) is False
        assert worker.stop(0.05) is False       # it still runs, and is told so
        assert worker.wait(30) is True
        assert worker.stats().done == 1
    with pytest.raises(tackle.Closed):
        worker.stats()


def test_quit_by_a_handler_and_max_jobs(client):
    queue = client.queue("q")
    queue.push_all(range(10))
    worker = client.worker("q")
    worker.on()(lambda task: worker.quit())
    worker.run()
    left = queue.stats().ready
    assert 5 <= left <= 9
    second = client.worker("q", max_jobs=2)
    second.on()(lambda task: None)
    second.run()
    assert queue.stats().ready == left - 2


def test_misuse(client):
    worker = client.worker("q", drain=True)
    with pytest.raises(tackle.InvalidArgument):
        worker.wait()
    with pytest.raises(tackle.InvalidArgument):
        worker.start()      # no handler
    worker.on()(lambda task: None)
    worker.start()
    with pytest.raises(tackle.InvalidArgument):
        worker.start()
    with pytest.raises(tackle.InvalidArgument):
        worker.on("late")(print)
    worker.close()
    worker.close()
    with pytest.raises(TypeError):
        client.worker(7)


def test_handlers_may_use_the_client(client):
    client.queue("q").push("x")

    def handler(task):
        with client.lock("inside"):
            client.queue("next").push(task.payload)

    run(client, handler)
    assert client.queue("next").stats().ready == 1


def test_a_collected_worker_is_closed(client):
    worker = client.worker("q")
    worker.on()(lambda task: None)
    worker.start()
    cells = len(client._cell.children)
    del worker
    gc.collect()
    assert len(client._cell.children) < cells


def test_sigterm_stops_a_program_cleanly(python):
    ended = python("""
import os, signal, time
client = tackle.Client(url)
client.call('FLUSHALL')
client.queue('jobs').push('x')
worker = client.worker('jobs')
@worker.on()
def work(task):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.5)
    print('finished', flush=True)
worker.run(grace=60)
print('stopped', client.queue('jobs').stats().done)
""")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "finished\nstopped 1\n", "")


def test_errors_of_the_server_are_reported_and_survived(own_url, eventually):
    """The server goes away and comes back: the worker goes on."""
    url = own_url
    status = tackle.server_status(url)
    with tackle.Client("unix://" + status.socket) as client:
        errors, seen = [], []
        worker = client.worker("q", on_error=errors.append, lease=2)
        worker.on()(lambda task: seen.append(task.payload))
        with worker:
            client.queue("q").push("before")
            eventually(lambda: seen)
            tackle.server_stop(url)
            eventually(lambda: errors)
            tackle.server_start(url)
            client.queue("q", timeout=30).push("after")
            eventually(lambda: len(seen) == 2)
        assert all(isinstance(why, tackle.Error) for why in errors)


def test_signals_reach_handlers_of_the_program(client):
    """run() in another thread than the main one touches no handlers."""
    worker = client.worker("q", drain=True)
    worker.on()(lambda task: None)
    thread = threading.Thread(target=worker.run)
    thread.start()
    thread.join(30)
    assert not thread.is_alive() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
