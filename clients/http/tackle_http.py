#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tackle over HTTP with nothing but Python's own library.

`tackle serve` must run; $TACKLE_HTTP is its address, $TACKLE_HTTP_TOKEN a token, if it needs one.
"""
import contextlib
import json
import os
import urllib.error
import urllib.request

BASE = os.environ.get("TACKLE_HTTP", "http://127.0.0.1:8480")
TOKEN = os.environ.get("TACKLE_HTTP_TOKEN")


class No(Exception):
    """An expected "no": busy, empty, not found, limited. `answer` has the error and message."""

    def __init__(self, status, answer, retry_after):
        super().__init__(answer.get("message"))
        self.status, self.answer, self.retry_after = status, answer, retry_after


def call(verb, /, **fields):
    """call("queue/push", name="mails", payload=["a", "b"])"""
    headers = {"Content-Type": "application/json"}
    if TOKEN:
        headers["Authorization"] = "Bearer " + TOKEN
    body = json.dumps(fields).encode()
    request = urllib.request.Request(f"{BASE}/v1/{verb}", body, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code in (404, 409, 429):
            raise No(error.code, json.load(error), error.headers.get("Retry-After")) from None
        raise


@contextlib.contextmanager
def lock(name, wait="30s", lease="30s"):
    """Holds a lock. The fence is a number that grows: storage can refuse smaller ones."""
    held = call("lock/acquire", name=name, wait=wait, lease=lease)
    try:
        yield held["fence"]
    finally:
        call("lock/release", name=name, token=held["token"])


def work(queue, handle, wait="30s"):
    """Handles jobs until none comes. A job whose handler fails is tried again later."""
    while True:
        try:
            job = call("queue/claim", name=queue, wait=wait)
        except No:
            return
        claim = {"name": queue, "id": job["id"], "token": job["token"]}
        try:
            handle(job["payload"])
        except Exception as reason:
            call("queue/fail", reason=str(reason), **claim)
        else:
            call("queue/ack", **claim)


if __name__ == "__main__":
    with lock("backup"):
        print("holding the lock")

    call("queue/push", name="mails", payload=["ann@example.org", "bob@example.org"])
    work("mails", lambda payload: print("a mail to", payload), wait="100ms")

    for attempt in range(1, 4):
        try:
            call("limit/check", name="api", key="ann", rate="2/h")
            print(f"call {attempt}: allowed")
        except No as no:
            print(f"call {attempt}: limited, again in {no.retry_after} s")

    call("search/create", index="posts")
    call("search/add", index="posts", id="p1", text="fair locks on one server")
    found = call("search/query", index="posts", query="locks")
    print("found", found["ids"][0])
    call("search/drop", index="posts", yes=True)
