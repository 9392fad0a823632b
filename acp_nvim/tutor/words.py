"""Texts of the lessons, in Markdown. Names in braces are keys, or fields that the lessons fill."""

from __future__ import annotations

from typing import Final

THOUGHT_READ: Final = "I ask the editor for {name}, not the disk: it knows what is not saved yet."
THOUGHT_EDIT: Final = "First I read {name} as it is now, then I propose one change and ask."

_LINE: Final = """\
In your editor, line {number} of `{name}` reads

```
{line}
```
"""
UNSAVED: Final = f"""\
{_LINE}
and **that line is not saved**: the file on disk says something else. I asked the editor, and the \
editor knows.
"""

SAVED: Final = f"""\
{_LINE}
The file on disk says the same. Change a line *without saving* and send `/read`: I will quote \
your unsaved line.
"""

UNREADABLE: Final = "I could not read `{name}`: {why}."

NO_FILE: Final = """\
There is no file for me to read. Select some lines and send `:'<,'>AcpPrompt /read`, or name \
one: `/read path/to/file`.
"""

ASKING: Final = """\
Look at the diff. Nothing changes until you answer: {allow} or {deny} on the question, or \
{allow_anywhere} from anywhere.
"""

WRITTEN: Final = """\
Done: `{name}` has changed in your editor, as **one** undo step. `u` undoes it, {next} jumps to \
it, `:Acp review` shows old and new side by side.
"""

UNCHANGED: Final = "Nothing was changed."

EXPLAIN_ONLY: Final = """\
The mode of this session is *Explain only*, so I change and run nothing. `:Acp mode ask` lets me \
ask again.
"""

NOTHING_TO_EDIT: Final = "I see nothing to change in `{name}`."

PLAN_INTRO: Final = "`:Acp plan` shows my plan in a window of its own. Here I go:"
PLAN: Final = (
    "Look at what is there",
    "Think about what is missing",
    "Do the smallest thing that helps",
    "Check that it helped",
)
PLAN_DONE: Final = "All done. An agent may change its plan as it works; the window keeps up."

SLOW: Final = """\
I will talk for {seconds} seconds. Stop me with {cancel} in the chat or {cancel_anywhere} \
anywhere. Meanwhile your editor is all yours.
"""
CHATTER: Final = (
    "Patience is a plugin for people.",
    "Somewhere a buffer is being saved.",
    "You could be typing in another window now.",
    "A chat that scrolls is not a chat that blocks.",
    "Stop me any time.",
)
SLOW_DONE: Final = "You let me finish. How polite!"

UNKNOWN: Final = "I don't know `{command}`."

HELP: Final = """\
## What I know

- `/tour`: start or resume the tour; `/skip` skips a step
- `/read [path]`: quote a file as your editor has it
- `/edit [path]`: propose a change, with a diff and a question
- `/plan`: a sample plan, carried out step by step
- `/slow [seconds]`: a long answer, to try cancelling

## Five keys to know

- **{prompt}**: write a prompt, {send} sends it; in the chat, `i` opens the composer too
- **{allow}** or **{deny}** on a question: allow or deny; {allow_anywhere} from anywhere
- **{cancel}** in the chat, {cancel_anywhere} anywhere: stop me
- **{next}** in a file that I changed: go to the next change; {accept} keeps it, {reject} undoes it
- **{help}** in any of these windows: all other keys
"""

NO_MODEL: Final = """\
I have no model behind me, so I can't answer that. But I can show you around: `/help` lists what I \
know. For a real answer, choose a real agent with `:Acp agent`.
"""
