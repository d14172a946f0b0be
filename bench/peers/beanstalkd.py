# SPDX-License-Identifier: MIT
"""`beanstalkd.py push|process`: BENCH_JOBS jobs of 50 bytes on a beanstalkd of its own, with a plain
socket as its client; see queues.js, which does the same. push: pipelined, 1000 in a write. process:
reserve and delete, one job after the other, as its protocol wants it."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

JOBS = int(os.environ["BENCH_JOBS"])
BATCH = 1000
PUT = b"put 0 0 60 50\r\n" + b"x" * 50 + b"\r\n"


def connect(path):
    for _ in range(500):
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(path)
            return client
        except OSError:
            client.close()
            time.sleep(0.01)
    sys.exit("beanstalkd does not answer")


def push(client, replies):
    for _ in range(JOBS // BATCH):
        client.sendall(PUT * BATCH)
        for _ in range(BATCH):
            if not replies.readline().startswith(b"INSERTED"):
                sys.exit("not inserted")


def process(client, replies):
    for _ in range(JOBS):
        client.sendall(b"reserve\r\n")
        _, number, size = replies.readline().split()
        replies.read(int(size) + 2)
        client.sendall(b"delete " + number + b"\r\n")
        if replies.readline() != b"DELETED\r\n":
            sys.exit("not deleted")


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/socket"
        server = subprocess.Popen(["beanstalkd", "-l", "unix:" + path], stderr=subprocess.DEVNULL)
        try:
            client = connect(path)
            replies = client.makefile("rb")
            began = time.perf_counter()
            push(client, replies)
            if sys.argv[1] == "process":
                began = time.perf_counter()
                process(client, replies)
            print(json.dumps({"ops": JOBS, "seconds": time.perf_counter() - began}))
        finally:
            server.kill()
            server.wait()


main()
