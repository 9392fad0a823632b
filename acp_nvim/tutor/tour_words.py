"""Texts of the tour, in Markdown. Each step fits a chat of 32 columns and 12 lines."""

from __future__ import annotations

from typing import Final

WELCOME: Final = """\
I'm the **tutor**, a small agent without a model. This tour takes three minutes, one step at a \
time. `/skip` skips a step; `/tour` resumes it.
"""
BACK: Final = "Welcome back. You were here:"
NOT_YET: Final = "Not done yet; `/skip` skips this step."

TALK: Final = "Open the composer with {prompt}, write anything, and send it with {send}."

READ: Final = """\
That was a prompt. I have read `{name}` as it is in your editor, unsaved changes included.

The last item in the basket is never paid for. Send anything, and I'll propose a fix.
"""

ALLOW: Final = """\
My question is below. On it, {allow} allows and {deny} denies. From anywhere: {allow_anywhere}.

To change the text before you allow it: `:Acp review`.
"""
REFUSED: Final = "{why} Nothing was changed. Send anything to be asked again, or `/skip`."
AMENDED: Final = "You changed my text before you allowed it, so yours was written."
NO_MODE: Final = "In this mode I change nothing. `:Acp mode ask` lets me ask; then send anything."
FIXED: Final = "`{name}` is already fixed, so there is nothing to ask and nothing to review."

REVIEW: Final = """\
Both changes are in the file already, waiting for your review. Go to `{name}`:

- {next}, then {accept}: keep the fix
- Next, waves that nobody asked for. Undo them: {reject}

Then send anything.
"""

UNDO: Final = """\
The dashes are back, in the file as well.

Rejected too much? `:Acp unreject` brings the last one back. Try it, then send anything.
"""

FOLLOW: Final = """\
Now let a window follow me. In the window of `{name}`: {follow}. Then send anything.
"""
FOLLOWED: Final = "I looked at two files; a window that follows has shown them. {follow} stops it."

STOP: Final = "Now I'll talk too much. Stop me: {cancel} in the chat, {cancel_anywhere} anywhere."

QUEUE: Final = """\
Stopped. Now send something, and I'll be busy for a while. Send another prompt meanwhile: it \
waits in the queue.
"""
BUSY: Final = "I'm busy. Send another prompt now; `:Acp queue` shows it waiting."
WAITED: Final = "Your prompt waited its turn."

CHECKPOINTS: Final = """\
`:Acp checkpoints` lists the files before each prompt: `<CR>` shows what changed since, `r` \
brings them back, `u` undoes that. `:Acp rewind` takes the conversation back, too.

Then send anything.
"""

SESSIONS: Final = """\
`:Acp new` opens another session, `:Acp sessions` switches between them, and `:Acp history` \
searches all of them. Come back here and send anything.
"""

END: Final = """\
## That's the tour

{help} lists the keys of each of these windows, `:Acp` lists everything else. `:Acp review` shows \
the edits that are still pending.

For a real agent: `:Acp agent`.
"""

NO_SAMPLE: Final = """\
# Welcome!

I'm the **tutor**, a small agent without a model. My tour needs its sample project: `:Acp tutor` \
opens a copy of it in a tab page of its own.

I never touch your files unasked. `/edit` shows how I ask, `/help` lists the rest.
"""
