"""The words of the tour, in Markdown: one step each, short enough for a chat of 32 columns and 12
lines. Names in braces are the user's keys.
"""

from __future__ import annotations

from typing import Final

WELCOME: Final = """\
I'm the **tutor**, a small agent without a model. This tour takes three minutes, one step at a \
time. `/skip` skips a step; `/tour` resumes it.
"""
BACK: Final = "Welcome back. You were here:"

TALK: Final = "Open the composer with {prompt}, write anything, and send it with {send}."

READ: Final = """\
That was a prompt. I have read `{name}` as it is in your editor, unsaved changes included.

The last item in the basket is never paid for. Send anything, and I'll propose a fix.
"""

ALLOW: Final = """\
My question is below. On it, {allow} allows and {deny} denies. From anywhere: {allow_anywhere}.

To change the text before you allow it: {amend}.
"""
REFUSED: Final = "{why} Nothing was changed. Send anything to be asked again, or `/skip`."
AMENDED: Final = "You changed my text before you allowed it, so yours was written."
NO_MODE: Final = "In this mode I change nothing. `:Acp mode ask` lets me ask; then send anything."
FIXED: Final = "`{name}` is fixed already, so there is nothing to ask and nothing to review."

REVIEW: Final = """\
Both changes are in the file already, waiting for your review. Go to `{name}`:

- {next}, then {accept}: keep the fix
- Next, waves that nobody asked for. Undo them: {reject}
"""

UNDO: Final = """\
The dashes are back, in the file as well.

Rejected too much? `:Acp unreject` brings the last one back. Try it.
"""

FOLLOW: Final = """\
There they are again. Press {reject} on them whenever you like.

Now let a window follow me. In the window of `{name}`: {follow}. Then send anything.
"""
FOLLOWED: Final = "I looked at two files, and the window followed. {follow} stops it."

STOP: Final = "Now I talk too much. Stop me: {cancel} in the chat, {cancel_anywhere} anywhere."

QUEUE: Final = """\
Stopped. One last thing: send something, and I'll be busy for a while. Send another prompt \
meanwhile: it waits in the queue.
"""
BUSY: Final = "I'm busy. Send another prompt now; `:Acp queue` shows it waiting."
WAITED: Final = "Your prompt waited its turn."

END: Final = """\
## That's the tour

{help} lists the keys of each of these windows, `:Acp` lists everything else. `/check` says what \
is left to review.

Part two covers plans, terminals, modes, comments, language servers, blame, checkpoints, rewind, \
sessions, history, and coming back: `/tour 2`. For a real agent: `:Acp agent`.
"""

PLAN: Final = """\
An agent may share its plan, as I just did. `:Acp plan` shows and hides it. Then send anything.
"""
PLAN_STEPS: Final = ("Show a plan", "Run a program", "Change a type", "Look back")

RUN: Final = """\
I want to run the sample. Allow it ({allow}): it runs in a terminal of your editor.
"""
RAN: Final = "`<CR>` on its line in the chat opens the terminal, `q` closes it. Then send anything."
NO_TERMINAL: Final = "This client runs no commands for agents. Send anything to continue."

MODES: Final = """\
Tired of questions? `:Acp mode` sets how much I may do. Choose *Trust*, and I stop asking.
"""

COMMENT: Final = """\
Trusted, I changed `{name}` without asking; you still review it. Don't like it? {next} goes there, \
then use `:Acp comment` to say why. It goes with your next prompt: send one.
"""
COMMENT_DONE: Final = "There is nothing left to change in `{name}`. Send anything to continue."

MISSPELL: Final = """\
Got it. Now misspell a name in `{name}`, as `amout` for `amount`. Don't save. Then send anything: \
I ask your editor what its language server says.
"""
MISTAKE: Final = """\
It told me, although nothing is saved: {said}.

`u` in the file takes your mistake back.
"""
NO_MISTAKE: Final = "Nothing is wrong in `{name}`. Misspell a name and send anything, or `/skip`."
RENAME: Final = """\
Your editor can work for me, too: its language server renames `{names}`, wherever that \
is used. Allow it ({allow}).
"""
HAS_RENAMED: Final = "Every place is a hunk of `{name}`, for you to review. Then send anything."
NO_TOOLS: Final = "I cannot ask your editor: {why}."
TOOL_FAILED: Final = "Your editor says: {why}."

BLAME: Final = """\
Whose line is it? On a line of `{name}` that I changed: `:Acp blame`. `<CR>` there opens the \
prompt that I wrote it for. Then send anything.
"""
BLAME_OFF: Final = """\
With the option `blame = true`, `:Acp blame` says which prompt wrote the line under your cursor. \
You have it off. Send anything to continue.
"""

CHECKPOINTS: Final = """\
`:Acp checkpoints` lists the files before each prompt: `<CR>` shows what changed since, \
`r` brings them back, `u` undoes that. Then send anything.
"""

REWIND: Final = """\
Oh dear: now the honey costs ten times as much. `:Acp rewind` takes files and conversation \
back to before a prompt: choose the newest. Then send what you like.
"""
NO_REWIND: Final = """\
`:Acp rewind` takes files and conversation back to before a prompt. Try it, or send anything.
"""
REWOUND: Final = """\
The honey has its old price, and I forgot what we said since. `:Acp restore` would undo that.
"""

SESSIONS: Final = """\
`:Acp new` opens another session, `:Acp sessions` switches between them. Come back here and send \
anything.
"""

HISTORY: Final = """\
Everything we said is kept. `:Acp history honey` finds it: choose a session, then *open*. Come \
back here and send anything.
"""

LEAVE: Final = """\
I added a line to `{name}`. Decide nothing: leave with `:qa!`, start Neovim again the same way, \
and type `:Acp tutor`.
"""
RETURNED: Final = """\
You are back, and my line in `{name}` is still waiting. {next} goes there; {accept} keeps it, \
{reject} undoes it. Our conversation is in `:Acp history`. Then send anything.
"""
STAYED: Final = "You stayed. My line would wait for you after `:qa!`, too."

END_TWO: Final = """\
## That was part two

`:Acp mode ask` makes me ask again. `:help acp` covers the rest; `:Acp agent` picks a real agent.
"""

NO_SAMPLE: Final = """\
# Welcome!

I'm the **tutor**, a small agent without a model. My tour needs its sample project: `:Acp tutor` \
opens a copy of it in a tab page of its own.

I never touch your files unasked. `/edit` shows how I ask, `/help` lists the rest.
"""

NOT_THE_SAMPLE: Final = "I can only check the sample, `till.py`: `:Acp tutor` opens it."
REPAIR: Final = {
    True: "charges for the whole basket",
    False: "still gives the honey away: `/edit`, and I propose the fix",
}
WAVES: Final = {
    True: "the waves are still there: {next} goes to them, {reject} undoes them.",
    False: "the dashes are back: well reviewed!",
}
