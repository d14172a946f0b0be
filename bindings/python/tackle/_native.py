# SPDX-License-Identifier: MIT
"""libtackle.so through ctypes: types and functions as the headers declare them, made when they are
first used. The tables come from the headers (_headers.py); nothing is declared by hand."""
from __future__ import annotations

import ctypes
import os
import re
from typing import Any, Dict

from ._headers import ARRAYS, CALLBACKS, CONSTANTS, ENUMS, FUNCTIONS, OPAQUE, STRUCTS


class CharPointer(ctypes.c_char_p):
    """A char * that stays a pointer when it is read: ctypes turns a plain c_char_p into bytes, up
    to the first NUL."""


_types: Dict[str, Any] = {
    "void": None, "bool": ctypes.c_bool, "char": ctypes.c_char, "int": ctypes.c_int,
    "double": ctypes.c_double, "size_t": ctypes.c_size_t, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "uint32_t": ctypes.c_uint32,
    "void *": ctypes.c_void_p, "const char *": CharPointer, "char *": ctypes.c_void_p,
}


def ctype(text: str) -> Any:
    """The ctypes type of a type in C: "const tkl_bytes *", "char[33]", "int (*)(void *)"."""
    found = _types.get(text)
    if found is None and text != "void":
        found = _types[text] = _make_type(text)
    return found


def _make_type(text: str) -> Any:
    array = re.fullmatch(r"(.+)\[(\d+)\]", text)
    callback = re.fullmatch(r"(.+) \(\*\)\((.*)\)", text)
    if callback:
        return ctypes.CFUNCTYPE(ctype(callback[1]), *map(ctype, callback[2].split(", ")))
    if array:
        return ctype(array[1]) * int(array[2])
    if text in STRUCTS:
        return _make_struct(text)
    if text in ENUMS:
        return ctypes.c_int
    if text in ARRAYS:
        return ctype(ARRAYS[text])
    target = re.sub(r"( ?const)? ?\*$", "", text)
    if target != text:
        if target not in _types:
            target = re.sub("^const ", "", target)
        if target in CALLBACKS:
            result, parameters = CALLBACKS[target]
            return ctypes.CFUNCTYPE(ctype(result), *map(ctype, parameters))
        return ctypes.c_void_p if target in OPAQUE else ctypes.POINTER(ctype(target))
    raise TypeError(f"unknown type in C: {text}")


def _make_struct(name: str) -> Any:
    kind: Any = type(name, (ctypes.Structure,), {})
    _types[name] = kind
    kind._fields_ = [(field, ctype(text)) for text, field, _ in STRUCTS[name]]
    return kind


def _load() -> ctypes.CDLL:
    """Loads the library: $TACKLE_LIBRARY, else that of the version this package was made for."""
    soname = f"libtackle.so.{CONSTANTS['TKL_VERSION'].rpartition('.')[0]}"
    named = os.environ.get("TACKLE_LIBRARY")
    try:
        return ctypes.CDLL(named or soname)
    except OSError as why:
        hint = "" if named else "; install libtackle, or name the file in $TACKLE_LIBRARY"
        raise ImportError(f"tackle: {why}{hint}") from None


_library = _load()
_functions: Dict[str, Any] = {}


def function(name: str) -> Any:
    """A function of the library, with its types."""
    found = _functions.get(name)
    if found is None:
        result, parameters, _ = FUNCTIONS[name]
        found = getattr(_library, name)
        found.restype = ctype(result)
        found.argtypes = [passed(text) for text, _ in parameters if text != "..."]
        _functions[name] = found
    return found


def passed(text: str) -> Any:
    """The type of a parameter: arrays are passed as pointers."""
    kind: Any = ctype(text)
    array: Any = type(ctypes.c_char * 1)
    return ctypes.POINTER(kind._type_) if isinstance(kind, array) else kind
