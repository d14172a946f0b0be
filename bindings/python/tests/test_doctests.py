# SPDX-License-Identifier: MIT
"""The examples of the docstrings do what they say, and so do those of docs/python.md."""
import doctest
import importlib
import pathlib
import pkgutil

import pytest
import tackle

MODULES = ["tackle"] + ["tackle." + module.name for module in pkgutil.iter_modules(tackle.__path__)]
PAGE = pathlib.Path(__file__).parents[3] / "docs" / "python.md"


def examples_of(module):
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module), module)
    return [test for test in found if test.examples]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module, client, url, capsys):
    for test in examples_of(module):
        client.call("FLUSHALL")
        test.globs.update(client=client, url=url)
        assert doctest.DocTestRunner().run(test).failed == 0, capsys.readouterr().out


@pytest.mark.parametrize("module", MODULES)
def test_public_classes_have_examples(module):
    """Every class that a client opens shows how it is used."""
    from tackle.client import COMPONENTS
    opened = {kind for name, kind in COMPONENTS.values() if "tackle." + name == module}
    shown = {test.name.rpartition(".")[2] for test in examples_of(module)}
    assert opened <= shown | {"Inbox"}      # the example of Chat has an inbox


def test_page(client, url, capsys):
    globs = {"client": client, "url": url}
    test = doctest.DocTestParser().get_doctest(PAGE.read_text(), globs, "python.md", str(PAGE), 0)
    assert len(test.examples) > 20
    assert doctest.DocTestRunner().run(test).failed == 0, capsys.readouterr().out
