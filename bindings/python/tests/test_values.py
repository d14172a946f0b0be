# SPDX-License-Identifier: MIT
"""Values in and out, as programs in Python really pass them."""
import datetime
import math
import pickle

import pytest
import tackle
from tackle import _convert
from tackle.blist import pop
from tackle.counter import add_each
from tackle.limit import check_all

UTC = datetime.timezone.utc


def test_names_are_any_bytes(client):
    for name in ("plain", "Jürgen", "with blank", b"\xff\x00\xfe", "a\0b", "{braces}%", "n" * 65536):
        counter = client.counter(name)
        counter.add(1)
        raw = name if isinstance(name, bytes) else name.encode()
        found = [one.encode("utf-8", "surrogateescape") for one in client.names("counter")]
        assert raw in found
        # What a list returns leads back to the same thing.
        client.counter(found[found.index(raw)].decode("utf-8", "surrogateescape")).drop()


@pytest.mark.parametrize("name", [None, 7, 1.5, object(), ["a"], ("a",), {"a": 1}])
def test_other_names_are_type_errors(client, name):
    with pytest.raises(TypeError):
        client.lock(name)
    with pytest.raises(TypeError):
        client.unique("u").add(name)


@pytest.mark.parametrize("name", ["", b"", "n" * 65537])
def test_names_have_limits(client, name):
    with pytest.raises(tackle.InvalidArgument):
        client.lock(name)
    with pytest.raises(ValueError):     # which it is, too
        client.lock(name)


def test_data_is_bytes_text_or_json(client):
    queue = client.queue("q")
    values = [b"\xff\0", bytearray(b"abc"), memoryview(b"abc"), "Grüße", "\udcff", "", b"", 7, 1.5, True,
              None, [1, "a"], {"to": ["ann", None]}, "7"]
    for value in values:
        queue.push(value)
    found = [job.payload for job in queue.consume(wait=0, batch=100) if not job.ack()]
    assert found[:3] == [b"\xff\0", b"abc", b"abc"]
    assert found[3].text == "Grüße"
    assert found[4:7] == [b"\xff", b"", b""]
    assert [data.json() for data in found[7:]] == [7, 1.5, True, None, [1, "a"], {"to": ["ann", None]}, 7]
    with pytest.raises(UnicodeDecodeError):
        found[0].text
    with pytest.raises(ValueError):
        found[3].json()
    for value in (object(), {1, 2}, {"a": object()}):
        with pytest.raises(TypeError):
            queue.push(value)
    for value in (math.nan, math.inf, [math.nan]):
        with pytest.raises(ValueError):
            queue.push(value)


def test_durations():
    ms = lambda value: _convert.to_ms(value, "d")       # noqa: E731
    assert [ms(1), ms(0.25), ms(0), ms(datetime.timedelta(minutes=1))] == [1000, 250, 0, 60000]
    assert [ms(0.0001), ms(datetime.timedelta(microseconds=1))] == [1, 1]      # never "not at all"
    for value in ("5", None, True, b"5", [5]):
        with pytest.raises(TypeError):
            ms(value)
    for value in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError):
            ms(value)
    for value in (10**30, 1e300, 2**63):
        with pytest.raises(OverflowError):
            ms(value)


def test_times(client):
    queue = client.queue("q")
    moment = datetime.datetime.now(UTC) + datetime.timedelta(hours=1)
    berlin = datetime.timezone(datetime.timedelta(hours=1))
    for at in (moment, moment.astimezone(berlin), moment.astimezone().replace(tzinfo=None),
               moment.timestamp()):
        job = queue.show(queue.push("x", at=at).id)
        assert abs((job.due - moment).total_seconds()) < 0.01
        assert job.due.tzinfo == UTC
        assert job.state == "delayed"


def test_waits_are_not_negative(client):
    lock = client.lock("x")
    for wait in (-1, -0.5, datetime.timedelta(seconds=-1)):
        with pytest.raises(ValueError):
            lock.acquire(wait)
    for wait in ("1", b"", [], math.nan):
        with pytest.raises((TypeError, ValueError)):
            lock.acquire(wait)
    assert lock.acquire(math.inf)


def test_numbers_are_never_cut(client):
    for number in (2**63, -2**63 - 1, 10**40, 2**64):
        with pytest.raises(OverflowError):
            client.counter("c").add(number)
        with pytest.raises(OverflowError):
            client.semaphore("s", number)
    with pytest.raises(OverflowError):
        client.queue("q").push("x", priority=2**32)
    for number in ("1", 1.0, None, 1j):
        with pytest.raises(TypeError):
            client.counter("c").add(number)
    assert client.names("counter") == []


