"""The tutor's words, in Markdown. Names in braces are filled in by the lessons."""

from __future__ import annotations

from typing import Final

KEYS: Final = """\
## Five keys to know

- **{prompt}**: write a prompt, {send} sends it; in the chat, `i` opens the composer too
- **{allow}** or **{deny}** on a question: allow or deny; {allow_anywhere} from anywhere
- **{cancel}** in the chat, {cancel_anywhere} anywhere: stop me
- **{next}** in a file that I changed: go to the next change; {accept} keeps it, {reject} undoes it
- **{help}** in any of these windows: all other keys
"""

THOUGHT_READ: Final = "I ask the editor for {name}, not the disk: it knows what is not saved yet."
THOUGHT_EDIT: Final = "First I read {name} as it is now, then I propose one change and ask."
THOUGHT_ANSWER: Final = "I have no model to think with, so I check whether I know about this."

UNSAVED: Final = """\
## What I see

In your editor, line {number} of `{name}` reads

```
{line}
```

and **that line is not saved**: the file on disk says something else. I asked the editor, and the \
editor knows.
"""

SAVED: Final = """\
## What I see

In your editor, line {number} of `{name}` reads

```
{line}
```

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

SHELL: Final = "I'm running this in a terminal of your editor. `<CR>` on its line opens it."

RAN: Final = """\
It ended with exit code {code}:

```
{output}
```
"""

BAD_COMMAND: Final = "I can't read that as a command: {why}."

NO_TERMINAL: Final = "This client offers no terminals to agents, so I can't run anything."

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
anywhere. \
Meanwhile your editor is all yours.
"""
SLOW_LINES: Final = (
    "Patience is a plugin for people.",
    "Somewhere a buffer is being saved.",
    "You could be typing in another window now.",
    "A chat that scrolls is not a chat that blocks.",
    "Stop me any time.",
)
SLOW_DONE: Final = "You let me finish. How polite!"

FORM: Final = "Tell me a little about yourself."
FORM_DONE: Final = "Thank you. You told me:\n\n{answers}"
FORM_DECLINED: Final = "No is a fine answer."
NO_FORMS: Final = "This client shows no forms to agents, so I can't ask you that way."

UNKNOWN: Final = "I don't know `{command}`."

HELP: Final = """\
## What I know

- `/tour`: start or resume the tour; `/skip` skips a step
- `/keys`: the five keys to know
- `/read [path]`: quote a file as your editor has it
- `/edit [path]`: propose a change, with a diff and a question
- `/check`: what is left to review in the sample
- `/plan`: a sample plan, carried out step by step
- `/slow [seconds]`: a long answer, to try cancelling
- `/shell [command]`: run a command in a terminal
- `/form`: ask you something with a form

Or ask me in plain words about: permissions, cancelling, reviewing, attaching files, sessions, \
modes, plans, the queue, other agents, the log.
"""

NO_MODEL: Final = """\
I have no model behind me, so I can't answer that. But I can show you around: `/help` lists what I \
know. For a real answer, choose a real agent with `:Acp agent`.
"""

# Plain words (a pattern) -> what to say; the first that fits.
TOPICS: Final = {
    r"\b(permission|allow|deny|ask)": """\
When an agent wants to do something, it asks: in the chat, and in a small window that does not \
take your cursor. On either, {allow} allows once, {deny} denies, and `1` to `9` choose an option \
by its number. From anywhere: {allow_anywhere}, `:Acp deny`, or all at once \
`:Acp permissions`. With the option `permission.rules`, some are answered for you.
""",
    r"\b(cancel|stop|interrupt)": """\
{cancel} in the chat or the composer, or {cancel_anywhere} anywhere. Open questions are \
cancelled, waiting prompts are kept. Try it with `/slow`.
""",
    r"\b(review|diff|hunk|accept|reject|undo)": """\
What an agent changed is in your buffer at once and stays *pending* until you decide. {next} goes \
to the next change, {accept} accepts and {reject} rejects the one under the cursor, `:Acp review` \
shows everything side by side, `:Acp accept all` ends it. `u` undoes the last change as a whole.
""",
    r"\b(attach|file|image|context|range)": """\
Select lines and use `:'<,'>AcpPrompt …` to send them along, write `@` in the composer to \
name a file, or `:Acp attach` before the prompt.
""",
    r"\b(queue|wait|busy)": """\
Send a prompt while I am busy and it waits in the queue. `:Acp queue` lets you edit what is \
waiting, `:AcpCancel!` drops it.
""",
    r"\b(session|history|new|title)": """\
`:AcpPrompt! …` or `:Acp new` starts another session, `:Acp sessions` picks among them. Each has a \
chat of its own; closing its window ends nothing.
""",
    r"\b(mode|option|model|pace)": """\
`:Acp mode` sets how much I may do: *Ask first*, *Trust*, *Explain only*. `:Acp option` lists \
all other settings of an agent; mine is how fast I talk.
""",
    r"\b(plan)": "An agent may show a plan: `:Acp plan` opens it in a window. Try `/plan`.",
    r"\b(agent|claude|gemini|codex|real)": """\
`:Acp agent` picks the agent for new sessions; the option `agents` adds your own: a name and the \
command that starts it. `:checkhealth acp` shows which of them are installed.
""",
    r"\b(log|debug|traffic|protocol)": """\
`:Acp log` shows every message between the editor and an agent, requests paired with their \
answers. `:Acp info` shows versions, capabilities and what went wrong.
""",
}
