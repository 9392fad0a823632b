"""Rules that a program can check: rings, import cycles, sizes, no sleeping in tests."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from acp_nvim.features import FEATURES
from tests.support.git import git

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "acp_nvim"
RINGS = {
    "protocol": 0,
    "session": 0,
    "edits": 0,
    "render": 0,
    "wording": 0,
    "patterns": 0,
    "tasks": 1,
    "memory": 1,
    "files": 1,
    "agent": 1,
    "tools": 1,
    "history": 1,
    "features": 2,
    "nvim": 2,
    "host": 2,
    "app": 2,
    "main": 2,
    "verbs": 2,
}
FORBIDDEN = {
    0: {"anyio", "asyncio", "pynvim", "subprocess", "socket", "threading"},
    1: {"pynvim"},
    2: set[str](),
}
FILE_LINES = 600
FUNCTION_LINES = 60
QUESTIONS = ("is_", "has_", "can_")
"""Beginnings of names of functions that return whether something is the case."""
CHANGES = {
    *("add", "append", "apply", "clear", "discard", "extend", "insert", "pop", "popitem"),
    *("popleft", "remove", "setdefault", "update"),
}
"""Methods that change their object."""

SUPPORT = ("support", "agents", "agents_sdk")
"""Folders of tests/ that hold no tests."""

MODULES = sorted(PACKAGE.glob("**/*.py"))
LUA = sorted([*ROOT.glob("lua/**/*.lua"), *ROOT.glob("plugin/*.lua")])
TESTS = sorted((ROOT / "tests").glob("**/*.py"))


def name_of(path: Path) -> str:
    """Return the dotted module name of a file of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Return all modules that a file imports, with absolute names.

    `from a import b` yields a and a.b.
    """
    return frozenset(imported(path))


def imported(path: Path) -> Iterator[str]:
    """Yield the same modules, which may repeat."""
    package = name_of(path) if path.name == "__init__.py" else name_of(path).rpartition(".")[0]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*up, base] if base else up)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def ring_of(module: str) -> int | None:
    """Return the ring of a module of the package, or None outside of the rings."""
    parts = module.split(".")
    if parts[0] != "acp_nvim" or len(parts) < 2:
        return None
    return RINGS.get(parts[1])


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_a_ring_imports_only_itself_and_lower_ones() -> None:
    rings = {path: ring for path in MODULES if (ring := ring_of(name_of(path))) is not None}
    upward = [
        f"{relative(path)} (ring {ring}): {name}"
        for path, ring in rings.items()
        for name in imports_of(path)
        if (ring_of(name) or 0) > ring or name.split(".")[0] in FORBIDDEN[ring]
    ]
    assert not upward


def test_files_imports_neither_agent_nor_protocol() -> None:
    for path in MODULES:
        if not name_of(path).startswith("acp_nvim.files"):
            continue
        known = {n.split(".")[1] for n in imports_of(path) if n.startswith("acp_nvim.")}
        assert known <= {"files", "edits", "tasks", *SHARED}, relative(path)


ABOVE = {"nvim": ("host", "features"), "host": ("features",), "app": ("features",)}
"""Folders of ring 2 that a lower folder does not import. `app` imports features by name."""
BRIDGE = ("nvim", "app", "main")
"""Folders and modules that may import the bridge."""
FOLDER_MODULES = 20


def feature_of(module: str) -> str:
    """Return the feature of a module; empty for others, and for the package of features."""
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["features"] and len(parts) > 2 else ""


def test_a_feature_imports_no_other_feature() -> None:
    """They share rooms below, and lists of observers."""
    found = {
        f"{name} -> {other}"
        for name, others in package_imports().items()
        for other in others
        if feature_of(name) and feature_of(other) and feature_of(name) != feature_of(other)
    }
    assert not found


def test_no_room_below_the_features_imports_one() -> None:
    found = {
        f"{name} -> {other}"
        for name, others in package_imports().items()
        for other in others
        if other.split(".")[1] in ABOVE.get(name.split(".")[1], ())
    }
    assert not found


def test_only_nvim_and_the_host_import_the_bridge() -> None:
    found = {name for name, others in package_imports().items() if "acp_nvim.nvim.bridge" in others}
    assert not {name for name in found if name.split(".")[1] not in BRIDGE}


def test_each_feature_registers_its_verbs_when_it_is_installed() -> None:
    """All of them, and none of another feature. `FEATURES` has only its name, so that mypy does not
    see the call of `install`.
    """
    folders = {path.parent for path in PACKAGE.glob("features/*/__init__.py")}
    assert sorted(FEATURES) == sorted(folder.name for folder in folders)
    for folder in folders:
        module = importlib.import_module(f"acp_nvim.features.{folder.name}")
        assert str(inspect.signature(module.install)) == "(app: 'Host') -> 'None'", folder.name
        code = (folder / "__init__.py").read_text(encoding="utf-8")
        calls = [call for call in ast.walk(ast.parse(code)) if isinstance(call, ast.Call)]
        added = {
            (ast.literal_eval(call.args[0]), ast.literal_eval(name))
            for call in calls
            if ast.unparse(call.func) == "app.verbs.add"
            for name in call.args[1:]
        }
        assert added == {
            (name_of(path), name)
            for path in folder.glob("*.py")
            for name in re.findall(r'^@verb\("(\w+)"\)', path.read_text("utf-8"), re.MULTILINE)
        }


def test_no_attribute_is_declared_without_a_value() -> None:
    """It would be built later, and a function would have to wait for it. Records are filled by
    their constructor.
    """
    found = [
        f"{relative(path)}: {ast.unparse(node)}"
        for path in MODULES
        for scope in ast.walk(tree_of(path))
        for node in ast.iter_child_nodes(scope)
        if isinstance(node, ast.AnnAssign)
        and node.value is None
        and (
            isinstance(node.target, ast.Attribute)
            or (isinstance(scope, ast.ClassDef) and not (scope.bases or scope.decorator_list))
        )
    ]
    assert not found


def test_a_folder_has_few_modules() -> None:
    folders = [path.parent for path in MODULES if path.name != "__init__.py"]
    assert not {relative(it) for it in folders if folders.count(it) > FOLDER_MODULES}


def package_imports() -> dict[str, set[str]]:
    """Return the modules of the package that each module of its folders imports."""
    names = {name_of(path) for path in MODULES} - {"acp_nvim"}
    return {
        name_of(path): set(imports_of(path)) & names for path in MODULES if name_of(path) in names
    }


def test_tools_do_not_import_agent() -> None:
    """Agents and other MCP clients call the tools. `features/tools` connects them."""
    for path in MODULES:
        if name_of(path).startswith("acp_nvim.tools"):
            assert not [n for n in imports_of(path) if n.startswith("acp_nvim.agent")], path


SHARED = {"session", "render", "wording", "patterns"}
"""Other folders that `files` may import: globs, displayed paths, wording, regular expressions."""


def test_history_does_not_import_agent() -> None:
    for path in MODULES:
        if name_of(path).startswith("acp_nvim.history"):
            assert not [n for n in imports_of(path) if n.startswith("acp_nvim.agent")], path


def test_the_tutor_imports_only_the_protocol() -> None:
    for path in MODULES:
        if not name_of(path).startswith("acp_nvim.tutor"):
            continue
        known = {n for n in imports_of(path) if n.startswith("acp_nvim.")}
        allowed = {"tutor", "protocol", "__version__"}
        outside = {n for n in known if n.split(".")[1] not in allowed}
        assert not outside, relative(path)


def test_there_are_no_import_cycles() -> None:
    names = {name_of(path): path for path in MODULES}
    graph = {
        name: {n for n in imports_of(path) if n in names and n != name and not name.startswith(n)}
        for name, path in names.items()
    }
    assert not cycle(graph)


def cycle(graph: dict[str, set[str]]) -> str:
    """Return the first import cycle as one line, or ""."""
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> str:
        if name in trail:
            return " -> ".join([*trail[trail.index(name) :], name])
        found = ""
        if name not in done:
            for other in sorted(graph[name]):
                found = found or visit(other, (*trail, name))
            done.add(name)
        return found

    return next(filter(None, (visit(name, ()) for name in graph)), "")


RECORDS = {
    # Session: the modules of its folder set its values, see `Session.change`.
    *("session", "transcript", "decision", "prompt"),
    # Entries of a transcript (dataclasses), filled by updates.
    *("entry", "plan_entry", "message", "document", "link", "block", "last", "own"),
    # Dataclasses and Structs of one module or folder, without observers.
    *("turn", "scan", "view", "amendment", "recording", "live"),
}
"""Names of plain data, which other objects may set too."""
FOREIGN = {"sys", "max_size"}
"""Modules, and an attribute of asyncio's pipes that has no other setter."""


