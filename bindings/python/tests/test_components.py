# SPDX-License-Identifier: MIT
"""The other components: every function of theirs, and what is special in Python."""
import datetime
import io
import math
import shutil
import tempfile
import threading

import pytest
import tackle
from tackle import ads, blist, channel, counter, files, geo, limit, log, search, session, text
from tackle.message import Letter
from tackle.queue import Push

UTC = datetime.timezone.utc


def test_limit(client):
    api = client.limit("api", 2, 60)
    assert api.check("a").remaining == 1 and api.check("a") and not api.check("a")
    denied = api.check("a")
    assert denied.retry_after > datetime.timedelta(seconds=5) and "allowed=False" in repr(denied)
    assert not api.wait("a", wait=0.01)
    assert api.show("a").taken == 2 and api.keys() == ["a"] and client.names("limit") == ["api"]
    api.refund("a")
    assert api.wait("a", wait=1)
    api.reset("a")
    with pytest.raises(tackle.NotFound):
        api.reset("a")
    slots = client.limit("slots", 1, 60, algorithm="concurrency")
    answer = slots.check("a")
    slots.renew("a", 1, answer.ticket)
    slots.refund("a", ticket=answer.ticket)
    assert slots.check("a")
    none = client.limit("none", 60, 60, burst=0)
    assert none.check("a") and not none.check("a")
    both = limit.check_each([(api, "b", 1), (api, "b", 5)])
    assert [bool(one) for one in both] == [True, False]
    assert not all(limit.check_all([(api, "c", 1), (api, "d", 5)]))
    assert api.check("c", 2)        # nothing was taken
    with pytest.raises(ValueError):
        client.limit("api", 0, 60)
    part = client.limit("hot", 1000, 1).slice("k")
    assert part.check() and part.check(2)
    part.close()


def test_bits(client):
    a, b = client.bits("a", ttl=60), client.bits("b")
    assert a.set(7) is False and a.set(7, False) is True and a.get(7) is False
    a.set(1), b.set(2)
    result = client.bits("r")
    assert result.combine("or", [a, b]) == 1 and result.count() == 2 and result.count((2, -1)) == 1
    assert result.find() == 1 and result.find(False, (1, 7)) == 3
    values = result.fields([{"verb": "set", "width": 4, "at": 1, "value": 15, "by_index": True},
                            {"verb": "add", "width": 4, "at": 1, "value": 1, "by_index": True,
                             "overflow": "fail"}])
    assert [value.done for value in values] == [True, False]
    assert client.names("bits") == ["a", "b", "r"]
    with pytest.raises(tackle.NotFound):
        client.bits("none").find()
    with pytest.raises(tackle.InvalidArgument):
        a.get(-1)
    a.drop()


def test_blist(client):
    events = client.blist("events")
    assert events.push("a", "b", {"c": 1}) == 3 and len(events) == 3 and bool(events)
    assert events.pop() == b"a" and events.pop_many(10) == [b"b", b'{"c":1}']
    assert events.pop_many(5, wait=0) == [] and len(events) == 0 and events
    other = client.blist("other")
    other.push("x")
    assert client.names("blist") == ["other"]
    which, items = blist.pop([events, other], 5, wait=1)
    assert which is other and items == [b"x"]
    assert blist.pop([events], wait=0) is None
    with pytest.raises(tackle.NotFound):
        events.drop()
    with pytest.raises(ValueError):
        blist.pop([])


def test_bloom(client):
    seen = client.bloom("seen", error=0.01, capacity=100)
    seen.reserve()
    with pytest.raises(tackle.Exists):
        seen.reserve()
    assert seen.add_all(["a", "b"]) == [True, True] and seen.exists(["a", "z"]) == [True, False]
    other = client.bloom("other", error=0.01, capacity=100)
    other.add("c")
    seen.merge(other)
    assert "c" in seen and seen.show().capacity == 100
    assert client.names("bloom") == ["other", "seen"]
    seen.drop()
    with pytest.raises(tackle.NotFound):
        "a" in seen


def test_unique(client):
    a, b = client.unique("a"), client.unique("b")
    assert a.add("x", "y") and not a.add("x")
    b.add("z")
    assert a.count(b) == 3
    a.merge([b])
    assert a.count() == 3 and client.names("unique") == ["a", "b"]
    a.drop()


