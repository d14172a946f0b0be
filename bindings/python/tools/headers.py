#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes two modules of the Python package from the public headers.

    headers.py FOLDER... OUTPUT

reads tackle/*.h in the folders and writes OUTPUT/_headers.py (tables: structs, functions, enums,
constants, codes) and OUTPUT/records.py (a class for each struct that a function returns).

The headers are regular, so a small parser is enough: it cuts comments and attributes away, and
declarations end with a semicolon. A declaration that it does not understand is an error, never left
out silently. It reads two facts from the comment of a field: "Unix" says that a number of
milliseconds is a time and not a duration, "TKL_NONE" that -1 means none.
"""
import pathlib
import re
import sys

# Fields that hold data of the user's own form; other bytes are names or texts, which become str.
DATA = {
    "tkl_message.body", "tkl_blist_items.items", "tkl_cache_value.data", "tkl_channel_message.data",
    "tkl_job_result.text", "tkl_job_info.payload", "tkl_job_info.meta", "tkl_schedule_info.payload",
    "tkl_session_field.value", "tkl_config_value.json", "tkl_scan_element.value",
    "tkl_job_info.progress",
}
# Structs that have hand-written classes, or are no results.
WITHOUT_RECORD = {"tkl_bytes", "tkl_names", "tkl_job", "tkl_jobs", "tkl_report", "tkl_timer"}

COMMENT = re.compile(r"/\*.*?\*/", re.S)
NUMBER = re.compile(r"INT64_C\((\d+)\)")


class Headers:
    def __init__(self, folders):
        self.constants, self.codes, self.enums = {}, {}, {}
        self.structs, self.functions, self.callbacks, self.arrays = {}, {}, {}, {}
        self.opaque, self.comments = set(), {}
        paths = sorted(p for folder in folders for p in pathlib.Path(folder, "tackle").glob("*.h"))
        for path in paths:
            try:
                self.read(path.read_text(encoding="utf-8"))
            except Exception as why:
                sys.exit(f"{path}: {why}")
        self.opaque -= self.structs.keys()

    def read(self, text):
        for code in re.finditer(r'X\((TKL_\w+), (-?\d+), \d+, "([^"]*)"\)', text):
            self.codes[code[1]] = (int(code[2]), code[3])
        lines = text.replace("\\\n", " ").splitlines()
        for line in lines:
            define = re.match(r"#define\s+(TKL_\w+)\s+(.+)", line)
            if define:
                self.constant(define[1], COMMENT.sub("", re.sub(r"/\*.*", "", define[2])).strip())
        code = "\n".join("" if line.startswith("#") else line for line in lines)
        code = re.sub(r"TKL_RESERVED\((\d+)\)", r"uint64_t reserved[\1]", code)
        code = code.replace('extern "C" {', "")
        for body in declarations(code):
            self.declaration(body)

    def constant(self, name, value):
        value = NUMBER.sub(r"\1", value)
        if re.fullmatch(r'"[^"]*"', value):
            self.constants[name] = value[1:-1]
        elif re.fullmatch(r"[-0-9a-fx.()* <e]+", value):
            self.constants[name] = eval(value, {})

    def declaration(self, text):
        """Takes one declaration, up to its semicolon, with its comments."""
        plain = " ".join(COMMENT.sub(" ", text).split())
        if not plain or plain == "}":
            return
        opaque = re.fullmatch(r"typedef struct (\w+) \w+", plain)
        struct = re.match(r"typedef struct (\w+) \{", plain)
        enum = re.match(r"typedef enum (\w+) \{(.*)\}", plain)
        array = re.fullmatch(r"typedef char (\w+)\[(\w+)\]", plain)
        callback = re.fullmatch(r"typedef (\w+) (\w+)\((.*)\)", plain)
        function = re.fullmatch(r"TKL_API (.+?[ *])(tkl_\w+)\((.*?)\)((?: TKL_\w+(?:\([\d, ]*\))?)*)",
                                plain)
        if opaque:
            self.opaque.add(opaque[1])
        elif struct:
            above, body = text.split("typedef struct " + struct[1])
            notes = "none" if "TKL_NONE" in above.rpartition("*/\n\n")[2] else ""
            body = body[body.index("{") + 1:body.rindex("}")]
            self.structs[struct[1]] = list(self.fields(struct[1], body, notes))
        elif enum:
            if enum[1] != "tkl_code":
                pairs = (pair.split(" = ") for pair in enum[2].strip(" ,").split(","))
                self.enums[enum[1]] = {name.strip(): int(value) for name, value in pairs}
        elif array:
            self.arrays[array[1]] = f"char[{self.size(array[2])}]"
        elif callback:
            self.callbacks[callback[2]] = (callback[1], [t for t, _ in self.parameters(callback[3])])
        elif function:
            never_null = re.search(r"TKL_NONNULL\(([\d, ]+)\)", function[4])
            self.functions[function[2]] = (
                function[1].strip(), self.parameters(function[3]),
                [int(n) - 1 for n in never_null[1].split(",")] if never_null else [])
        else:
            raise ValueError(f"not understood: {plain}")

    def fields(self, struct, body, all_notes):
        """The fields of a struct: (type, name, notes)."""
        body = re.sub(r"^\s*/\*.*?\*/", "", body, flags=re.S | re.M)   # above a field, not behind it
        for match in re.finditer(r"([^;]+);([^\S\n]*/\*.*?\*/)?", body, re.S):
            declared = " ".join(match[1].split())
            comment = " ".join((match[2] or "").split())
            notes = ("time " if "Unix" in comment else "") + (
                "none" if "TKL_NONE" in comment else all_notes)
            pointer = re.fullmatch(r"(\w+) \(\*(\w+)\)\((.*)\)", declared)
            if pointer:
                types = ", ".join(t for t, _ in self.parameters(pointer[3]))
                yield f"{pointer[1]} (*)({types})", pointer[2], ""
                continue
            shape = re.fullmatch(r"((?:const )?\w+ [*]?)(.*)", declared)
            if not shape:
                raise ValueError(f"not understood: {declared}")
            kind, names = shape.groups()
            for name in names.split(","):
                name = name.strip()
                array = re.fullmatch(r"(\w+)\[(\w+)\]", name)
                if array:
                    yield f"{kind.strip()}[{self.size(array[2])}]", array[1], ""
                else:
                    yield kind.strip(), name, notes.strip()
                    self.comments[struct, name] = comment.strip("/* ")

    def parameters(self, text):
        """The parameters of a function: (type, name)."""
        found = []
        for part in re.split(r",\s*(?![^(]*\))", text):
            if part in ("void", ""):
                continue
            if part == "...":
                found.append(("...", ""))
                continue
            array = re.fullmatch(r"(\w+) (\w+)\[(\w+)\]", part)
            plain = re.fullmatch(r"(.+?[ *])(\w+)", part)
            if array:
                found.append((f"{array[1]}[{self.size(array[3])}]", array[2]))
            elif plain:
                found.append((plain[1].strip(), plain[2]))
            else:
                raise ValueError(f"not understood: {part}")
        return found

    def size(self, text):
        return int(text) if text.isdigit() else self.constants[text]


