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
    began = last = time.perf_counter()
    stop = began + float(os.environ["BENCH_SECONDS"])
    while last < stop:
        lock.acquire()
        acquired = time.perf_counter()
        lock.release()
        released = time.perf_counter()
        latencies.append((acquired if WORKERS > 1 else released) - last)
        last = released
    ops = len(latencies)
    latencies.sort()
    return {
        "ops": ops,
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


if __name__ == "__main__":
    gate = multiprocessing.Barrier(WORKERS)
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(gate, results)) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for _ in workers:
        print(json.dumps(results.get()))
    for worker in workers:
        worker.join()
