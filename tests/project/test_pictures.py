"""The pictures of the README and the gallery are up to date."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pyte
import pytest

from tests.pictures.scenes import SCENES, SIZES, STORY_SIZE, THEMES, run, story
from tests.pictures.svg import Picture, film, picture, still
from tests.support.editor import ROOT

GALLERY = ROOT / "docs/gallery"
SVG = "{http://www.w3.org/2000/svg}"


def shown(file: Path) -> list[list[str]]:
    """Return the words of each picture of a document, row by row."""
    root = ET.parse(file).getroot()
    rows = {row.get("id"): " ".join(text.text or "" for text in row) for row in _defs(root)}
    frames = list(root.findall(f"{SVG}g"))
    return [[rows[use.attrib["href"][1:]] for use in group.iter(f"{SVG}use")] for group in frames]


def _defs(root: ET.Element) -> list[ET.Element]:
    found = root.find(f"{SVG}defs")
    assert found is not None
    return list(found)


def words(rows: list[str]) -> list[str]:
    """Return the words of a screen without times, durations and the path of the project."""
    text = re.sub(r"<?\S*/sample/", "", " ".join(rows))
    return re.sub(r"\d+", "0", text).split()


def screen(*lines: str) -> Picture:
    it = pyte.Screen(12, 3)
    pyte.Stream(it).feed("\r\n".join(lines))
    return picture(it, "#ffffff", "#000000")


def test_a_picture_holds_the_text_of_the_screen(tmp_path: Path) -> None:
    file = tmp_path / "one.svg"
    file.write_text(still(screen("a <b> & c", "", "\x1b[31mred\x1b[0m end")), encoding="utf-8")
    assert shown(file) == [["a <b> & c", "red end"]]


def test_a_film_draws_a_row_of_several_pictures_once(tmp_path: Path) -> None:
    file = tmp_path / "film.svg"
    file.write_text(film([(screen("same", "1"), 1.0), (screen("same", "2"), 2.0)]))
    assert shown(file) == [["same", "1"], ["same", "2"]]
    assert file.read_text().count(">same<") == 1


def test_the_gallery_has_each_scene_in_each_size_and_theme() -> None:
    wanted = {
        f"{scene}-{columns}x{lines}-{theme.name}.svg"
        for scene in SCENES
        for columns, lines in SIZES
        for theme in THEMES
    }
    assert {file.name for file in GALLERY.glob("*.svg")} == {*wanted, "story.svg"}
    page = (GALLERY / "README.md").read_text()
    assert all(f"({name})" in page for name in wanted)


@pytest.mark.timeout(120)
def test_the_picture_of_the_readme_is_up_to_date(tmp_path: Path) -> None:
    with run(str(tmp_path), os.environ["PATH"], STORY_SIZE, THEMES[0]) as it:
        now = [one for one, _ in story(it)]
    fresh = tmp_path / "story.svg"
    fresh.write_text(film([(one, 1.0) for one in now]), encoding="utf-8")
    drawn, seen = shown(GALLERY / "story.svg"), shown(fresh)
    assert list(map(words, drawn)) == list(map(words, seen)), "run `make pictures`"