def test_board(client):
    board = client.board("b", per="day", zone="Europe/Berlin", keep=3)
    assert board.add({"ann": 5, "bob": 3}) == 2 and board.set({"bob": 9}) == 1
    assert board.best({"ann": 4, "bob": 10}) == 1
    assert [entry.member for entry in board.top()] == ["bob", "ann"] and len(board) == 2
    assert board.rank(["ann", "none"])[0].rank == 2 and board.around("ann", 1, 0).total == 2
    assert len(board.seasons()) == 1 and client.names("board") == ["b"]
    assert board.remove(["ann"]) == 1
    with pytest.raises(tackle.NotFound):
        board.around("ann")
    board.drop()
    assert bool(client.board("empty"))


def test_book_recent_suggest(client):
    book = client.book("b", accents=True, pinyin=True, contains=True)
    assert book.add(["Jürgen", ("7", "张三丰")]) == 2
    assert book.complete("jur")[0].text == "Jürgen" and book.complete("zhang")[0].id == "7"
    book.rename(("7", ""), "Zhang")
    assert book.find("han").items[0].match == "contains" and book.show().entries == 2
    assert book.remove([("7", "")]) == 1 and client.names("book") == ["b"]
    book.drop()

    recent = client.recent("ann", accents=True)
    recent.add("Bob", "Jürgen")
    assert recent.complete() == ["Jürgen", "Bob"] and recent.find("ob")[0].match == "suffix"
    assert recent.remove(["Bob"]) == 1 and client.names("recent") == ["ann"]
    recent.drop()

    suggest = client.suggest("q", half_life=math.inf, typos=True)
    suggest.feed(["weather", "web"])
    suggest.feed({"web": 5})
    found = suggest.hint("we")
    assert [one.text for one in found] == ["web", "weather"] and found[0].weight == 6
    assert suggest.show().half_life is None and suggest.remove(["web"]) == 1
    assert client.names("suggest") == ["q"]
    suggest.drop()


def test_cache(client, eventually):
    cache = client.cache(ttl=60, tags=["t"], stale=0)
    assert cache.fetch("k", lambda key: {"key": key}).json() == {"key": "k"}
    assert cache.fetch("k", lambda key: pytest.fail("computed twice")).json() == {"key": "k"}
    assert cache.fetch("none", lambda key: None) is None
    assert cache.fetch_value("none", lambda key: 1 / 0).none
    with pytest.raises(ZeroDivisionError):
        cache.fetch("wrong", lambda key: 1 / 0)
    with pytest.raises(TypeError):
        cache.fetch("object", lambda key: object())
    cache.set("s", "v")
    cache.set("n", None)
    assert cache.get("s") == b"v" and cache.get("n") is None and cache.get("unknown") is None
    assert cache.show("s").bytes == 1 and "s" in client.names("cache")
    assert cache.drop_tag("t") >= 3
    cache.set("s", "v")
    cache.drop("s")
    with pytest.raises(tackle.NotFound):
        cache.drop("s")
    with pytest.raises(tackle.InvalidArgument):
        cache.local_stats()
    local = client.cache(local_bytes=1 << 20)
    local.set("l", "v")
    eventually(lambda: local.get("l") == b"v" and local.local_stats().live)


def test_cache_computes_once(client):
    cache, computed = client.cache(ttl=60), []
    gate = threading.Event()

    def slow(key):
        computed.append(key)
        gate.wait(30)
        return "done"

    threads = [threading.Thread(target=lambda: cache.fetch("k", slow, wait=60)) for _ in range(5)]
    for thread in threads:
        thread.start()
    with pytest.raises(tackle.Busy):
        while not computed:
            pass
        cache.fetch("k", slow, wait=0)
    gate.set()
    for thread in threads:
        thread.join()
    assert computed == ["k"]


def test_channel(client):
    news = client.channel("news", history=10)
    first = news.publish("a")
    news.publish_all(["b", {"c": 1}])
    assert [m.data for m in news.follow(recent=math.inf).next(wait=1)] == [b"a", b"b", b'{"c":1}']
    assert news.follow(after=first).next(wait=1)[0].data == b"b"
    assert news.follow(after=channel.id_text(first)).next(1, wait=1)[0].id.number == 2
    with pytest.raises(tackle.Empty):
        news.follow().next(wait=0)
    follower = iter(news.follow(recent=2))
    assert next(follower).data == b"b" and next(follower).data == b'{"c":1}'
    assert news.show().published == 3 and client.names("channel") == ["news"]
    with pytest.raises(ValueError):
        news.follow(after="nonsense")
    news.drop()


