"""Model of `unsent.py`: prompts that the user has written and no agent has got yet."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Waiting:
    """A prompt in a queue."""

    text: str
    free: bool = False
    """Whether it is sent although the others are on hold."""


@dataclass
class Talk:
    """One session with its composer."""

    draft: str = ""
    queue: list[Waiting] = field(default_factory=list)
    held: bool = False
    running: str = ""

    @property
    def texts(self) -> list[str]:
        return [one.text for one in self.queue]

    def send(self, text: str) -> None:
        """Send a prompt. One that is written after a cancel overtakes those on hold."""
        self.held = self.held and bool(self.queue)
        self.queue.append(Waiting(text, self.held))
        self._go()

    def _go(self) -> None:
        moving = [one for one in self.queue if one.free or not self.held]
        if not self.running and moving:
            self.queue.remove(moving[0])
            self.running = moving[0].text

    def end(self) -> None:
        """End the turn."""
        self.running = ""
        self._go()

    def cancel(self) -> None:
        """Cancel the turn and put the queue on hold."""
        self.held = True
        for one in self.queue:
            one.free = False
        self.running = ""

    def release(self) -> None:
        """Run `:Acp queue run`."""
        self.held = False
        self._go()

    def edit(self, texts: list[str]) -> None:
        """Write the queue window. New prompts in it do not overtake others."""
        known = {one.text: one for one in self.queue}
        self.queue = [known.get(text) or Waiting(text) for text in texts]

    def host_killed(self) -> None:
        """Put the running prompt and the queue in front of the draft."""
        parts = [self.running, *self.texts, self.draft]
        self.draft = "\n".join(part for part in parts if part)
        self.running, self.queue, self.held = "", [], False


@dataclass
class Words:
    """All prompts that one Neovim has."""

    talks: dict[int, Talk] = field(default_factory=lambda: {1: Talk()})
    earlier: list[str] = field(default_factory=list)
    """Drafts that are among the earlier prompts."""
    current: int = 1

    @property
    def drafts(self) -> dict[int, str]:
        """Return the drafts in the composers."""
        return {n: talk.draft for n, talk in self.talks.items() if talk.draft}

    @property
    def queue(self) -> list[str]:
        """Return the queued prompts, session by session."""
        return [text for _, talk in sorted(self.talks.items()) for text in talk.texts]

    def all(self) -> list[str]:
        """Return each prompt, line by line."""
        texts = [*self.drafts.values(), *self.queue, *self.earlier]
        return [line for text in texts for line in text.split("\n")]

    def reborn(self) -> Words:
        """Return the model of the next Neovim: one draft in the composer, the others among the
        earlier prompts, and the queue on hold.
        """
        drafts = sorted(self.drafts.items(), key=lambda one: (one[0] != self.current, one[0]))
        texts = [text for _, text in drafts]
        queue = [Waiting(text) for text in self.queue]
        first = Talk(texts[0] if texts else "", queue, held=bool(queue))
        return Words({1: first}, [*texts[1:], *self.earlier])
