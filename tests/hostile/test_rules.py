"""A hostile agent tries to get more from the user's permission rules than they allow."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import anyio
import pytest

from acp_nvim.agent.serving.judging import judge
from acp_nvim.agent.serving.trusting import is_safe
from acp_nvim.agent.settings import decode
from acp_nvim.files.bytes.paths import place
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RequestError
from acp_nvim.protocol.v2.incoming import changes
from acp_nvim.protocol.v2.schema import Diff, DiffPatch
from acp_nvim.session.calls import call_updates
from acp_nvim.session.calls.named_files import LONGEST, named_files
from acp_nvim.session.calls.tool_calls import ToolCall
from acp_nvim.session.questions.decisions import CANCELLED, Outcome
from acp_nvim.session.questions.questions import permission_decision, rule_case
from acp_nvim.session.questions.requests import is_without_content
from acp_nvim.session.session import Session
from acp_nvim.tasks import true_within
from tests.support.judged_calls import edit, rules, run, verdict
from tests.support.terminal_agent import TerminalAgent
from tests.support.waiting import PATIENCE_S
from tests.torture import fuzz_rules

MAKE = {"action": "allow", "command": "make *"}


@pytest.mark.parametrize("seed", range(4))
def test_permitted_lines_start_only_the_named_programs(tmp_path: Path, seed: int) -> None:
    figures = fuzz_rules.run(seed, 250, tmp_path)
    assert figures["sh"] == 250
    assert figures["sh -c"] > 0


def test_the_fuzzer_detects_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that the fuzzer's check can fail."""
    monkeypatch.setattr(fuzz_rules, "_difference", lambda *_: None)
    monkeypatch.setattr(fuzz_rules, "wanted", lambda x: fuzz_rules.Wanted(x, [], [], all_run=False))
    sandbox = fuzz_rules.Sandbox(tmp_path)
    with pytest.raises(fuzz_rules.Fault, match="pwn"):
        sandbox.check(["make x", "make $(pwn)", "make y"])


def test_the_fuzzer_detects_other_words_and_other_files(tmp_path: Path) -> None:
    sandbox = fuzz_rules.Sandbox(tmp_path)
    one = fuzz_rules.wanted("make 'x y' > out/a")
    assert one.started == [("make", "x y")]
    assert fuzz_rules._difference(one, [("make", "x", "y")])
    assert fuzz_rules._difference(fuzz_rules.wanted("make x; make y"), [("make", "x")])
    (sandbox.work / "out" / "b").touch()
    assert sandbox._files([one])


# -- paths ----------------------------------------------------------------------------------------


def test_a_link_does_not_extend_an_allowed_path(home: Path) -> None:
    allow = {"action": "allow", "kind": "edit", "path": f"{home}/**"}
    assert verdict(edit(home / "src/a"), home, allow) == "allow"
    (home / "link").symlink_to(home.parent / "outside")
    assert verdict(edit(home / "link/a"), home, allow) is None
    assert verdict(edit(f"{home}/src/../../outside/a"), home, allow) is None
    assert verdict(edit(f"{home}/src/../a"), home, allow) == "allow"
    for path in (f"{home}/link/../a", "link/../a"):
        assert verdict(edit(path), home, allow) is None, "programs may read .. in two ways"
        assert verdict(edit(path), home, {"action": "allow"}) is None
    (home / "src").rmdir()
    (home / "src").symlink_to(home.parent / "outside")
    assert verdict(edit(home / "src/a"), home, allow) is None


