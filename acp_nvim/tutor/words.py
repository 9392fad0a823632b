"""The tutor's words, in Markdown. Names in braces are filled in by the lessons."""

from __future__ import annotations

from typing import Final

WELCOME: Final = """\
# Welcome!

I am the **tutor**: a small agent that comes with the plugin. There is no model behind me and no \
network, but everything I do is real: I read, ask, change files and run commands by the same \
protocol as any other agent. So what you learn here holds for all of them.
"""

KEYS: Final = """\
## Five keys to know

- **`i`** in the chat: write a prompt, `<C-s>` sends it
- **`y`** or **`n`** on a question: yes or no (`Y`, `N`: always)
- **`<C-c>`** in the chat: stop me
- **`]h`** in a file I changed: to the next change
- **`g?`** in any of these windows: all other keys

From any other window: `:AcpPrompt …`, `:Acp allow`, `:Acp deny`, `:AcpCancel`. And in a file that \
I changed, `u` takes the whole change back.
"""

STEP_KEYS: Final = "Show the five keys to know"
STEP_READ: Final = "Read {name} as it is in the editor"
STEP_EDIT: Final = "Propose a change and ask before making it"
STEP_RUN: Final = "Run a command in a terminal"

THOUGHT: Final = (
    "Somebody is here for the first time. First the keys, then one of everything: reading, a "
    "question, a change, a command. Not too many words."
)
THOUGHT_READ: Final = "I ask the editor for {name}, not the disk: it knows what is not saved yet."
THOUGHT_EDIT: Final = "First read {name} as it is now, then propose one change, then ask."
THOUGHT_ANSWER: Final = "I have no model to think with, so I look whether I know something of this."

UNSAVED: Final = """\
## What I see

In your editor line {number} of `{name}` reads

```
{line}
```

and **that line is not saved**: the file on disk has another text. I asked the editor, and the \
editor knows.
"""

SAVED: Final = """\
## What I see

In your editor line {number} of `{name}` reads

```
{line}
```

The file on disk says the same. Change a line *without saving* and send `/read`: I will quote \
your unsaved line.
"""

UNREADABLE: Final = "I could not read `{name}`: {why}."

NO_FILE: Final = """\
There is no file for me to look at. Select some lines and send `:'<,'>AcpPrompt /read`, or name \
one: `/read path/to/file`.
"""

ASKING: Final = """\
Have a look at the diff. Nothing is changed before you answer: `y` or `n` on the question, or \
`:Acp allow` / `:Acp deny` from anywhere.
"""

WRITTEN: Final = """\
Done: `{name}` is changed in your editor, as **one** undo step. `u` takes it back, `]h` jumps to \
it, `:Acp review` shows old and new side by side.
"""

REVIEW: Final = """\
## Now you decide

There are two changes, and both wait for your word; the text is there already. In `{name}`:

1. `]h` goes to the first, the repair. Keep it: `<localleader>a`.
2. The cursor is on the second then, the waves. Away with them: `<localleader>r`.

`:Acp review` shows both side by side, `:Acp unreject` takes the last rejection back. When you are \
done send `/check`, and I look at what you made of it.
"""

CHECKED: Final = "`{name}` {repair}, and {waves}"
REPAIR: Final = {True: "charges for the whole basket", False: "still gives the honey away"}
BESIDES: Final = {True: "the waves are still there.", False: "the dashes are back: well reviewed!"}
NOT_THE_SAMPLE: Final = "I can only check the sample, `till.py`."

UNCHANGED: Final = "Nothing was changed."

EDIT_LATER: Final = """\
I don't touch a file of your own unasked. Send `/edit` (with a path, if you like) to see how I \
propose a change and ask for it.
"""

EXPLAIN_ONLY: Final = """\
The mode of this session is *Explain only*, so I change nothing and run nothing. `:Acp mode ask` \
lets me ask again.
"""

NOTHING_TO_EDIT: Final = "I know of nothing that I would change in `{name}`."

RUNNING: Final = "Now a command. It runs in a terminal of your editor; `<CR>` on its line opens it."

SHELL: Final = "I run this in a terminal of your editor; `<CR>` on its line opens it."

