# SPDX-License-Identifier: MIT
"""Every public function has a counterpart in Python: the tests before this one have called it."""
import pathlib
import re

import pytest
from tackle import _native
from tackle._headers import ARRAYS, ENUMS, FUNCTIONS, OPAQUE, STRUCTS

# Functions that need no counterpart, and why.
UNNEEDED = {
    "tkl_str": "makes bytes of a string in C",
    "tkl_codename": "exceptions have names, from the headers",
    "tkl_error_last": "exceptions have the code and the text",
    "tkl_callz": "for C: Client.call() takes any number of arguments",
    "tkl_pipeline_addz": "for C: Pipeline.call() takes any number of arguments",
    "tkl_log_print": "for C: Python formats strings itself",
    "tkl_queue_push_one": "for C: Queue.push() has defaults",
    "tkl_reply_is_nil": "replies are read by their types",
    "tkl_reply_double": "replies are read by their types",
    "tkl_reply_str": "replies are read by their types",
    "tkl_loop_timeout_ms": "asyncio waits for the descriptor alone",
    "tkl_loop_sleep": "for operations in C: coroutines have asyncio.sleep()",
    "tkl_loop_wake": "for operations in C",
    "tkl_loop_stats_get": "tasks of asyncio can be counted",
}


def is_name_of_enum(function):
    """Words of enumerations are made from the headers."""
    return function.endswith("_name") and function[:-5] in ENUMS


def test_every_function_has_a_counterpart(request):
    files = {path.name for path in pathlib.Path(__file__).parent.glob("test_*.py")}
    if {pathlib.Path(str(item.fspath)).name for item in request.session.items} != files:
        pytest.skip("needs all tests")
    called = set(_native._functions)
    assert not set(UNNEEDED) - set(FUNCTIONS), "gone from the headers"
    assert not set(UNNEEDED) & called, "called after all"
    assert not {function for function in FUNCTIONS
                if function not in called and function not in UNNEEDED and not is_name_of_enum(function)}


def test_calls_name_functions_that_exist():
    source = pathlib.Path(_native.__file__).parent
    for path in source.glob("*.py"):
        if path.name != "_headers.py":
            for name in re.findall(r'"(tkl_\w+)"', path.read_text()):
                assert name in FUNCTIONS or name in STRUCTS or name in ENUMS or name in {*ARRAYS, *OPAQUE}, (
                    path.name, name)