def test_mail_and_chat(client):
    box = client.mail("ann")
    assert box.send(Letter("hello", {"subject": "hi"}), sender="bob") == 1
    assert box.send_all(["b", "c"]) == 2
    messages = box.fetch(wait=0)
    assert [m.body for m in messages] == [b"hello", b"b", b"c"] and messages.unread == 3
    assert (messages[0].headers[0].name, messages[0].headers[0].value) == ("subject", "hi")
    assert box.ack(messages[1].id) == 1 and box.show().unread == 1
    box.limit(max_messages=1, when_full="drop_oldest")
    assert box.purge() == 1 and client.names("mail") == ["ann"]
    with pytest.raises(tackle.Empty):
        box.fetch(wait=0)
    box.drop()

    chat = client.chat()
    assert len(chat.id) > 8
    chat.create(["ann", "bob"], max_messages=100)
    with pytest.raises(tackle.Exists):
        chat.create(["ann"])
    assert chat.send("ann", "hi") == 1 and chat.send_all("ann", ["a", Letter("b")]) == 2
    chat.join("eve", "oldest")
    assert len(chat.fetch("eve", wait=0)) == 3 and chat.ack("bob", 2) == 1
    assert {member.name for member in chat.show().members} == {"ann", "bob", "eve"}
    with pytest.raises(tackle.NotOwner):
        chat.send("stranger", "hi")
    with pytest.raises(tackle.Empty):
        chat.ack("bob", 3), chat.fetch("bob", wait=0)
    chat.limit(max_messages=5)
    chat.leave("eve")
    inbox = client.inbox("ann")
    assert inbox.show()[0].id == chat.id
    assert inbox.fetch(wait=0) == []        # its own messages are not for itself
    chat.send_all("bob", ["x", "y"])
    assert inbox.fetch(wait=0)[0].messages.unread == 2
    inbox.ack_all()
    assert inbox.fetch(wait=0) == []
    inbox.ack_all()     # nothing to acknowledge
    assert client.names("chat") == [chat.id]
    chat.drop()


def test_chat_history(client):
    chat = client.chat("lunch")
    with pytest.raises(tackle.NotOwner):
        chat.create_and_send(["ann", "bob"], "eve", ["hi"])
    chat.create_and_send(["ann", "bob"], "ann", ["noodles?", Letter("or rice?")], history_messages=2)
    assert [m.body for m in chat.fetch("bob", wait=0)] == [b"noodles?", b"or rice?"]
    assert chat.ack("bob", 2) == 0 and chat.send("bob", "rice") == 3
    assert chat.ack("ann", 3) == 0
    assert [m.id for m in chat.history("ann")] == [2, 3]
    assert [m.body for m in chat.history("bob", max=1, before_id=3)] == [b"or rice?"]
    with pytest.raises(tackle.Empty):
        chat.history("ann", before_id=1)
    with pytest.raises(tackle.NotOwner):
        chat.history("eve")
    chat.limit(history_messages=1)
    assert [m.id for m in chat.history("ann")] == [3]


def test_config(client, url, eventually):
    config = client.config("limits", "search", author="me")
    assert config.read("unset") == "unset"
    assert config.set({"a": 1}, if_version=0) == 1 and config.set([2], if_version=1) == 2
    with pytest.raises(tackle.Conflict) as why:
        config.set({}, if_version=1)
    assert why.value.version == 2
    value = config.get()
    assert (value.json.json(), value.author, value.version) == ([2], "me", 2)
    eventually(lambda: config.read() == [2])
    assert config.read_value()[1] == 0
    assert config.watch(value, wait=0) is None
    changes = config.changes()
    assert next(changes).version == 2
    config.set(3)
    assert next(changes).json.json() == 3
    assert [one.version for one in config.history()] == [3, 2, 1]
    assert client.names("config") == ["limits:search"]
    config.drop()
    with pytest.raises(tackle.NotFound):
        config.get()
    with pytest.raises(ValueError):
        config.set(math.nan)

    with client.config_client("x") as source, pytest.raises(tackle.NotFound):
        source.url()
    client.config("server", "x").set({"url": url, "namespace": "other"})
    with client.config_client("x") as source:
        assert source.url().startswith(url) and "other" in source.url()
    client.config("server", "x").set(url)
    with client.config_client("x") as source:
        with source.borrow() as lent:
            inside = lent.lock("inside")
            assert inside.acquire(wait=0)
            with source.borrow() as same:
                assert "inside" in same.names("lock")
        assert lent.closed and source.show().version == 2
    flag = client.maintenance("shop", author="me")
    assert flag.read().on is False
    flag.set(True, "disks")
    eventually(lambda: flag.read().on)


