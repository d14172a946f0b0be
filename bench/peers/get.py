# SPDX-License-Identifier: MIT
"""GET round trips with redis-py, one connection; see bench.h for what a command must do."""
import json
import os
import time

import redis

client = redis.Redis(unix_socket_path=os.environ["BENCH_SOCKET"])
client.ping()
ops = 0
latencies = []
began = last = time.perf_counter()
stop = began + float(os.environ["BENCH_SECONDS"])
while last < stop:
    client.get("bench:key")
    now = time.perf_counter()
    latencies.append(now - last)
    last = now
    ops += 1
latencies.sort()
print(json.dumps({
    "ops": ops,
    "seconds": last - began,
    "p50_us": latencies[ops // 2] * 1e6,
    "p99_us": latencies[ops * 99 // 100] * 1e6,
}))
