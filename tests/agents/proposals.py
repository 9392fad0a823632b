"""Proposed edits: the agent asks first, then makes the edit in one of several ways."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents.agent import Agent, Frame
from tests.agents.files import report_outcome
from tests.agents.loop import scenario, update_of
from tests.agents.permissions import METHOD, question, report


def unescaped(text: str) -> str:
    """Return a word of a prompt with real newlines."""
    return text.replace("\\n", "\n")


def diff_of(path: str, old: str, new: str) -> Frame:
    """Return the diff of a tool call. `-` as OLD means null."""
    diff: Frame = {"type": "diff", "path": path, "newText": unescaped(new)}
    return {**diff, "oldText": None if old == "-" else unescaped(old)}


def changed(content: str, diffs: list[Frame]) -> str:
    """Return a file's content with the diffs applied."""
    for diff in diffs:
        old, new = diff["oldText"], diff["newText"]
        content = content.replace(old, new, 1) if old else new
    return content


@scenario
def propose(agent: Agent, how: str, path: str, *words: str) -> None:
    """Ask for the diffs OLD NEW … of PATH, and make them if allowed.

    HOW: `fs`, `more` (fs, with one more line at the end), `disk`, `disk_more`, `both` (fs, then
    disk), `twice` (fs, and again with one more line at the start, without reading), `none`.
    """
    pairs = zip(words[::2], words[1::2], strict=True)
    diffs = [diff_of(path, old, new) for old, new in pairs]
    agent.update(update_of("tool_call", toolCallId="e1", title=f"Edit {path}", kind="edit"))
    call = question("e1", title=f"Edit {path}", kind="edit", content=diffs)
    if report(agent, "e1", agent.ask(METHOD, call)) in ("allow", "always"):
        make(agent, how, path, diffs)
    agent.update(update_of("tool_call_update", toolCallId="e1", status="completed"))


def make(agent: Agent, how: str, path: str, diffs: list[Frame]) -> None:
    """Make the edits that were allowed."""
    file = Path(path)
    if how.startswith("disk"):
        more = "more\n" * (how == "disk_more")
        file.write_text(changed(file.read_text(), diffs) + more)
    elif how != "none":
        response = agent.ask("fs/read_text_file", {"path": path})
        content = changed(response.get("result", {}).get("content", ""), diffs)
        write(agent, path, content + "more\n" * (how == "more"))
        if how == "both":
            file.write_text(content)
        elif how == "twice":
            write(agent, path, "again\n" + content)


def write(agent: Agent, path: str, content: str) -> None:
    """Write once through the editor."""
    report_outcome(
        agent, f"write {path}", agent.ask("fs/write_text_file", {"path": path, "content": content})
    )


@scenario
def propose_two(agent: Agent, first: str, second: str, old: str, new: str) -> None:
    """Ask for the same edit of two files at once, and make those that are allowed."""
    paths = {"e1": first, "e2": second}
    diffs = {id: [diff_of(path, old, new)] for id, path in paths.items()}
    asked = {
        id: agent.request(METHOD, question(id, kind="edit", content=diffs[id])) for id in paths
    }
    for id, path in paths.items():
        if report(agent, id, agent.answer(asked[id])) == "allow":
            make(agent, "fs", path, diffs[id])


@scenario
def propose_patch(agent: Agent, how: str, asked: str) -> None:
    """Ask with a tool call of the fields `call`, such as a patch as `rawInput`.

    If allowed, write the `texts` to their paths. HOW: `fs` or `disk`.
    """
    given = json.loads(asked)
    call = question("e1", **{"title": "Edit", "kind": "edit", **given["call"]})
    if report(agent, "e1", agent.ask(METHOD, call)) == "allow":
        for path, text in given["texts"].items():
            if how == "disk":
                Path(path).write_text(text)
            else:
                write(agent, path, text)
    agent.update(update_of("tool_call_update", toolCallId="e1", status="completed"))
