# SPDX-License-Identifier: MIT
"""Values of Python to those of C, and back: one function for each kind.

In: names are str or bytes, data is bytes, str or anything JSON can say, durations are seconds or
timedelta, times are datetime or Unix seconds, enumerations are words ("held"), structs are dicts
whose keys are the fields without "_ms". None is the default of the library.
Out: names are str (bytes that are no UTF-8 survive as surrogates, as in file names), data is Data,
durations are timedelta, times are datetime in UTC, structs are the classes of records.py.
"""
from __future__ import annotations

import ctypes
import json
import math
import operator
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from . import records
from ._headers import ENUMS, STRUCTS
from ._native import CharPointer, ctype
from ._record import Data

Name = Union[str, bytes]
Duration = Union[int, float, timedelta]
Time = Union[int, float, datetime]

tkl_bytes = ctype("tkl_bytes")

# ---- Bytes ------------------------------------------------------------------------------------


def encode(value: Any, what: str = "name") -> bytes:
    """A name or a text as bytes."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"{what}: str or bytes expected, not {type(value).__name__}")


def encode_data(value: Any) -> bytes:
    """Data as bytes: bytes and str as they are, everything else as JSON."""
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return encode(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def to_bytes(value: Any, what: str = "name") -> Any:
    raw = value if type(value) is bytes else encode(value, what)
    return tkl_bytes(raw, len(raw))


def to_text(value: Any, what: str = "text") -> bytes:
    """A string that ends with a NUL."""
    raw = encode(value, what)
    if b"\0" in raw:
        raise ValueError(f"{what}: embedded NUL")
    return raw


def raw_bytes(view: Any) -> bytes:
    return ctypes.string_at(view.data, view.len) if view.len else b""


def from_bytes(view: Any) -> str:
    return raw_bytes(view).decode("utf-8", "surrogateescape")


def from_data(view: Any) -> Data:
    return Data(raw_bytes(view))


def from_text(value: Any) -> str:
    """A string of C: an array of char, or a pointer to one."""
    raw = value.value if isinstance(value, CharPointer) else value
    return str(raw.decode("utf-8", "surrogateescape")) if raw else ""


# ---- Numbers and times ------------------------------------------------------------------------

RANGES = {"int64_t": (-2**63, 2**63 - 1), "uint64_t": (0, 2**64 - 1), "size_t": (0, 2**63 - 1),
          "int": (-2**31, 2**31 - 1), "uint32_t": (0, 2**32 - 1)}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_int(value: Any, kind: str, what: str) -> int:
    """A whole number in the range of its type: ctypes would cut off the higher bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what}: int expected, not {type(value).__name__}") from None
    least, most = RANGES[kind]
    if not least <= number <= most:
        raise OverflowError(f"{what}: {number} is out of range")
    return number


