# SPDX-License-Identifier: MIT
"""Calls of the library by name: call("tkl_board_top", board, 1, 10) gives a list of records.

A plan is made for each function from its declaration: which parameter takes which kind of value,
which are outputs and are left out by the caller. An array and its count are one argument, outputs
become the result (a tuple if there are several), objects of the library are freed.
"""
from __future__ import annotations

import contextlib
import ctypes
import re
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _convert as convert
from ._headers import ARRAYS, CALLBACKS, CODES, ENUMS, FUNCTIONS, OPAQUE, STRUCTS
from ._native import ctype, function
from .errors import Error, error, last_text

OK, BUSY, EMPTY, LIMITED, NOTFOUND, EINTR, ELOST = (
    int(CODES[name][0]) for name in ("TKL_OK", "TKL_BUSY", "TKL_EMPTY", "TKL_LIMITED", "TKL_NOTFOUND",
                                     "TKL_EINTR", "TKL_ELOST"))
# Codes of a call that would have to wait, and may not. ELOST: the lease that it got has ended already.
NOT_YET = (BUSY, EMPTY, LIMITED, ELOST)

# Outputs that are arrays with an element for each item of the array before.
ARRAYS_OUT = {
    ("tkl_bloom_add", "added"), ("tkl_bloom_exists", "present"), ("tkl_geo_positions", "positions"),
    ("tkl_geo_hashes", "hashes"), ("tkl_bits_fields", "values"), ("tkl_counter_add_each", "codes"),
    ("tkl_session_touch", "codes"), ("tkl_limit_check_each", "answers"),
    ("tkl_limit_check_all", "answers"), ("tkl_queue_push", "pushed"),
}

Output = Tuple[Any, Callable[[Any], Any]]


class Arguments:
    """The arguments of one call, as C wants them."""

    __slots__ = ("name", "values", "cells", "outputs", "wait_at", "count")

    def __init__(self, name: str) -> None:
        self.name = name    # of the function
        self.values: List[Any] = []
        self.cells: List[Any] = []
        self.outputs: List[Output] = []
        self.wait_at = -1   # the place of the parameter wait_ms; -1: there is none
        self.count = 0      # of the last array

    def results(self) -> Any:
        found = [read(output) for output, read in self.outputs]
        return found[0] if len(found) == 1 else tuple(found) if found else None


Step = Callable[[Arguments, Any], None]
_plans: Dict[str, List[Tuple[Step, bool]]] = {}

# Stands, in the arguments of native(), for the parameter that says how long the function waits.
WAIT = object()


class Out(NamedTuple):
    """In the arguments of native(): an output, and the function that makes a result of it."""

    made: Any
    read: Callable[[Any], Any]


def prepare(name: str, *given: Any) -> Arguments:
    """The arguments of a function, from values of Python."""
    steps = _plans.get(name)
    if steps is None:       # for each argument how it is passed, and whether the caller gives it
        steps = _plans[name] = list(_steps(name))
    arguments = Arguments(name)
    left = iter(given)
    for step, is_given in steps:
        step(arguments, next(left) if is_given else None)
    return arguments


def native(name: str, *values: Any) -> Arguments:
    """The arguments of a function, as C wants them already, but for handles, WAIT and Out."""
    arguments = Arguments(name)
    for value in values:
        cell = getattr(value, "_cell", None)
        if value is WAIT:
            _pass_wait(arguments, None)
        elif isinstance(value, Out):
            arguments.values.append(ctypes.byref(value.made))
            arguments.outputs.append((value.made, value.read))
        elif cell is not None:
            arguments.cells.append(cell)
            arguments.values.append(cell.pointer)
        else:
            arguments.values.append(value)
    return arguments


# ---- Plans ------------------------------------------------------------------------------------

def _steps(name: str) -> Any:
    _, parameters, never_null = FUNCTIONS[name]
    skip = False
    for index, (kind, parameter) in enumerate(parameters):
        if skip:
            skip = False
            continue
        following = parameters[index + 1][0] if index + 1 < len(parameters) else ""
        required = index in never_null
        listed = re.fullmatch(r"(?:const )?(tkl_\w+) (?:const |\*const )?\*", kind)
        if parameter == "wait_ms":
            yield _pass_wait, False
        elif (name, parameter) in ARRAYS_OUT:
            yield _array_output(kind[:-2]), False
        elif following == "size_t" and listed and (kind.startswith("const") or "*const" in kind):
            skip = True
            yield _list_input(listed[1]), True
        else:
            yield _single(kind, parameter, required)


