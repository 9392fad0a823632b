"""Texts for the user: a few modules have them all, and they follow rules."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from acp_nvim.tutor import tour_words
from acp_nvim.tutor import words as tutor_words
from tests.support.stiff_phrases import STIFF

ROOT = Path(__file__).resolve().parent.parent.parent
MESSAGES = ROOT / "lua/acp/base/messages.lua"
WORDING = [ROOT / "acp_nvim/wording.py", *sorted(ROOT.glob("acp_nvim/features/*/words.py"))]
LUA = [path for path in sorted(ROOT.glob("lua/**/*.lua")) if path != MESSAGES]
PYTHON = [
    path
    for path in sorted((ROOT / "acp_nvim").glob("**/*.py"))
    if "tutor" not in path.parts and path not in WORDING
]
COLUMNS = 80
PART = re.compile(r"(why|part)_", re.IGNORECASE)
LITERAL = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
PLACE = re.compile(r"%\w|\{\w*(?:![a-z])?(?::[^}]*)?\}")
COMMAND = re.compile(r":[A-Za-z]\w+(?: \w+)?!|takes no !|#!")


def lua_messages() -> dict[str, str]:
    """Return every message of Lua by its name; of a list the first one."""
    found: dict[str, str] = {}
    for line in MESSAGES.read_text(encoding="utf-8").splitlines():
        name = re.match(r"  (\w+) = ", line)
        if name:
            literal = LITERAL.search(line)
            assert literal, line
            found[name[1]] = literal[1] if literal[1] is not None else literal[2]
    return found


def python_messages() -> dict[str, str]:
    """Return every text of Python by its name, which only one module has."""
    found: dict[str, str] = {}
    for path in WORDING:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        texts = vars(importlib.import_module(module))
        here = {name: text for name, text in texts.items() if name.isupper()}
        assert not found.keys() & here.keys()
        found |= here
    return found


LUA_MESSAGES = lua_messages()
PYTHON_MESSAGES = python_messages()
TEXTS = [*LUA_MESSAGES.items(), *PYTHON_MESSAGES.items()]
TUTOR = [
    (f"{module.__name__.rpartition('.')[2]}.{name}", text)
    for module in (tutor_words, tour_words)
    for name, text in vars(module).items()
    if name.isupper() and isinstance(text, str)
]


def wrong(texts: Iterable[tuple[str, str]], is_wrong: Callable[[str, str], object]) -> list[str]:
    """Return the named texts that break a rule."""
    return [f"{name}: {text}" for name, text in texts if is_wrong(name, text)]


def test_a_text_is_plain_english() -> None:
    """A permission or a question is not a decision, and components are not persons."""
    stiff = re.compile(
        r"(?i:\b(?:he|him|his|she|her)\b)|\bdecisions?\b|" + "|".join(map(re.escape, STIFF))
    )
    assert not wrong([*TEXTS, *TUTOR], lambda _, text: stiff.search(text))


def test_a_message_is_one_short_line() -> None:
    """Only sentences within a text end with a period."""
    assert not wrong(TEXTS, lambda _, text: len(PLACE.sub("a name", text)) > COLUMNS)
    assert not wrong(TEXTS, lambda _, text: re.search(r"\n|[^.]\.$|\.\.$", text))
    assert not wrong(TEXTS, lambda _, text: "!" in COMMAND.sub("", PLACE.sub("", text)))


def test_a_message_begins_like_a_sentence() -> None:
    """A text begins with a capital letter, a placeholder, a command or a name; a part of one does
    not.
    """
    begins = re.compile(r"[A-Z:⚠\[]|%|\{|1 |\w+\(\) |agents_file|block \{")

    def is_wrong(name: str, text: str) -> object:
        return re.match(r"[A-Z][a-z]", text) if PART.match(name) else not begins.match(text)

    assert not wrong(TEXTS, is_wrong)
    assert not wrong(TEXTS, lambda _, text: re.search(r"[.?] (?![A-Z\d])\w", text))


WAY_OUT = re.compile(
    r":[Aa]cp|:cd|:w|:checkhealth|:help|<CR>|[Oo]ption|[Pp]ress|\bkey\b|Look again|[Ss]ee |did you"
    r"|[Kk]nown: |Answers: |Logins: |can: | should be | not \{| not '%s'|wants|needs|\{advice\}"
    r"|Restart Neovim"
)
QUOTES = "the reason that it quotes says what to do"
NO_WAY_OUT = {
    **dict.fromkeys(("FAILED", "CANNOT_WRITE", "NO_BASE64", "SESSIONS_NOT_LISTED"), QUOTES),
    **dict.fromkeys(("WHY_EXIT_CODE", "TURN_CUT"), "part of a line that names one"),
    **dict.fromkeys(("not_saved", "not_to_open", "file_not_opened", "drafts_not_saved"), QUOTES),
    **dict.fromkeys(("cannot_start", "could_not_open", "dialog_failed", "handler_failed"), QUOTES),
    **dict.fromkeys(("host_refused", "NOT_LANDED", "NO_WORKTREE_MADE", "SETUP_FAILED"), QUOTES),
    **dict.fromkeys(("NO_QUESTION", "QUESTION_OVER", "question_over"), "it is over"),
    **dict.fromkeys(("NO_LOGOUT", "SESSIONS_LATE", "SESSION_WITHOUT_ACTIONS"), "up to the agent"),
    "NO_PROVIDERS": "up to the agent",
    **dict.fromkeys(("NOT_OPENED", "ADDRESS_REFUSED"), "it is not to be opened"),
    **dict.fromkeys(("AGENT_NOT_RUNNING", "PROMPT_EMPTY"), "writing a prompt is the way"),
    **dict.fromkeys(("no_file", "no_file_here", "FORM_VALUES"), "says what is missing"),
    **dict.fromkeys(("attach_missing", "mention_missing"), "says what is missing"),
    "draft_newer": "nothing is lost, and the newer version restores them",
    "not_a_path": "an agent's mistake",
    "UNKNOWN_VERB": "another version's; a restart of Neovim loads one",
}
"""Errors and warnings that do not say how to continue, with the reason."""


NAMED = re.compile(r"\b(?:notify'?\)?)\.show\(\s*'(\w+)',\s*'(\w+)'")
"""Level and name of a message that is shown by its name."""


def errors() -> set[str]:
    """Return the names of the messages that are shown as errors or warnings."""
    found = set[str]()
    for path in LUA:
        for name, arguments in lua_calls(path):
            if name == "error" or re.match(r"\s*'(error|warn)'", arguments):
                found |= set(re.findall(r"messages'?\)?\.(\w+)", arguments))
        named = NAMED.findall(path.read_text(encoding="utf-8"))
        found |= {name for level, name in named if level in {"error", "warn"}}
    for path in PYTHON:
        for call in python_calls(path):
            level = call.args[0] if call.args else None
            is_error = isinstance(level, ast.Constant) and level.value in ("error", "warn")
            if is_error or called(call) == "fault":
                found |= {
                    node.attr
                    for node in ast.walk(call)
                    if isinstance(node, ast.Attribute) and node.attr in PYTHON_MESSAGES
                }
    return found


def test_an_error_says_how_to_continue() -> None:
    texts = {**LUA_MESSAGES, **PYTHON_MESSAGES}
    lost = {name for name in errors() & texts.keys() if not WAY_OUT.search(texts[name])}
    assert lost == NO_WAY_OUT.keys()


# -- nowhere else ---------------------------------------------------------------------------------

SHOWS = re.compile(r"\b(?:notify'?\)?|pick'?\)?)\.(echo|error|list|choose)\(|vim\.ui\.(input)\(")
SPEAKS = {
    "echo",
    "fault",
    "notice",
    "warn",
    "choose",
    "ask_text",
    "_warn",
    "_notice",
    "_say",
    "_told",
}
SENTENCE = re.compile(r"[A-Za-z]{2,}[,;:]? [a-z{(]")


def lua_calls(path: Path) -> Iterator[tuple[str, str]]:
    """Yield name and arguments of the calls that show a line."""
    code = re.sub(r"^\s*--.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for match in SHOWS.finditer(code):
        depth, at = 1, match.end()
        while depth and at < len(code):
            depth += {"(": 1, ")": -1}.get(code[at], 0)
            at += 1
        yield match[1] or match[2], code[match.end() : at - 1]


@cache
def python_calls(path: Path) -> list[ast.Call]:
    """Return the calls that show a line."""
    text = path.read_text(encoding="utf-8")
    if not any(f"{name}(" in text for name in SPEAKS):
        return []
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return [call for call in calls if called(call) in SPEAKS]


def called(call: ast.Call) -> str:
    """Return the last name of the called function."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def test_all_messages_of_lua_are_in_one_module() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in LUA
        for _, arguments in lua_calls(path)
        for text in (one or other for one, other in LITERAL.findall(arguments))
        if SENTENCE.search(text)
    ]
    assert not found


def test_all_messages_of_python_are_in_their_modules() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in PYTHON
        for call in python_calls(path)
        for node in ast.walk(call)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and SENTENCE.search(node.value)
    ]
    assert not found


def test_every_message_is_used_and_every_used_name_exists() -> None:
    lua = "\n".join(path.read_text(encoding="utf-8") for path in LUA)
    python = "\n".join(path.read_text(encoding="utf-8") for path in PYTHON)
    used = set(re.findall(r"\bmessages'?\)?\.(\w+)", lua)) - {"lua"}
    used |= {name for _, name in NAMED.findall(lua)}
    by_name = set(re.findall(r"'(\w+)'", lua))  # `when_running('no_edits', …)`
    assert used <= LUA_MESSAGES.keys()
    assert LUA_MESSAGES.keys() <= used | by_name
    assert set(re.findall(r"\b(?:wording|words)\.([A-Z_\d]+)\b", python)) == PYTHON_MESSAGES.keys()