def declarations(code):
    """Cuts a header at the semicolons outside of braces and comments. A comment behind a semicolon
    belongs to what it follows if it begins on the same line."""
    depth, start = 0, 0
    for mark in re.finditer(r"/\*.*?\*/|[{};]", code, re.S):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if mark[0] == ";" and depth <= 0:
            depth = 0
            yield code[start:mark.start()]
            start = mark.end()


# ---- The tables -----------------------------------------------------------------------------------

def tables(headers):
    yield "# Made from the headers by tools/headers.py.\n"
    yield "from typing import Any, Dict\n\n"
    for name, value in (("CODES", headers.codes), ("CONSTANTS", headers.constants),
                        ("ENUMS", headers.enums), ("STRUCTS", headers.structs),
                        ("FUNCTIONS", headers.functions), ("CALLBACKS", headers.callbacks),
                        ("ARRAYS", headers.arrays)):
        yield f"{name}: Dict[str, Any] = {{\n"
        for key, entry in value.items():
            yield f"    {key!r}: {tuple(entry) if isinstance(entry, list) else entry!r},\n"
        yield "}\n"
    yield "OPAQUE = {\n" + "".join(f"    {name!r},\n" for name in sorted(headers.opaque)) + "}\n"


# ---- Records --------------------------------------------------------------------------------------

def class_name(struct):
    return "".join(part.capitalize() for part in struct[4:].split("_"))