def to_ms(value: Any, what: str) -> int:
    """Milliseconds of a duration or a time; a small duration never becomes 0."""
    what = re.sub("_ms$", "", what)
    if isinstance(value, timedelta):
        exact = value / timedelta(milliseconds=1)
    elif isinstance(value, datetime):
        if value.tzinfo is None:
            value = value.astimezone()
        exact = (value - EPOCH) / timedelta(milliseconds=1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        exact = value * 1000
    else:
        raise TypeError(f"{what}: seconds or timedelta expected, not {type(value).__name__}")
    if not math.isfinite(exact):
        raise ValueError(f"{what}: {value} is not finite")
    return to_int(math.ceil(exact) if exact > 0 else math.floor(exact), "int64_t", what)


def wait_ms(wait: Optional[Duration]) -> int:
    """How long a call waits: None and infinity are for ever, 0 is not at all."""
    if wait is None or wait == math.inf:
        return -1
    ms = to_ms(wait, "wait")
    if ms < 0:
        raise ValueError("wait: negative; None waits for ever")
    return ms


def from_time(ms: int) -> Optional[datetime]:
    return EPOCH + timedelta(milliseconds=ms) if ms > 0 else None


# ---- Enumerations -----------------------------------------------------------------------------

_words: Dict[str, Dict[str, int]] = {}
_names: Dict[str, Dict[int, str]] = {}


def words(enum: str) -> Dict[str, int]:
    """The words of an enumeration: its enumerators without their common beginning."""
    found = _words.get(enum)
    if found is None:
        names = [name.split("_") for name in ENUMS[enum]]
        shared = 0
        while len({tuple(parts[:shared + 1]) for parts in names}) == 1 and shared + 1 < len(names[0]):
            shared += 1
        found = {"_".join(parts[shared:]).lower(): value
                 for parts, value in zip(names, ENUMS[enum].values())}
        _words[enum] = found
    return found


def to_enum(value: Any, enum: str, what: str) -> int:
    if enum == "tkl_setting" and isinstance(value, bool):
        return 1 if value else -1
    known = words(enum)
    if value not in known:
        raise ValueError(f"{what}: {value!r} is not one of {', '.join(known)}")
    return known[value]


def from_enum(value: int, enum: str) -> str:
    names = _names.get(enum)
    if names is None:
        names = _names[enum] = {number: word for word, number in words(enum).items()}
    return names.get(value, "unknown")


# ---- Structs in -------------------------------------------------------------------------------

# Numbers whose 0 in C is the default, while 0 in Python means what it says: the library's "none".
ZERO_IS_NONE = {"smoothing", "explore", "stale_ms", "none_ttl_ms", "refresh_ms", "if_version",
                "resume_ms", "burst", "retries", "count", "weight"}
ZERO_IS_ZERO = {"recent", "max_bad"}
NONE = -1

Setter = Callable[[Any, Any], None]
_setters: Dict[str, Dict[str, Setter]] = {}


def build(struct: str, values: Mapping[str, Any]) -> Any:
    """A struct from a mapping; fields that are None or missing stay zero, the default."""
    made = ctype(struct)()
    setters = _setters.get(struct)
    if setters is None:
        setters = _setters[struct] = _make_setters(struct)
    for key, value in values.items():
        if value is not None:
            if key not in setters:
                raise TypeError(f"{key}: unknown; there are {', '.join(setters)}")
            setters[key](made, value)
    return made


def build_array(struct: str, items: Any) -> Tuple[Any, int]:
    """An array of structs, or of bytes."""
    if isinstance(items, (str, bytes, Mapping)):
        raise TypeError(f"a list expected, not {type(items).__name__}")
    made = ([to_bytes(item) for item in items] if struct == "tkl_bytes" else
            [item if isinstance(item, ctypes.Structure) else build(struct, item) for item in items])
    return (ctype(struct) * len(made))(*made), len(made)


def number(value: Any, kind: str, field: str, notes: str) -> int:
    """A number of an option: seconds for "_ms", infinity for "no limit"."""
    if "none" in notes:
        if isinstance(value, float) and math.isinf(value) and value > 0:
            return NONE
        if value == 0 and field in ZERO_IS_NONE:
            return NONE
        if value == 0 and field not in ZERO_IS_ZERO:
            raise ValueError(f"{field}: 0 makes no sense; None is the default, math.inf no limit")
    made = to_ms(value, field) if field.endswith("_ms") else to_int(value, kind, field)
    if made < 0 and "none" in notes:
        raise ValueError(f"{field}: negative")
    return made


def _make_setters(struct: str) -> Dict[str, Setter]:
    setters: Dict[str, Setter] = {}
    fields = STRUCTS[struct]
    for index, (kind, field, notes) in enumerate(fields):
        following = fields[index + 1] if index + 1 < len(fields) else ("", "", "")
        setter = _make_setter(kind, field, notes, following)
        key = re.sub(r"_ms$", "", field)
        if key != field and any(key == other for _, other, _ in fields):
            key += "_for"       # "unique" is a key, "unique_for" a duration
        if setter:
            setters[key] = setter
    return setters


def _make_setter(kind: str, field: str, notes: str, following: Tuple[str, str, str]) -> Optional[Setter]:
    if field == "reserved" or kind == "void *":
        return None
    if re.fullmatch(r"const (?!char)\w+ \*", kind) and following[0] == "size_t":
        return _array_setter(kind[6:-2], field, following[1])
    if kind == "tkl_bytes":
        return lambda made, value: setattr(made, field, to_bytes(value, field))
    if kind == "const char *":
        return lambda made, value: setattr(made, field, to_text(value, field))
    if kind in ENUMS:
        return lambda made, value: setattr(made, field, to_enum(value, kind, field))
    if kind in RANGES:
        return lambda made, value: setattr(made, field, number(value, kind, field, notes))
    if kind == "bool":
        return lambda made, value: setattr(made, field, bool(value))
    if kind == "double":
        return lambda made, value: setattr(made, field, float(value))
    if kind in STRUCTS:
        return lambda made, value: setattr(made, field, build(kind, value))
    # A callback, or a handle: made by the caller.
    return lambda made, value: setattr(made, field, value)


def _array_setter(kind: str, field: str, count: str) -> Setter:
    def numbers(made: Any, values: Any) -> None:
        array = [number(value, kind, field, "") for value in values]
        setattr(made, field, (ctype(kind) * len(array))(*array))
        setattr(made, count, len(array))

    def structs(made: Any, values: Any) -> None:
        array, length = build_array(kind, values)
        setattr(made, field, array)
        setattr(made, count, length)

    return numbers if kind in RANGES else structs


# ---- Structs out ------------------------------------------------------------------------------

Reader = Callable[[Any], Any]
_readers: Dict[str, Reader] = {}


def reader(struct: str) -> Reader:
    """The function that makes a record, or a list, of a struct."""
    found = _readers.get(struct)
    if found is None:
        found = _readers[struct] = _make_reader(struct)
    return found


def _make_reader(struct: str) -> Reader:
    if struct == "tkl_names":
        return lambda view: [from_bytes(view.items[i]) for i in range(view.count)]
    name, attributes = records.FIELDS[struct]
    getters = [(attribute, _make_getter(how, field, facts))
               for attribute, how, field, facts in attributes]
    if name is None:
        return getters[0][1]
    record = getattr(records, name)

    def read(view: Any) -> Any:
        made = record.__new__(record)
        for attribute, get in getters:
            setattr(made, attribute, get(view))
        return made

    return read


def _make_getter(how: str, field: str, facts: Tuple[Any, ...]) -> Reader:
    get = operator.attrgetter(field)
    if how == "str":
        return lambda view: from_bytes(get(view))
    if how == "data":
        return lambda view: from_data(get(view))
    if how == "text":
        return lambda view: from_text(get(view))
    if how == "time":
        return lambda view: from_time(get(view))
    if how in ("ms", "us"):
        unit = timedelta(milliseconds=1) if how == "ms" else timedelta(microseconds=1)
        return lambda view: None if get(view) == NONE else get(view) * unit
    if how == "word":
        return lambda view: from_enum(get(view), facts[0])
    if how == "struct":
        read = reader(facts[0])
        return lambda view: read(get(view))
    if how == "pointer":
        read = reader(facts[0])
        return lambda view: read(get(view)[0]) if get(view) else None
    if how == "number":
        return lambda view: None if get(view) == NONE else get(view)
    if how == "numbers":
        return lambda view: list(get(view))
    if how == "list":
        return _list_getter(get, *facts)
    return get


def _list_getter(get: Reader, count: str, kind: str, item: str) -> Reader:
    if kind == "tkl_bytes":
        read: Reader = from_bytes if item == "str" else from_data
    else:
        read = (lambda view: view) if kind in ("bool", "size_t") else reader(kind)

    def read_all(view: Any) -> List[Any]:
        array = get(view)
        return [read(array[i]) for i in range(getattr(view, count))]

    return read_all
