"""Files that an agent may read or change only after a question: by name, link or content.

A case is a line in one of the tables.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from acp_nvim.files.bytes.guard import by_name, is_guarded
from acp_nvim.files.bytes.key_files import holds_key
from acp_nvim.files.bytes.paths import Place
from acp_nvim.files.ports import FileOptions
from tests.support.agent_files import AgentFiles
from tests.support.editor import ROOT, Editor, nvim_binary

CODE = "vim.opt.rtp:prepend(arg[1]) io.write(vim.json.encode(require('acp.config').get().files))"

SECRET = """
.env .env.local .env.production .env~ .envrc prod.env config/prod.env a/.ENV ..env.swp .netrc
_netrc .npmrc .pypirc .pgpass .git-credentials .my.cnf .htpasswd .vault-token server.pem
tls/x.key cert.p12 cert.pfx store.jks login.ppk pass.kdbx id_rsa id_ed25519 old/id_ecdsa_sk
id_rsa.bak .ssh/config .ssh/known_hosts .aws/credentials .azure/x .gnupg/secring.gpg
.kube/config kubeconfig dev.kubeconfig .config/gcloud/application_default_credentials.json
.config/gh/hosts.yml .docker/config.json .cargo/credentials.toml .m2/settings.xml
.codex/auth.json .claude/.credentials.json terraform.tfstate terraform.tfstate.backup
secrets.yml client_secret_1.json .bash_history
"""
READ_FREELY = """
.env.example .env.sample .env.template .env.dist example.env environment.ts env.ts env.d.ts
id_rsa.pub .ssh/id_ed25519.pub keys.py key.ts monkey.txt pem.md history.md .git/config
package.json .gitignore README.md src/secrets.py docs/credentials.md npmrc.md aws/main.tf
Makefile
"""

EXECUTED = """
.git .git/config .git/hooks/pre-commit .git/info/attributes sub/.git/config .hg/hgrc
.husky/pre-push .githooks/pre-commit .pre-commit-config.yaml lefthook.yml .gitconfig .mcp.json
.vscode/mcp.json .claude/settings.json .codex/config.toml .gemini/settings.json .cursor/mcp.json
opencode.json .vscode/tasks.json .idea/workspace.xml x.code-workspace
.devcontainer/devcontainer.json .nvim.lua .NVIM.LUA .nvimrc .exrc .lazy.lua .vimrc .envrc
.mise.toml mise.toml .bashrc .bash_profile .profile .zshrc .zshenv .zprofile .login .cshrc
.config/fish/config.fish .config/nvim/init.lua .config/autostart/x.desktop .tmux.conf
sitecustomize.py lib/site-packages/x.pth .npmrc .yarnrc.yml .cargo/config.toml .gdbinit
.factory/settings.json .augment/settings.json .openhands/setup.sh .aider.conf.yml crush.json
.copilot/mcp-config.json .amazonq/agents/x.json .nvim/init.lua .neoconf.json
"""
WRITTEN_FREELY = """
package.json Makefile conftest.py pyproject.toml build.rs src/main.py .gitignore .gitattributes
.gitmodules .editorconfig .github/workflows/ci.yml git/config vscode/x.json docs/bashrc.md
.tool-versions .luarc.json CLAUDE.md AGENTS.md profile.ts .prettierrc model.pth
claude/settings.json
"""


@pytest.fixture(scope="module")
def defaults(tmp_path_factory: pytest.TempPathFactory) -> FileOptions:
    """Return the default globs."""
    script = tmp_path_factory.mktemp("defaults") / "print.lua"
    script.write_text(CODE)
    argv = [nvim_binary(), "--headless", "-u", "NONE", "-l", str(script), str(ROOT)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    files = json.loads(done.stdout or done.stderr)
    return FileOptions(secret=files["secret"], executed=files["executed"])


def reason(name: str, verb: Any, options: FileOptions) -> str | None:
    return by_name(Place(f"/work/{name}", f"/work/{name}"), name, verb, options)


def test_a_name_decides_whether_a_file_asks(defaults: FileOptions) -> None:
    silent = [name for name in SECRET.split() if reason(name, "read", defaults) != "secret"]
    asked = [name for name in READ_FREELY.split() if reason(name, "read", defaults)]
    assert (silent, asked) == ([], [])
    silent = [name for name in EXECUTED.split() if reason(name, "write", defaults) != "executed"]
    asked = [name for name in WRITTEN_FREELY.split() if reason(name, "write", defaults)]
    assert (silent, asked) == ([], [])


def test_an_executed_file_is_read_without_a_question(defaults: FileOptions) -> None:
    assert [
        name for name in (".vscode/tasks.json", ".nvim.lua") if reason(name, "read", defaults)
    ] == []


# ---- by content

BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nabc/+=\n"
KEYS = {
    "pkcs8": f"-----BEGIN PRIVATE KEY-----\n{BODY}",
    "rsa": f"-----BEGIN RSA PRIVATE KEY-----\r\n{BODY}",
    "old": f"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,0\n\n{BODY}",
    "openssh": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQA\n",
    "pgp": f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: x\n\n{BODY}",
    "after a certificate": f"-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n{BODY}",
    "putty": "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n",
    "ssh2": "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nx\n",
    "age": "# created\nAGE-SECRET-KEY-1" + "Q" * 58 + "\n",
    "service account": f'{{"private_key": "-----BEGIN PRIVATE KEY-----\\n{BODY}"}}',
    "yaml": f"tls:\n  key: |\n    -----BEGIN RSA PRIVATE KEY-----\n    {BODY}",
    "jwk": '{"kty": "RSA", "n": "x", "d": "abcdefghijklmnopqrstuvwxyz"}',
    "wireguard": "[Interface]\nPrivateKey = " + "A" * 43 + "=\n",
    "minisign": "untrusted comment: minisign encrypted secret key\nRWRTY0Iy\n",
}
NO_KEYS = {
    "code": 'if text.startswith("-----BEGIN PRIVATE KEY-----"):\n    return load(text)\n',
    "pattern": r'KEY = re.compile(r"-----BEGIN (?:RSA )?PRIVATE KEY-----[^-]*")' + "\n",
    "prose": "Put what stands between -----BEGIN PRIVATE KEY----- and the end into a file.\n",
    "template": "-----BEGIN PRIVATE KEY-----\n<your key>\n-----END PRIVATE KEY-----\n",
    "public": f"-----BEGIN PUBLIC KEY-----\n{BODY}",
    "certificate": f"-----BEGIN CERTIFICATE-----\n{BODY}",
    "age recipient": "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq\n",
    "public jwk": '{"kty": "RSA", "n": "abcdefghijklmnopqrstuvwxyz", "e": "AQAB"}',
    "age code": 'PREFIX = "AGE-SECRET-KEY-1"\n',
    "wireguard docs": "PrivateKey = <server private key>\n",
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_is_known_by_its_content(name: str) -> None:
    assert holds_key(KEYS[name])


@pytest.mark.parametrize("name", NO_KEYS)
def test_a_text_about_keys_is_not_a_key(name: str) -> None:
    assert not holds_key(NO_KEYS[name])


@pytest.fixture
def served(tmp_path: Path, defaults: FileOptions) -> AgentFiles:
    root = tmp_path / "work"
    root.mkdir()
    return AgentFiles(root.resolve(), secret=defaults.secret, executed=defaults.executed)


async def test_a_file_with_a_key_asks_before_it_is_read(served: AgentFiles) -> None:
    (served.root / "notes.txt").write_text(KEYS["pkcs8"])
    assert await served.read("notes.txt") == KEYS["pkcs8"]
    assert served.asked == [("read", served.path("notes.txt"), "secret")]
    served.answer = False
    assert await served.reason(served.read, "notes.txt") == (-32602, "denied")
    assert served.files.bases.last_seen("s2", served.path("notes.txt")) is None


async def test_a_file_with_a_key_asks_before_it_is_written_over(served: AgentFiles) -> None:
    path = served.root / "notes.txt"
    path.write_text(KEYS["pkcs8"])
    served.answer = False
    assert await served.reason(served.write, "notes.txt", "gone\n") == (-32602, "denied")
    assert served.asked == [("write", served.path("notes.txt"), "secret")]
    assert path.read_text() == KEYS["pkcs8"]
    served.answer = True
    await served.write("notes.txt", "gone\n")
    assert await served.read("notes.txt") == "gone\n"
    asked = len(served.asked)
    await served.write("notes.txt", "nothing secret\n")
    await served.write("new.txt", "new\n")
    assert len(served.asked) == asked


async def test_the_lines_below_the_header_of_a_key_ask_too(served: AgentFiles) -> None:
    (served.root / "notes.txt").write_text("x\n" * 9 + KEYS["rsa"])
    served.answer = False
    for line, limit in ((11, 1), (1, 1)):
        assert await served.reason(served.read, "notes.txt", line, limit) == (-32602, "denied")


async def test_a_key_far_down_asks_only_with_its_lines(served: AgentFiles) -> None:
    (served.root / "log.txt").write_text("x" * 99 + "\n" + "y\n" * 50_000 + KEYS["pkcs8"])
    served.answer = False
    assert await served.read("log.txt", 1, 2) == "x" * 99 + "\ny\n"
    assert await served.reason(served.read, "log.txt") == (-32602, "denied")


async def test_a_file_that_asks_by_name_does_not_ask_again_by_content(served: AgentFiles) -> None:
    (served.root / "id_rsa").write_text(KEYS["rsa"])
    await served.read("id_rsa")
    assert len(served.asked) == 1


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("url = https://user:ghp_token@example.org/a.git", True),
        ("url = https://:token@example.org/a.git", True),
        ("url = https://ghp_0123456789abcdefghij@example.org/a.git", True),
        ("extraheader = AUTHORIZATION: basic eDp5", True),
        ("url = https://example.org/a.git", False),
        ("url = git@example.org:a.git", False),
        ("url = ssh://git@example.org:22/a.git", False),
    ],
)
@pytest.mark.parametrize("name", [".git/config", ".git/modules/x/config", ".gitmodules"])
async def test_a_git_config_with_a_password_asks(
    served: AgentFiles, name: str, line: str, asks: bool
) -> None:
    path = served.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[remote "origin"]\n\t{line}\n')
    await served.read(name)
    assert served.asked == ([("read", served.path(name), "secret")] if asks else [])


async def test_an_address_with_a_password_elsewhere_does_not_ask(served: AgentFiles) -> None:
    (served.root / "README.md").write_text("https://user:password@example.org\n")
    await served.read("README.md")
    assert served.asked == []


async def test_without_globs_nothing_is_a_secret(tmp_path: Path) -> None:
    served = AgentFiles(tmp_path, secret=[])
    (tmp_path / "id_rsa").write_text(KEYS["rsa"])
    await served.read("id_rsa")
    assert served.asked == []


# ---- by link


async def test_another_name_of_a_secret_asks(served: AgentFiles) -> None:
    (served.root / "a" / "b").mkdir(parents=True)
    secret = served.root / "a" / "b" / ".env"
    secret.write_text("X=1\n")
    os.link(secret, served.root / "notes.txt")
    await served.read("notes.txt")
    await served.write("notes.txt", "X=2\n")
    path = served.path("notes.txt")
    assert served.asked == [("read", path, "secret"), ("write", path, "secret")]


async def test_another_name_of_a_hook_asks_before_it_is_written(served: AgentFiles) -> None:
    hooks = served.root / ".git" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "pre-commit").write_text("true\n")
    os.link(hooks / "pre-commit", served.root / "notes.txt")
    await served.read("notes.txt")
    await served.write("notes.txt", "false\n")
    assert served.asked == [("write", served.path("notes.txt"), "executed")]


async def test_a_symbolic_link_to_a_secret_asks(served: AgentFiles) -> None:
    (served.root / ".env").write_text("X=1\n")
    (served.root / "plain").symlink_to(".env")
    (served.root / ".env.example").symlink_to(".env")
    for name in ("plain", ".env.example"):
        await served.read(name)
    assert [path for _, path, _ in served.asked] == [
        served.path("plain"),
        served.path(".env.example"),
    ]


async def test_links_between_ordinary_files_do_not_ask(served: AgentFiles) -> None:
    (served.root / "a.txt").write_text("a\n")
    os.link(served.root / "a.txt", served.root / "b.txt")
    (served.root / ".env").write_text("X=1\n")
    await served.read("b.txt")
    await served.write("b.txt", "b\n")
    assert served.asked == []


# ---- rules and titles


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("edit", "src/a.py", False),
        ("edit", ".git/config", True),
        ("delete", ".vscode/tasks.json", True),
        ("other", ".envrc", True),
        ("read", ".vscode/tasks.json", False),
        ("read", ".env", True),
        ("edit", ".env.example", False),
    ],
)
def test_no_allowing_rule_covers_a_guarded_file(
    tmp_path: Path, defaults: FileOptions, kind: str, name: str, expected: bool
) -> None:
    paths = [str(tmp_path / "plain.txt"), str(tmp_path / name)]
    assert is_guarded(kind, paths, [str(tmp_path)], defaults) is expected


def test_a_link_to_a_guarded_file_is_guarded(tmp_path: Path, defaults: FileOptions) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "plain").symlink_to(".git/config")
    (tmp_path / "folder").symlink_to(".git")
    for name in ("plain", "folder/hooks/pre-commit"):
        assert is_guarded("edit", [str(tmp_path / name)], [str(tmp_path)], defaults)


ALLOW = {"permission": {"rules": [{"action": "allow", "kind": "edit"}, {"action": "allow"}]}}
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def test_rules_for_ordinary_edits_do_not_cover_guarded_files(editor: Editor) -> None:
    traffic = editor.agent("script")
    editor.setup(ALLOW)
    given: list[str] = []
    for name in ("a.py", ".git/hooks/pre-commit", "sub/../.mcp.json", ".env"):
        call = {
            "toolCallId": name,
            "kind": "edit",
            "locations": [{"path": f"{editor.work}/{name}"}],
        }
        params = {"toolCall": call, "options": OPTIONS}
        editor.prompt(f"request session/request_permission {json.dumps(params)}")
        if name != "a.py":
            asked = "(require('acp').state().sessions[1].permissions[1] or {}).tool_call == ..."
            editor.wait(asked, name)  # the previous question may still be open
            editor.answer("Acp deny")
        answers = traffic.wait_answers("session/request_permission", len(given) + 1)
        given.append(answers[-1]["result"]["outcome"]["optionId"])
    assert given == ["yes", "no", "no", "no"]


def test_the_question_says_that_other_programs_run_the_file(editor: Editor) -> None:
    traffic = editor.agent("script")
    editor.setup(ALLOW)
    path = editor.work / ".git" / "hooks" / "pre-commit"
    path.parent.mkdir(parents=True)
    editor.prompt(f"write {path} evil")
    editor.wait("#require('acp').state().sessions[1].permissions == 1")
    (question,) = editor.session()["permissions"]
    assert question["title"] == f"write a file that other programs run: {path}"
    editor.answer("Acp deny")
    [answer] = traffic.wait_answers("fs/write_text_file", 1)
    assert answer["error"]["data"] == {"path": str(path), "reason": "denied"}
    assert answer["error"]["message"].endswith(
        "the user did not allow to write a file that other programs run"
    )
    assert not path.exists()


def test_a_file_that_the_user_attaches_does_not_ask(editor: Editor) -> None:
    editor.agent("script")
    editor.write(".env", "X=1\n")
    editor.cmd("Acp attach .env")
    assert editor.turn("say hello")["stop_reason"] == "end_turn"
    assert editor.session()["permissions"] == []


def test_an_agents_edit_of_a_guarded_file_on_disk_is_pending(editor: Editor) -> None:
    editor.agent("script")
    editor.write(".envrc", "one\n")
    editor.turn("say hello")
    editor.turn(f'write_disk {editor.work}/.envrc "two\\n"')
    editor.wait("#require('acp').state().sessions[1].edits == 1")
