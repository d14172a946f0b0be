# SPDX-License-Identifier: MIT
"""The package as users get it: types, wheel, examples."""
import os
import pathlib
import pydoc
import shutil
import subprocess
import sys
import zipfile

import pytest
import tackle
from conftest import PRELOAD

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
PACKAGE = pathlib.Path(tackle.__file__).parent


def test_types(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed (package mypy)")
    program = tmp_path / "program.py"
    program.write_text("""\
import tackle
with tackle.Client("embedded:") as client:
    with client.lock("x", wait=5) as lock:
        print(lock.fence)
    client.queue("mails").push({"to": "ann"}, delay=60)
    for job in client.queue("mails").consume(wait=0):
        print(job.payload.json()["to"], job.attempt + 1)
        job.ack()
    client.lock("x", waiting=5)
    client.limit("api", "many", 60)
    client.queue("mails").push("x", priority="high")
""")
    ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"),
                          str(program)], capture_output=True, text=True, cwd=tmp_path,
                         env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    wrong = [line.split(":")[1] for line in ran.stdout.splitlines() if "error" in line and "program.py" in line]
    assert wrong == ["9", "10", "11"], ran.stdout


def test_the_package_itself_is_typed(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed (package mypy)")
    ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--python-version", "3.9",
                          "--cache-dir", str(tmp_path / "cache"), "-p", "tackle"], capture_output=True,
                         text=True, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_all_names_exist():
    for name in tackle.__all__:
        assert getattr(tackle, name) is not None
    with pytest.raises(AttributeError):
        tackle.nothing
    with tackle.Client("embedded:") as client:
        assert {"lock", "queue", "call"} <= set(dir(client))
        assert "auto_renew" in pydoc.render_doc(client.lock)
        with pytest.raises(AttributeError):
            client.nothing


def wheel():
    found = list(PACKAGE.parent.parent.glob("tackle-*.whl"))
    return found[0] if found else pytest.skip("no wheel beside the package")


def test_wheel(tmp_path):
    """The wheel has the package and what pip wants, and is the same when it is made again."""
    path = wheel()
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
        assert {"tackle/__init__.py", "tackle/_headers.py", "tackle/records.py", "tackle/py.typed"} <= set(names)
        info = f"tackle-{tackle.__version__}.dist-info"
        record = archive.read(f"{info}/RECORD").decode().splitlines()
        assert [line.split(",")[0] for line in record] == names
        archive.extractall(tmp_path)
    again = tmp_path / "again.whl"
    subprocess.run([sys.executable, ROOT / "bindings/python/tools/wheel.py", PACKAGE, tackle.__version__,
                    ROOT / "LICENSE", again], check=True)
    assert again.read_bytes() == path.read_bytes()
    ran = subprocess.run([sys.executable, "-c", "import tackle; print(tackle.__file__)"], text=True,
                         capture_output=True, cwd="/",
                         env={**os.environ, "PYTHONPATH": str(tmp_path), "LD_PRELOAD": PRELOAD})
    assert ran.stdout.startswith(str(tmp_path)), ran.stderr


EXAMPLES = sorted((ROOT / "bindings/python/examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, url, client):
    """Each example runs, and prints what its `#=>` comments say."""
    expected = [line.split("#=> ")[1] for line in path.read_text().splitlines() if "#=> " in line]
    ran = subprocess.run([sys.executable, "-X", "dev", path], text=True, capture_output=True, timeout=120,
                         env={**os.environ, "TACKLE_URL": url, "LD_PRELOAD": PRELOAD})
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert ran.stdout.splitlines() == expected and expected


@pytest.mark.parametrize("language, program, runs", [("python", "worker.py", "python3"),
                                                     ("js", "worker.mjs", "node")])
def test_page_of_languages(tmp_path, url, client, language, program, runs):
    """A program of docs/languages.md works as it stands there, with the commands below it."""
    source, rest = (ROOT / "docs/languages.md").read_text().split(f"```{language}\n")[1].split("```", 1)
    command = PACKAGE.parents[1] / "tackle"
    if not command.exists():
        pytest.skip("no command beside the package")
    if not shutil.which(runs):
        pytest.skip(f"{runs} is not installed")
    (tmp_path / program).write_text(source)
    commands = rest.split("```sh\n")[1].split("```")[0]
    assert f"{runs} {program}" in commands
    ran = subprocess.run(["bash", "-euc", commands], cwd=tmp_path, text=True, capture_output=True, timeout=120,
                         env={**os.environ, "TACKLE_URL": url, "PATH": f"{command.parent}:{os.environ['PATH']}"})
    assert (ran.returncode, ran.stdout.splitlines()[-1:]) == (0, [commands.split("#=> ")[1].strip()]), (
        ran.stdout + ran.stderr)


def test_there_are_examples():
    assert len(EXAMPLES) >= 4
