# SPDX-License-Identifier: MIT
"""The client: one object per program, shared by all of its threads."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Optional, Tuple, Union

from . import _call
from ._component import record_callback
from ._convert import Duration, Name, build, encode, from_bytes, from_enum, to_bytes, to_text
from ._handle import Handle, client_cell
from ._headers import FUNCTIONS
from ._native import ctype, function
from ._record import Data
from .errors import error
from .records import (ClientEvent, Clients, ClientStats, DefaultServer, FunctionLibrary, HoldSummary,
                      LimitRefusals, Memory, QueueSummary, ServerInfo)

if TYPE_CHECKING:
    from typing import TypeVar

    from typing_extensions import Concatenate, ParamSpec

    from .ads import Ads
    from .bits import Bits
    from .blist import Blist
    from .bloom import Bloom
    from .board import Board
    from .book import Book
    from .cache import Cache
    from .channel import Channel
    from .chat import Chat, Inbox
    from .config import Config, ConfigClient, Maintenance
    from .counter import Counter
    from .files import Files
    from .geo import Geo
    from .ip import Ip
    from .leader import Leader
    from .limit import Limit
    from .lock import Lock
    from .log import Log
    from .mail import Mail
    from .online import Online
    from .overview import Overviews
    from .pipeline import Pipeline
    from .queue import Consumer, Queue
    from .recent import Recent
    from .scan import Scan
    from .script import Script
    from .search import Search
    from .semaphore import Semaphore
    from .service import Service
    from .session import Sessions
    from .stats import Stats
    from .suggest import Suggest
    from .unique import Unique
    from .worker import Worker

    P = ParamSpec("P")
    T = TypeVar("T")

    def opens(kind: Callable[Concatenate[Client, P], T]) -> Callable[Concatenate[Client, P], T]:
        """A method of the client with the arguments of a class behind the client."""

# The methods that open something: their names, modules and classes. A module is imported when its
# method is first used.
COMPONENTS = {
    "ads": ("ads", "Ads"), "bits": ("bits", "Bits"), "blist": ("blist", "Blist"),
    "bloom": ("bloom", "Bloom"), "board": ("board", "Board"), "book": ("book", "Book"),
    "cache": ("cache", "Cache"), "channel": ("channel", "Channel"), "chat": ("chat", "Chat"),
    "config": ("config", "Config"), "config_client": ("config", "ConfigClient"),
    "consumer": ("queue", "Consumer"), "counter": ("counter", "Counter"),
    "files": ("files", "Files"), "geo": ("geo", "Geo"), "inbox": ("chat", "Inbox"),
    "ip": ("ip", "Ip"), "leader": ("leader", "Leader"), "limit": ("limit", "Limit"),
    "lock": ("lock", "Lock"), "log": ("log", "Log"), "mail": ("mail", "Mail"),
    "maintenance": ("config", "Maintenance"), "online": ("online", "Online"),
    "overviews": ("overview", "Overviews"),
    "pipeline": ("pipeline", "Pipeline"), "queue": ("queue", "Queue"),
    "recent": ("recent", "Recent"), "scan": ("scan", "Scan"), "script": ("script", "Script"),
    "search": ("search", "Search"), "semaphore": ("semaphore", "Semaphore"),
    "service": ("service", "Service"), "sessions": ("session", "Sessions"),
    "stats": ("stats", "Stats"), "suggest": ("suggest", "Suggest"), "unique": ("unique", "Unique"),
    "worker": ("worker", "Worker"),
}

Argument = Union[str, bytes, int, float]


class Client(Handle):
    """A server, a cluster, or a server behind Sentinel. It connects when it is first needed.

    >>> import tackle
    >>> with tackle.Client("embedded:") as client:      # a private server in memory
    ...     client.call("SET", "greeting", "hello")
    ...     client.call("GET", "greeting")
    b'OK'
    b'hello'

    `url` None: $TACKLE_URL, $REDIS_URL or the configuration file. `timeout` is for a call, in
    seconds. docs/client.md has the forms of URLs and the other options. `on_event` gets a
    ClientEvent for logs and metrics, in any thread; it must not use the client.

    Threads share a client. A child of fork() may go on using it, with connections of its own.

    client.lock(...), client.queue(...) and so on open something: dir(client) lists these methods,
    and help(client.lock) explains one.
    """

    def __init__(self, url: Optional[str] = None, *, timeout: Optional[Duration] = None,
                 namespace: Optional[str] = None, name: Optional[str] = None,
                 username: Optional[str] = None, password: Optional[str] = None,
                 password_file: Optional[str] = None, pool_size: Optional[int] = None,
                 idle: Optional[Duration] = None, reply_max: Union[int, float, None] = None,
                 always_sleep: bool = False, no_register: bool = False,
                 tls_ca_file: Optional[str] = None, tls_ca_dir: Optional[str] = None,
                 tls_cert_file: Optional[str] = None, tls_key_file: Optional[str] = None,
                 tls_server_name: Optional[str] = None, tls_no_verify: bool = False,
                 on_event: Optional[Callable[[ClientEvent], None]] = None) -> None:
        event = record_callback("tkl_options", "on_event", "tkl_client_event", on_event)
        pointer = _call.local("tkl_open", url, {
            "timeout": timeout, "ns": namespace, "name": name, "username": username,
            "password": password, "password_file": password_file, "pool_size": pool_size,
            "idle": idle, "reply_max": reply_max, "always_sleep": always_sleep,
            "no_register": no_register, "tls_ca_file": tls_ca_file, "tls_ca_dir": tls_ca_dir,
            "tls_cert_file": tls_cert_file, "tls_key_file": tls_key_file,
            "tls_server_name": tls_server_name, "tls_no_verify": tls_no_verify, "on_event": event})
        self._cell = client_cell(pointer, keep=event)
        self._interrupted = False

    def __getattr__(self, name: str) -> Any:
        if name not in COMPONENTS:
            raise AttributeError(f"a Client has no {name!r}")
        module, kind = COMPONENTS[name]
        opened = getattr(importlib.import_module("." + module, __package__), kind)

        def opens(*given: Any, **options: Any) -> Any:
            return opened(self, *given, **options)

        opens.__name__, opens.__doc__ = name, opened.__doc__        # for help(client.lock)
        opens.__dict__["__wrapped__"] = functools.partial(opened, self)
        return opens

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *COMPONENTS})

    if TYPE_CHECKING:
        ads = opens(Ads)
        bits = opens(Bits)
        blist = opens(Blist)
        bloom = opens(Bloom)
        board = opens(Board)
        book = opens(Book)
        cache = opens(Cache)
        channel = opens(Channel)
        chat = opens(Chat)
        config = opens(Config)
        config_client = opens(ConfigClient)
        consumer = opens(Consumer)
        counter = opens(Counter)
        files = opens(Files)
        geo = opens(Geo)
        inbox = opens(Inbox)
        ip = opens(Ip)
        leader = opens(Leader)
        limit = opens(Limit)
        lock = opens(Lock)
        log = opens(Log)
        mail = opens(Mail)
        maintenance = opens(Maintenance)
        online = opens(Online)
        overviews = opens(Overviews)
        pipeline = opens(Pipeline)
        queue = opens(Queue)
        recent = opens(Recent)
        scan = opens(Scan)
        script = opens(Script)
        search = opens(Search)
        semaphore = opens(Semaphore)
        service = opens(Service)
        sessions = opens(Sessions)
        stats = opens(Stats)
        suggest = opens(Suggest)
        unique = opens(Unique)
        worker = opens(Worker)

    # ---- Commands ---------------------------------------------------------------------------

    def call(self, *command: Argument, timeout: Optional[Duration] = None,
             retry_safe: bool = False) -> Any:
        """Sends one command; the reply is None, int, bytes or a list of these.

        `retry_safe`: it is idempotent, and may be repeated when the connection breaks."""
        argc, argv, lens = command_arguments(command)
        options = build("tkl_call_options", {"timeout": timeout, "retry_safe": retry_safe})
        return _call.run("tkl_call", self, argc, argv, lens, ctypes.byref(options),
                         _call.Out(ctypes.c_void_p(), take_reply))

    # ---- Interrupting -----------------------------------------------------------------------

    def interrupt(self) -> None:
        """Ends every wait of this client, in all threads, with Interrupted, and all later ones until
        resume(). A handler of a signal may call it."""
        self._interrupted = True
        _call.value("tkl_interrupt", self)

    def resume(self) -> None:
        """Allows waits again."""
        self._interrupted = False
        _call.value("tkl_resume", self)

    # ---- Masters that hang -------------------------------------------------------------------

    @contextlib.contextmanager
    def lenient(self) -> Iterator[List[str]]:
        """In this block, names() and overviews of this thread leave out the data of masters of a
        cluster that do not answer. The list has these masters when the block has ended.

        >>> with client.lenient() as missing:
        ...     queues = client.names("queue")
        >>> missing
        []
        """
        missing: List[str] = []
        _call.value("tkl_lenient_begin")
        try:
            yield missing
        finally:
            missing.extend(_call.call("tkl_lenient_end", self))

    # ---- Looking ----------------------------------------------------------------------------

    def counters(self) -> ClientStats:
        """Counts of calls, connections and bytes since the client was opened. Asks no server."""
        found: ClientStats = _call.value("tkl_client_stats_get", self)
        return found

    def metrics(self) -> str:
        """The same numbers as text for Prometheus, for programs that serve metrics of their own.

        >>> "tackle_client_calls_total" in client.metrics()
        True
        """
        return self._text("tkl_metrics")

    def key(self, component: str, name: Name, part: str = "") -> str:
        """The key of a name on the server.

        >>> client.key("lock", "backup", "state")
        'tackle:lock:{backup}:state'
        """
        return self._text("tkl_key", to_text(component), to_bytes(name), to_text(part))

    def _text(self, name: str, *given: Any) -> str:
        """Calls a function whose result is a text, which is freed."""
        def take(found: Any) -> str:
            try:
                return from_bytes(found)
            finally:
                function(name + "_free")(found)

        return str(_call.run_local(name, self, *given, _call.Out(ctype("tkl_bytes")(), take)))

    def names(self, component: str) -> List[str]:
        """All names of a component that the server has, sorted: client.names("queue").

        >>> client.counter("hits").add(1)
        >>> client.names("counter")
        ['hits']
        """
        function_name = f"tkl_{component}_names"
        if function_name not in FUNCTIONS:
            raise ValueError(f"{component!r} is no component with names")
        found: List[str] = _call.call(function_name, self)
        return found

    def refusals(self) -> List[LimitRefusals]:
        """The limits that refused lately, how often, and which keys most.

        >>> client.limit("api", 1, 60).check("alice").allowed
        True
        >>> client.refusals()
        []
        """
        found: List[LimitRefusals] = _call.call("tkl_limit_overview_get", self)
        return found

    def holders(self, component: str) -> List[HoldSummary]:
        """All locks, semaphores or leaders ("lock", "semaphore", "leader") with their holders."""
        function_name = f"tkl_{component}_overview"
        if function_name not in FUNCTIONS:
            raise ValueError(f"{component!r} is not lock, semaphore or leader")
        found: List[HoldSummary] = _call.call(function_name, self)
        return found

    def queues(self) -> List[QueueSummary]:
        """All queues with their numbers, in a few round trips."""
        found: List[QueueSummary] = _call.call("tkl_queue_overview_get", self)
        return found

    def clients(self, max: int = 100) -> Clients:
        """Who is connected to the server: at most `max` connections, those that connected last, and
        how many there are. In a cluster it is one of the masters."""
        found: Clients = _call.call("tkl_overview_clients", self, max)
        return found

    def memory(self, sample: int = 5000) -> Memory:
        """An estimate of the memory that the keys of each component take, from a sample of keys."""
        found: Memory = _call.call("tkl_overview_memory", self, sample)
        return found

    # ---- Functions of the server ------------------------------------------------------------

    def functions(self) -> List[FunctionLibrary]:
        """The libraries of functions that tackle has on the servers."""
        found: List[FunctionLibrary] = _call.call("tkl_functions_list", self)
        return found

    def load_functions(self) -> int:
        """Loads all libraries, for programs that may call functions and not load them."""
        return int(_call.call("tkl_functions_load", self))

    def remove_old_functions(self) -> int:
        """Removes the libraries of other versions."""
        return int(_call.call("tkl_functions_remove_old", self))


# ---- Commands and replies -------------------------------------------------------------------

def command_arguments(command: Tuple[Argument, ...]) -> Tuple[int, Any, Any]:
    if not command:
        raise TypeError("a command expected")
    parts = [repr(part).encode() if isinstance(part, (int, float)) and not isinstance(part, bool)
             else encode(part, "an argument") for part in command]
    count = len(parts)
    return (count, (ctype("const char *") * count)(*parts),
            (ctypes.c_size_t * count)(*map(len, parts)))


def take_reply(reply: Any) -> Any:
    """The value of a reply, which is freed."""
    try:
        return read_reply(reply)
    finally:
        function("tkl_reply_free")(reply)


def read_reply(reply: Any) -> Any:
    """An error inside of an array is an exception in the list, which is not raised."""
    kind = from_enum(function("tkl_reply_type_of")(reply), "tkl_reply_type")
    if kind == "integer":
        return function("tkl_reply_int")(reply)
    if kind == "string":
        view = function("tkl_reply_bytes")(reply)
        return Data(ctypes.string_at(view.data, view.len) if view.len else b"")
    if kind == "array":
        at = function("tkl_reply_at")
        return [read_reply(at(reply, i)) for i in range(function("tkl_reply_count")(reply))]
    if kind == "error":
        view = function("tkl_reply_bytes")(reply)
        return error(function("tkl_reply_code")(reply),
                     ctypes.string_at(view.data, view.len).decode("utf-8", "replace"))
    return None


# ---- Servers --------------------------------------------------------------------------------

def default_server() -> DefaultServer:
    """The server of Client(None), and why it is that one."""
    found: DefaultServer = _call.local("tkl_default_server_read")
    return found


def server_start(url: str) -> ServerInfo:
    """Starts the private server of embedded:/dir; fine if it runs already."""
    found: ServerInfo = _call.local("tkl_server_start", url)
    return found


def server_stop(url: str) -> None:
    """Stops it; its data is saved as the durability promises. NotFound: it does not run."""
    _call.local("tkl_server_stop", url)


def server_status(url: str) -> ServerInfo:
    """The server of a directory, and its files. NotFound: it does not run."""
    found: ServerInfo = _call.local("tkl_server_status", url)
    return found


def server_save(url: str) -> None:
    """Writes the snapshot now."""
    _call.local("tkl_server_save", url)


def server_rewrite(url: str) -> None:
    """Makes the append-only file as short as the data allows."""
    _call.local("tkl_server_rewrite", url)


def server_backup(url: str, directory: str) -> None:
    """Copies all data into a new directory."""
    _call.local("tkl_server_backup", url, directory)


def version() -> str:
    """The version of the library."""
    return str(function("tkl_version")().value.decode())