def _single(kind: str, what: str, required: bool) -> Tuple[Step, bool]:
    target = re.sub(r"^const | ?\*+$", "", kind)
    if kind.endswith(" **"):
        return (_pointer_output(target), False)
    if kind.endswith("]") or kind in ARRAYS:
        return (_output(kind, ctype(kind)), False)
    is_input = kind.startswith("const") or target in OPAQUE or target in CALLBACKS or target == "void"
    if kind.endswith(" *") and not is_input:
        return (_output(target, ctype(target)), False)
    if target in OPAQUE and kind.endswith("*"):
        return (_handle_input(target), True)
    if kind.startswith("const tkl_") and kind.endswith(" *"):
        return (_struct_input(target, what, required), True)
    return (_value_input(_converter(kind, what, required)), True)


def _converter(kind: str, what: str, required: bool) -> Callable[[Any], Any]:
    if kind == "tkl_bytes":
        return lambda value: convert.to_bytes(value, what)
    if kind == "const char *":
        return lambda value: convert.to_text(value, what) if required or value is not None else None
    if kind in ENUMS:
        return lambda value: convert.to_enum(value, kind, what)
    if kind in convert.RANGES and what.endswith("_ms"):
        return lambda value: 0 if value is None else convert.to_ms(value, what)
    if kind in convert.RANGES:
        return lambda value: convert.to_int(value, kind, what)
    return {"bool": bool, "double": float}.get(kind, lambda value: value)


def _value_input(converter: Callable[[Any], Any]) -> Step:
    return lambda arguments, value: arguments.values.append(converter(value))


def _pass_wait(arguments: Arguments, _: Any) -> None:
    arguments.wait_at = len(arguments.values)
    arguments.values.append(0)


def cell_of(handle: Any, kind: str) -> Any:
    """The cell of a handle of this type in C; anything else would be read as if it were one."""
    cell = getattr(handle, "_cell", None)
    if cell is None or cell.kind != kind:
        raise TypeError(f"a handle of type {kind} expected, not {type(handle).__name__}")
    return cell


def _handle_input(kind: str) -> Step:
    def step(arguments: Arguments, handle: Any) -> None:
        if isinstance(handle, ctypes.c_void_p):     # a pointer that the caller looks after
            arguments.values.append(handle)
        else:
            cell = cell_of(handle, kind)
            arguments.cells.append(cell)
            arguments.values.append(cell.pointer)
    return step


def _struct_input(struct: str, what: str, required: bool) -> Step:
    def step(arguments: Arguments, value: Any) -> None:
        if value is None and required:
            raise TypeError(f"{what}: None")
        if value is not None and not isinstance(value, (ctypes.Structure, ctypes._Pointer)):
            value = convert.build(struct, value)
        arguments.values.append(value)
    return step


def _list_input(item: str) -> Step:
    def handles(arguments: Arguments, value: Any) -> None:
        cells = [cell_of(handle, item) for handle in value]
        arguments.cells.extend(cells)
        arguments.values += [(ctypes.c_void_p * len(cells))(*(cell.pointer for cell in cells)),
                             len(cells)]

    def structs(arguments: Arguments, value: Any) -> None:
        array, arguments.count = convert.build_array(item, value)
        arguments.values += [array, arguments.count]

    return handles if item in OPAQUE else structs


def _output(kind: str, made_type: Any) -> Step:
    read = _output_reader(kind)

    def step(arguments: Arguments, _: Any) -> None:
        made = made_type()
        arguments.values.append(made if isinstance(made, ctypes.Array) else ctypes.byref(made))
        arguments.outputs.append((made, read))
    return step


def _output_reader(kind: str) -> Callable[[Any], Any]:
    if kind == "tkl_bytes":
        return convert.from_bytes
    if kind.startswith("tkl_geo_text["):
        return lambda made: [convert.from_text(item.value) for item in made]
    if kind.startswith("char[") or kind == "tkl_geo_text":
        return lambda made: convert.from_text(made.value)
    if kind == "tkl_result":
        return lambda made: made
    if kind in STRUCTS:
        return convert.reader(kind)
    if kind in ENUMS:
        return lambda made: convert.from_enum(made.value, kind)
    return lambda made: made.value