def test_counter(client):
    hits = client.counter("hits", every=[1, 60], samples=10)
    hits.add(5)
    hits.add(-1)
    series = hits.read(datetime.timedelta(minutes=1))
    assert sum(one.count for one in series) == 4 and series.every.total_seconds() == 60
    now = datetime.datetime.now(UTC)
    assert len(hits.read(60, start=now - datetime.timedelta(minutes=3), end=now)) in (3, 4)
    assert counter.add_each([(hits, 1), (client.counter("other"), 2, now)]) == [None, None]
    refused = counter.add_each([(hits, 1, now - datetime.timedelta(days=3))])
    assert isinstance(refused[0], tackle.InvalidArgument)
    buffer = hits.buffer(interval=60)
    buffer.add(2)
    buffer.flush()
    assert buffer.stats().counted == 2
    buffer.close()
    assert client.names("counter") == ["hits", "other"] and counter.clean(client) == 0
    hits.drop()
    with pytest.raises(tackle.NotFound):
        hits.read(60)


def test_a_buffer_that_cannot_be_sent_says_what_is_lost(client):
    client.call("SET", client.key("counter", "broken"), "another type")
    buffer = client.counter("broken").buffer(interval=60)
    buffer.add(3)
    with pytest.raises(tackle.WrongType) as why:
        buffer.close()
    assert why.value.stats.pending + why.value.stats.lost == 3
    buffer.close()


def test_files(client, tmp_path):
    channel_ = client.files("logs", max_bytes=1 << 20, resume=0)
    (tmp_path / "a.log").write_bytes(b"one\ntwo\n")
    (tmp_path / "in").mkdir()
    outcomes, progress = [], []
    totals = channel_.send(["r"], [tmp_path / "a.log", files.Stream("s", io.BytesIO(b"x" * 100000))],
                           on_file=outcomes.append, on_progress=progress.append)
    assert (totals.files, totals.bytes) == (2, 100008) and [one.name for one in outcomes] == ["a.log", "s"]
    assert channel_.status().receivers[0].name == "r" and client.names("files") == ["logs"]
    assert channel_.add_receiver("r2") == 2 and channel_.drop_receiver("r2") == 2
    assert channel_.receive("r", tmp_path / "in", wait=0).files == 2
    with files.reading(tmp_path / "in", "s") as reader:
        assert reader.read(10) == b"x" * 10
        assert sum(len(part) for part in iter(reader.read, b"")) == 99990
    assert list(files.reading(tmp_path / "in", "a.log")) == [b"one", b"two"]
    with pytest.raises(tackle.NotFound):
        files.reading(tmp_path / "in", "none")
    with pytest.raises(tackle.Empty):
        channel_.receive("r", tmp_path / "in", wait=0)
    with pytest.raises(tackle.SystemFailure) as why:
        channel_.send(["r"], [tmp_path / "none"])
    assert why.value.totals.failed == 1
    assert files.safe_name("..") == "%2E."


def test_lines_of_files(client, tmp_path):
    logs = client.files("logs")
    (tmp_path / "a.log").write_bytes(b"one\ntwo\nthree\n")
    logs.send(["r"], [tmp_path / "a.log"])
    seen = []

    def line(file, text):
        seen.append((file, text))
        if len(seen) == 2:
            raise KeyError("stop here")

    with pytest.raises(KeyError, match="stop here"):
        logs.receive("r", tmp_path, wait=0, on_line=line)
    again, flushed = [], []
    logs.receive("r", tmp_path, wait=0, on_line=lambda file, text: again.append(text),
                 on_flush=lambda: flushed.append(1))
    assert again[-1] == b"three" and b"two" in again and flushed

    class Broken(io.RawIOBase):
        def read(self, size=-1):
            raise OSError("broken")

    with pytest.raises(tackle.SystemFailure):
        logs.send(["r"], [files.Stream("broken", Broken())])


def test_geo(client):
    shops = client.geo("shops", ttl=60)
    assert shops.add({"a": (9.99, 53.54), "b": (10.0, 53.55), "far": (2.35, 48.85)}) == 3
    assert [place.name for place in shops.near("a", radius=5, unit="km")] == ["a", "b"]
    assert [p.name for p in shops.near((10, 53.5), width=50, height=50, unit="km", max=1, farthest=True)]
    assert shops.count((10, 53.5), radius=50, unit="km") == 2
    assert shops.positions(["a", "none"])[1] is None and round(shops.positions(["a"])[0][0], 2) == 9.99
    assert shops.hashes(["a", "none"])[1] == "" and len(shops.hashes(["a"])[0]) == 11
    assert [place.name for place in shops.within(shops.hashes(["far"])[0][:5])] == ["far"]
    assert shops.remove(["far"]) == 1 and client.names("geo") == ["shops"]
    with pytest.raises(tackle.NotFound):
        shops.distance("a", "none")
    with pytest.raises(ValueError):
        shops.add({"pole": (0, 90)})
    with pytest.raises((TypeError, ValueError)):
        shops.near(7, radius=1)
    assert geo.decode(geo.encode(9.99, 53.54)).north > 53
    assert len(geo.neighbours("u1x0e")) == 8
    shops.drop()