class Records:
    """The classes of records.py. FIELDS says for each how it is read: (attribute, how, field, ...)."""

    def __init__(self, headers):
        self.headers, self.made = headers, {}    # made: a class comes before those that use it
        for _, parameters, _ in headers.functions.values():
            for kind, _ in parameters:
                out = re.fullmatch(r"(tkl_\w+) \*\*?", kind)
                if out and out[1] in headers.structs:
                    self.make(out[1])
        for fields in headers.structs.values():     # the arguments of callbacks
            for kind, _, _ in fields:
                for name in re.findall(r"const (tkl_\w+) \*", kind if "(*)" in kind else ""):
                    if name in headers.structs:
                        self.make(name)

    def make(self, struct):
        if struct not in WITHOUT_RECORD and struct not in self.made:
            self.made[struct] = list(self.attributes(struct))

    def attributes(self, struct):
        fields = self.headers.structs[struct]
        index = 0
        while index < len(fields):
            kind, name, notes = fields[index]
            end = next((i for i in range(index, len(fields)) if not self.is_array(fields[i][0])), None)
            if self.is_array(kind) and end is not None and fields[end][0] == "size_t":
                for array, array_name, _ in fields[index:end]:
                    yield self.attribute(struct, array, array_name, "", fields[end][1])
                index = end + 1
                continue
            index += 1
            found = self.attribute(struct, kind, name, notes, None)
            if found:
                yield found

    def attribute(self, struct, kind, name, notes, count):
        """(attribute, type hint, how it is read, field, further facts)"""
        target = re.sub(r"^const | ?\*$", "", kind)
        text = "Data" if f"{struct}.{name}" in DATA else "str"
        if count:
            item = text if target == "tkl_bytes" else self.hint(target)
            return name, f"List[{item}]", "list", name, (count, target, item)
        if name == "reserved" or "(*)" in kind or kind == "void *":
            return None
        if kind == "tkl_bytes":
            return name, text, text.lower(), name, ()
        if kind == "const char *" or kind.startswith("char["):
            return name, "str", "text", name, ()
        if kind.endswith("]"):
            return name, "List[int]", "numbers", name, ()
        unit = re.fullmatch(r"(\w+)_(ms|us)", name)
        if unit and "time" in notes:
            return unit[1], "Optional[datetime]", "time", name, ()
        if unit:
            taken = any(other == unit[1] for _, other, _ in self.headers.structs[struct])
            hint = "Optional[timedelta]" if "none" in notes or name == "retry_after_ms" else "timedelta"
            return unit[1] + ("_for" if taken else ""), hint, unit[2], name, ()
        if kind in self.headers.enums:
            return name, "str", "word", name, (kind,)
        if kind in self.headers.opaque or target in self.headers.opaque:
            return None
        if kind in self.headers.structs:
            return name, self.hint(kind), "struct", name, (kind,)
        if target in self.headers.structs:
            return name, f"Optional[{self.hint(target)}]", "pointer", name, (target,)
        if kind.endswith("*"):      # it would point to memory that is freed
            raise SystemExit(f"{struct}.{name}: how is a {kind} read?")
        plain = {"bool": "bool", "double": "float"}.get(kind, "int")
        if "none" in notes:
            return name, f"Optional[{plain}]", "number", name, ()
        return name, plain, "plain", name, ()

    def is_array(self, kind):
        """Whether it points to items, counted by a field that follows. A list counts its own."""
        item = re.fullmatch(r"(?:const )?(tkl_\w+|bool|size_t) \*", kind)
        return item and not any(name == "items" for _, name, _ in self.headers.structs.get(item[1], ()))

    def hint(self, struct):
        if struct not in self.headers.structs:
            return {"bool": "bool", "size_t": "int"}[struct]
        self.make(struct)
        made = self.made[struct]
        if is_plain_list(made):
            return made[0][1]
        return class_name(struct)

    def text(self):
        yield '"""Results of functions, made from the headers by tools/headers.py."""\n'
        yield "from __future__ import annotations\n\n"
        yield "from datetime import datetime, timedelta\n"
        yield "from typing import List, Optional\n\n"
        yield "from ._record import Data, Record, Records\n"
        for struct, attributes in self.made.items():
            if is_plain_list(attributes):
                continue
            items = next((a for a in attributes if a[0] == "items" and a[2] == "list"), None)
            base = f"Records[{items[1][5:-1]}]" if items else "Record"
            yield f"\n\nclass {class_name(struct)}({base}):\n"
            yield f"    __slots__ = {tuple(a[0] for a in attributes)!r}\n"
            for name, hint, _, field, _ in attributes:
                comment = self.headers.comments.get((struct, field))
                yield f"    {name}: {hint}" + (f"  # {comment}\n" if comment else "\n")
        yield "\n\nFIELDS = {\n"
        for struct, attributes in self.made.items():
            name = None if is_plain_list(attributes) else class_name(struct)
            yield f"    {struct!r}: ({name!r}, (\n"
            for attribute, _, how, field, facts in attributes:
                yield f"        ({attribute!r}, {how!r}, {field!r}, {facts!r}),\n"
            yield "    )),\n"
        yield "}\n"


def is_plain_list(attributes):
    return [(a[0], a[2]) for a in attributes] == [("items", "list")]


def main():
    *folders, output = sys.argv[1:]
    headers = Headers(folders)
    output = pathlib.Path(output)
    output.mkdir(parents=True, exist_ok=True)
    (output / "_headers.py").write_text("".join(tables(headers)), encoding="utf-8")
    (output / "records.py").write_text("".join(Records(headers).text()), encoding="utf-8")


if __name__ == "__main__":
    main()
