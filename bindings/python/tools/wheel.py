#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs a folder of pure Python as a wheel: a zip file with three files about it.

    wheel.py FOLDER VERSION LICENSE OUTPUT

The same files make the same wheel, byte by byte. No other module is needed.
"""
import base64
import hashlib
import pathlib
import sys
import zipfile

METADATA = """\
Metadata-Version: 2.1
Name: tackle
Version: {version}
Summary: Locks, queues, rate limits and more on Redis and Valkey
License: MIT
Requires-Python: >=3.9
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Description-Content-Type: text/plain

The package tackle needs the library libtackle, of the same version, on the system: it loads
libtackle.so through ctypes. The guide is docs/python.md of the project.
"""

WHEEL = """\
Wheel-Version: 1.0
Generator: tackle
Root-Is-Purelib: true
Tag: py3-none-any
"""


def main():
    folder, version, licence, output = sys.argv[1:]
    root = pathlib.Path(folder)
    info = f"{root.name}-{version}.dist-info"
    files = {path.relative_to(root.parent).as_posix(): path.read_bytes()
             for path in sorted(root.rglob("*")) if path.is_file() and path.suffix != ".pyc"}
    files[f"{info}/LICENSE"] = pathlib.Path(licence).read_bytes()
    files[f"{info}/METADATA"] = METADATA.format(version=version).encode()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    record = "".join(f"{name},{digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data)


def digest(data):
    hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return "sha256=" + hashed.decode().rstrip("=")


if __name__ == "__main__":
    main()