def _array_output(item: str) -> Step:
    made_type = ctype(item)
    read: Callable[[Any], Any] = lambda value: value
    if item in STRUCTS:
        read = convert.reader(item)
    elif item in ARRAYS:
        read = lambda view: convert.from_text(view.value)

    def step(arguments: Arguments, _: Any) -> None:
        made = (made_type * arguments.count)()
        arguments.values.append(made)
        arguments.outputs.append((made, lambda array: [read(value) for value in array]))
    return step


def _pointer_output(target: str) -> Step:
    """An object of the library, which becomes a record and is freed; or a handle, as a number."""
    pointer_type: Any = ctypes.c_void_p if target in OPAQUE else ctypes.POINTER(ctype(target))

    def read_handle(pointer: Any) -> Any:
        return pointer.value

    def read_object(pointer: Any) -> Any:
        if not pointer:
            return None
        try:
            return convert.reader(target)(pointer[0])
        finally:
            function(target + "_free")(pointer)

    read: Callable[[Any], Any] = read_object
    if target in OPAQUE:
        read = read_handle

    def step(arguments: Arguments, _: Any) -> None:
        made = pointer_type()
        arguments.values.append(ctypes.byref(made))
        arguments.outputs.append((made, read))
    return step


# ---- Calls ------------------------------------------------------------------------------------

# Undoes a call that succeeded in the moment in which an exception ended it: Ctrl-C ends a wait, and
# with asyncio a task may be cancelled in each call.
Undo = Callable[[Any], Any]


def attempt(name: str, *given: Any) -> Tuple[int, Any]:
    """Calls a function that returns a code: the code, and the result where there is one."""
    arguments = prepare(name, *given)
    code = invoke(arguments)
    return code, arguments.results()


def call(name: str, *given: Any, undo: Optional[Undo] = None) -> Any:
    """Calls a function that returns a code; every code but TKL_OK is an exception."""
    arguments = prepare(name, *given)
    return finish(invoke(arguments), arguments)


def local(name: str, *given: Any) -> Any:
    """Does the same for a function that asks no server, or has no client."""
    arguments = prepare(name, *given)
    return finish(invoke(arguments), arguments)


def run(name: str, *values: Any) -> Any:
    """Does the same with the arguments of native()."""
    arguments = native(name, *values)
    return finish(invoke(arguments), arguments)


def run_local(name: str, *values: Any) -> Any:
    """Does the same for a function that asks no server."""
    arguments = native(name, *values)
    return finish(invoke(arguments), arguments)


def invoke_local(arguments: Arguments) -> int:
    """Does what invoke() does, for a function that asks no server."""
    return int(invoke(arguments))


def value(name: str, *given: Any) -> Any:
    """Calls a function that returns a value and cannot fail. A function without a result gives its
    outputs. It asks no server."""
    arguments = prepare(name, *given)
    found = invoke(arguments)
    return arguments.results() if arguments.outputs else found


def finish(code: int, arguments: Arguments) -> Any:
    """The results of a call that has just returned this code."""
    if code:
        why = failure(code)
        arguments.results()     # frees them
        raise why
    return arguments.results()


def invoke(arguments: Arguments) -> Any:
    """Calls the function. Its handles stay open meanwhile."""
    cells = arguments.cells
    entered = 0
    try:
        for cell in cells:
            cell.enter()
            entered += 1
        return function(arguments.name)(*arguments.values)
    finally:
        for cell in cells[:entered]:
            cell.leave()


def invoke_long(arguments: Arguments) -> int:
    """Does what invoke() does, for a function that computes or uses files for long."""
    return int(invoke(arguments))


def failure(code: int) -> Error:
    """The exception of a code that has just been returned in this thread."""
    return error(code, last_text())


def raise_for(code: int) -> None:
    """Raises the exception of a code, unless the code is TKL_OK."""
    if code:
        raise failure(code)


# ---- Waiting ----------------------------------------------------------------------------------