def foreign_assignments(path: Path) -> set[str]:
    """Return assignments to an attribute of another object, as `PATH: target`.

    A function may fill a record, and an object that it has made itself and not passed on yet. It
    may not set a callback: that belongs in the constructor.
    """
    return {
        f"{relative(path)}: {ast.unparse(target)}"
        for function, target, value in assignments(tree_of(path), None)
        if not is_own(target)
        and (is_callback(target, value) or not (is_record(target) or is_fresh(target, function)))
    }


Function = ast.FunctionDef | ast.AsyncFunctionDef


def assignments(
    node: ast.AST, function: Function | None
) -> Iterator[tuple[Function | None, ast.Attribute, ast.expr | None]]:
    """Yield every attribute that is assigned, with the function around it and the value."""
    if isinstance(node, Function):
        function = node
    value = getattr(node, "value", None)
    for target in getattr(node, "targets", [getattr(node, "target", None)]):
        for one in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store):
                yield function, one, value
    for child in ast.iter_child_nodes(node):
        yield from assignments(child, function)


def is_own(target: ast.Attribute) -> bool:
    """Return whether an object sets its own attribute, or a module or library is configured."""
    base = target.value
    name = base.id if isinstance(base, ast.Name) else ""
    return name in ("self", "cls") or bool({name, target.attr} & FOREIGN)


