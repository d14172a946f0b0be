# SPDX-License-Identifier: MIT
"""The server's memory for an item of each component, and the bytes of an operation on the network,
counted on a private server.

    make wheel
    TACKLE_LIBRARY=build/libtackle.so PYTHONPATH=build/python python3 bench/sizes.py [COMPONENT...]

A row of the first table: the server is empty; `count` items are made; its memory afterwards minus
that before, divided by the count. Memory is `used_memory` of INFO without the buffers of
connections. The column `keys` adds up MEMORY USAGE of all keys instead: it lacks the tables in which
the server finds keys and their expiries. The register of names is left out, but for its own row.

A row of the second table: the bytes that the server received and sent for `count` operations.

Nothing here depends on speed. TACKLE_SERVER names another server program.
"""
import contextlib
import io
import os
import sys
import threading
import time

import tackle
from tackle.files import Stream

BODY = "x" * 50         # payloads of jobs, bodies of messages
HOUR = 3600
WORDS = [f"word{n:05}" for n in range(20000)]


def name(n):
    """12 bytes, as a user or an order may be called."""
    return f"name-{n:07}"


def batches(items, size):
    items = list(items)
    return (items[at:at + size] for at in range(0, len(items), size))


def text(n, words):
    """Words of document n, all of which occur in several documents."""
    return " ".join(WORDS[(n * 7919 + i * i * 104729) % len(WORDS)] for i in range(words))


# ---- Measurements: each function makes `count` items, and returns what must stay open. ----------

def connections(client, count):
    url = socket_url(client)
    kept = [tackle.Client(url) for _ in range(count)]
    for one in kept:
        one.call("PING")
    return kept


def plain_keys(client, count):
    for n in range(count):
        client.call("SET", name(n), name(n))


def registered(client, count):
    locks_released(client, count)
    for n in range(count):
        client.call("DEL", client.key("lock", name(n), "state"))


def locks(client, count):
    for n in range(count):
        lock = client.lock(name(n), lease=HOUR, auto_renew=False)
        lock.acquire(0)
        lock.detach()


def locks_released(client, count):
    for n in range(count):
        lock = client.lock(name(n), lease=HOUR, auto_renew=False)
        lock.acquire(0)
        lock.release()


def readers(client, count):
    for n in range(count):
        lock = client.lock("catalogue", lease=HOUR, auto_renew=False, shared=True)
        lock.acquire(0)
        lock.detach()


def permits(client, count):
    for n in range(count):
        permit = client.semaphore("crawlers", count, lease=HOUR, auto_renew=False)
        permit.acquire(0)
        permit.detach()


def waiters(client, count):
    """Threads that wait for a lock that is held; they end when the client is interrupted."""
    held = client.lock("door", lease=HOUR, auto_renew=False)
    held.acquire(0)

    def wait():
        with contextlib.suppress(tackle.Interrupted):
            client.lock("door").acquire()
    for _ in range(count):
        threading.Thread(target=wait).start()
    while held.show().waiters < count:
        time.sleep(0.1)
    return held


def leaders(client, count):
    """Leaders of a child that ends without closing them, since a leader that is closed resigns."""
    child = os.fork()
    if not child:
        kept = [client.leader(name(n), lease=HOUR) for n in range(count)]
        os._exit(sum(not leader.campaign(0) for leader in kept))
    os.waitpid(child, 0)


def checks(algorithm, each):
    def fill(client, count):
        limit = client.limit("api", 10, HOUR, algorithm=algorithm)     # its keys last
        for n in range(count):
            for _ in range(each):
                limit.check(name(n))
    return fill


def jobs(**options):
    def fill(client, count):
        queue = client.queue("mails")
        for some in batches(range(count), 1000):
            queue.push_all([tackle.Push(BODY, **{key: value(n) if callable(value) else value
                                                 for key, value in options.items()}) for n in some])
    return fill


