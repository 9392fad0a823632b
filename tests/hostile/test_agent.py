"""Messages of a hostile agent that would run, open or change something if they were obeyed.

To add a case: a name, and the frames that the agent sends.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from tests.hostile.agents import INIT, Stage
from tests.support.cases import case
from tests.support.editor import Editor

RUN = "call writefile([1],'{witness}')"
"""An Ex command that makes the witness. Below it is a shell line and an expression."""
SHELL = "touch {witness}"
EVAL = '%{execute("' + RUN + '")}%{%execute("' + RUN + '")%}%@Foo@x%X%#Error#'
ESCAPES = "\x1b]52;c;Zm9v\x07\x1b]0;title\x07\x1b[2J\x1bP+q\x1b\\\u202etxt.exe\u2066\x00\r\n\x9b5n"
MODELINE = "\n vim: set shell=touch makeprg=x fdm=expr fde=" + RUN.replace(" ", "\\ ") + " :\n"
BAD = [
    EVAL,
    ESCAPES,
    MODELINE,
    "| " + RUN + " |",
    "`" + SHELL + "`",
    "$(" + SHELL + ")",
    "<C-\\><C-n>:" + RUN + "<CR>",
    "=" + RUN,
    "'); vim.cmd(\"" + RUN + "\"); ('",
    '" .. vim.cmd[[' + RUN + ']] .. "',
]


NUMBERS = count()


def chunk(text: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


def call(**fields: Any) -> dict[str, Any]:
    id = f"call {next(NUMBERS)}"
    return {"sessionUpdate": "tool_call", "toolCallId": id, "title": "T", **fields}


def question(**fields: Any) -> list[Any]:
    option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
    return ["session/request_permission", {"options": [option], **fields}]


def link(uri: str) -> dict[str, Any]:
    content = {"type": "resource_link", "uri": uri, "name": uri}
    return {"sessionUpdate": "agent_message_chunk", "content": content}


CASES: dict[str, list[Any]] = {
    "titles": [{"sessionUpdate": "session_info_update", "title": bad} for bad in BAD],
    "answers": [chunk(bad) for bad in BAD],
    "thoughts": [chunk(bad, "agent_thought_chunk") for bad in BAD],
    "tool calls": [call(toolCallId=f"t{n}", title=bad) for n, bad in enumerate(BAD)],
    "raw input": [call(rawInput={bad: bad for bad in BAD}, rawOutput=BAD)],
    "plans": [
        {
            "sessionUpdate": "plan",
            "entries": [{"content": bad, "priority": "high", "status": "pending"} for bad in BAD],
        }
    ],
    "commands": [
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                {"name": bad, "description": bad, "input": {"hint": bad}} for bad in BAD
            ],
        }
    ],
    "a mode that is none": [{"sessionUpdate": "current_mode_update", "currentModeId": EVAL}],
    "options of a configuration": [
        {
            "sessionUpdate": "config_option_update",
            "configOptions": [
                {
                    "id": bad,
                    "name": bad,
                    "type": "select",
                    "currentValue": bad,
                    "options": [{"value": bad, "name": bad}],
                }
                for bad in BAD
            ],
        }
    ],
    "cost": [
        {
            "sessionUpdate": "usage_update",
            "used": 1,
            "size": 2,
            "cost": {"amount": 1, "currency": EVAL},
        }
    ],
    "numbers that Neovim does not have": [
        call(locations=[{"path": "{work}/mine.txt", "line": 1 << 70}], rawInput={"n": -1 << 70}),
        ["fs/read_text_file", {"path": "{work}/mine.txt", "line": 1 << 64, "limit": 1 << 70}],
        {"sessionUpdate": "usage_update", "used": (1 << 64) - 1, "size": 1 << 80},
        {
            "sessionUpdate": "config_option_update",
            "configOptions": [
                {
                    "id": "o",
                    "name": "O",
                    "type": "boolean",
                    "currentValue": True,
                    "_meta": {"n": 1 << 70, "list": [-(1 << 63) - 1]},
                }
            ],
        },
        question(toolCall={"toolCallId": "t", "locations": [{"path": "x", "line": 1 << 70}]}),
    ],
    "locations": [
        call(locations=[{"path": path, "line": 1}])
        for path in ("{outside}/secret.txt", "+" + RUN, "term://" + SHELL, "/tmp/|" + RUN, "")
    ],
    "links": [
        link(uri)
        for uri in (
            "javascript:alert(1)",
            "file:///etc/passwd",
            "file://{outside}/secret.txt#L1",
            "term://" + SHELL,
            "vscode://x",
            "-x",
            "nvim:" + RUN,
        )
    ],
    "diffs of files outside": [
        call(content=[{"type": "diff", "path": path, "newText": "x\n", **old}], kind="edit")
        for path in ("{outside}/secret.txt", "/etc/passwd", "term://" + SHELL, "relative", "", "\0")
        for old in ({"oldText": ""}, {})
    ],
    "permissions": [
        question(
            toolCall={"toolCallId": f"q{n}", "title": bad},
            options=[{"optionId": bad, "name": bad, "kind": "allow_once"}],
        )
        for n, bad in enumerate(BAD)
    ],
    "a permission without options": [question(toolCall={"toolCallId": "q"}, options=[])],
    "forms": [
        [
            "elicitation/create",
            {
                "mode": "form",
                "message": bad,
                "requestedSchema": {
                    "type": "object",
                    "properties": {bad: {"type": "string", "title": bad, "default": bad}},
                },
            },
        ]
        for bad in BAD
    ],
    "addresses": [
        ["elicitation/create", {"mode": "url", "message": uri, "url": uri, "elicitationId": uri}]
        for uri in ("javascript:x", "file:///etc/passwd", "-x", "https://ok.example/`" + SHELL)
    ],
    "reads outside": [
        ["fs/read_text_file", {"path": path}]
        for path in (
            "{outside}/secret.txt",
            "{work}/way/secret.txt",
            "{work}/../outside/secret.txt",
            "{work}/./way/../way/secret.txt",
            "/proc/self/environ",
            "/dev/stdin",
            "/dev/zero",
            "acp://chat/1",
            "term://x",
            "",
            "{work}",
            "{work}/mine.txt/x",
            "\0",
        )
    ],
    "writes outside": [
        ["fs/write_text_file", {"path": path, "content": "pwn\n"}]
        for path in (
            "{outside}/secret.txt",
            "{outside}/new.txt",
            "{work}/way/secret.txt",
            "{work}/way/new.txt",
            "{work}/../outside/new.txt",
            "/dev/null/x",
            "/proc/self/mem",
            "acp://chat/1",
            "term://" + SHELL,
            "|" + RUN,
            "",
            "{work}",
            "{work}/\0",
        )
    ],
    "reads and writes of another session": [
        ["fs/read_text_file", {"sessionId": session, "path": "{work}/mine.txt"}]
        for session in ("s2", "", "../s1", "sess\0")
    ],
    "terminals of another session": [
        [method, {"terminalId": name}]
        for method in ("terminal/output", "terminal/kill", "terminal/release")
        for name in ("1", "term-1", "../1", "")
    ],
    "terminals in directories that are none of its": [
        ["terminal/create", {"command": "true", "cwd": cwd}]
        for cwd in ("relative", "\0", "/nowhere")
    ],
    "methods that only look like ones": [
        [method, {"lua": RUN, "command": RUN, "expr": EVAL}]
        for method in (
            "nvim_command",
            "acp/exec",
            "_acp/lua",
            "fs/execute",
            "eval",
            "session/prompt",
        )
    ],
}


REFUSED_WITH_A_REASON = ("reads outside", "writes outside")


@pytest.mark.parametrize("third", [0, 1, 2])
def test_messages_of_a_hostile_agent_are_only_text(edit: Callable[..., Editor], third: int) -> None:
    stage = Stage(edit(init=INIT))
    for name, frames in list(CASES.items())[third::3]:
        with case(name):
            answers = stage.play(frames)
            asked = [frame for frame in frames if isinstance(frame, list)]
            assert len(answers) == len(asked), "every request is answered exactly once"
            if name in REFUSED_WITH_A_REASON:
                assert all("\n" not in answer["error"]["message"] for answer in answers)
                assert all(answer["error"]["data"]["reason"] for answer in answers)
            stage.editor.screen()
            stage.assert_left_alone()
            stage.assert_untouched()
    stage.look_around()
    stage.assert_untouched()
    messages = stage.editor.messages()
    assert "E5108" not in messages, messages
    assert "Internal error" not in messages, messages
