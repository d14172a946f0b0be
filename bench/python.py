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
import time

import tackle

ROUNDS, SECONDS, JOBS = 5, 1.0, 500
PAYLOAD = "x" * 100
work = len      # the job of all workers: RQ wants a function that it can import


def rate(step):
    """How often a step can be done in a second."""
    count, begun = 0, time.perf_counter()
    while (passed := time.perf_counter() - begun) < SECONDS:
        for _ in range(20):
            step()
        count += 20
    return count / passed


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
    begun = time.perf_counter()
    worker.run()
    return JOBS * 10 / (time.perf_counter() - begun)


def rq_drain(peer, queue, kind):
    count = JOBS if kind.__name__ == "SimpleWorker" else JOBS // 10
    for _ in range(count):
        queue.enqueue(work, PAYLOAD, result_ttl=0)
    begun = time.perf_counter()
    kind([queue], connection=peer).work(burst=True, logging_level="ERROR")
    return count / (time.perf_counter() - begun)


def import_ms():
    """How long `import tackle` takes in a new interpreter that has started."""
    program = "import time; t = time.perf_counter(); import tackle; print(time.perf_counter() - t)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
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
            ours = statistics.median(found["tackle" if "tackle" in found else "tackle, 1 thread"])
            print(f"{title:24} {'median':>9} {'least':>9} {'most':>9}  tackle is")
            for name, rounds in found.items():
                median = statistics.median(rounds)
                print(f"  {name:22} {median:9.0f} {min(rounds):9.0f} {max(rounds):9.0f}  {ours / median:.2f} times")
    times = [import_ms() for _ in range(3 * ROUNDS)]
    print(f"import tackle: {statistics.median(times):.0f} ms, {min(times):.0f} to {max(times):.0f}")


if __name__ == "__main__":
    os.environ.setdefault("TACKLE_CONFIG", "/dev/null")
    main()