def test_a_link_does_not_hide_a_refused_path(home: Path) -> None:
    deny = {"action": "deny", "path": "**/secret"}
    (home / "secret").touch()
    (home / "a").symlink_to("secret")
    assert verdict(edit(home / "a"), home, deny) == "deny"
    assert verdict(edit(home / "b"), home, deny) is None
    (home / "up").symlink_to(home.parent / "outside")
    away = {"action": "deny", "path": f"{home.parent}/notes/*"}
    assert verdict(edit("up/../notes/a"), home, away) == "deny"
    deep = {"action": "deny", "path": "src/keys/*"}
    (home / "src" / "keys").mkdir()
    (home / "keys").symlink_to("src/keys")
    for line in ("cat a", "cat --file=a", "(cat a)", "tool a b c"):
        assert verdict(run({"command": line}), home, deny) == "deny"
    for line in ("cat src/keys/x", "cat keys/x", "cd src/keys && cat x", "cd src; cat keys/x"):
        assert verdict(run({"command": line}), home, deep) == "deny"
    assert verdict(run({"command": "cat up/../notes/a"}), home, away) == "deny"
    assert verdict(run({"command": "cat x", "cwd": "keys"}), home, deep) == "deny"
    assert verdict(run({"command": "cat b; cd src && cat b"}), home, deny, deep) is None


def test_a_session_in_a_linked_directory_is_allowed_as_the_user_names_it(home: Path) -> None:
    link = home.parent / "link"
    link.symlink_to(home)
    allow = {"action": "allow", "kind": "edit", "path": f"{link}/**"}
    assert verdict(edit(link / "src/a"), link, allow) == "allow"
    assert verdict(edit(link / "../outside/a"), link, allow) is None


@pytest.mark.parametrize("kind", ["read", "edit", "delete", "search", "other"])
def test_a_rule_without_a_path_allows_no_file_outside(home: Path, kind: str) -> None:
    (home / "link").symlink_to(home.parent / "outside")
    allow = {"action": "allow", "kind": kind}
    away = home.parent / "outside"

    def names(path: Path | str) -> ToolCall:
        return ToolCall("t", kind=kind, raw_input={"file_path": str(path)})

    assert verdict(names("src/a"), home, allow) == "allow"
    for path in (away / "a", "../outside/a", "link/a", "/etc/hosts"):
        assert verdict(names(path), home, allow) is None
        assert verdict(names(path), home, {"action": "allow"}) is None
    assert verdict(names(away / "a"), home, {**allow, "path": f"{away}/**"}) == "allow"
    assert verdict(names(away / "a"), home, allow, files={"outside": "allow"}) == "allow"


