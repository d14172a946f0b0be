# SPDX-License-Identifier: MIT
"""Messages to a stream of NATS JetStream that keeps 1000 in memory, each acknowledged before the
next, on a server of its own; see bench.h for what a command must do. It speaks the protocol
itself: no library comes between."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

MESSAGE = b"the price of apples is 42, and that of pears is 17 today"
STREAM = {"name": "bench", "subjects": ["prices"], "storage": "memory", "max_msgs": 1000}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connect(port):
    until = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def publish(s, lines, subject, data):
    """Waits for the answer: MSG, and a line of JSON."""
    s.sendall(b"PUB %s answers %d\r\n%s\r\n" % (subject, len(data), data))
    while not lines.readline().startswith(b"MSG "):
        pass
    answer = json.loads(lines.readline())
    if "error" in answer:
        raise RuntimeError(answer["error"])


def measure(port):
    s = connect(port)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    lines = s.makefile("rb")
    s.sendall(b'CONNECT {"verbose": false}\r\nSUB answers 1\r\n')
    publish(s, lines, b"$JS.API.STREAM.CREATE.bench", json.dumps(STREAM).encode())
    latencies = []
    began = last = time.perf_counter()
    stop = began + float(os.environ["BENCH_SECONDS"])
    while last < stop:
        publish(s, lines, b"prices", MESSAGE)
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


def main():
    program = shutil.which("nats-server", path=os.environ["PATH"] + ":/usr/sbin")
    port = free_port()
    with tempfile.TemporaryDirectory() as store:
        server = subprocess.Popen(
            [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", store],
            stderr=subprocess.DEVNULL,
        )
        try:
            measure(port)
        finally:
            server.kill()
            server.wait()


main()
