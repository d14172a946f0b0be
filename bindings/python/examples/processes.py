# SPDX-License-Identifier: MIT
"""A client that is opened before a fork, as by multiprocessing and gunicorn, works in the children."""
import multiprocessing

import tackle

client = tackle.Client()


def count(number):
    with client.lock("numbers", wait=30):       # a lock is opened where it is used
        total = int(client.call("GET", "total") or 0)
        client.call("SET", "total", total + number)


if __name__ == "__main__":
    client.call("DEL", "total")
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(count, range(101))
    print(int(client.call("GET", "total")))                 #=> 5050