def is_callback(target: ast.Attribute, value: ast.expr | None) -> bool:
    """Return whether the assigned value is a callback."""
    partial = isinstance(value, ast.Call) and ast.unparse(value.func) == "partial"
    named = target.attr.lstrip("_").startswith("on_")
    return named or partial or isinstance(value, ast.Lambda)


def is_record(target: ast.Attribute) -> bool:
    """Return whether a value of plain data is set."""
    base = target.value
    name = base.attr if isinstance(base, ast.Attribute) else ast.unparse(base)
    return name.lstrip("_") in RECORDS


def is_fresh(target: ast.Attribute, function: Function | None) -> bool:
    """Return whether the object was made in this function and not passed on before."""
    if function is None or not isinstance(target.value, ast.Name):
        return False
    name, nodes = target.value.id, list(ast.walk(function))
    made = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == name
        and isinstance(node.value, ast.Call)
        and re.fullmatch(r"cls|(\w+\.)*_?[A-Z]\w*", ast.unparse(node.value.func))
    ]
    used = {node.value for node in nodes if isinstance(node, ast.Attribute)}
    given = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and node not in used
    ]
    since = max((line for line in made if line < target.lineno), default=0)
    return since > 0 and not any(since < line < target.lineno for line in given)


def test_no_code_sets_an_attribute_of_another_object() -> None:
    """Callbacks are constructor arguments or methods, so that signatures show all calls between
    objects.
    """
    assert not set().union(*map(foreign_assignments, MODULES))


LUA_FOLDERS = ("base", "buffers", "ui", "features")
"""Folders of lua/acp. Each may require itself and those before it."""
LUA_BASICS = {"acp.config"}
"""Modules outside of these folders that require only `base`. Any folder may require them."""
ENTRY_POINTS = {"acp", "acp.command", "acp.frame", "acp.features", "acp.health"}
"""Modules outside of these folders that may require any of them, and that none of them requires."""


