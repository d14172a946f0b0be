#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the modules of tackle.aio from those of tackle.

    aio.py PACKAGE

reads PACKAGE/*.py and writes PACKAGE/aio/*.py. A function that calls the library, directly or
through others of its module and class, becomes a coroutine, and its calls are awaited. Definitions
without a change are imported from their module, so that there is one class of each kind.

    def __enter__, __exit__, __iter__, __next__     __aenter__, __aexit__, __aiter__, __anext__
    def __len__, __contains__                       async def length, contains
    Iterator, contextmanager                        AsyncIterator, asynccontextmanager
    on_lost=...                                     called in the asyncio loop

Written by hand are aio/_call.py, _handle.py and _loop.py, where waiting differs, and worker.py, which
has tasks in place of threads. mypy checks the result, and finds calls that were not awaited.
"""
import ast
import copy
import pathlib
import re
import sys

# Functions of _call that are coroutines in aio/_call.py, and methods of aio/_handle.py.
CALLS = {"attempt", "call", "invoke", "invoke_long", "run", "wait", "wait_for"}
METHODS = {"close"}
BY_HAND = ("_call", "_handle", "worker")
RENAMED = {"__enter__": "__aenter__", "__exit__": "__aexit__", "__iter__": "__aiter__",
           "__next__": "__anext__", "__len__": "length", "__contains__": "contains"}
# Methods that are coroutines even if they await nothing.
ALWAYS = {"__enter__", "__exit__"}
FUNCTION = (ast.FunctionDef, ast.Lambda)


class Module:
    """A module of tackle, and the definitions that change."""

    def __init__(self, name, tree):
        self.name, self.tree = name, tree
        self.definitions = {node.name: node for node in tree.body
                            if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        self.aliases = {node.targets[0].id: node.value for node in tree.body
                        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
        self.changed = set()        # definitions that differ in aio
        self.imports = {}           # name: (module, name there), of tackle
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level and node.module:
                self.imports.update({a.asname or a.name: (node.module, a.name) for a in node.names})

    def methods(self, cls):
        return {node.name: node for node in self.definitions[cls].body
                if isinstance(node, ast.FunctionDef)}


class Package:
    def __init__(self, folder):
        self.modules = {}
        for path in sorted(folder.glob("*.py")):
            if path.stem != "__init__":
                self.modules[path.stem] = Module(path.stem, ast.parse(path.read_text("utf-8")))
        self.by_hand = {name: Module(name, ast.parse((folder / "aio" / f"{name}.py").read_text("utf-8")))
                        for name in BY_HAND}
        self.coroutines = set()     # (module, class or "", function)
        self.find_changes()

    # ---- Changes ------------------------------------------------------------------------------

    def find_changes(self):
        """Repeats until nothing is added: a function that calls a coroutine is one, and a definition
        that refers to a changed one changes, too."""
        before = None
        while before != (len(self.coroutines), sum(len(m.changed) for m in self.modules.values())):
            before = (len(self.coroutines), sum(len(m.changed) for m in self.modules.values()))
            for module in self.modules.values():
                if module.name not in BY_HAND:
                    for name, node in module.definitions.items():
                        self.look_at(module, name, node)

    def look_at(self, module, name, node):
        functions = [("", node)] if isinstance(node, ast.FunctionDef) else [
            (name, method) for method in module.methods(name).values()]
        for cls, function in functions:
            if any(self.is_awaited(module, cls, call) for call in calls_in(function)):
                self.coroutines.add((module.name, cls, function.name))
                module.changed.add(name)
        if any(self.is_changed(module, used) for used in names_in(node)):
            module.changed.add(name)

    def is_changed(self, module, name):
        """Whether a name of the module stands for something that differs in aio."""
        if name in module.definitions:
            return name in module.changed
        if name in module.aliases:      # type variables, too
            return any(self.is_changed(module, used) for used in names_in(module.aliases[name])
                       if used != name)
        where, there = module.imports.get(name, (None, None))
        if where in self.modules:
            return there in self.modules[where].changed
        return False

    def has_in_aio(self, where, name):
        if where in self.by_hand:
            tree = self.by_hand[where].tree
            assigned = {target.id for node in tree.body if isinstance(node, ast.Assign)
                        for target in node.targets if isinstance(target, ast.Name)}
            imported = {a.name for node in tree.body if isinstance(node, ast.ImportFrom)
                        for a in node.names} if where == "_call" else set()
            return name in self.by_hand[where].definitions or name in assigned | imported
        return where in self.modules and name in self.modules[where].changed

    def is_awaited(self, module, cls, call):
        """Whether a call is one of a coroutine."""
        target = call.func
        if isinstance(target, ast.Name):
            where, there = module.imports.get(target.id, (module.name, target.id))
            return (where, "", there) in self.coroutines
        if not isinstance(target, ast.Attribute):
            return False
        receiver, name = target.value, target.attr
        if isinstance(receiver, ast.Name) and receiver.id == "_call":
            return name in CALLS
        if isinstance(receiver, ast.Name) and receiver.id == "self" and cls:
            return self.is_coroutine_of(module, cls, name)
        if isinstance(receiver, ast.Call) and getattr(receiver.func, "id", "") == "super":
            return any(self.is_coroutine_of(*base, name) for base in self.bases(module, cls))
        # Another object: by a private name, or close().
        return name in METHODS or name.startswith("_") and any(
            function == name and cls for _, cls, function in self.coroutines)

    def is_coroutine_of(self, module, cls, name):
        if name in module.methods(cls):
            return (module.name, cls, name) in self.coroutines and not is_generator(
                module.methods(cls)[name])
        bases = self.bases(module, cls)
        return any(self.is_coroutine_of(*base, name) for base in bases) if bases else name in METHODS

    def bases(self, module, cls):
        """The base classes, as (module, class), that are made from tackle as well."""
        found = []
        for base in module.definitions[cls].bases:
            where, there = module.imports.get(getattr(base, "id", ""), (module.name, getattr(base, "id", "")))
            if where in self.modules and where not in BY_HAND and there in self.modules[where].definitions:
                found.append((self.modules[where], there))
        return found

    # ---- The modules of aio -------------------------------------------------------------------

    def text(self, module):
        body = []
        shared = [name for name in self.exported(module) if not self.is_changed(module, name)]
        for node in copy.deepcopy(module.tree).body:
            if isinstance(node, ast.ImportFrom) and node.level:
                body += self.imported(node)
            elif isinstance(node, ast.If):      # TYPE_CHECKING
                body.append(Translated(self, module).visit(node))
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                if node.name in module.changed:
                    body.append(Translated(self, module).visit(node))
            elif isinstance(node, (ast.Import, ast.ImportFrom, ast.Expr)) or (
                    isinstance(node, ast.Assign) and self.is_changed(
                        module, getattr(node.targets[0], "id", ""))):
                body.append(node)
        if shared:
            body.insert(2, ast.ImportFrom(module.name, [ast.alias(name, name) for name in shared], 2))
        if any(getattr(call.func, "id", "") == "on_loop" for part in body for call in ast.walk(part)
               if isinstance(call, ast.Call)):
            body.insert(2, ast.ImportFrom("_call", [ast.alias("on_loop")], 1))
        tree = ast.fix_missing_locations(ast.Module(body, []))
        text = ast.unparse(tree)
        text = re.sub(r"(from typing import )", r"\1AsyncIterator, ", text, count=1)
        return f"# Made from tackle/{module.name}.py by tools/aio.py.\n{text}\n"

    def exported(self, module):
        """The names of a module that other modules, or its own changed parts, may use."""
        for node in module.tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield node.name
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))

    def imported(self, node):
        """An import of this package, from where the names are for aio."""
        if node.module is None:
            groups = {1: [a for a in node.names if a.name in BY_HAND],
                      2: [a for a in node.names if a.name not in BY_HAND]}
        else:
            groups = {1: [a for a in node.names if self.has_in_aio(node.module, a.name)],
                      2: [a for a in node.names if not self.has_in_aio(node.module, a.name)]}
        return [ast.ImportFrom(node.module, names, level) for level, names in groups.items() if names]


class Translated(ast.NodeTransformer):
    """A definition for aio."""

    def __init__(self, package, module):
        self.package, self.module, self.cls, self.function = package, module, "", None
        self.is_coroutine = False   # the function

    def visit_ImportFrom(self, node):
        return self.package.imported(node) if node.level else node

    def visit_ClassDef(self, node):
        self.cls = node.name
        self.generic_visit(node)
        shorten(node)
        self.cls = ""
        return node

    def visit_FunctionDef(self, node):
        if self.function:       # a callback, which the library calls
            return node
        self.function = node
        key = (self.module.name, self.cls, node.name)
        self.is_coroutine = key in self.package.coroutines or (self.cls and node.name in ALWAYS)
        if self.is_coroutine and any(getattr(d, "id", "") == "property" for d in node.decorator_list):
            sys.exit(f"{key}: a property cannot be awaited")
        self.generic_visit(node)
        self.function = None
        shorten(node)
        node.body[first_statement(node):first_statement(node)] = hooks_on_loop(node)
        if self.cls:
            node.name = RENAMED.get(node.name, node.name)
        if node.returns is not None and (is_generator(node) or self.cls):
            node.returns = ast.parse(re.sub(r"\bIterator\b", "AsyncIterator", ast.unparse(node.returns)),
                                     mode="eval").body
        return ast.AsyncFunctionDef(**vars(node)) if self.is_coroutine else node

    def visit_Lambda(self, node):
        return node     # what it returns may be awaited by its caller

    def visit_Call(self, node):
        awaited = self.package.is_awaited(self.module, self.cls, node)
        self.generic_visit(node)
        return ast.Await(node) if awaited else node

    def visit_With(self, node):
        self.generic_visit(node)
        return ast.AsyncWith(**vars(node)) if self.is_coroutine else node

    def visit_Expr(self, node):
        """`yield from` does not exist in coroutines."""
        self.generic_visit(node)
        if not isinstance(node.value, ast.YieldFrom):
            return node
        item = ast.Name("item", ast.Store())
        return ast.For(item, node.value.value, [ast.Expr(ast.Yield(ast.Name("item", ast.Load())))], [])

    def visit_Name(self, node):
        names = {"StopIteration": "StopAsyncIteration"}
        return ast.copy_location(ast.Name(names.get(node.id, node.id), node.ctx), node)

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr == "contextmanager":
            node.attr = "asynccontextmanager"
        return node


# ---- Parts of a tree ------------------------------------------------------------------------------

def own_nodes(function):
    """The nodes of a function without those of functions in it."""
    left = list(ast.iter_child_nodes(function))
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, FUNCTION):
            left += ast.iter_child_nodes(node)


def calls_in(function):
    return [node for node in own_nodes(function) if isinstance(node, ast.Call)]


def is_generator(function):
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in own_nodes(function))


def names_in(node):
    """The names that a definition uses, those of annotations in quotes included."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
            yield part.value


def first_statement(function):
    return 1 if ast.get_docstring(function) is not None else 0


def shorten(node):
    """Takes the examples out of a docstring: they show calls that block."""
    text = ast.get_docstring(node, clean=False)
    if text:
        kept = re.sub(r"\n\s*>>> .*?(?=\n\s*\n|\Z)", "", text, flags=re.S)
        node.body[0].value = ast.Constant(kept)


def hooks_on_loop(function):
    """For each hook among the parameters, a statement that lets it run in the asyncio loop."""
    arguments = function.args.args + function.args.kwonlyargs
    return [ast.parse(f"{a.arg} = on_loop({a.arg})").body[0] for a in arguments
            if a.arg.startswith("on_") and ast.unparse(a.annotation).endswith("None]]")
            and function.args.kwonlyargs]


def main():
    folder = pathlib.Path(sys.argv[1])
    package = Package(folder)
    for module in package.modules.values():
        if module.changed and module.name not in BY_HAND:
            (folder / "aio" / f"{module.name}.py").write_text(package.text(module), encoding="utf-8")


if __name__ == "__main__":
    main()
