"""Real shells run command lines that a rule `allow` permits, and may start only the named programs.

The programs must get the words that were judged, and only files that the lines name may be written.
`python -m tests.torture.fuzz_rules SEED COUNT` runs COUNT lines in each shell of this machine.

Half of the lines are random ones of the grammar. The others are damaged at random, mostly with
characters that have a meaning for a shell. Permitted lines run in batches: in one process of each
shell, with `eval`, and with functions that record their words in place of the named programs. All
other program names are found in a PATH of recording stubs. Some lines of each batch run once more
as `sh -c`, with stubs only.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from acp_nvim.session.questions.requests import Command
from acp_nvim.session.questions.rules import Case, Rule, decide, plain_line

T = TypeVar("T")

SHELLS: Final = [shell for shell in ("sh", "dash", "bash", "zsh") if shutil.which(shell)]
RECORDED: Final = ("make", "git", "ls", "find")
"""The programs that the rules name. A batch defines them as functions."""
RULES: Final = [
    Rule("allow", command=["make", "make *", "git log *", "ls *", "find *"]),
    Rule("allow", command=["echo *", "printf *", "test *", "true", "sh -c make"]),
    Rule("allow", kind="edit", path="out/*"),
]
BUILTINS: Final = ("echo", "printf", "test", "true")
STUBS: Final = (
    *(*RECORDED, "pwn", "rm", "x", "sh", "bash", "eval", "env", "cat", "more"),
    *("a", "b", "1", "2", "e", "log", "out"),
)
_HARM: Final[list[str]] = [
    *"'\"\\$`#&|;<>(){}[]*?!~=^%@:,+-\t\n\r\0\x01 \u00a0\u2028é1x/.",
    *("&&", "||", "|&", "&>", ">&", "<<", "<<<", ">|", ">!", "$'", '$"', "''", "\\\n", "$(pwn)"),
    *("`pwn`", "${x}", "<(pwn)", ">(pwn)", "{pwn,}", "=pwn", "~pwn", ";pwn", "\npwn\n", "&pwn"),
    *("|pwn", "pwn;", "2>&1", "2>", "1>>", "%1", "(e:pwn:)", "x=1 ", "if ", "time ", "! ", "\\'"),
]
_TEXT: Final = "abxyz019_./,:@%+=-"
_QUOTED: Final = " $`\\;&|<>(){}[]*?!~#^\"'%n=é\u00ad…ß" + _TEXT
_RECORD: Final = "\x01"
_POOL: Final = 20_000
_BATCH: Final = 2000
_ALONE: Final = 4
"""Number of lines of a batch that each shell runs as `sh -c`."""


@dataclass(frozen=True)
class Wanted:
    """A line with its permitted effects: commands with their words, and files."""

    line: str
    started: list[tuple[str, ...]]
    writes: list[str]
    all_run: bool
    """Whether each of the commands must run."""


def wanted(line: str) -> Wanted:
    """Return the effects that the rules see in a line."""
    read = plain_line(Command(line))
    assert read is not None, line
    writes = [path for command in read.commands for path in command.writes]
    return Wanted(
        line,
        [command.words for command in read.commands if command.words[0] in RECORDED],
        writes,
        not writes and all(join == ";" for join in read.joins),
    )


class Fault(AssertionError):
    """A line had an effect that the rule does not allow."""


def passes(line: str) -> bool:
    """Return whether the rules allow this line."""
    command = Command(line)
    if plain_line(command) is None:  # faster than the checks that explain a refusal
        return False
    return decide(RULES, Case("execute", commands=[command], cwd="/w", roots=["/w"])) == "allow"


# -- lines ----------------------------------------------------------------------------------------


class Lines:
    """An endless iterator of permitted lines."""

    def __init__(self, rng: random.Random) -> None:
        """Make words and redirects in advance, which halves the time."""
        self._rng = rng
        self._words = [_word(rng) for _ in range(_POOL)]
        self._redirects = [_redirect(rng) for _ in range(_POOL // 10)]
        programs = ("make", "make", "git log", "ls", "find", *BUILTINS)
        self._programs = [program + blank for program in programs for blank in (" ", " ", "  ")]
        self._joins = [
            before + join + after
            for join in (";", ";", "&&", "&&", "||", "|")
            for before in ("", " ")
            for after in ("", " ")
        ]

    def __next__(self) -> str:
        while True:
            line = self._line()
            for _ in range(self._any((0, 0, 1, 1, 1, 2, 3))):
                line = self._harmed(line)
            if passes(line):
                return line

    def _any(self, choice: Sequence[T]) -> T:
        return choice[int(self._rng.random() * len(choice))]

    def _harmed(self, line: str) -> str:
        at = int(self._rng.random() * (len(line) + 1))
        kind = self._rng.random()
        if kind < 0.6:
            return line[:at] + self._any(_HARM) + line[at:]
        if kind < 0.8:
            return line[:at] + line[at + 1 :]
        to = int(self._rng.random() * (len(line) + 1))
        first, last = min(at, to), max(at, to)
        return line[:first] + line[last:] + line[first:last]

    def _line(self) -> str:
        line = self._command()
        while self._rng.random() < 0.3:
            line += self._any(self._joins) + self._command()
        return line

    def _command(self) -> str:
        words = [
            self._any(self._redirects if self._rng.random() < 0.12 else self._words)
            for _ in range(self._any((0, 1, 2, 3)))
        ]
        return self._any(self._programs) + self._any((" ", " ", "  ")).join(words)


def _redirect(rng: random.Random) -> str:
    known = ("2>&1", ">/dev/null", "2>/dev/null", ">&2", "2> /dev/null")
    name = "".join(rng.choices(_TEXT.replace("/", ""), k=rng.randrange(1, 4)))
    files: tuple[str, ...] = (f"out/{name}", f"'out/{name}'", f'out/"{name}"')
    file, way = rng.choice(files), rng.choice((">", ">>", "2>", "> "))
    return rng.choice(known) if rng.random() < 0.5 else way + file


def _word(rng: random.Random) -> str:
    found = ""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind = rng.random()
        bare = "".join(rng.choices(_TEXT, k=rng.randrange(1, 5)))
        quoted = "".join(rng.choices(_QUOTED, k=rng.randrange(6)))
        if kind < 0.5:
            found += bare
        elif kind < 0.75:
            found += "'" + quoted.replace("'", "") + "'"
        else:
            found += '"' + re.sub(r'["$`\\!]', "", quoted) + '"'
    return found


# -- shells ---------------------------------------------------------------------------------------


@dataclass
class Sandbox:
    """A directory in which lines run, with a PATH that has only stubs."""

    home: Path
    figures: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.work = self.home / "work"
        self.stubs = self.home / "stubs"
        self.log = self.home / "started"
        self.records = self.home / "records"
        (self.work / "out").mkdir(parents=True)
        self.stubs.mkdir()
        for name in STUBS:
            stub = self.stubs / name
            record = f"printf '%s\\000' {name} \"$@\" '{_RECORD}' >> '{self.log}'"
            stub.write_text(f"#!/bin/sh\n{record}\n")
            stub.chmod(0o755)
        self.env = {"PATH": str(self.stubs), "LC_ALL": "C.UTF-8", "HOME": str(self.home / "none")}

    def check(self, lines: Sequence[str]) -> None:
        """Run lines in every shell. Raise Fault for one with an effect that is not allowed."""
        batch = [wanted(line) for line in lines]
        for shell in SHELLS:
            if self._run(shell, batch) is not None:
                for one in batch:
                    problem = self._run(shell, [one])
                    if problem is not None:
                        raise Fault(f"{shell}: {one.line!r}: {problem}")
                raise Fault(f"{shell}: together these lines do more than one by one: {lines!r}")
            for one in batch[:: max(1, len(batch) // _ALONE)]:
                self._run_alone(shell, one)
            self.figures[shell] += len(batch)

    def _script(self, batch: Sequence[Wanted]) -> str:
        functions = [
            f"{name}() {{ printf '%s\\000' \"$n\" {name} \"$@\" '{_RECORD}' >&9; }}"
            for name in RECORDED
        ]
        evals = [
            f"n={n}; eval {quoted}"
            for n, one in enumerate(batch)
            for quoted in ["'" + one.line.replace("'", "'\\''") + "'"]
        ]
        return "\n".join([f"exec 9>'{self.records}'", *functions, *evals, "printf end >&9\n"])

    def _run(self, shell: str, batch: Sequence[Wanted]) -> str | None:
        """Run lines in one shell and return its fault, or None."""
        script = self.home / "script"
        script.write_text(self._script(batch), encoding="utf-8")
        self.log.unlink(missing_ok=True)
        done = self._shell(shell, str(script))
        output = self.records.read_bytes().decode("utf-8", "replace")
        extra = self._files(batch)
        if not output.endswith("end"):
            return f"the shell ended: {done.stderr[-300:]!r}"
        if self.log.exists():
            return f"started {self.log.read_text()!r}"
        return self._started(batch, output.removesuffix("end")) or extra or _errors(done)

    def _shell(self, shell: str, *argv: str) -> subprocess.CompletedProcess[str]:
        program = shutil.which(shell)
        assert program is not None
        flags = ["-f"] if shell == "zsh" else []
        return subprocess.run(
            [program, *flags, *argv],
            cwd=self.work,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=300,
        )

    def _started(self, batch: Sequence[Wanted], output: str) -> str | None:
        """Return a fault if a line ran other commands, or ran them with other words."""
        found: dict[int, list[tuple[str, ...]]] = {}
        for record in output.split(_RECORD + "\0")[:-1]:
            number, *words = record.split("\0")[:-1]
            found.setdefault(int(number), []).append(tuple(words))
        for n, one in enumerate(batch):
            problem = _difference(one, found.get(n, []))
            if problem:
                return problem
        return None

    def _files(self, batch: Sequence[Wanted]) -> str | None:
        """Return a fault if there are files that no line names. Remove all files."""
        made = {str(path.relative_to(self.work)) for path in self.work.rglob("*")} - {"out"}
        named = {os.path.normpath(path) for one in batch for path in one.writes}
        for path in made:
            (self.work / path).unlink()
        return f"made {made - named}" if made - named else None

    def _run_alone(self, shell: str, one: Wanted) -> None:
        self.log.unlink(missing_ok=True)
        done = self._shell(shell, "-c", one.line)
        output = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        records = [tuple(r.split("\0")[:-1]) for r in output.split(_RECORD + "\0")[:-1]]
        extra = self._files([one])
        problem = _difference(one, records) or extra or _errors(done)
        if problem:
            raise Fault(f"{shell} -c {one.line!r}: {problem}")
        self.figures[f"{shell} -c"] += 1


def _difference(one: Wanted, started: Sequence[tuple[str, ...]]) -> str | None:
    """Compare the commands that were started with those of the line."""
    if one.started == started:
        return None
    if Counter(started) - Counter(one.started):
        return f"started {started}, not {one.started}"
    # Commands after && and ||, or with a missing folder, may be skipped.
    return f"started {started} of {one.started} only" if one.all_run else None


def _errors(done: subprocess.CompletedProcess[str]) -> str | None:
    """Return the shell's errors about missing programs. Errors of builtins do not matter."""
    found = [
        text
        for text in done.stderr.splitlines()
        if re.search(r"not found|syntax|parse error|unexpected|[Pp]ermission|no matches", text)
        and not re.search(r"\b(?:test|printf|echo): ", text)
    ]
    return found[0] if found else None


def run(seed: int, count: int, home: Path) -> Counter[str]:
    """Run permitted lines and return the number of lines that each shell has run."""
    rng = random.Random(seed)
    source, sandbox = Lines(rng), Sandbox(home)
    while count > 0:
        batch = [next(source) for _ in range(min(count, _BATCH))]
        sandbox.check(batch)
        count -= len(batch)
    return sandbox.figures


def main() -> None:
    """Run once and print the figures."""
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        print(dict(run(seed, count, Path(home))), f"in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