def test_ip(client, tmp_path):
    table = client.ip("geo", cache_size=100, cache=1)
    places, blocks = tmp_path / "places.csv", tmp_path / "blocks.csv"
    places.write_text("geoname_id,city_name,country_iso_code\n1,Paris,FR\n")
    blocks.write_text("network,geoname_id\n203.0.113.0/24,1\n2001:db8::/32,1\n")
    seen = []
    with table.importing(on_progress=seen.append) as rows:
        rows.places_file(places)
        rows.blocks_file(blocks)
    assert rows.stats.ranges == 2 and table.stats().ranges == 2
    assert [one.place.city for one in table.lookup_all(["203.0.113.9", "2001:db8::1"])] == ["Paris"] * 2
    with pytest.raises(tackle.InvalidArgument):
        with table.importing() as rows:
            rows.places([{"id": "1"}])
            rows.ranges([("203.0.113.0/24", "1"), ("nonsense", "1")])
    assert rows.stats.bad == 1
    rows = table.importing(max_bad=math.inf)
    rows.ranges([("nonsense", "1")])
    assert rows.problems()[0].line == 1 and rows.problems()[0].file == ""
    rows.close()
    with pytest.raises(ValueError):
        table.lookup("not an address")
    site = client.ads("site")
    site.add("shoes", "cpm", 1, locations=["Paris"])
    assert site.target(table=table, address="203.0.113.9").location == "paris"
    assert client.names("ip") == ["geo"]
    table.drop()


def test_ads(client):
    site = client.ads("site", smoothing=0, explore=0, target=60)
    site.add("shoes", "cpc", "0.25", locations=["Berlin"], budget="10", text="running shoes",
             needs={"age": ["20", "30"]})
    choice = site.target(["Berlin"], text="running", traits={"age": "20"})
    assert (choice.ad, choice.type) == ("shoes", "cpc")
    site.click(choice.target)
    with pytest.raises(tackle.Exists):
        site.click(choice.target)
    site.action(choice.target)
    assert site.explain("shoes", ["Berlin"]).unmet == "age"
    assert site.show("shoes").price_micros == 250000 and site.show("shoes").needs[0].values == ["20", "30"]
    assert site.report()[0].counts.clicks == 1 and site.report_words()[0].word in ("run", "running")
    assert (site.stats().ads, site.stats().smoothing) == (1, None)
    with pytest.raises(tackle.Empty):
        site.target(["Paris"])
    assert ads.ecpm("cpc", "0.25", 1000, 10) == 2500000.0 and site.remove(["shoes"]) == 1
    with pytest.raises(ValueError):
        ads.micros("0.1234567")
    assert client.names("ads") == ["site"]
    site.drop()


def test_log(client):
    shop = client.log("shop", ttl=math.inf)
    shop.write("a", "error")
    shop.write_all([("b", "info", None), ("c", "info", datetime.datetime.now(UTC))])
    assert [entry.message for entry in shop.recent("info")] == ["b", "c"]
    start = datetime.datetime.now(UTC) - datetime.timedelta(minutes=5)
    assert len(shop.since(start)) == 3
    assert shop.common("any", "sliding")[0].times == 1
    tail = shop.tail(recent=1)
    assert tail.next(wait=1)[0].message == "c"
    with pytest.raises(tackle.Empty):
        tail.next(wait=0)
    lines = iter(shop.tail(recent=2))
    assert next(lines).severity
    writer = shop.writer(batch=10)
    writer.write("d")
    writer.flush()
    assert writer.stats().written == 1
    writer.close()
    with pytest.raises(ValueError):
        shop.write("x", "loud")
    with pytest.raises(ValueError):
        log.severity("loud")
    assert client.names("log") == ["shop"]
    shop.drop()