class Callbacks:
    """The functions of Python that a function of the library calls meanwhile."""

    def __init__(self) -> None:
        self.raised: List[BaseException] = []       # by a callback, to end the call

    def result(self, made: Any) -> Any:
        """Takes the result of a callback."""
        return made


# Says whether a call that may wait goes on after an error of the same call that could not wait.
Patience = Callable[[int], bool]


def is_transient(code: int) -> bool:
    """The server could not be reached, or did not answer in time."""
    return bool(function("tkl_is_transient")(code))


def is_unsent(code: int) -> bool:
    """The server could not be reached, and the call was not executed."""
    return is_transient(code) and not function("tkl_is_unknown")(code)


def wait(clients: Sequence[Any], name: str, *given: Any, wait: Any, undo: Optional[Undo] = None,
         callbacks: Optional[Callbacks] = None, patience: Optional[Patience] = None) -> Tuple[int, Any]:
    """Does what attempt() does, for a function that waits: `wait` is for its parameter wait_ms. An
    error is an exception, a "no" is not. See wait_for()."""
    arguments = prepare(name, *given)
    code, text = wait_for(clients, arguments, wait, undo=undo, callbacks=callbacks, patience=patience)
    results = arguments.results()
    if code < 0:
        raise error(code, text)
    return code, results


def wait_for(clients: Sequence[Any], arguments: Arguments, wait: Any, *,
             undo: Optional[Undo] = None, callbacks: Optional[Callbacks] = None,
             at_once: bool = False, patience: Optional[Patience] = None) -> Tuple[int, str]:
    """Calls a function that waits; the code and its text.

    Ctrl-C arrives in the main thread, and only between two steps of the interpreter. So the main
    thread tries without waiting, then lets another thread wait, and waits for that one, which a
    signal may interrupt. If the wait has succeeded by then, undo(result) undoes it. `at_once`: the
    call is long even without waiting. `patience`: for functions that wait for servers that went away.
    A wait that another thread's Ctrl-C has ended begins again."""
    ms = convert.wait_ms(wait)
    end = time.monotonic() + ms / 1000
    is_main = threading.current_thread() is threading.main_thread()
    if not at_once and (ms == 0 or is_main):
        code, text = _invoke_for(arguments, 0)
        goes_on = code in NOT_YET or (patience is not None and patience(code))
        if ms == 0 or not goes_on:
            return code, text
    while True:
        left = ms if ms < 0 else max(0, round((end - time.monotonic()) * 1000))
        code, text = (_in_thread(clients, arguments, left, undo) if is_main else
                      _invoke_for(arguments, left))
        interrupted = any(client._interrupted for client in clients)
        if code != EINTR or interrupted or (callbacks and callbacks.raised):
            return code, text
        time.sleep(0.005)       # another thread was interrupted, and ends that soon


def _invoke_for(arguments: Arguments, ms: int) -> Tuple[int, str]:
    """Calls a function that waits for that time; negative: for ever."""
    if arguments.wait_at >= 0:
        arguments.values[arguments.wait_at] = ms
    code = int(invoke(arguments))
    return code, last_text() if code else ""


def _in_thread(clients: Sequence[Any], arguments: Arguments, ms: int,
               undo: Optional[Undo]) -> Tuple[int, str]:
    found: List[Any] = []
    done = threading.Lock()
    done.acquire()

    def run() -> None:
        try:
            found.append(_invoke_for(arguments, ms))
        except BaseException as why:
            found.append(why)
        finally:
            done.release()

    thread = threading.Thread(target=run, name="tackle-wait", daemon=True)
    try:
        thread.start()
        done.acquire()
    except BaseException:       # Ctrl-C, or an exception of the program's signal handler
        _stop_waiting(clients, thread)
        if undo and found == [(OK, "")]:
            with contextlib.suppress(Error):        # a lease that cannot be given back ends
                undo(arguments.results())
        raise
    if isinstance(found[0], BaseException):
        raise found[0]
    code, text = found[0]
    return code, text


def _stop_waiting(clients: Sequence[Any], thread: threading.Thread) -> None:
    """Ends the waits of the clients; waits of other threads begin again."""
    try:
        for client in clients:
            function("tkl_interrupt")(client._cell.pointer)
        if thread.ident is not None and clients:
            thread.join()
    finally:
        for client in clients:
            if not client._interrupted:
                function("tkl_resume")(client._cell.pointer)
