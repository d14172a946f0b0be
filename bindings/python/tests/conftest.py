# SPDX-License-Identifier: MIT
"""A private server for the tests, which every test finds empty."""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

import pytest

# The library of a sanitizer is for interpreters only, not for the servers that they start.
PRELOAD = os.environ.pop("LD_PRELOAD", "")
# Shells start programs in the background with SIGINT ignored, and their children inherit that.
BEGIN = """import os, signal
os.environ.pop("LD_PRELOAD", 0)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
if "TACKLE_TEST_SERVER" in os.environ:
    os.environ["TACKLE_SERVER"] = os.environ["TACKLE_TEST_SERVER"]

import tackle  # noqa: E402


# Ends a server when its standard input ends: also when the tests crash.
GUARD = """import contextlib, shutil, sys
sys.stdin.read()
import tackle
with contextlib.suppress(tackle.NotFound):
    tackle.server_stop(sys.argv[1])
shutil.rmtree(sys.argv[2])
"""


@contextlib.contextmanager
def server_of(durability):
    folder = tempfile.mkdtemp(prefix="tackle-test.", dir="/tmp")
    url = f"embedded:{folder}?durability={durability}"
    guard = subprocess.Popen([sys.executable, "-c", GUARD, url, folder], stdin=subprocess.PIPE,
                             env={**os.environ, "LD_PRELOAD": PRELOAD}, start_new_session=True)
    try:
        tackle.server_start(url)
        yield url
    finally:
        guard.communicate()


@pytest.fixture(scope="session")
def url():
    with server_of("none") as url:
        yield url


@pytest.fixture
def own_url():
    """A server of the test's own, which it may stop and start; it keeps its data."""
    with server_of("always") as url:
        yield url


@pytest.fixture
def client(url):
    with tackle.Client(url) as client:
        client.call("FLUSHALL")
        yield client


@pytest.fixture
def eventually():
    """Waits until a condition holds; no test depends on the time that it takes."""
    def wait(condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it did not come true"
            time.sleep(0.01)
    return wait


@pytest.fixture
def python(url):
    """Runs a program in an interpreter of its own."""
    def run(source, **options):
        begin = BEGIN + f"import tackle; url = {url!r}\n"
        options.setdefault("env", dict(os.environ))["LD_PRELOAD"] = PRELOAD
        return subprocess.run([sys.executable, "-X", "dev", "-W", "error", "-c", begin + source],
                              text=True, capture_output=True, timeout=120, **options)
    return run
