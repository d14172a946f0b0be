# SPDX-License-Identifier: MIT
"""Hits of a value of 1 KB in a region of dogpile.cache on Redis, with its lock across processes; see
bench.h for what a command must do."""
import json
import os
import time

import redis
from dogpile.cache import make_region

pool = redis.ConnectionPool(
    connection_class=redis.UnixDomainSocketConnection, path=os.environ["BENCH_SOCKET"]
)
region = make_region().configure(
    "dogpile.cache.redis",
    expiration_time=600,
    arguments={
        "connection_pool": pool,
        "distributed_lock": True,
        "thread_local_lock": False,
    },
)


def compute():
    return "x" * 1023


region.get_or_create("bench:dogpile", compute)
latencies = []
began = last = time.perf_counter()
stop = began + float(os.environ["BENCH_SECONDS"])
while last < stop:
    region.get_or_create("bench:dogpile", compute)
    now = time.perf_counter()
    latencies.append(now - last)
    last = now
ops = len(latencies)
latencies.sort()
print(json.dumps({
    "ops": ops,
    "seconds": last - began,
    "p50_us": latencies[ops // 2] * 1e6,
    "p99_us": latencies[ops * 99 // 100] * 1e6,
}))