def lua_modules() -> dict[str, Path]:
    """Return every module of lua/acp by the name that `require` takes."""
    found: dict[str, Path] = {}
    for path in (ROOT / "lua").glob("**/*.lua"):
        parts = path.relative_to(ROOT / "lua").with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "init" else parts)] = path
    return found


def required_by(path: Path) -> set[str]:
    """Return the project's modules that a file names, for a `require` now or later.

    `acp` alone does not count, because it is also a word in texts.
    """
    code = re.sub(r"--.*", "", path.read_text(encoding="utf-8"))
    assert not re.search(r"""require\(\s*['"]acp\.['"]\s*\.\.""", code), relative(path)
    named = set(re.findall(r"""['"](acp(?:\.\w+)+)['"]""", code))
    return named | set(re.findall(r"""require\(?\s*['"](acp)['"]""", code))


def folder_rank(module: str) -> int:
    if module in LUA_BASICS:
        return 0
    room = "" if module in ENTRY_POINTS or "." not in module else module.split(".")[1]
    return LUA_FOLDERS.index(room) if room in LUA_FOLDERS else len(LUA_FOLDERS)


def test_every_lua_module_is_in_a_known_folder() -> None:
    beside = {name for name in lua_modules() if folder_rank(name) == len(LUA_FOLDERS)}
    lualine = {"lualine.components.acp", "lualine.extensions.acp"}
    assert beside == {*ENTRY_POINTS, "acp.types", *lualine}


def test_a_lua_folder_requires_only_itself_and_lower_ones() -> None:
    modules = lua_modules()
    upward = [
        f"{name} -> {other}"
        for name, path in modules.items()
        if name not in ENTRY_POINTS
        for other in required_by(path) & modules.keys()
        if folder_rank(other) > folder_rank(name)
    ]
    assert not upward


def test_a_lua_feature_is_named_in_its_own_folder_only() -> None:
    """`build.lua` loads the installation before 'runtimepath' is set up."""
    listed = ROOT / "lua/acp/features/init.lua"
    naming = [
        f"{relative(path)}: {name}"
        for path in [*LUA, *(ROOT / "plugin").glob("*.lua")]
        for name in required_by(path)
        if re.match(r"acp\.features\.\w", name)
        and not path.is_relative_to(listed.parent / name.split(".")[2])
    ]
    assert not naming


def test_a_folder_of_lua_has_few_modules() -> None:
    folders = [path.parent for path in (ROOT / "lua").glob("**/*.lua")]
    assert not {relative(it) for it in folders if folders.count(it) > FOLDER_MODULES}


def test_there_are_no_require_cycles() -> None:
    modules = lua_modules()
    graph = {name: required_by(path) & modules.keys() - {name} for name, path in modules.items()}
    assert not cycle(graph)


def test_a_module_is_short() -> None:
    """A longer module contains a second subject."""
    files = [path for path in [*MODULES, *LUA, *TESTS] if path.name != "schema.py"]
    lines = {relative(path): path.read_text(encoding="utf-8").count("\n") for path in files}
    assert not {path: count for path, count in lines.items() if count > FILE_LINES}


@cache
def functions() -> list[tuple[str, Function]]:
    """Return all functions of the package, each with the path of its module."""
    return [
        (relative(path), node)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, Function)
    ]


def test_a_function_is_short() -> None:
    long = [
        f"{path}: {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for path, node in functions()
        if node.end_lineno is not None and node.end_lineno - node.lineno >= FUNCTION_LINES
    ]
    assert not long


def test_a_question_changes_nothing() -> None:
    """A reader expects no effect of a function whose name asks whether something is the case."""
    changing = [
        f"{path}: {node.name}"
        for path, node in functions()
        if node.name.lstrip("_").startswith(QUESTIONS) and any(map(changes_self, ast.walk(node)))
    ]
    assert not changing


def changes_self(node: ast.AST) -> bool:
    """Return whether code changes an attribute of `self`, or a collection in one."""
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return ast.unparse(node).startswith("self.")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in CHANGES and ast.unparse(node.func).startswith("self.")
    return False


