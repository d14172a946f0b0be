# SPDX-License-Identifier: MIT
"""BENCH_WORKERS processes that acquire and release one Lock of redis-py, with its defaults; see
compete.js, which does the same."""
import json
import multiprocessing
import os
import time

import redis

WORKERS = int(os.environ["BENCH_WORKERS"])


def repeat(lock):
    latencies = []
    moments = []
    began = last = time.perf_counter()
    stop = began + float(os.environ["BENCH_SECONDS"])
    while last < stop:
        lock.acquire()
        acquired = time.perf_counter()
        moments.append(acquired)
        lock.release()
        released = time.perf_counter()
        latencies.append((acquired if WORKERS > 1 else released) - last)
        last = released
    ops = len(latencies)
    latencies.sort()
    return moments, {
        "seconds": last - began,
        "p50_us": latencies[ops // 2] * 1e6,
        "p99_us": latencies[ops * 99 // 100] * 1e6,
        "max_us": latencies[-1] * 1e6,
    }


def work(gate, results):
    client = redis.Redis(unix_socket_path=os.environ["BENCH_SOCKET"])
    client.ping()
    lock = client.lock("bench:lock", timeout=10)
    gate.wait()
    results.put(repeat(lock))


def count(all_moments):
    turns = sorted((at, who) for who, moments in enumerate(all_moments) for at in moments)
    ops = [0] * WORKERS
    for i, (_, who) in enumerate(turns):
        if os.environ.get("BENCH_COUNT") != "handed" or i == 0 or turns[i - 1][1] != who:
            ops[who] += 1
    return ops


if __name__ == "__main__":
    gate = multiprocessing.Barrier(WORKERS)
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(gate, results)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    moments, lines = zip(*(results.get() for _ in workers))
    for ops, line in zip(count(moments), lines):
        print(json.dumps({"ops": ops, **line}))
    for worker in workers:
        worker.join()
