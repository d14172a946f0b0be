# SPDX-License-Identifier: MIT
"""Queues, consumers and schedules."""
import datetime
import math
import threading
import time

import pytest
import tackle


def test_push_and_consume(client):
    queue = client.queue("mails")
    pushed = queue.push({"to": "ann"}, meta="m", group="g", priority=-5, kind="send", time_limit=9)
    assert pushed.is_new and pushed.error is None
    for job in queue.consume(wait=0):
        assert job.payload.json() == {"to": "ann"} and job.meta == b"m" and job.group == "g"
        assert (job.id, job.kind, job.priority, job.attempt) == (pushed.id, "send", -5, 1)
        assert (job.retries, job.error, len(job.token)) == (10, "", 32)
        assert job.time_limit == datetime.timedelta(seconds=9)
        assert abs((job.pushed - datetime.datetime.now(datetime.timezone.utc)).total_seconds()) < 60
        assert 0 < job.left.total_seconds() <= 10
        assert pushed.id in repr(job)
        job.renew(20, progress={"done": 5})
        assert queue.show(job.id).progress.json() == {"done": 5}
        job.ack()
        assert job.reported
    assert queue.stats().done == 1 and client.names("queue") == ["mails"]
    assert [one.name for one in client.queues()] == ["mails"]


def test_outcomes(client):
    queue = client.queue("q")
    ids = {how: queue.push(how).id for how in ("fail", "dead", "release", "with", "raises")}
    for job in queue.consume(wait=0, batch=10):
        how = job.payload.text
        if how == "fail":
            job.fail("no disk", delay=60)
        elif how == "dead":
            job.dead("never")
        elif how == "release":
            job.release(60)
        elif how == "with":
            with job:
                pass
        else:
            with pytest.raises(ValueError):
                with job:
                    raise ValueError("bad \udcff")
    shown = {how: queue.show(id) for how, id in ids.items() if how != "with"}
    assert (shown["fail"].state, shown["fail"].error, shown["fail"].attempt) == ("delayed", "no disk", 1)
    assert (shown["dead"].state, shown["dead"].error) == ("dead", "never")
    assert (shown["release"].state, shown["release"].attempt) == ("delayed", 0)
    assert shown["raises"].error.startswith("ValueError: bad")
    with pytest.raises(tackle.NotFound):
        queue.show(ids["with"])


def test_ctrl_c_in_a_job_is_not_its_fault(client):
    queue = client.queue("q")
    queue.push("x")
    job = next(queue.consume(wait=0))
    with pytest.raises(KeyboardInterrupt):
        with job:
            raise KeyboardInterrupt
    assert queue.stats().ready == 1 and queue.peek()[0].attempt == 0


def test_a_loop_that_ends_early_returns_the_rest(client):
    queue = client.queue("q")
    queue.push_all(range(10))
    for job in queue.consume(wait=0, batch=10):
        job.ack()
        break
    del job
    assert queue.stats().ready == 9


def test_batches(client):
    queue = client.queue("q")
    pushed = queue.push_all(["a", tackle.Push("b", after=[0]), b"c"])
    assert [one.is_new for one in pushed] == [True, True, True]
    with client.consumer([queue]) as consumer:
        jobs = consumer.claim(10, wait=0)
        assert [job.payload for job in jobs] == [b"a", b"c"]
        more, late = consumer.ack_and_claim(jobs, 10, wait=0)
        assert [job.payload for job in more] == [b"b"] and late == []
        consumer.ack(more)
        assert consumer.claim(wait=0.01) == []
    with pytest.raises(ValueError), client.consumer([queue]) as other:
        other.ack(more)
    assert queue.push_all([]) == []


def test_unique_and_limits(client):
    queue = client.queue("q")
    first = queue.push("a", unique="k")
    assert queue.push("b", unique="k") == (first.id, False, None)
    queue.push("a", unique="t", unique_mode="for_a_time", unique_for=60)
    queue.set_limits(max_jobs=3)
    assert queue.limits().max_jobs == 3 and queue.limits().concurrency is None
    with pytest.raises(tackle.Full) as why:
        queue.push_all(["x", "y"])
    assert [bool(one.id) for one in why.value.pushed] == [True, False]
    assert isinstance(why.value.pushed[1].error, tackle.Full)
    queue.set_limits(max_jobs=math.inf)
    assert queue.limits().max_jobs is None


def test_repeated_requests_push_once(client):
    queue = client.queue("q")
    assert queue.push("a", request="r1").id == queue.push("a", request="r1").id
    assert queue.stats().ready == 1


def test_too_late(client):
    queue = client.queue("q")
    queue.push("x")
    with client.consumer([queue]) as consumer:
        job, = consumer.claim(wait=0)
        queue.cancel(job.id)
        with pytest.raises(tackle.NotOwner):
            job.ack()
        queue.push("y")
        job, = consumer.claim(wait=0)
        queue.cancel(job.id)
        assert consumer.ack_and_claim([job], wait=0) == ([], [job])


