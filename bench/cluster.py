# SPDX-License-Identifier: MIT
"""A cluster of six processes on this machine, three masters and three replicas, beside one server.

    make wheel
    TACKLE_LIBRARY=build/libtackle.so PYTHONPATH=build/python python3 bench/cluster.py [PART...]

PART is memory, speed or failover; all of them unless named. It prints the memory of the cluster, how
it spreads keys and jobs, how quick it is in turns with one server, and the outcomes of calls when a
master is killed. The speed is a ratio: all seven processes share this machine, so a cluster of six
machines is a different matter.
"""
import collections
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import tackle

BODY = "x" * 50
JOBS, KEYS, ROUNDS, PARTITIONS = 60000, 30000, 9, 12
SERVER = os.environ.get("TACKLE_SERVER", "redis-server")


class Server:
    """A server of its own folder and port, with nothing on the disk. It ends with `ends`."""

    def __init__(self, ends, folder, port, *options):
        self.port, self.url = port, f"redis://127.0.0.1:{port}"
        os.mkdir(folder)
        self.process = subprocess.Popen(
            [SERVER, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "",
             "--logfile", folder + "/log", *options])
        ends.callback(self.stop)
        self.client = ends.enter_context(tackle.Client(self.url, timeout=30))
        wait_until(self.answers)

    def answers(self):
        with contextlib.suppress(tackle.Error):
            return self.client.call("PING") == b"PONG"

    def info(self, section, field):
        lines = self.client.call("INFO", section).text.split("\r\n")
        return next(line.split(":", 1)[1] for line in lines if line.startswith(field + ":"))

    def memory(self):
        return int(self.info("memory", "used_memory")) - int(self.info("memory", "mem_clients_normal"))

    def stop(self):
        self.process.kill()
        self.process.wait()


def wait_until(ready):
    while not ready():
        time.sleep(0.1)


def free_ports(count):
    """Ports whose neighbours for the bus of the cluster are free, too."""
    ports, port = [], 21000
    while len(ports) < count:
        port += 1
        with socket.socket() as one, socket.socket() as bus:
            with contextlib.suppress(OSError):
                one.bind(("127.0.0.1", port))
                bus.bind(("127.0.0.1", port + 10000))
                ports.append(port)
    return ports