def test_no_test_imports_a_test() -> None:
    """Shared helpers are in tests/support, which imports no tests either."""
    for path in TESTS:
        text = path.read_text(encoding="utf-8")
        found = set(imports_of(path))
        found |= set(re.findall(r"(?:from|import) (tests[\w.]+)", text))  # programs in strings
        tests = {name for name in found if re.match(r"tests\..*\b(test_\w+|conftest)\b", name)}
        assert not tests, relative(path)


def test_shared_test_code_imports_no_tests() -> None:
    """tests/support and the scripted agents import only each other."""
    allowed = {f"tests.{folder}" for folder in SUPPORT}
    for folder in SUPPORT:
        for path in (ROOT / "tests" / folder).glob("**/*.py"):
            found = {name for name in imports_of(path) if name.startswith("tests.")}
            upward = {name for name in found if ".".join(name.split(".")[:2]) not in allowed}
            assert not upward, relative(path)


def test_tests_wait_for_conditions_and_never_sleep() -> None:
    """A scripted agent may sleep for the seconds that a test gives, since it is slow on purpose.

    Python programs in strings count, as they are started by tests.
    """
    sleep = re.compile(r"((time|asyncio|anyio)\.)?sleep\(.*\)")
    program = re.compile(r"\b(time|asyncio|anyio)\.sleep\(")
    allowed = re.compile(r"tests/agents/\w+\.py: time\.sleep\(float\(seconds\)\)")
    sleeping = {
        f"{relative(path)}: {ast.unparse(node)}"
        for path in TESTS
        if "sleep" in path.read_text(encoding="utf-8")
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.Call) and sleep.fullmatch(ast.unparse(node)))
        or (isinstance(node, ast.Constant) and program.search(str(node.value)))
    }
    assert not {it for it in sleeping if not allowed.fullmatch(it)}


CHUNK_LINES = 3
"""Lua of more lines is in a file `lua/NAME.lua` beside the test, where the linters see it."""
IS_LUA = re.compile(r"\bvim\.\w|\brequire\(|\b_G\.")


def lua_chunks(path: Path) -> Iterator[tuple[int, int]]:
    """Yield line and number of lines of each string with Lua code."""
    nodes = list(ast.walk(tree_of(path)))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    parts = {
        id(value) for node in nodes if isinstance(node, ast.JoinedStr) for value in node.values
    }
    for node in nodes:
        if not isinstance(node, ast.Constant | ast.JoinedStr) or id(node) in docstrings | parts:
            continue
        constants = [node] if isinstance(node, ast.Constant) else node.values
        text = "".join(str(it.value) for it in constants if isinstance(it, ast.Constant))
        source = 0 if "\n" in text else (node.end_lineno or 0) - node.lineno + 1
        if IS_LUA.search(text):
            yield node.lineno, max(source, len([it for it in text.splitlines() if it.strip()]))


def test_long_chunks_of_lua_are_in_files() -> None:
    long = [
        f"{relative(path)}:{line}"
        for path in (*TESTS, *ROOT.glob("bench/**/*.py"))
        if path != Path(__file__)
        for line, lines in lua_chunks(path)
        if lines > CHUNK_LINES
    ]
    assert not long


def test_lua_of_tests_requires_modules_that_exist_and_is_used() -> None:
    for path in (*ROOT.glob("tests/**/lua/*.lua"), *ROOT.glob("bench/lua/*.lua")):
        required = set(re.findall(r"require\('(acp[\w.]*)'\)", path.read_text(encoding="utf-8")))
        assert not required - lua_modules().keys(), relative(path)
        users = [it.read_text(encoding="utf-8") for it in path.parent.parent.glob("*.py")]
        assert any(f'"{path.stem}"' in text or f"'{path.stem}'" in text for text in users), path


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_all_files_are_text() -> None:
    """`git add -A` also adds a downloaded package."""
    listed = git(ROOT, "ls-files", "--eol").splitlines()
    assert [line for line in listed if line.startswith("i/-text")] == []
