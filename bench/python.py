# SPDX-License-Identifier: MIT
"""The Python package beside RQ, Celery and redis-py, on one private server, in one run.

    make wheel && tools/setup peers
    TACKLE_LIBRARY=build/libtackle.so PYTHONPATH=build/python /usr/bin/python3 bench/python.py

Each figure is the median of the rounds; rounds of all candidates alternate. A peer that is not
installed is left out.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

import tackle

ROUNDS, SECONDS, JOBS = 5, 1.0, 500
PAYLOAD = "x" * 100
work = len      # the job of all workers: RQ wants a function that it can import


def measured(run):
    """The rate of the operations that run() counts, a second, and the processor time of each in this
    process, in microseconds."""
    begun, used = time.perf_counter(), time.process_time()
    count = run()
    used = time.process_time() - used
    return count / (time.perf_counter() - begun), used / count * 1e6


def rate(step):
    def run():
        count, end = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            for _ in range(20):
                step()
            count += 20
        return count
    return measured(run)


def candidates(client, socket):
    """Titles, and for each the functions that measure a candidate once."""
    queue = client.queue("bench")
    lock, plain = client.lock("bench"), client.lock("plain", auto_renew=False)
    enqueue = {"tackle": lambda: rate(lambda: queue.push(PAYLOAD))}
    jobs = {"tackle, 1 thread": lambda: drain(client, 1), "tackle, 4 threads": lambda: drain(client, 4)}
    cycle = {"tackle": lambda: rate(lambda: (lock.acquire(0), lock.release())),
             "tackle, auto_renew=False": lambda: rate(lambda: (plain.acquire(0), plain.release()))}
    try:
        import redis
        peer = redis.Redis(unix_socket_path=socket)
        held = peer.lock("bench:lock", timeout=30)
        cycle["redis-py"] = lambda: rate(lambda: (held.acquire(), held.release()))
        import rq
        tasks = rq.Queue("bench", connection=peer)
        enqueue["RQ"] = lambda: rate(lambda: tasks.enqueue(work, PAYLOAD, result_ttl=0))
        jobs["RQ, Worker"] = lambda: rq_drain(peer, rq.Queue("work", connection=peer), rq.Worker)
        jobs["RQ, SimpleWorker"] = lambda: rq_drain(peer, rq.Queue("work", connection=peer), rq.SimpleWorker)
    except ImportError as why:
        print(f"left out: {why}", file=sys.stderr)
    try:
        import celery
        app = celery.Celery("bench", broker=f"redis+socket://{socket}")
        app.conf.task_ignore_result = True

        @app.task(name="work")
        def task(payload):
            return work(payload)

        enqueue["Celery"] = lambda: rate(lambda: task.apply_async((PAYLOAD,), queue="bench"))
    except ImportError as why:
        print(f"left out: {why}", file=sys.stderr)
    return {"enqueues a second": enqueue, "jobs a second": jobs, "lock cycles a second": cycle}


def drain(client, threads):
    queue = client.queue("work")
    queue.push_all([PAYLOAD] * JOBS * 10)
    worker = client.worker(queue, threads=threads, prefetch=10, drain=True)
    worker.on()(lambda task: work(task.payload))
    return measured(lambda: worker.run() or JOBS * 10)


def rq_drain(peer, queue, kind):
    count = JOBS if kind.__name__ == "SimpleWorker" else JOBS // 10
    for _ in range(count):
        queue.enqueue(work, PAYLOAD, result_ttl=0)
    worker = kind([queue], connection=peer)
    return measured(lambda: worker.work(burst=True, logging_level="ERROR") and count)


def import_ms(cache):
    """Processor time of `import tackle` in a new interpreter, from byte code as when installed."""
    program = "import time; t = time.process_time(); import tackle; print(time.process_time() - t)"
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                         env=environment)
    return float(ran.stdout) * 1000


def main():
    with tackle.Client("embedded:") as client:
        socket = client.call("CONFIG", "GET", "unixsocket")[1].text
        for title, kinds in candidates(client, socket).items():
            found = {name: [] for name in kinds}
            for _ in range(ROUNDS):
                for name, measure in kinds.items():
                    client.call("FLUSHALL")
                    found[name].append(measure())
            ours = found[next(iter(found))]
            print(f"{title:26} {'median':>8} {'least':>8} {'most':>8} {'client us':>10}  tackle is")
            for name, rounds in found.items():
                rates = [one[0] for one in rounds]
                ratio = statistics.median(mine[0] / other for mine, other in zip(ours, rates))
                print(f"  {name:24} {statistics.median(rates):8.0f} {min(rates):8.0f} {max(rates):8.0f}"
                      f" {statistics.median(one[1] for one in rounds):10.0f}  {ratio:.2f} times")
    with tempfile.TemporaryDirectory() as cache:
        import_ms(cache)
        times = [import_ms(cache) for _ in range(3 * ROUNDS)]
    print(f"import tackle: {statistics.median(times):.0f} ms, {min(times):.0f} to {max(times):.0f}")


if __name__ == "__main__":
    os.environ.setdefault("TACKLE_CONFIG", "/dev/null")
    main()