def start_cluster(ends, folder, ports):
    """Three masters with a third of the slots each, and a replica of each."""
    servers = [Server(ends, f"{folder}/{port}", port, "--cluster-enabled", "yes",
                      "--cluster-node-timeout", "2000") for port in ports]
    masters, replicas = servers[:3], servers[3:]
    for n, master in enumerate(masters):
        master.client.call("CLUSTER", "ADDSLOTSRANGE", n * 16384 // 3, (n + 1) * 16384 // 3 - 1)
        master.client.call("CLUSTER", "SET-CONFIG-EPOCH", n + 1)
    for server in servers[1:]:
        server.client.call("CLUSTER", "MEET", "127.0.0.1", ports[0])
    wait_until(lambda: all(s.client.call("CLUSTER", "INFO").text.count("cluster_known_nodes:6")
                           for s in servers))
    for master, replica in zip(masters, replicas):
        replica.client.call("CLUSTER", "REPLICATE", master.client.call("CLUSTER", "MYID").text)
    wait_until(lambda: all(s.client.call("CLUSTER", "INFO").text.count("cluster_state:ok")
                           for s in servers))
    wait_until(lambda: all(s.info("replication", "master_link_status") == "up" for s in replicas))
    return masters, replicas


# ---- Measurements -----------------------------------------------------------------------------------

def print_memory(what, masters, replicas, single, before, count):
    time.sleep(2.5)
    now = [s.memory() for s in (*masters, *replicas, single)]
    grown = [b - a for a, b in zip(before, now)]
    print(f"{what:26} bytes each: single {grown[6] / count:6.0f}, all masters"
          f" {sum(grown[:3]) / count:6.0f}, all replicas {sum(grown[3:6]) / count:6.0f};"
          f" masters have {', '.join(f'{100 * one / sum(grown[:3]):.0f} %' for one in grown[:3])}")


def empty_all(masters, replicas, single):
    """The memory of each, in this order. Replicas follow their masters."""
    for server in (*masters, single):
        server.client.call("FLUSHALL", "SYNC")
    time.sleep(2.5)
    return [s.memory() for s in (*masters, *replicas, single)]


def push(client, partitions):
    queue = client.queue("mails", partitions=partitions)
    for _ in range(JOBS // 1000):
        queue.push_all([BODY] * 1000)


def hold_names(client):
    for n in range(KEYS):
        lock = client.lock(f"name-{n:07}", lease=3600, auto_renew=False)
        lock.acquire(0)
        lock.detach()


def memory(masters, replicas, single, cluster, alone):
    for server in (*masters, *replicas, single):
        print(f"  port {server.port}: used_memory {server.info('memory', 'used_memory')},"
              f" resident {server.info('memory', 'used_memory_rss')}")
    for client in (cluster, alone):
        client.load_functions()
    for n in range(100):        # fills the backlogs for replicas, which hold 1 MB each
        cluster.call("SET", f"full-{n}", "x" * 100000)
    for what, fill, count in (
            ("locks that are held", hold_names, KEYS),
            ("jobs, 12 partitions", lambda client: push(client, PARTITIONS), JOBS),
            ("jobs, one partition", lambda client: push(client, 1), JOBS)):
        before = empty_all(masters, replicas, single)
        fill(cluster)
        fill(alone)
        print_memory(what, masters, replicas, single, before, count)
    empty_all(masters, replicas, single)


def seconds(run, *given):
    begun = time.perf_counter()
    run(*given)
    return time.perf_counter() - begun


def cycle(client):
    for n in range(1000):
        with client.lock(f"name-{n}", wait=0, auto_renew=False):
            pass


def drain(client, partitions):
    queue = client.queue("work", partitions=partitions)
    queue.push_all([BODY] * 5000)
    worker = client.worker(queue, threads=2, prefetch=100, drain=True)
    worker.on()(lambda task: None)
    worker.run()


def speed(cluster, alone):
    """In turns: the cluster, then the single server."""
    for what, run in (("lock and release, 1 thread", cycle),
                      ("5000 jobs, one partition", lambda client: drain(client, 1)),
                      ("5000 jobs, 12 partitions", lambda client: drain(client, PARTITIONS))):
        ratios = []
        for _ in range(ROUNDS):
            spread = seconds(run, cluster)
            ratios.append(seconds(run, alone) / spread)
        print(f"  {what:28} cluster by single: {statistics.median(ratios):.2f}"
              f" ({min(ratios):.2f} to {max(ratios):.2f})")


def fail_over(masters, cluster):
    """Four threads lock and release while the first master is killed: the outcome of each call, and
    the longest of them."""
    results, longest, ends = collections.Counter(), [0.0] * 4, threading.Event()

    def work(me):
        n = 0
        while not ends.is_set():
            n += 1
            begun = time.monotonic()
            try:
                with cluster.lock(f"{me}-{n % 100}", wait=0, auto_renew=False, lease=60):
                    results["locked and released"] += 1
            except tackle.Error as why:
                results[type(why).__name__] += 1
            longest[me] = max(longest[me], time.monotonic() - begun)

    threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(2)
    masters[0].process.kill()
    time.sleep(15)
    ends.set()
    for thread in threads:
        thread.join()
    print(f"  {dict(results)}; the longest call {max(longest):.1f} s")


def main():
    with contextlib.ExitStack() as ends:
        folder = ends.enter_context(tempfile.TemporaryDirectory(prefix="tackle-cluster-"))
        ports = free_ports(7)
        masters, replicas = start_cluster(ends, folder, ports[:6])
        single = Server(ends, f"{folder}/single", ports[6])
        cluster, alone = (
            ends.enter_context(tackle.Client(url, timeout=10, no_register=True))
            for url in (f"redis+cluster://127.0.0.1:{ports[0]}", single.url))
        parts = sys.argv[1:] or ["memory", "speed", "failover"]
        if "memory" in parts:
            print("memory, empty: masters, replicas, and the single server last")
            memory(masters, replicas, single, cluster, alone)
        if "speed" in parts:
            print(f"speed, {ROUNDS} rounds, on {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}")
            speed(cluster, alone)
        if "failover" in parts:
            print("a master is killed after 2 s; cluster-node-timeout 2 s, time-out of calls 10 s")
            fail_over(masters, cluster)


if __name__ == "__main__":
    os.environ.setdefault("TACKLE_CONFIG", "/dev/null")
    main()