def test_online(client):
    visitors = client.online("v", kind="set", zone="Europe/Berlin", keep_days=10)
    assert visitors.mark("ann", "bob") == 2 and visitors.mark("ann") == 0
    yesterday = "yesterday"
    assert visitors.mark_day(yesterday, ["ann"]) == 1
    assert visitors.count(2, "every_day") == 1 and visitors.check("ann", 1)
    assert visitors.returning(5) == (1, 1) and visitors.cohort(yesterday).users == 1
    assert sorted(visitors.users()) == ["ann", "bob"] and list(visitors.users(1)) == ["ann"]
    assert visitors.unmark(["bob"]) == 1 and visitors.show().kind == "set"
    day = datetime.date.fromisoformat(visitors.show()[0].day)
    assert visitors.unmark(["ann"], day) == 1
    estimate = client.online("h", kind="hll")
    assert estimate.mark("x") is None and estimate.count() == 1
    with pytest.raises(ValueError):
        visitors.mark_day("someday", ["x"])
    assert client.names("online") == ["h", "v"]
    visitors.drop()


def test_scan(client):
    for number in range(2000):
        client.call("SET", f"user:{number}", "x")
    assert len({element.name for element in client.scan("user:*", count=100)}) == 2000
    client.call("HSET", "h", "field", "value")
    (element,) = client.scan(key="h")
    assert (element.name, element.value) == ("field", b"value")
    walk = client.scan("user:*", count=10)
    next(walk)
    while walk.rest:
        next(walk)
    rest = {element.name for element in client.scan("user:*", cursor=walk.cursor())}
    assert 1000 < len(rest) < 2000
    with pytest.raises(tackle.WrongType):
        client.call("SET", "s", "x")
        list(client.scan(key="s"))


def test_script(client):
    script = client.script("s.lua", "return {KEYS[1], ARGV[1], #ARGV}")
    assert script.run(["k"], ["a", 2, b"\xff"], timeout=5, retry_safe=True) == [b"k", b"a", 3]
    with pytest.raises(tackle.Refused, match="wrong.lua"):
        client.script("wrong.lua", "this is not lua").run()


def test_search(client):
    index = client.search("docs")
    index.create({"votes": "numeric", "lang": "text"}, stem="en", positions=True)
    assert index.add("1", "Connecting servers", votes=3, lang="en") is True
    assert index.add("1", "Connecting servers again", votes=3, lang="en") is False
    assert index.add_all([{"id": "2", "text": "other words", "values": {"votes": 0, "lang": "de"}}]) == 1
    found = index.query("*", order="-votes", facets=["lang"], texts=True)
    assert [hit.id for hit in found.hits] == ["1", "2"] and found.facets[0].counts[0].count == 1
    assert index.query("connect", count=0).hits == [] and index.query("connect", count=0).total == 1
    assert [hit.id for hit in index.get(["2", "none"])] == ["2"]
    why = index.explain("connect -servers votes:>2", "1")
    assert why.matches is False and why.reason == "the document has server, which the query excludes"
    assert [part.matches for part in why.parts] == [True, True, True] and why.parts[0].value == "3"
    assert index.explain("connect").total == 1
    parsed = search.parse("connect votes:>2", {"votes": "numeric"}, positions=True)
    assert [part.text for part in parsed.parts] == ["votes:>2", "connect"]
    with pytest.raises(tackle.NotFound):
        index.explain("connect", "none")
    assert index.highlight("connect", "connecting", before="[", after="]").text == "[connecting]"
    assert index.show().documents == 2 and index.show().schema.fields[0].kind == "numeric"
    checked = index.check()
    assert (checked.documents, checked.postings, checked.lost) == (2, 0, 0)
    assert index.show().clean_at is not None
    assert index.remove(["2"]) == 1 and client.names("search") == ["docs"]
    with pytest.raises(ValueError):
        index.query('"unclosed')
    with pytest.raises((TypeError, ValueError)):
        index.add("3", "x", votes="many")
    index.drop()


def test_service(client, eventually):
    shop = client.service("shop")
    first = shop.register("10.0.0.1:80", id="a", weight=3, meta={"zone": "x"}, lease=5)
    assert first.state == "listed" and shop.list()[0].meta[0].name == "zone"
    change = shop.watch(wait=1).change
    with shop.register("10.0.0.2:80"):
        assert len(shop.watch(change, wait=30)) == 2
        assert {shop.pick("round_robin").address for _ in range(4)} == {"10.0.0.1:80", "10.0.0.2:80"}
    eventually(lambda: len(shop.watch(wait=1)) == 1)
    assert shop.watch(shop.watch(wait=1).change, wait=0) is None
    lists = shop.changes()
    assert next(lists) is not None
    assert client.names("service") == ["shop"]
    again = shop.register("10.0.0.9:80", id="a")
    eventually(lambda: shop.list()[0].address == "10.0.0.9:80")
    with pytest.raises(tackle.NotOwner):
        first.close()
    again.close()
    with pytest.raises(tackle.Empty):
        client.service("none").pick()


