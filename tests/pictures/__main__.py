"""`make pictures`: run the product and draw its screens into docs/gallery/."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.pictures.scenes import SIZES, STORY_SIZE, THEMES, Theme, run, scenes, story
from tests.pictures.svg import film, still
from tests.support.editor import ROOT

GALLERY = ROOT / "docs/gallery"


def _directory() -> tempfile.TemporaryDirectory[str]:
    """Return a directory to which the host may write for a moment after Neovim has ended."""
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def draw(size: tuple[int, int], theme: Theme, into: Path) -> None:
    """Draw all scenes at one size in one theme."""
    with _directory() as home, run(home, os.environ["PATH"], size, theme) as it:
        for name, shown in scenes(it):
            file = into / f"{name}-{size[0]}x{size[1]}-{theme.name}.svg"
            file.write_text(still(shown), encoding="utf-8")


def draw_story(into: Path) -> None:
    """Draw the moving picture of the README."""
    path, theme = os.environ["PATH"], THEMES[0]
    with _directory() as home, run(home, path, STORY_SIZE, theme) as it:
        shown = list(story(it))
    (into / "story.svg").write_text(film(shown), encoding="utf-8")


def index(gallery: Path) -> str:
    """Return the page of the gallery: all pictures by scene."""
    pages = ["# Pictures", "", "Drawn from real runs with the tutor by `make pictures`.", ""]
    for file in sorted(gallery.glob("*.svg")):
        pages += [f"## {file.stem}", "", f"![{file.stem}]({file.name})", ""]
    return "\n".join(pages[:-1]) + "\n"


def main(names: list[str]) -> None:
    """Draw everything, or `story`, or the pictures of some sizes (`80x24`)."""
    GALLERY.mkdir(exist_ok=True)
    if not names or "story" in names:
        draw_story(GALLERY)
    for size in SIZES:
        if not names or f"{size[0]}x{size[1]}" in names:
            for theme in THEMES:
                draw(size, theme, GALLERY)
    (GALLERY / "README.md").write_text(index(GALLERY), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
