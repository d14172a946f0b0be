# SPDX-License-Identifier: MIT
"""Locks, semaphores, leaders and redlocks."""
import threading
import time

import pytest
import tackle


def test_with_acquires_and_releases(client):
    lock = client.lock("x", label="me", lease=5)
    assert (lock.state, lock.fence, lock.token, lock.held) == ("free", 0, "", False)
    with lock as same:
        assert same is lock and lock.held and lock.state == "held"
        first = lock.fence
        assert len(lock.token) == 32 and 0 < lock.left.total_seconds() <= 5
        shown = client.lock("x").show()
        assert (shown.held, shown[0].label, shown[0].fence) == (1, "me", first)
        assert client.names("lock") == ["x"]
        assert [one.name for one in client.holders("lock")] == ["x"]
    with lock:      # again
        assert lock.fence > first
    assert not lock.held


def test_busy(client):
    with client.lock("x"):
        assert client.lock("x").acquire(wait=0) is False
        assert client.lock("x").acquire(wait=0.05) is False
        with pytest.raises(tackle.Busy, match="'x'"):
            with client.lock("x", wait=0):
                pytest.fail("entered")


def test_exceptions_of_the_block_come_through(client):
    with pytest.raises(KeyError):
        with client.lock("x"):
            raise KeyError("mine")
    assert client.lock("x").acquire(wait=0)
    with pytest.raises(KeyError):       # also when the lock was lost meanwhile
        with client.lock("y") as lock:
            client.lock("y").break_()
            raise KeyError("mine")
    with pytest.raises(tackle.NotOwner):
        with client.lock("y") as lock:
            client.lock("y").break_()
    assert lock.state == "free"


def test_misuse(client):
    lock = client.lock("x")
    with pytest.raises(tackle.InvalidArgument):
        lock.release()
    lock.acquire()
    with pytest.raises(tackle.InvalidArgument):
        lock.acquire()
    lock.release()
    reentrant = client.lock("x", reentrant=True)
    with reentrant, reentrant:
        assert reentrant.held
    assert not reentrant.held


def test_waiters_get_it_in_order(client, eventually):
    got = []

    def work(number):
        with client.lock("x", wait=60):
            got.append(number)

    with client.lock("x"):
        threads = []
        for number in range(5):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            eventually(lambda: client.lock("x").show().waiters == number + 1)
    for thread in threads:
        thread.join()
    assert got == [0, 1, 2, 3, 4]


def test_shared_and_downgrade(client):
    with client.lock("x", shared=True), client.lock("x", shared=True):
        assert client.lock("x").acquire(wait=0) is False
    with client.lock("x") as writer:
        assert client.lock("x", shared=True).acquire(wait=0) is False
        writer.downgrade()
        assert client.lock("x", shared=True).acquire(wait=0)


def test_detach_and_adopt(client):
    first, second = client.lock("x"), client.lock("x")
    first.acquire()
    token = first.detach()
    assert first.state == "free"
    second.adopt(token, lease=10)
    assert second.held
    second.renew(20)
    assert second.left.total_seconds() > 10
    second.release_nowait()
    with pytest.raises(tackle.NotOwner):
        client.lock("x").adopt("0" * 32)


def test_loss_is_reported(client):
    lost = threading.Event()
    lock = client.lock("x", watch=True, on_lost=lost.set)
    lock.acquire()
    assert lock.wait_lost(0) is False
    client.lock("x").break_()
    assert lock.wait_lost(30) and lost.wait(30)
    assert lock.state == "lost"
    with pytest.raises(tackle.NotOwner):
        lock.release()
    with pytest.raises(tackle.NotOwner):
        lock.wait_lost(0)
    with pytest.raises(tackle.NotFound):
        client.lock("x").break_()


def test_lease_ends_without_renewal(client, eventually):
    lock = client.lock("x", lease=0.05, auto_renew=False)
    lock.acquire()
    eventually(lambda: lock.state == "lost")
    assert client.lock("x").acquire(wait=30)


def test_a_grant_that_comes_too_late_does_not_end_the_wait(url, client):
    """The server answers after the lease has ended."""
    lock = client.lock("x", lease=0.2, auto_renew=False)
    assert lock.acquire(wait=0)
    lock.release()
    with tackle.Client(url) as other:
        other.call("CLIENT", "PAUSE", "600", "WRITE")
        assert lock.acquire(wait=60)


def test_renewal_goes_on_while_python_computes(client):
    """The thread that renews needs no interpreter."""
    with client.lock("x", lease=0.6):
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            sum(range(1000))
        assert client.lock("x").acquire(wait=0) is False


def test_semaphore(client):
    permits = [client.semaphore("s", 2, lease=10) for _ in range(3)]
    assert [permit.acquire(wait=0) for permit in permits] == [True, True, False]
    assert permits[0].show().limit == 2 and permits[0].fence != permits[1].fence
    assert client.names("semaphore") == ["s"] and len(client.holders("semaphore")[0].holders) == 2
    permits[0].renew(20)
    assert permits[0].left.total_seconds() > 10 and permits[0].token != permits[1].token
    token = permits[1].detach()
    permits[2].adopt(token)
    assert permits[2].state == "held" and permits[2].wait_lost(0) is False
    permits[0].release()
    permits[2].release_nowait()
    with pytest.raises(tackle.NotOwner):
        with permits[0]:
            permits[1].break_()
            with pytest.raises(tackle.NotOwner):
                permits[0].renew()
            assert permits[0].state == "lost"
    with pytest.raises(tackle.InvalidArgument):
        client.semaphore("s", 0)


def test_leader(client, eventually):
    first, second = client.leader("l", label="a", lease=10), client.leader("l", label="b")
    assert first.campaign(wait=0) and not second.campaign(wait=0)
    assert first.leads and not second.leads and first.state == "held"
    assert first.term > 0 and first.left.total_seconds() > 1 and first.wait_lost(0) is False
    shown = second.show()
    assert (shown[0].label, shown[0].fence) == ("a", first.term)
    assert second.watch(first.term, wait=0) is None
    assert client.names("leader") == ["l"] and client.holders("leader")[0].name == "l"
    other = client.leader("l")
    other.adopt(first.token)
    other.resign()
    leaders = second.changes()
    assert second.campaign(wait=30)
    assert next(leaders).label == "b"
    first.break_()
    eventually(lambda: not second.leads)
    with pytest.raises(tackle.NotFound):
        first.break_()


def test_redlock(client):
    with tackle.Client("embedded:") as other:
        lock = tackle.Redlock([client, other], "x", lease=10, wait=0)
        with lock:
            assert lock.left.total_seconds() > 1 and len(lock.token) == 32
            assert tackle.Redlock([client, other], "x").acquire(wait=0) is False
            lock.renew(20)
            with pytest.raises(tackle.Busy):
                with tackle.Redlock([client, other], "x", wait=0.01):
                    pass
        lock.acquire()
        token = lock.detach()
        second = tackle.Redlock([client, other], "x")
        second.adopt(token)
        second.release()
    with pytest.raises(ValueError):
        tackle.Redlock([], "x")
    with pytest.raises(tackle.Closed):
        lock.acquire()