def test_ack_and_claim_reports_once(client):
    """A claim works also when there is no job at first and the call has to wait."""
    queue = client.queue("q")
    queue.push("x")
    with client.consumer("q") as consumer:
        done = consumer.claim(wait=0)
        later = threading.Timer(0.2, queue.push, ("y",))
        later.start()
        jobs, late = consumer.ack_and_claim(done, wait=60)
        later.join()
        assert [job.payload for job in jobs] == [b"y"] and late == [] and queue.stats().done == 1


def test_consumers_wait_for_a_server_that_went_away(own_url):
    """It works in the main thread as in any other."""
    url = own_url
    with tackle.Client(url, timeout=0.5) as client:
        consumer, events = client.consumer(client.queue("q")), client.blist("events")
        assert consumer.claim(wait=0) == [] and events.pop(wait=0) is None
        for wait, add in ((lambda: consumer.claim(wait=60)[0].payload, lambda c: c.queue("q").push("x")),
                          (lambda: events.pop(wait=60), lambda c: c.blist("events").push("x"))):
            tackle.server_stop(url)

            def come_back():
                time.sleep(1)       # longer than the time-out of a call
                tackle.server_start(url)
                with tackle.Client(url) as other:
                    add(other)

            thread = threading.Thread(target=come_back)
            thread.start()
            assert wait() == b"x"
            thread.join()


def test_lost_claims_are_reported(client):
    lost = threading.Event()
    queue = client.queue("q")
    id = queue.push("x").id
    with client.consumer([queue], lease=0.3, on_lost=lambda *claim: (seen.append(claim), lost.set())) as consumer:
        seen = []
        job, = consumer.claim(wait=0)
        queue.cancel(id)
        assert lost.wait(30) and seen == [(id, job.token)]


def test_jobs_of_a_dead_consumer_return(client):
    queue = client.queue("q")
    queue.push("x")
    with client.consumer([queue], lease=0.1) as consumer:
        consumer.claim(wait=0)
    with client.consumer([queue]) as consumer:
        job, = consumer.claim(wait=30)
        assert job.attempt == 2
        job.ack()


def test_claimed_here_finished_elsewhere(client):
    queue = client.queue("q")
    queue.push("x", result_for=60)
    with client.consumer([queue], lease=30, renew=False) as consumer:
        job, = consumer.claim(wait=0)
        queue.renew(job.id, job.token, 60, "half")
        queue.finish(job.id, job.token, "done", {"ok": True})
        assert queue.result(job.id, wait=0).json() == {"ok": True}


def test_results(client):
    queue = client.queue("q")
    done, dead = queue.push("done", result_for=60).id, queue.push("dead", result_for=60).id
    with pytest.raises(tackle.Empty):
        queue.result(done, wait=0)
    for job in queue.consume(wait=0, batch=2):
        job.ack([1, 2]) if job.id == done else job.dead("why")
    assert queue.result(done).json() == [1, 2]
    with pytest.raises(tackle.Dead, match="why"):
        queue.result(dead)
    with pytest.raises(tackle.NotFound):
        queue.result("0000000000000", wait=0)


def test_wake_and_cancel(client):
    queue = client.queue("q")
    with client.consumer([queue]) as consumer:
        consumer.wake()
        assert consumer.claim(wait=60) == []
        consumer.cancel()
        assert consumer.claim(wait=60) == []


def test_earlier_queues_come_first(client):
    urgent, later = client.queue("urgent"), client.queue("later")
    later.push("b")
    urgent.push("a")
    with client.consumer([urgent, later]) as consumer:
        assert [job.payload for job in consumer.jobs(wait=0) if not job.ack()] == [b"a", b"b"]


def test_operators(client):
    queue = client.queue("q", partitions=2)
    delayed = queue.push("x", delay=3600)
    queue.promote(delayed.id)
    assert queue.stats().ready == 1 and queue.partitions() in (1, 2)
    queue.push("y", priority=5)
    assert [level.ready for level in queue.levels()] == [1, 1]
    for job in queue.consume(wait=0):
        job.dead("x")
    assert [job.state for job in queue.peek("dead")] == ["dead", "dead"]
    assert queue.retry() == 2 and queue.stats().ready == 2
    queue.pause()
    assert queue.stats().paused
    queue.resume()
    assert queue.drain() == 2
    queue.push("z")
    for job in queue.consume(wait=0):
        job.dead("x")
        assert queue.drop_dead(job.id) == 1
    queue.drop()
    with pytest.raises(tackle.NotFound):
        queue.drop()


