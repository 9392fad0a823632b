"""Files in commands and titles, in the spellings of agents."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_nvim.files.changes.mentions import Mentions
from tests.support.waiting import PATIENCE_S

CASES = [
    ("sed -i s/a/b/ a.txt", {"/w/a.txt"}, {"/w/b.txt"}),
    ("echo x>a.txt", {"/w/a.txt"}, {"/w/b.txt"}),
    ("echo 'x' > \"a b.txt\"", {"/w/a b.txt"}, {"/w/c"}),
    ("echo x > a\\ b.txt", {"/w/a b.txt"}, {"/w/c"}),
    ("touch 'it'\"'\"'s.txt'", {"/w/it's.txt"}, {"/w/c"}),
    ("bash -c \"echo x > 'a b.txt'\"", {"/w/a b.txt"}, {"/w/c"}),
    ("sh -c 'echo x > '\"'\"'a b.txt'\"'\"'; ls'", {"/w/a b.txt"}, {"/w/c"}),
    ("echo x >'a b.txt';ls", {"/w/a b.txt"}, {"/w/c"}),
    ("prog --out=dir/a.txt", {"/w/dir/a.txt"}, {"/w/a.txt"}),
    ("dd if=/dev/zero of=a.bin", {"/w/a.bin"}, {"/w/b.bin"}),
    ("ruff format a.py:12", {"/w/a.py"}, {"/w/b.py"}),
    ("touch k=v,w.txt", {"/w/k=v,w.txt"}, {"/w/c"}),
    ("cd sub && sed -i s/a/b/ x.txt", {"/w/sub/x.txt"}, {"/w/sub/y.txt"}),
    ("cd 'a b'; rm x.txt", {"/w/a b/x.txt"}, {"/w/a b/y.txt"}),
    ("git -C sub rm x.txt", {"/w/sub/x.txt"}, {"/w/sub/y.txt"}),
    ("sed -i s/a/b/ f*.txt", {"/w/f1.txt"}, {"/w/sub/f1.txt", "/w/g.txt"}),
    ("sed -i s/a/b/ src/*", {"/w/src/a.py"}, {"/w/src/in/a.py", "/w/a.py"}),
    ("sed -i s/a/b/ src/**/*.py", {"/w/src/a.py", "/w/src/x/y/a.py"}, {"/w/src/a.txt"}),
    ("sed -i s/a/b/ f[!1].txt f?x", {"/w/f2.txt", "/w/fax"}, {"/w/f1.txt", "/w/f/x"}),
    ("find . -name '*.py' -exec sed -i s/q/r/ {} +", {"/w/x/y/a.py"}, {"/w/x/a.txt"}),
    ("rm -r build", {"/w/build/x/y"}, {"/w/builder/x"}),
    ("mv src/a src/b", {"/w/src/a/1", "/w/src/b/1"}, {"/w/src/c"}),
    ("black src", {"/w/src/x/a.py"}, {"/w/tests/a.py"}),
    ("grep -r x src", set(), {"/w/src/a.py"}),
    ("git status src; ls src | wc -l", set(), {"/w/src/a.py"}),
    ("git checkout -- src", {"/w/src/a.py"}, {"/w/a.py"}),
    ("grep -rl x src | xargs sed -i s/x/y/", {"/w/src/a.py"}, {"/w/a.py"}),
    ("cd /w && make .", set(), {"/w/a.py"}),
    ("cp -r /tmp/x /w", set(), {"/w/a.py"}),
    ("echo 'open quote > a.txt", {"/w/a.txt"}, {"/w/c"}),
    ("cat > a.txt <<'EOF'\nb.txt is not written\nEOF", {"/w/a.txt"}, {"/w/c"}),
    ("jq '.[]' a.json > b.json", {"/w/b.json"}, {"/w/c"}),
    ("rm [!] [z-a] 'x[\\w-.]' a.txt", {"/w/a.txt"}, {"/w/z"}),
    ("rm f[]1] g[a&&b] h[+--]", {"/w/f]", "/w/g&", "/w/h,"}, {"/w/f2", "/w/gc", "/w/h."}),
    ("rm x[]* a*b*c*.txt", {"/w/x[]y", "/w/acbbcd.txt"}, {"/w/x]", "/w/acb.txt"}),
    ("cd 'a\0b'; rm x.txt", {"/w/x.txt"}, {"/w/y.txt"}),
    (f"cat > a.c <<'E'\n/{'*' * 70}\n{'*a' * 40}\nE", {"/w/a.c"}, {f"/w/{'a' * 50}/b.c"}),
    ("", set(), {"/w/a.py"}),
]


@pytest.mark.parametrize(("command", "named", "others"), CASES)
def test_a_command_names_these_files(command: str, named: set[str], others: set[str]) -> None:
    mentions = Mentions()
    mentions.add_command(command, "/w")
    assert mentions.named_among([*named, *others]) == named


@given(st.text("ab./*?[]!^-&|~\\'\" \n\0$"))
def test_any_command_can_be_parsed(command: str) -> None:
    mentions = Mentions()
    mentions.add_command(command, "/w\0")
    mentions.named_among(["/w/a/b"])


def test_a_title_names_files_and_no_folders() -> None:
    mentions = Mentions()
    mentions.add_title("Update `src/a.py` and README.md in src", "/w")
    found = mentions.named_among(["/w/src/a.py", "/w/README.md", "/w/src/b.py"])
    assert found == {"/w/src/a.py", "/w/README.md"}


def test_later_names_count_too() -> None:
    mentions = Mentions()
    assert not mentions.named_among(["/w/a", "/w/b"])
    mentions.add_paths(["/w/a"])
    mentions.add_command("rm b", "/w")
    assert mentions.named_among(["/w/a", "/w/b"]) == {"/w/a", "/w/b"}


def test_two_threads_parse_a_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mentions = Mentions()
    begun, may_end, parsed = Event(), Event(), list[str]()

    def parse(_mentions: Mentions, text: str, *_: object) -> None:
        parsed.append(text)
        begun.set()
        assert may_end.wait(PATIENCE_S)

    monkeypatch.setattr(Mentions, "_parse", parse)
    mentions.add_command("touch a", "/w")
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(mentions.parse)
        assert begun.wait(PATIENCE_S)
        second = threads.submit(mentions.parse)
        assert not second.done()
        may_end.set()
        first.result()
        second.result()
    assert parsed == ["touch a"]
