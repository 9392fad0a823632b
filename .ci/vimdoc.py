"""Check the help in doc/: tags are unique, links have a target, lines have at most 78 columns.

`:helptags` reports duplicates but exits with 0, and it never checks links.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAG = re.compile(r"(?:^|(?<=\s))\*([^\s*|]+)\*(?=\s|$)")
LINK = re.compile(r"(?<![^\s(])\|([^\s|]+)\|")
WIDTH = 78


def prose(text: str) -> list[tuple[int, str]]:
    """Return the lines of a help file outside of code blocks (`>` … `<`), with 1-based numbers."""
    lines: list[tuple[int, str]] = []
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        if code and line and not line[0].isspace():
            code = False
            line = line.removeprefix("<")
        if not code:
            lines.append((number, line))
        code = code or re.search(r"(?:^|\s)>[a-z]*$", line) is not None
    return lines


def editor_tags() -> set[str]:
    """Return the tags of Neovim's own help."""
    nvim = subprocess.run([ROOT / ".ci/nvim"], capture_output=True, text=True, check=True)
    asked = subprocess.run(
        [
            nvim.stdout.strip(),
            "--clean",
            "--headless",
            "-c",
            "lua io.write(vim.env.VIMRUNTIME)",
            "-c",
            "qa!",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    tags = Path(asked.stdout.strip(), "doc/tags").read_text(encoding="utf-8")
    return {line.split("\t", 1)[0] for line in tags.split("\n")}


def check(files: list[Path]) -> list[str]:
    """Return one line for each mistake."""
    wrong: list[str] = []
    own: dict[str, str] = {}
    links: list[tuple[str, str]] = []
    for file in files:
        name = file.relative_to(ROOT)
        text = file.read_text(encoding="utf-8")
        wrong += [
            f"{name}:{number}: {len(line)} columns"
            for number, line in enumerate(text.split("\n"), 1)
            if len(line.expandtabs(8)) > WIDTH
        ]
        for number, line in prose(text):
            for tag in TAG.findall(line):
                if tag in own:
                    wrong.append(f"{name}:{number}: *{tag}* is also in {own[tag]}")
                own[tag] = f"{name}:{number}"
            links += [(link, f"{name}:{number}") for link in LINK.findall(line)]
    known = own.keys() | editor_tags()
    wrong += [f"{place}: |{link}| leads nowhere" for link, place in links if link not in known]
    return wrong


def main() -> int:
    """Print the mistakes and return 1 if there are any."""
    files = sorted((ROOT / "doc").glob("*.txt"))
    wrong = check(files) if files else []
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"vimdoc: {len(files)} files, {len(wrong)} mistakes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