def test_sessions(client):
    shop = client.sessions("shop", ttl=60)
    token = shop.create("alice", ttl=30)
    assert shop.touch([(token, "cup"), ("0" * 32, "x")])[0] is None
    assert isinstance(shop.touch([("0" * 32, "x")])[0], tackle.NotFound)
    assert shop.use(token).user == "alice" and shop.recent(token)[0].item == "cup"
    shop.set(token, {"cart": [1], "gone": "x"})
    shop.set(token, {"gone": None})
    assert session.data(shop.check(token)) == {"cart": b"[1]"}
    shop.view_items(["cup", "pot"])
    assert shop.top()[0].item == "cup"
    shop.rename_item("pot", "teapot")
    shop.drop_item("teapot")
    shop.drop_ranking()
    assert len(shop.of_user("alice")) == 1 and shop.stats().sessions == 1
    assert client.names("session") == ["shop"] and shop.end_user("alice") == 1
    with pytest.raises(tackle.NotFound):
        shop.check(token)
    token = shop.create("bob")
    shop.end(token)
    shop.create("bob")
    shop.drop()


def test_stats(client):
    times = client.stats("time", no_slow_log=True)
    times.record({"/a": 1.0})
    times.record_all([("/a", 3.0, datetime.datetime.now(UTC)), ("/b", 5.0, None)])
    a, b = times.show(["/a"]), times.show(["/b"])
    assert (a.count, a.mean, a.max) == (2, 2.0, 3.0) and "mean=2.0" in repr(a)
    a.merge(b)
    assert a.count == 3 and a.quantile(1) == 5.0
    assert times.slowest()[0].context == "/b" and sorted(times.contexts()) == ["/a", "/b"]
    with pytest.raises(KeyError):
        with times.timer("/c") as timer:
            raise KeyError
    assert timer.result.seconds >= 0 and times.show(["/c"]).count == 1
    times.drop("/a")
    with pytest.raises(tackle.NotFound):
        times.show(["/a"])
    with pytest.raises(ValueError):
        times.record({"/a": math.nan})
    assert client.names("stats") == ["time"]


def test_text():
    assert text.pinyin("张三")[0] == "zhangsan" and text.score("") == 0
    assert text.fold(["MÜLLER"]) == ["müller"]


def test_pipeline(client):
    api, hits, board = client.limit("api", 1, 60), client.counter("hits"), client.board("b")
    cache, news, shop_log = client.cache(), client.channel("n"), client.log("l")
    online, times, shop = client.online("o", kind="set"), client.stats("t"), client.sessions("s")
    queue, token = client.queue("q"), shop.create("alice")
    script = client.script("s.lua", "return 7")
    page = client.pipeline()
    results = {
        "call": page.call("SET", "k", 1), "wrong": page.call("LPUSH", "k", 1),
        "first": page.limit_check(api, "a"), "second": page.limit_check(api, "a"),
        "count": page.counter_add(hits, 2), "board": page.board_add(board, "ann", 5),
        "set": page.cache_set(cache, "c", {"x": 1}), "get": page.cache_get(cache, "c"),
        "none": page.cache_get(cache, "none"), "publish": page.channel_publish(news, "m"),
        "log": page.log_write(shop_log, "x"), "mark": page.online_mark(online, "ann"),
        "stats": page.stats_record(times, "/a", 1.5), "touch": page.session_touch(shop, token, "cup"),
        "use": page.session_use(shop, token), "push": page.queue_push(queue, "x", unique="u"),
        "again": page.queue_push(queue, "y", unique="u"), "script": page.script(script),
        "invalid": page.queue_push(queue, "x", priority=5000),
        "read": page.counter_read(hits, 60), "unread": page.counter_read(client.counter("none"), 60),
        "last": page.call("GET", "k"),
    }
    with pytest.raises(tackle.NotSent):
        results["call"].value
    with pytest.raises(tackle.InvalidArgument):
        results["invalid"].value
    page.run()
    assert results["call"].value == b"OK" and results["last"].value == b"1"
    with pytest.raises(tackle.WrongType):
        results["wrong"].value
    assert results["first"].value and not results["second"].value
    assert results["board"].value is True and results["get"].value in (None, b'{"x":1}')
    assert results["none"].value is None and results["publish"].value.number == 1
    assert results["mark"].value is True and results["use"].value.user == "alice"
    assert results["push"].value.is_new and not results["again"].value.is_new
    assert sum(one.count for one in results["read"].value) == 2
    with pytest.raises(tackle.NotFound):
        results["unread"].value
    assert results["script"].value == 7 and "Result" in repr(results["script"])
    for name in ("count", "set", "log", "stats", "touch"):
        assert results[name].error is None
    assert sum(one.count for one in hits.read(60)) == 2
    page.run()      # empty, and still of use
    page.close()


