# SPDX-License-Identifier: MIT
"""The modules that are made from the headers agree with C."""
import ctypes
import pathlib
import platform

import pytest
from tackle import _convert, _native, errors
from tackle._headers import CODES, ENUMS, FUNCTIONS, STRUCTS

LAYOUT = pathlib.Path(__file__).parents[3] / "tests" / "tools" / "layout.txt"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the list is for x86_64")
def test_structs_have_the_layout_of_c():
    lines = LAYOUT.read_text().split("\n")[:-1]
    assert len(lines) > 300
    for line in lines:
        name, number = line.split()
        struct, _, field = name.partition(".")
        kind = _native.ctype(struct)
        found = getattr(kind, field).offset if field else ctypes.sizeof(kind)
        assert (name, found) == (name, int(number))


def test_every_struct_is_in_the_list():
    listed = {line.split()[0] for line in LAYOUT.read_text().splitlines()}
    for struct, fields in STRUCTS.items():
        assert struct in listed
        for _, field, _ in fields:
            assert f"{struct}.{field}" in listed


def test_every_function_is_in_the_library():
    for name in FUNCTIONS:
        assert _native.ctype(FUNCTIONS[name][0]) or FUNCTIONS[name][0] == "void"
        assert getattr(_native._library, name)


def test_every_code_has_an_exception():
    for name, (code, _) in CODES.items():
        if name != "TKL_OK":
            why = errors.error(code, "because")
            assert (why.code, why.name, str(why)) == (code, name, "because")
            assert isinstance(why, errors.No) == (code > 0)
            assert isinstance(why, errors.OutcomeUnknown) == why.unknown


def test_words_of_enumerations_are_unique():
    for enum, values in ENUMS.items():
        words = _convert.words(enum)
        assert len(words) == len(values)
        for word, value in words.items():
            assert _convert.to_enum(word, enum, "word") == value
            assert _convert.from_enum(value, enum) == word
    assert list(_convert.words("tkl_hold_state")) == ["free", "held", "suspect", "lost"]