def test_zero_means_zero_and_infinity_no_limit(client):
    queue = client.queue("q")
    assert queue.show(queue.push("x", retries=0).id).retries == 0
    assert queue.show(queue.push("x").id).retries == 10
    box = client.mail("ann")
    box.limit(max_messages=math.inf)
    assert box.show().limits.max_messages is None
    with pytest.raises(ValueError):
        box.limit(max_messages=0)
    with pytest.raises(ValueError):
        box.limit(max_messages=-1)


def test_words_of_enumerations(client):
    with pytest.raises(ValueError, match="gcra, bucket, window"):
        client.limit("api", 1, 1, algorithm="leaky")
    for word in (1, None, ["gcra"], "GCRA"):
        if word is not None:
            with pytest.raises((ValueError, TypeError)):
                client.limit("api", 1, 1, algorithm=word)
    with pytest.raises(ValueError):
        client.queue("q").peek("sleeping")


def test_unknown_keys_and_wrong_lists(client):
    with pytest.raises(TypeError, match="wdith"):
        client.bits("b").fields([{"verb": "get", "wdith": 8}])
    for wrong in ("abc", b"abc", {"a": 1}):      # a list of letters is never meant
        with pytest.raises(TypeError):
            client.bloom("b").add_all(wrong)
    assert client.bloom("b").add_all([]) == []


def test_handles_of_another_type_are_refused(client):
    """A wrong handle must never reach C, which would read it as its own."""
    lock, other = client.lock("x"), client.counter("c")
    for wrong in (lambda: client.bloom("b").merge(lock), lambda: client.unique("u").merge([other]),
                  lambda: client.unique("u").merge([7]), lambda: client.bloom("b").merge(7),
                  lambda: client.bloom("b").merge(None), lambda: client.consumer([7]),
                  lambda: client.consumer([lock]), lambda: client.bits("b").combine("or", [other]),
                  lambda: client.pipeline().limit_check(other, "k"),
                  lambda: client.pipeline().limit_check("api", "k"),
                  lambda: client.pipeline().script(lock), lambda: check_all([(other, "k", 1)]),
                  lambda: add_each([(lock, 1)]), lambda: tackle.Redlock([lock], "x"),
                  lambda: tackle.Redlock(["url"], "x"), lambda: pop([other]),
                  lambda: client.ads("a").target(table=lock), lambda: type(lock)(other, "x")):
        with pytest.raises((TypeError, AttributeError)):
            wrong()


def test_strings_of_c_have_no_nul(client):
    with pytest.raises(ValueError, match="NUL"):
        client.lock("x", label="a\0b")
    with pytest.raises(ValueError, match="NUL"):
        client.queue("q").show("a\0b")
    with pytest.raises(TypeError):
        client.queue("q").show(None)


def test_records(client):
    client.board("b").add({"ann": 1})
    entries = client.board("b").top()
    assert entries == client.board("b").top()
    assert entries != "x"
    assert entries.asdict()["items"][0]["member"] == "ann"
    assert pickle.loads(pickle.dumps(entries)) == entries
    assert "member='ann'" in repr(entries)
    assert entries[-1].rank == 1 and len(entries) == 1 and list(entries) == entries.items
    with pytest.raises(AttributeError):
        entries.nothing = 1
    with pytest.raises(TypeError):
        hash(entries)


def test_commands(client):
    assert client.call("SET", "k", 7) == b"OK"
    assert client.call("GET", b"k") == b"7"
    assert client.call("INCRBYFLOAT", "k", 0.5) == b"7.5"
    assert client.call("GET", "absent") is None
    assert client.call("EVAL", "return {1, 'a', false, {2}}", 0) == [1, b"a", None, [2]]
    nested = client.call("EVAL", "return {redis.error_reply('MY mistake')}", 0)
    assert isinstance(nested[0], tackle.Error) and "mistake" in str(nested[0])
    with pytest.raises(tackle.Refused, match="unknown command"):
        client.call("NONSENSE")
    with pytest.raises(tackle.WrongType):
        client.call("LPUSH", "k", "x")
    for wrong in ((), (None,), ("SET", "k", None), ("SET", "k", ["a"]), ("SET", "k", True)):
        with pytest.raises(TypeError):
            client.call(*wrong)
    with pytest.raises(tackle.InvalidArgument):
        client.call("SUBSCRIBE", "x")


def test_large_values(client):
    big = bytes(range(256)) * 40000
    queue = client.queue("q")
    queue.push(big)
    for job in queue.consume(wait=0):
        assert job.payload == big
        job.ack()