def test_chosen_dead_letters(client):
    queue, other = client.queue("q"), client.queue("other")
    for kind in ("send", "send", "resize", "tidy"):
        queue.push(kind + " it", kind=kind)
    for job in queue.consume(wait=0):
        job.dead("cannot " + job.kind)
    assert queue.count_dead() == 4 and queue.count_dead(kind="send") == 2
    assert queue.count_dead(older=3600) == 0 and queue.count_dead(text="resize it") == 1
    first = queue.find("send it", state="dead", max=1)
    second = queue.find("send it", state="dead", max=1, after=first.next)
    assert {first[0].id, second[0].id} == {job.id for job in queue.find(kind="send")}
    assert queue.retry(kind="send") == 2 and queue.drop_dead(reason="tidy") == 1
    with pytest.raises(tackle.NotFound):
        queue.retry(reason="tidy")
    assert queue.move_dead(other) == 1 and other.find("resize")[0].state == "ready"
    with pytest.raises(TypeError):
        queue.retry(colour="red")


def test_workers_and_times(client):
    queue, other = client.queue("q"), client.queue("other")
    queue.push_all([tackle.Push(n, kind="send") for n in range(3)])
    with client.consumer([queue], label="blue", threads=4) as consumer:
        first, second = consumer.claim(2, wait=0)
        worker, = queue.workers(other)
        assert (worker.label, worker.threads, worker.lease.total_seconds()) == ("blue", 4, 10)
        assert {run.id for run in worker.runs} == {first.id, second.id} and worker.runs[0].kind == "send"
        assert worker.id == first.token[:10] == queue.show(first.id).worker
        assert worker.seen <= queue.workers().now
        first.ack()
        second.fail("no disk", delay=60)
    kind, = queue.times(other)
    assert (kind.queue, kind.kind, kind.done, kind.failed) == ("q", "send", 1, 1)
    assert len(kind.run.counts) == len(tackle.queue.bounds()) and sum(kind.run.counts) == kind.run.count == 2
    assert other.workers().items == [] and other.times() == []


def test_why_a_job_does_not_run(client):
    queue = client.queue("q")
    with pytest.raises(tackle.NotFound):
        queue.why()
    id = queue.push("x").id
    queue.pause()
    reasons = queue.why()
    assert (reasons.id, reasons.state, reasons[0].cause) == (id, "ready", "paused")
    queue.resume()
    with client.consumer([queue]) as consumer:
        job, = consumer.claim(wait=0)
        assert [reason.cause for reason in queue.why(id)] == ["runs"]
        with pytest.raises(tackle.Busy):
            queue.requeue(id)
        queue.requeue(id, force=True)
        with pytest.raises(tackle.NotOwner):
            job.ack()
        with pytest.raises(tackle.NotFound):
            queue.requeue(id)
    assert queue.peek()[0].attempt == 0


def test_watching(client):
    queue = client.queue("q")
    with queue.watch() as watcher:
        with pytest.raises(tackle.NotFound, match="not found"):
            watcher.next(wait=0)
    queue.push("x")
    with queue.watch() as watcher:
        with pytest.raises(tackle.Empty):
            watcher.next(wait=0.1)
        id = queue.push("y").id
        event, = watcher.next(wait=30)
        assert (event.event, event.id, event.note) == ("pushed", id, "") and event.at is not None
        queue.cancel(id)
        queue.pause()
        events = iter(watcher)
        assert [(one.event, one.id) for one in (next(events), next(events))] == [("cancelled", id), ("paused", "")]


def test_schedules(client):
    queue = client.queue("q")
    queue.schedule("a", {"n": 1}, every=3600, kind="k", missed="skip")
    queue.schedule("b", cron="30 2 * * *", zone="Europe/Berlin")
    first, second = queue.schedules()
    assert first.every == datetime.timedelta(hours=1) and first.payload.json() == {"n": 1}
    assert (first.kind, first.missed, first.last) == ("k", "skip", None)
    assert second.zone == "Europe/Berlin" and second.next > datetime.datetime.now(datetime.timezone.utc)
    queue.pause_schedule("a")
    assert [one.paused for one in queue.schedules()] == [True, False]
    queue.resume_schedule("a")
    job = queue.fire_schedule("a")
    queue.edit(job, "edited")
    assert queue.show(job).payload.text == "edited"
    queue.cancel(job)
    queue.unschedule("a")
    with pytest.raises(tackle.NotFound):
        queue.unschedule("a")
    with pytest.raises(tackle.InvalidArgument, match="minute|cron|hour"):
        queue.schedule("c", cron="61 * * * *")
    with pytest.raises(ValueError):
        tackle.cron_next("nonsense")


def test_many_threads_claim_each_job_once(client):
    queue = client.queue("q")
    queue.push_all(range(500))
    seen, lock = [], threading.Lock()

    def work():
        for job in queue.consume(wait=0, batch=20):
            with lock:
                seen.append(job.payload.json())
            job.ack()

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(500))
    assert queue.stats().done == 500


def test_consumer_waits_and_is_woken(client):
    queue = client.queue("q")
    threading.Timer(0.2, lambda: queue.push("late")).start()
    begun = time.monotonic()
    job = next(queue.consume(wait=60))
    assert job.payload == b"late" and time.monotonic() - begun < 50
    job.ack()