def test_transactions(client):
    with client.pipeline(transaction=True) as both:
        one, two = both.call("INCR", "a"), both.call("INCR", "a")
    assert (one.value, two.value) == (1, 2)
    with pytest.raises(KeyError):
        with client.pipeline() as page:
            page.call("SET", "never", "x")
            raise KeyError
    assert client.call("GET", "never") is None


def test_pipelines_keep_their_handles(client):
    page = client.pipeline()
    result = page.counter_add(client.counter("dropped"), 3)
    page.run()
    assert result.error is None
    counted = client.counter("closed")
    result = page.counter_add(counted, 3)
    counted.close()
    page.run()
    assert result.error is None


def test_server(client):
    client.queue("mails").push("x")
    clients = client.clients()
    assert len(clients) == clients.connected <= clients.most
    assert any(one.name.startswith("tackle:") and one.kind == "normal" for one in clients)
    memory = client.memory()
    assert memory.is_exact
    assert {one.component: one.keys > 0 and one.bytes > 0 for one in memory}["queue"]


def test_functions_and_servers(client, url, tmp_path, request):
    assert client.load_functions() >= 0 and client.remove_old_functions() >= 0
    assert "queue" in {library.component for library in client.functions()}
    assert client.counters().calls > 0 and sum(client.counters().took) > 0
    assert "\ntackle_client_calls_total " in client.metrics()
    with pytest.raises(ValueError):
        client.names("nonsense")
    with pytest.raises(ValueError):
        client.holders("queue")
    folder = tempfile.mkdtemp(prefix="tackle-test.", dir="/tmp")    # tmp_path may be too long
    request.addfinalizer(lambda: shutil.rmtree(folder))
    place = f"embedded:{folder}?durability=everysec"
    assert tackle.server_start(place).pid > 0
    with tackle.Client(place) as other:
        other.call("SET", "k", "v")
    tackle.server_save(place)
    tackle.server_rewrite(place)
    tackle.server_backup(place, f"{tmp_path}/copy")
    assert tackle.server_status(place).saved_at is not None
    tackle.server_stop(place)
    with pytest.raises(tackle.NotFound):
        tackle.server_stop(place)
    assert tackle.version() == tackle.__version__


def test_overviews(client):
    overviews = client.overviews(max=100)
    assert overviews.read().queues == []
    client.queue("q").push("x")
    client.counter("hits").add(3)
    with client.lock("l", wait=1):
        overviews.read()        # new names have their numbers in the next one
        found = overviews.read()
    assert [(one.name, one.code, one.stats.ready) for one in found.queues] == [("q", 0, 1)]
    assert [(one.name, one.holders.items[0].fence > 0) for one in found.locks] == [("l", True)]
    assert [(one.name, sum(slice.count for slice in one.series)) for one in found.counters] == [("hits", 3)]
    assert found.semaphores == [] and found.leaders == [] and "# Server" in found.server
    assert found.queues_result.code == 0 and found.counters[0].series.every.total_seconds() == 1
    with pytest.raises(tackle.InvalidArgument):
        client.overviews(max=-1).read()


def test_default_server(monkeypatch, url):
    monkeypatch.setenv("TACKLE_URL", url)
    assert (tackle.default_server().source, tackle.default_server().is_fallback) == ("TACKLE_URL", False)
    with tackle.Client() as client:
        assert client.call("PING") == b"PONG"
    with pytest.raises(tackle.InvalidArgument):
        tackle.Client("nonsense://x")


def test_errors_of_the_network():
    with tackle.Client("unix:///nowhere/socket", timeout=0.2) as client:
        with pytest.raises(tackle.NotSent) as why:
            client.call("PING")
        assert isinstance(why.value, ConnectionError) and why.value.transient and not why.value.unknown
        assert "/nowhere/socket" in str(why.value)


def test_time_outs_are_unknown(client):
    with pytest.raises(tackle.Timeout) as why:
        client.call("BLPOP", "none", 5, timeout=0.1)
    assert isinstance(why.value, (tackle.OutcomeUnknown, TimeoutError)) and why.value.unknown


def test_push_options_are_checked():
    with pytest.raises(TypeError):
        Push("x", dealy=5)