def jobs_claimed(client, count):
    jobs()(client, count)
    consumer = client.consumer([client.queue("mails")], lease=HOUR)
    return consumer, [consumer.claim(1000) for _ in range(count // 1000)]


def jobs_dead(client, count):
    jobs()(client, count)
    consumer = client.consumer([client.queue("mails")], lease=HOUR)
    for _ in range(count):
        consumer.claim(1)[0].dead("no such user")


def jobs_done(client, count):
    jobs()(client, count)
    consumer = client.consumer([client.queue("mails")], lease=HOUR)
    for _ in range(count // 1000):
        consumer.ack(consumer.claim(1000))


def queues(client, count):
    for n in range(count):
        client.queue(name(n)).push(BODY)
        [job.ack() for job in client.queue(name(n)).consume(wait=0)]


def schedules(client, count):
    for n in range(count):
        client.queue("reports").schedule(name(n), BODY, cron="30 2 * * *")


def items_of_list(client, count):
    for some in batches(range(count), 1000):
        client.blist("events").push(*[BODY] * len(some))


def mails(client, count):
    for some in batches(range(count), 1000):
        client.mail("ann").send_all([BODY] * len(some), "bob")


def mailboxes(client, count):
    for n in range(count):
        client.mail(name(n)).send(BODY, "bob")


def chat_messages(client, count):
    chat = client.chat("team")
    chat.create(["ann", "bob"])
    for some in batches(range(count), 1000):
        chat.send_all("ann", [BODY] * len(some))


def chats(client, count):
    for n in range(count):
        client.chat(name(n)).create([name(n + i) for i in range(10)])


def channel_messages(client, count):
    channel = client.channel("news", history=count)
    for some in batches(range(count), 1000):
        channel.publish_all([BODY] * len(some))


def contacts(client, count):
    for n in range(count // 100):
        client.recent(name(n)).add(*[name(i) for i in range(100)])


def entries(**options):
    def fill(client, count):
        book = client.book("staff", **options)
        for some in batches(range(count), 1000):
            book.add([f"{WORDS[n]} {WORDS[-n - 1][:4]}" for n in some])
    return fill


def suggestions(client, count):
    for some in batches(range(count), 100):
        client.suggest("queries").feed({text(n, 2): 1 for n in some})


def documents(**options):
    def fill(client, count):
        index = client.search("pages")
        index.create({"votes": "numeric"}, **options)
        for some in batches(range(count), 100):
            index.add_all([{"id": name(n), "text": text(n, 20), "values": {"votes": n}} for n in some])
    return fill


def places(client, count):
    for some in batches(range(count), 1000):
        client.geo("cities").add({name(n): (n % 360 - 180, n % 170 / 2 - 42) for n in some})


def ranges(client, count):
    with client.ip("world").importing() as rows:
        rows.places([{"id": str(n), "city": f"City {n}", "country": "Country"} for n in range(1000)])
        rows.ranges([(f"{20 + n // 65536}.{n // 256 % 256}.{n % 256}.0/24", str(n % 1000))
                     for n in range(count)])


def ads(client, count):
    for some in batches(range(count), 100):
        client.ads("site").add_all([{"name": name(n), "type": "cpc", "price": "0.25",
                                     "locations": ["Berlin"], "text": text(n, 10)} for n in some])


def counters(client, count):
    for n in range(count):
        client.counter(name(n)).add(1)


def log_messages(client, count):
    log = client.log("shop", keep=count)
    for some in batches(range(count), 100):
        log.write_all([(BODY, "info", None)] * len(some))


def contexts(client, count):
    for some in batches(range(count), 100):
        client.stats("time").record_all([(name(n), 10.0 + value, None)
                                         for n in some for value in range(10)])


def sessions(items):
    def fill(client, count):
        shop = client.sessions("shop", ttl=HOUR)
        for n in range(count):
            token = shop.create(name(n))
            if items:
                shop.touch([(token, f"item-{i}") for i in range(items)])
    return fill


def users(kind):
    def fill(client, count):
        online = client.online("visitors", kind=kind)
        for some in batches(range(count), 1000):
            online.mark(*[str(n) if kind == "bitmap" else name(n) for n in some])
    return fill


def members(client, count):
    for some in batches(range(count), 100):
        client.board("chess").add({name(n): n % 1000 for n in some})


def bloom(client, count):
    seen = client.bloom("seen", capacity=count)
    for some in batches(range(count), 1000):
        seen.add_all([name(n) for n in some])


def unique(client, count):
    for n in range(count):
        client.unique(name(n)).add(*[str(i) for i in range(20000)])


def bits(client, count):
    client.bits("days").set(count - 1)


def configs(client, count):
    for n in range(count):
        client.config("limits", name(n)).set({"results": 50, "timeout_ms": 2000})


def services(client, count):
    service = client.service("web")
    return [service.register(f"host-{n:04}.example.org:8080", lease=300) for n in range(count)]


def values(client, count):
    cache = client.cache(ttl=HOUR)
    for n in range(count):
        cache.set(name(n), "x" * 1000)


def file_chunks(client, count):
    """`count` files of 1 MB that nobody has received."""
    client.files("logs").send(["a"], [Stream(name(n), io.BytesIO(b"x" * 2**20)) for n in range(count)])


CASES = [
    ("client", "a connection", 1000, connections),
    ("client", "a plain key and value of 12 bytes", 100000, plain_keys),
    ("names", "a name in a register", 10000, registered),
    ("lock", "held", 10000, locks),
    ("lock", "released: the fence stays", 10000, locks_released),
    ("lock", "a reader of a shared lock", 10000, readers),
    ("lock", "a thread that waits", 500, waiters),
    ("sem", "a permit", 10000, permits),
    ("leader", "an election, led", 1000, leaders),
    ("limit", "a key of a funnel", 10000, checks("gcra", 1)),
    ("limit", "a key of a bucket", 10000, checks("bucket", 1)),
    ("limit", "a key of a window, 10 passed", 2000, checks("window", 10)),
    ("limit", "a key of an approximate window", 10000, checks("window_approx", 1)),
    ("queue", "a job of 50 bytes, ready", 100000, jobs()),
    ("queue", "the same, delayed", 100000, jobs(delay=HOUR)),
    ("queue", "the same, with a unique key", 100000, jobs(unique=name)),
    ("queue", "the same, claimed", 100000, jobs_claimed),
    ("queue", "the same, dead", 10000, jobs_dead),
    ("queue", "the same, done", 100000, jobs_done),
    ("queue", "a queue without jobs", 10000, queues),
    ("schedule", "a schedule", 10000, schedules),
    ("blist", "an item of 50 bytes", 100000, items_of_list),
    ("mail", "a message of 50 bytes", 10000, mails),
    ("mail", "a mailbox with one of them", 10000, mailboxes),
    ("chat", "a message of 50 bytes", 10000, chat_messages),
    ("chat", "a chat of 10 members", 10000, chats),
    ("channel", "a message of 50 bytes", 10000, channel_messages),
    ("recent", "a contact, 100 of a user", 100000, contacts),
    ("book", "an entry of 14 bytes", 10000, entries()),
    ("book", "the same with contains", 10000, entries(contains=True)),
    ("suggest", "a text of 2 words", 10000, suggestions),
    ("search", "a document of 20 words", 10000, documents()),
    ("search", "the same without its text", 10000, documents(no_text=True)),
    ("search", "the same with positions", 10000, documents(positions=True)),
    ("geo", "a place", 100000, places),
    ("ip", "a range of addresses", 100000, ranges),
    ("ads", "an ad with 10 words", 10000, ads),
    ("counter", "a counter, one slice each", 10000, counters),
    ("log", "a message of 50 bytes", 1000, log_messages),
    ("stats", "a context, 10 values", 10000, contexts),
    ("session", "a session", 10000, sessions(0)),
    ("session", "the same with 10 viewed items", 10000, sessions(10)),
    ("online", "a user of a day, set", 100000, users("set")),
    ("online", "a user of a day, bitmap", 1000000, users("bitmap")),
    ("online", "the same, numbers assigned", 100000, users("assigned")),
    ("online", "a user online now, heartbeat", 100000, users("heartbeat")),
    ("board", "a member", 100000, members),
    ("bloom", "an item, 1 % errors", 1000000, bloom),
    ("unique", "a count of 20,000 items", 100, unique),
    ("bits", "a bit", 8000000, bits),
    ("config", "a value of 33 bytes", 10000, configs),
    ("service", "an instance", 1000, services),
    ("cache", "a value of 1000 bytes", 10000, values),
    ("files", "a file of 1 MiB, not received", 50, file_chunks),
]


# ---- Measuring ---------------------------------------------------------------------------------------

def memory(server, connections=False):
    """Bytes that the server uses, without buffers of connections unless asked for. The server looks
    at each connection once a second."""
    time.sleep(1.2)
    fields = dict(line.split(":", 1) for line in server.call("INFO", "memory").text.split("\r\n")
                  if ":" in line)
    return int(fields["used_memory"]) - (0 if connections else int(fields["mem_clients_normal"]))


def keys(server):
    found = server.call("KEYS", "*")
    return sum(server.call("MEMORY", "USAGE", key, "SAMPLES", 0) or 0 for key in found)


def measure(server, url, component, fill, count):
    """Bytes of memory and of keys that `count` items take."""
    connections = component == "client"
    server.call("FLUSHALL", "SYNC")
    before = memory(server, connections)
    with tackle.Client(url, no_register=component != "names") as client:
        kept = fill(client, count)
        if kept is None:
            client.close()
        found = memory(server, connections) - before, keys(server)
        if kept is not None:
            client.interrupt()
    return found


# ---- The network -------------------------------------------------------------------------------------

def traffic(server):
    """Bytes that the server has received and sent until now."""
    lines = server.call("INFO", "stats").text.split("\r\n")
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return [int(fields[f"total_net_{way}_bytes"]) for way in ("input", "output")]


def operations(client):
    """Operations after their preparation: component, what, how many operations a call is, the call."""
    lock = client.lock("backup", auto_renew=False)
    api = client.limit("api", 1000000, HOUR)
    queue = client.queue("mails")
    consumer = client.consumer([queue], renew=False, lease=HOUR)
    queue.push_all([BODY] * 64)
    claimed = [consumer.claim(32)]
    mail, cache, shop = client.mail("ann"), client.cache(ttl=HOUR), client.sessions("shop")
    cache.set("page", "x" * 1000)
    token = shop.create("ann")
    board, hits, seen = client.board("chess"), client.counter("hits"), client.bloom("seen")
    seen.add("a")
    documents()(client, 1000)
    index = client.search("pages")

    def turn():
        queue.push_all([BODY] * 32)
        claimed[0], _ = consumer.ack_and_claim(claimed[0], 32)

    return [("client", "SET of a key and value of 12 bytes", 1, lambda: client.call("SET", name(1), name(2))),
            ("lock", "acquire and release", 1, lambda: (lock.acquire(0), lock.release())),
            ("limit", "a check", 1, lambda: api.check("ann")),
            ("queue", "a job: push; claim and ack in turns of 32", 32, turn),
            ("queue", "a push of one job of 50 bytes", 1, lambda: queue.push(BODY)),
            ("mail", "a message of 50 bytes", 1, lambda: mail.send(BODY, "bob")),
            ("cache", "a hit of 1000 bytes", 1, lambda: cache.get("page")),
            ("session", "a use, with an item", 1, lambda: shop.use(token, "teapot")),
            ("counter", "an add", 1, lambda: hits.add(1)),
            ("board", "an add", 1, lambda: board.add({name(1): 1})),
            ("bloom", "an item asked for, 100 at a time", 100,
             lambda: seen.exists([name(n) for n in range(100)])),
            ("search", "a query for two words, 10 ids", 1, lambda: index.query(text(5, 2), order="-votes"))]


def print_traffic(server, url, chosen):
    print(f"\n{'component':10} {'operation':44} {'bytes in':>9} {'out':>7}")
    server.call("FLUSHALL", "SYNC")
    with tackle.Client(url, no_register=True) as client:
        for component, what, each, run in operations(client):
            if chosen and component not in chosen:
                continue
            run()
            first, second = traffic(server), traffic(server)
            for _ in range(100):
                run()
            last = traffic(server)
            own = [b - a for a, b in zip(first, second)]    # what asking for it takes
            sent, got = ((c - b - o) / 100 / each for b, c, o in zip(second, last, own))
            print(f"{component:10} {what:44} {sent:9.0f} {got:7.0f}", flush=True)


def socket_url(client):
    return "unix://" + client.call("CONFIG", "GET", "unixsocket")[1].text


def main():
    chosen = sys.argv[1:]
    unknown = set(chosen) - {component for component, *_ in CASES}
    if unknown:
        sys.exit(f"sizes.py: no such component: {', '.join(sorted(unknown))}")
    with tackle.Client("embedded:", timeout=60) as server:
        url = socket_url(server)
        empty = memory(server)
        server.load_functions()
        print(f"{server.call('INFO', 'server').text.split()[2]}: empty {empty} bytes,"
              f" with all functions of tackle {memory(server)}\n")
        print(f"{'component':10} {'item':34} {'count':>9} {'bytes each':>10} {'keys':>10}")
        for component, what, count, fill in CASES:
            if not chosen or component in chosen:
                used, counted = measure(server, url, component, fill, count)
                print(f"{component:10} {what:34} {count:9}"
                      f" {used / count:10.{0 if used > 10 * count else 2}f}"
                      f" {counted / count:10.{0 if used > 10 * count else 2}f}", flush=True)
        print_traffic(server, url, chosen)


if __name__ == "__main__":
    os.environ.setdefault("TACKLE_CONFIG", "/dev/null")
    main()