RAN: Final = """\
It ended with exit code {code}:

```
{output}
```
"""

BAD_COMMAND: Final = "I can't read that as a command: {why}."

NO_TERMINAL: Final = "This client offers no terminals to agents, so I can't run anything."

GOODBYE: Final = """\
## That was all of it

Try next: `/slow` and then `<C-c>` · `/edit` once more · `/plan` · `/help`. When you want a real \
agent: `:Acp agent` lists those that are set up.
"""

PLAN_INTRO: Final = "`:Acp plan` shows my plan in a window of its own. I work it off now:"
PLAN: Final = (
    "Look at what is there",
    "Think about what is missing",
    "Do the smallest thing that helps",
    "Check that it helped",
)
PLAN_DONE: Final = "All done. An agent may change its plan on the way; the window follows."

SLOW: Final = """\
I will talk for {seconds} seconds. Stop me with `<C-c>` in the chat or `:AcpCancel` anywhere. \
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

- `/tour` the whole walk once more
- `/keys` the five keys to know
- `/read [path]` quote a file as your editor has it
- `/edit [path]` propose a change, with a diff and a question
- `/check` look at what you made of my changes in the sample
- `/plan` a plan, worked off
- `/slow [seconds]` a long answer, for trying a cancel
- `/shell [command]` run a command in a terminal
- `/form` ask you something with a form

Or ask me in plain words about: permissions, cancelling, reviewing, attaching files, sessions, \
modes, plans, the queue, other agents, the log.
"""

NO_MODEL: Final = """\
I have no model behind me, so I can't answer that. But I can show you around: `/help` lists what I \
know. For a real answer choose a real agent with `:Acp agent`.
"""

# Plain words (a pattern) -> what to say; the first that fits.
TOPICS: Final = {
    r"\b(permission|allow|deny|ask)": """\
When an agent wants to do something it asks: a card in the chat, and a small window that does not \
take your cursor. On either, `y` allows once, `Y` always, `n` rejects, `N` always, and `1` to `9` \
choose an option by its place. From anywhere: `:Acp allow`, `:Acp deny`, or all at once \
`:Acp permissions`. With the option `permission.rules` some questions answer themselves.
""",
    r"\b(cancel|stop|interrupt)": """\
`<C-c>` in the chat or the composer, or `:AcpCancel` anywhere. Open questions are answered as \
cancelled, prompts that wait are kept. Try it with `/slow`.
""",
    r"\b(review|diff|hunk|accept|reject|undo)": """\
What an agent changed is in your buffer at once and stays *pending* until you decide. `]h` and \
`[h` jump between changes, `<localleader>a` accepts and `<localleader>r` rejects the one under \
the cursor, `:Acp review` shows everything side by side, `:Acp accept all` ends it. `u` undoes \
the last change as a whole.
""",
    r"\b(attach|file|image|context|range)": """\
Select lines and use `:'<,'>AcpPrompt …` to send them along, write `@` and `<C-x><C-o>` in the \
composer to name a file, or `:Acp attach {file}` before the prompt.
""",
    r"\b(queue|wait|busy)": """\
Send a prompt while I am busy and it waits in the queue. `:Acp queue` lets you edit what waits, \
`:AcpCancel!` drops it.
""",
    r"\b(session|history|new|title)": """\
`:AcpPrompt! …` or `:Acp new` starts another session, `:Acp sessions` picks among them. Each has a \
chat of its own; closing its window ends nothing.
""",
    r"\b(mode|option|model|pace)": """\
`:Acp mode` chooses how much I may do: *Ask first*, *Trust*, *Explain only*. `:Acp option` lists \
all other settings of an agent; mine is the pace at which I speak.
""",
    r"\b(plan)": "An agent may show a plan: `:Acp plan` opens it in a window. Try `/plan`.",
    r"\b(agent|claude|gemini|codex|real)": """\
`:Acp agent` picks the agent for new sessions; the option `agents` adds your own: a name and the \
command that starts it. `:checkhealth acp` tells which of them are installed.
""",
    r"\b(log|debug|traffic|protocol)": """\
`:Acp log` shows every message between the editor and an agent, requests paired with their \
answers. `:Acp info` shows versions, capabilities and what an agent did wrong.
""",
}