@pytest.mark.parametrize(
    "path", ["file:///etc/hosts", "FILE:/etc/hosts", "file://host/etc/hosts", "~/x", "~root/x"]
)
def test_an_address_or_a_tilde_hides_no_file_outside(home: Path, path: str) -> None:
    session, settings = Session(1, "agent", str(home)), decode({})
    location = ToolCall("t", kind="edit", locations=[schema.ToolCallLocation(path)])
    patch = f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n-a\n+b\n"
    raws: list[Any] = [{"file_path": path}, {"changes": {path: {}}}, {"patch": patch}]
    raws.append({"input": f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n"})
    named = [ToolCall("t", kind="edit", raw_input=raw) for raw in raws]
    for call in (edit(path), location, *named):
        assert verdict(call, home, {"action": "allow"}) is None
        assert verdict(call, home, {"action": "allow", "path": "**"}) is None
        assert not is_safe(call, session, settings)
    inside = edit((home / "src/a b").as_uri())
    assert verdict(inside, home, {"action": "deny", "path": "src/a b"}) == "deny"
    assert is_safe(inside, session, settings)


COMMAND = '{"command": "rm -rf src"}'
HIDDEN = [
    COMMAND,
    [COMMAND],
    {"arguments": COMMAND},
    {"input": f" {COMMAND}"},
    {"calls": [COMMAND]},
]


@pytest.mark.parametrize("raw", HIDDEN)
def test_a_text_of_json_hides_no_command_and_no_file(home: Path, raw: Any) -> None:
    """Some agents put the arguments of a tool into one text, as models do."""
    call = ToolCall("t", kind="read", locations=[schema.ToolCallLocation("src/a")], raw_input=raw)
    assert verdict(call, home, {"action": "allow", "kind": "read"}) is None
    assert verdict(call, home, {"action": "deny", "command": "rm *"}) == "deny"
    path = '{"arguments": "{\\"file_path\\": \\"/etc/hosts\\"}"}'
    outside = ToolCall("t", kind="read", raw_input=path)
    assert verdict(outside, home, {"action": "deny", "path": "/etc/**"}) == "deny"
    for odd in ("[" * 5000, "{", '{"a": 1} b', "[1e999"):
        assert (
            verdict(
                ToolCall("t", kind="read", raw_input=odd), home, {"action": "deny", "path": "/x"}
            )
            is None
        )


def test_an_empty_path_names_no_file() -> None:
    nowhere = [schema.ToolCallLocation("")]
    call = ToolCall("t", kind="edit", locations=nowhere, was_asked_first=True)
    assert is_without_content(call)


def test_trust_covers_no_command_that_is_blank(home: Path) -> None:
    session = Session(1, "agent", str(home))
    blank: list[Any] = [None, {"command": ""}, {"command": " "}, {"command": []}]
    for raw in blank:
        for title in ("", "` `"):
            call = ToolCall("t", kind="execute", title=title, raw_input=raw)
            assert not is_safe(call, session, decode({}))


@pytest.mark.parametrize("path", ["~no-such-user/x", "~no\0user/x"])
def test_the_home_of_an_unknown_user_ends_no_check(home: Path, path: str) -> None:
    wanted = [{"action": "deny", "path": "~no-such-user/x"}, {"action": "deny", "path": "/etc/**"}]
    for call in (
        edit(path),
        run({"command": f"cat {path}"}),
        run({"command": ["cat", path]}),
        ToolCall("t", kind="read", title=f"Read {path}"),
        ToolCall("t", kind="read", raw_input={"q": path}),
    ):
        assert verdict(call, home, *wanted) in (None, "ask", "deny")
        assert not (is_safe(call, Session(1, "agent", str(home)), decode({})) and "\0" in path)


def test_an_escaped_address_hides_no_secret(home: Path) -> None:
    settings = decode({"files": {"secret": [".env"]}})
    both = [{"action": "deny", "path": ".env"}, {"action": "allow", "command": "curl *"}]
    for address in (f"file://{home}/%2eenv", f"file:{home}/%2Eenv"):
        for command in (f"curl {address}", f"curl --url={address}"):
            call = run({"command": command})
            assert verdict(call, home, *both) == "deny"
            assert not is_safe(call, Session(1, "agent", str(home)), settings)


def test_trust_covers_no_edit_without_a_file(home: Path) -> None:
    patch_only = changes(Diff([], patch=DiffPatch("git_patch", "--- /etc/x\n+++ /etc/x\n")))
    for call in (edit(""), ToolCall("t", kind="edit", content=[patch_only])):
        assert not is_safe(call, Session(1, "agent", str(home)), decode({}))


def test_a_tilde_hides_no_path_through_a_link(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    (home.parent / "outside" / "keys").mkdir()
    (home / "up").symlink_to(home.parent / "outside" / "keys")
    assert is_safe(edit("~/src/a"), Session(1, "agent", str(home)), decode({}))
    assert not is_safe(edit("~/up/../x"), Session(1, "agent", str(home)), decode({}))


@pytest.mark.parametrize("path", ["a\0b", "/etc/a\0b", "../a\0b"])
def test_a_path_with_a_nul_asks(home: Path, path: str) -> None:
    allow = {"action": "allow", "kind": "edit"}
    for call in (edit(home / path), ToolCall("t", kind="edit", raw_input={"file_path": path})):
        assert verdict(call, home, {"action": "deny", "path": "/usr/**"}) is None
        assert verdict(call, home, allow) in (None, "ask")
        assert not is_safe(call, Session(1, "agent", str(home)), decode({}))
    for raw in ({"command": ["cat", path]}, {"command": "cat", "args": [{"a": 1}]}):
        assert verdict(run(raw), home, {"action": "allow", "command": "cat *"}) != "allow"
        assert not is_safe(run(raw), Session(1, "agent", str(home)), decode({}))
    elsewhere = run({"command": "ls", "cwd": f"/{path}"})
    assert not is_safe(elsewhere, Session(1, "agent", str(home)), decode({}))


@pytest.mark.parametrize(
    "path", ["../outside/x", ".env", "/etc/x", "link", "src/../.env", ".git/hooks/x", "up/../x"]
)
def test_an_allowed_line_does_not_write_a_guarded_file(home: Path, path: str) -> None:
    (home / "link").symlink_to(home.parent / "outside" / "x")
    (home / "up").symlink_to(home.parent / "outside")
    both = [MAKE, {"action": "allow", "kind": "edit", "path": "/**"}]
    more = {"files": {"secret": [".env"], "executed": [".git/**"]}}
    assert verdict(run({"command": "make x > src/y"}), home, *both, **more) == "allow"
    assert verdict(run({"command": f"make x > {path}"}), home, *both, **more) == "ask"


@pytest.mark.parametrize(
    ("raw", "action"),
    [
        ({"command": "make x", "cwd": "src"}, "allow"),
        ({"command": "make x", "cwd": "../outside"}, "ask"),
        ({"command": "make x", "workdir": "/"}, "ask"),
        ({"command": "make x", "working_dir": "/"}, "ask"),
        ({"command": "make x", "directory": ".."}, "ask"),  # Gemini CLI and Qwen Code
        ({"command": "make x", "dir_path": ".."}, "ask"),
        ({"command": "make x", "cd": ".."}, "ask"),
        ({"command": "make x", "directory": "."}, "allow"),
        ({"command": "make x", "env": {"MAKEFLAGS": "--eval=x"}}, "ask"),
        ({"command": ["env", "make", "x"]}, None),
        ({"command": "cd src && make x"}, "allow"),
        ({"command": "cd src/.. && make x"}, "allow"),
        ({"command": "cd ../outside && make x"}, "ask"),
        ({"command": "cd link && make x"}, "ask"),
        ({"command": "cd link/.. && make x"}, "ask"),
        ({"command": "cd - && make x"}, "ask"),
        ({"command": "cd src && cd ../.. && make x"}, "ask"),
    ],
)
def test_an_allowed_command_stays_in_the_sessions_directories(
    home: Path, raw: dict[str, Any], action: str | None
) -> None:
    (home / "link").symlink_to(home.parent / "outside")
    assert verdict(run(raw), home, MAKE, {"action": "allow", "command": "cd *"}) == action


def test_many_words_do_not_hide_a_link_to_a_refused_file(home: Path) -> None:
    (home / "secrets").mkdir()
    (home / "a").symlink_to("secrets/x")
    deny, allow = {"action": "deny", "path": "secrets/*"}, {"action": "allow", "kind": "execute"}
    for words, expected in (("a", "deny"), (" ".join(f"w{n}" for n in range(2500)), "ask")):
        many = run({"commands": [f"cat {words}", f"cat {words}.b", "cat a"]})
        assert verdict(many, home, deny, allow) in (expected, "deny")
    options = " ".join(f"-C d{n}" for n in range(2000))
    many = run({"commands": [f"git {options} add x"]})
    assert verdict(many, home, deny, allow) == "ask"
    assert not is_safe(
        run({"command": "git -C src -C src status"}), Session(1, "a", str(home)), decode({})
    )


OPTIONS = " ".join(f"-C d{n}" for n in range(20))


@pytest.mark.parametrize(
    "raw",
    [
        {"command": " && ".join(f"cd d{n}" for n in range(1400))},
        {"command": ["tool", *(f"w{n}/../x{n}" for n in range(20_000))]},
        {"commands": [f"cat w{n}" for n in range(2_000)]},
        {"commands": [f"git {OPTIONS} {n} {','.join(map(str, range(3_000)))}" for n in "abc"]},
        {"paths": [f"w{n}/../x{n}" for n in range(20_000)]},
        {"env": {f"LC_{n}": "C" for n in range(9_000)}, "cmds": [f"a{n}" for n in range(20_000)]},
    ],
)
def test_a_large_request_asks_after_little_work(
    home: Path, raw: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each possible path, and each look at a link, takes time. The host does nothing else then."""
    resolve, join = Mock(side_effect=os.path.realpath), Mock(side_effect=os.path.join)
    monkeypatch.setattr(os.path, "realpath", resolve)
    monkeypatch.setattr(os.path, "join", join)
    deny = {"action": "deny", "path": "secrets/*"}
    assert verdict(run(raw), home, deny, {"action": "allow", "command": "*"}) == "ask"
    session = Session(1, "agent", str(home))
    assert not is_safe(run(raw), session, decode({}))
    assert resolve.call_count < 10_000
    assert join.call_count < 100_000


@pytest.mark.parametrize("name", ["a/", "../", "./", "é", "/"])
def test_a_path_that_no_file_can_have_takes_little_time(home: Path, name: str) -> None:
    """Otherwise this test would not end."""
    path = str(home / (name * 1_000_000 + "x"))
    settings, session = decode(rules({"action": "deny", "path": "/a"})), Session(1, "a", str(home))
    call = run({"path": path, "command": "make"})
    judge(rule_case(call, "a", str(home)), session, settings)
    is_safe(call, session, settings)
    assert len(place(path).real) <= LONGEST
    assert len(named_files(call, str(home))) == 1


# -- trust ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        *("ls | xargs cat", "ls | parallel cat", "find . -exec cat '{}' ';'", "fd -x cat"),
        *("bash -c 'ls | xargs cat'", "timeout 5 xargs cat", "timeout -s KILL 5 xargs cat"),
        *("tar -cf x.tar -T list", "tar cfT x.tar list", "tar -cf x.tar --files-from=list"),
        *(
            "rsync -a --files-from=list . x",
            "wc --files0-from=list",
            "ls | cpio -o",
            "ls | zip -@ x",
        ),
        *("git add --pathspec-from-file=list", "curl -K conf", "find -files0-from list"),
        *("git -c core.fsmonitor='cat a' status", "git --git-dir=x status", "git config alias.x y"),
        *("git rebase -x 'cat a' main", "git bisect run cat", "git submodule foreach cat"),
        *("env LD_PRELOAD=./x.so ls", "env ls", "sudo ls", "eval ls", ". ./x", "alias ls=cat"),
        *("python -c 'print(1)'", "node -e x", "perl -ne print a", "ruby -rx a", "deno eval x"),
        *(
            "cd src && bash -c 'cat a'",
            "cat a | timeout 5 sh",
            "cat a | nice bash",
            "cat a | sh -s",
        ),
        *("awk 'BEGIN{system(\"a\")}'", "awk '{print > $1}' a", "sed 1r.env a", "sed s/a/b/e a"),
        *("sed -f x a", "make --eval=x", "make SHELL=./x", "npx -c 'cat a'", "rsync -e ./x a b"),
        *("cd src && cat link", "cd src && echo x > link", "git -C src show link", "cat src/link"),
        *("tar -Csrc -cf x.tar link", "make --directory=src link"),
        *(
            "sh",
            "bash -e",
            "python",
            "node",
            "make && python3 -u",
            "cat a | ruby",
            "cat a | python -",
        ),
        *("cat a | bash -m", "bash -m -c 'ls | xargs cat'", "python3.12 -c x", "lua5.4 -e x"),
        *("perl -I . -e x", "php -B x", "pwsh -e x", "deno run -", "bun repl", "tsx -e x"),
        *("uv run python -c x", "npx sh -c x", "docker exec web sh -c 'cat a | sh'", "pnpm -c x"),
        *("sed 's/[/]/g;s/e;/B/p' a", "awk '{print > 5 x}' a", "awk -f - a", "make -f -"),
        *("git clone -c core.fsmonitor=x a b", "git grep -nOx a", "git config alias.x --get"),
        *("rg --pre ./x a", "rg --hostname-bin ./x a", "split --filter='cat a' b", "man -P x ls"),
        *("make CFLAGS='; cat a'", "make 'CC=cat a | sh'", "zip x.zip a -TT 'cat a #'"),
        *("git clone -u 'cat a' x y", "git clone ext::x y", "git apply x.diff", "patch -i x.diff"),
        *(
            "git update-index --stdin",
            "git send-email --cc-cmd='cat a' x",
            "gcc -wrapper sh,-c,x a",
        ),
        *("go test -exec 'sh -c x' ./...", "go build -toolexec x", "cmake -P x.cmake", "gcc @x"),
        *("sqlite3 x.db '.shell cat a'", "psql -c '\\! cat a'", "mysql -e 'system cat a'"),
        *("scp -o ProxyCommand=x a b:", "scp -S ./x a b:", "pylint --init-hook='import os' x"),
        *("cargo --config build.rustc-wrapper=x build", "ansible all -m shell -a 'cat a'"),
        *("ccache sh -c 'cat a | sh'", "cmake -E env sh -c x", "direnv exec . python -c x"),
        *("rake -e x", "erl -eval x", "nodemon -x 'cat a' b", "ncat -e ./x h 1", "socat EXEC:x -"),
        *("rg --pre=./x a", "psql -o '|x'", "cargo run --config x -- a", "sqlite3 x '.read x'"),
        *("psql -f -", "psql -v PROMPT1=x", "systemctl edit x", "systemctl -H x status"),
        *("npm config set script-shell ./x", "npm run --script-shell=./x a", "crontab x"),
        *("npx -y -c 'cat a'", "npm exec -c x", "command -p cat a", "tar cTf list x", "python -v"),
    ],
)
def test_trust_covers_no_command_that_hides_its_action(home: Path, line: str) -> None:
    (home / "src" / "link").symlink_to("/etc/passwd")
    assert not is_safe(run({"command": line}), Session(1, "agent", str(home)), decode({}))


def test_trust_covers_no_file_that_looks_like_an_address(home: Path) -> None:
    session, settings = Session(1, "agent", str(home)), decode({})
    for path in ("a://../../../outside/x", "FILE:///etc/passwd", "file://host/etc/passwd"):
        assert not is_safe(run({"command": ["cat", path]}), session, settings)
    assert is_safe(run({"command": ["curl", "https://x.y/z"]}), session, settings)


@pytest.mark.parametrize(
    "line",
    [
        *("bash --version", "python -V", "node --help"),
        *("make test", "timeout 60 make test", "nice -n 5 make", "cd src && npm install && ls"),
        *("python x.py", "python -m pytest -x", "sh run.sh", "bash -eu run.sh", "node --test"),
        *("git -C src status", "git --no-pager log", "git commit -m 'Fix it'", "git switch -c x"),
        *("sed -n '1,20p' a", "sed -i 's/a/b/g; 3d' a", "sed -e s/a/b/ -e 3d a", "rg --files"),
        *(
            "awk '$3 > 5 {print $1}' a",
            "which node",
            "tar -xzf a.tgz",
            "find . -name a",
            "tar xf a",
        ),
        *("node -v", "command -v node", "bash -n run.sh", "php -l a.php", "perl -w a.pl"),
        *("node --no-warnings x.js", "node --experimental-vm-modules x.js", "python3.12 x.py"),
        *("sed -i '' 's/a/b/' a", "sed -i '5a text' a", "sed 's/[ab]*$/[x]/' a"),
        *("awk 'NR==1 || NR==2' a", "tar czf a.tgz README.md LICENSE", "uv run python x.py"),
        *("npx vitest run -c x.ts", "npm test -- -c x", "npm run watch", "git config -l"),
        *("cmake -S . -B build", "go test ./...", "cargo build --release", "gcc -O2 -o a a.c"),
        *("make CFLAGS=-O2 V=1", "zip -r x.zip src", "split -l 10 a", "git clone --depth 1 ./x"),
        *("sqlite3 ./x.db 'select 1'", "grep -rn python src", "npm config get registry"),
        *("cargo run -- --config x.toml", "pip install --pre x", "psql -v ON_ERROR_STOP=1 -f x"),
        *("sqlite3 x.db .tables", "sqlite3 x.db '.schema a'", "crontab -l", "systemctl status x"),
        *("git commit -m 'Use sh -c'", "rg -n --pretty x", "which python", "rake test"),
        *("curl -s https://x.y/z", "git clone https://x.y/z", "docker exec web python x.py"),
    ],
)
def test_trust_covers_a_command_that_shows_its_action(home: Path, line: str) -> None:
    assert is_safe(run({"command": line}), Session(1, "agent", str(home)), decode({}))


def test_the_kind_of_a_call_does_not_hide_that_its_command_writes(home: Path) -> None:
    files = {"executed": ["**/.git/**"], "secret": []}
    for kind in ("read", "think", "execute"):
        call = ToolCall("t", kind=kind, raw_input={"command": "cp a .git/hooks/pre-commit"})
        assert not is_safe(call, Session(1, "agent", str(home)), decode({"files": files}))
        call.raw_input = {"command": "make", "path": ".git/config"}
        allow = {"action": "allow", "kind": ["execute", kind], "path": "**"}
        assert verdict(call, home, allow, files=files) == "ask"


def test_a_preset_allows_nothing_that_a_rule_denies_on_suspicion(home: Path) -> None:
    """The preset counts as if the denying rules came first."""
    remove, make = {"action": "deny", "command": "rm *"}, {"action": "allow", "command": "make *"}
    secret = {"action": "deny", "path": "secret/**"}
    read = ToolCall("t", kind="read")
    for call, denied, wanted in (
        (run({"command": "rm a"}), [remove], "deny"),
        (run({"command": "$(printf r)m a"}), [remove], "ask"),
        (run({"command": 'eval "$X"'}), [make, remove], "ask"),
        (run({"command": "make rm"}), [make, remove], "allow"),
        (run({"command": "make"}), [{**remove, "agent": "other"}], "allow"),
        (edit(home / "secret/a"), [secret], "deny"),
        (edit(home / "a"), [secret], "allow"),
        (read, [secret], "ask"),
        (read, [{**secret, "kind": "edit"}], "allow"),
    ):
        for everything in {"action": "allow"}, {"action": "allow", "kind": ["*"]}:
            preset = {"presets": {"p": {"rules": [everything]}}}
            assert verdict(call, home, *denied, **preset) == wanted, (call, denied)


# -- terminals ------------------------------------------------------------------------------------

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


async def asked(agent: TerminalAgent, command: str, *args: str, **more: Any) -> bool:
    """Return whether the user is asked before a command runs. The answer is no."""
    found: list[str] = []

    async def create() -> None:
        try:
            await agent.create(command, *args, **more)
            found.append("ran")
        except RequestError as error:
            found.append(error.data["reason"])

    async with anyio.create_task_group() as group:
        group.start_soon(create)
        assert await true_within(
            lambda: bool(found) or len(agent.session.decisions) > 0, PATIENCE_S
        )
        pending = list(agent.session.decisions)
        for decision in pending:
            decision.resolve(CANCELLED)
    assert found == ["denied" if pending else "ran"]
    return bool(pending)


@pytest.fixture
def bin(tmp_path: Path) -> Path:
    """Make a folder with a program named make, which prints a line."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "make").write_text("#!/bin/sh\necho made\n")
    (folder / "make").chmod(0o755)
    return folder


@linux
@pytest.mark.parametrize(
    ("more", "question"),
    [
        ({}, False),
        ({"env": {"NO_COLOR": "1", "TERM": "dumb", "SHELL": "/bin/bash"}}, False),
        ({"env": {"MAKEFLAGS": "--eval=x"}}, True),
        ({"env": {"LD_PRELOAD": "./x.so"}}, True),
        ({"env": {"PATH": "/tmp/evil"}}, True),
        ({"env": {"BASH_ENV": "./x"}}, True),
        ({"cwd": "/"}, True),
    ],
)
@pytest.mark.parametrize("rule", [MAKE, {"action": "deny", "command": "rm *"}])
async def test_environment_and_directory_are_judged_with_the_command(
    tmp_path: Path, bin: Path, more: dict[str, Any], rule: dict[str, Any], *, question: bool
) -> None:
    """The same holds if commands run without a rule. A directory alone hides no program."""
    agent = TerminalAgent(tmp_path, **rules(rule))
    agent.env["PATH"] = f"{bin}:{os.environ['PATH']}"
    if "PATH" in more.get("env", {}):
        more = {"env": {"PATH": agent.env["PATH"] + ":/tmp/evil"}}
    question = question and (rule is MAKE or "env" in more)
    assert await asked(agent, "make x", **more) is question
    assert await asked(agent, "make", "x", **more) is question
    await agent.close()


@linux
async def test_a_folder_with_a_blank_in_its_name_does_not_evade_a_rule(
    tmp_path: Path, bin: Path
) -> None:
    """`make ./x` is a program if there is a folder `make .`: the program that starts is judged."""
    evil = tmp_path / "make ." / "x"
    evil.parent.mkdir()
    evil.write_text("#!/bin/sh\necho evil\n")
    evil.chmod(0o755)
    agent = TerminalAgent(tmp_path, **rules(MAKE))
    agent.env["PATH"] = f"{bin}:{os.environ['PATH']}"
    assert await asked(agent, "make ./x")
    await agent.close()


@linux
async def test_the_agent_does_not_choose_the_shell(tmp_path: Path) -> None:
    evil = tmp_path / "bash"
    evil.write_text("#!/bin/sh\necho evil\n")
    evil.chmod(0o755)
    agent = TerminalAgent(tmp_path)
    assert (await agent.run("echo hi; true", env={"SHELL": str(evil)})).output == "hi\n"
    await agent.close()


@linux
async def test_a_permission_covers_only_what_it_showed(tmp_path: Path) -> None:
    agent = TerminalAgent(tmp_path, **rules({"action": "ask"}))
    option = schema.PermissionOption("yes", "Yes", "allow_once")
    beside: list[dict[str, Any]] = [{"env": {"LD_PRELOAD": "x"}}, {"cwd": "/"}, {}]
    for n, more in enumerate(beside):
        update = schema.ToolCallUpdate(
            f"c{n}", title="Say hi", raw_input={"command": "echo hi; true"}
        )
        entry = agent.session.entries[call_updates.upsert(agent.session, update)]
        told = schema.PermissionToolCall(f"c{n}", title="Say hi")
        request = schema.RequestPermissionRequest("s1", told, [option])
        decision = permission_decision(f"d{n}", entry.call, request)
        agent.session.ask(decision, entry.call)
        decision.resolve(Outcome("selected", decision.options[0]))
        changed = schema.ToolCallUpdate(f"c{n}", raw_input={"command": "echo ho; true"})
        call_updates.upsert(agent.session, changed)
        assert await asked(agent, "echo ho; true")
        assert await asked(agent, "echo hi; true", **more) is bool(more)
        entry.call.status = "completed"
    await agent.close()
