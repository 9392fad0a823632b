"""Redaction: secrets that a saved log must not have, and data that it must keep."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_nvim.agent.wire.redact import REDACTED, Redactor
from acp_nvim.agent.wire.secret_names import secret_values
from tests.support.sample_secrets import KINDS, Kind, places


def redacted(value: Any, *secrets: str) -> str:
    redactor = Redactor(secrets)
    return json.dumps(redactor.value(value), ensure_ascii=False)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_secret_survives_in_any_place(kind: Kind) -> None:
    left = {
        place: out
        for place, value in places(kind.text).items()
        for out in [redacted(value)]
        if any(secret in out.replace("\\", "") for secret in kind.secrets) or REDACTED not in out
    }
    assert not left


def test_there_are_more_kinds_than_eighty() -> None:
    assert len({kind.name for kind in KINDS}) >= 120


HARMLESS = [
    "commit 2368f4f0c0ffee12345678901234567890abcdef\nAuthor: A <a@example.com>",
    "session 6f1c2e5e-8a58-4f0e-9a41-2f9b1f1c8e55 of 0d3e7c1a-1111-4222-8333-944455556666",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "/home/user/projects/some-long-name/node_modules/@scope/package/dist/index.js:120:14",
    "def next_token(self) -> Token:\n    token = self.lexer.next()\n    return token",
    "const token: string = await getToken();\nif (token === undefined) return null;",
    "password = os.environ['PASSWORD']\nkey = config.get('api_key')",
    "self.token = token\nself.password = None",
    "if user.password != hashed(password): raise ValueError",
    "export PATH=/usr/local/bin:/usr/bin\nexport EDITOR=nvim",
    "the token is parsed; secret santa; a bearer token; basic auth and basic research",
    "API_KEY=$API_KEY make test && TOKEN=${TOKEN} ./run",
    '{"token": "${env:TOKEN}", "password": "<your password>", "secret": "***"}',
    "https://example.com/a/b?page=2&sort=key&q=token",
    "ssh://git@github.com/a/b.git and git@github.com:a/b.git",
    "http://localhost:8080/path and https://[::1]:443/x",
    "docker run -u 1000:1000 -p 8080:80 --name x image",
    "for key, value in tokens.items():\n    primary_key = key\n    cache_key = 'user:1'",
    "max_tokens: 4096, input_tokens=12, token_count: 5, tokenizer: bpe",
    "-----BEGIN CERTIFICATE-----\nMIIBszCCARygAwIBAgIJAKZ\n-----END CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPublicKeyOfSomebodyThatIsNoSecret user@host",
    "public_key = 'abc123def456abc123def456'\nforeign_key: user_id",
    "mkdir -p a/b && cp -a x y && ps -u root && grep -u x",
    "password_file: /run/secrets/db\nsecretName: my-secret\ntoken_type: bearer",
    "author: somebody\nauthentication: required\nsession: 12",
    "2026-01-02T03:04:05.678Z INFO 12:30:45 a.c:12:5: error: expected ';'",
    "passing tests: 120, passed=120, compass: north, keyboard: qwerty, monkey: 1",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays_readable(text: str) -> None:
    assert Redactor().text(text) == text
    assert Redactor().value({"content": {"text": text}, "raw": json.dumps({"a": text})}) == {
        "content": {"text": text},
        "raw": json.dumps({"a": text}),
    }


@pytest.mark.parametrize(
    "value",
    [
        {"argv": ["docker", "run", "-p8080:80", "nginx"]},
        {"argv": ["mysql", "-P3306", "-uroot"]},
        {"command": "find", "args": [".", "-path", "x", "-print"]},
        {"tokens": ["hello", "world"]},
        {"usage": {"tokens": 1200}},
    ],
    ids=str,
)
def test_harmless_values_stay_in_their_place(value: dict[str, Any]) -> None:
    assert Redactor().value(value) == value


def test_harmless_variables_and_headers_stay() -> None:
    value = {
        "env": [{"name": "PATH", "value": "/usr/bin"}, {"name": "LC_ALL", "value": "C"}],
        "environment": {"HOME": "/home/me", "CI": "true"},
        "headers": {"Content-Type": "application/json", "User-Agent": "x"},
    }
    assert Redactor().value(value) == value


@pytest.mark.parametrize(
    "value",
    [
        {"env": {"ANY": "x-secret-x"}},
        {"environment": {"ANY": "x-secret-x"}},
        {"environment": ["ANY=x-secret-x", "PATH=/bin"]},
        {"headers": {"X-Any": "x-secret-x"}},
        {"headers": ["X-Any: x-secret-x"]},
        {"env": "ANY=x-secret-x"},
        {"variables": [{"name": "DB_PASSWORD", "value": "x-secret-x"}]},
        {"variables": [{"key": "API_TOKEN", "value": "x-secret-x"}]},
        {"a": [{"b": {"credentials": {"user": "me", "whatever": ["x-secret-x"]}}}]},
        {"http_headers": {"X-Any": "x-secret-x"}},
        {"httpHeaders": [{"name": "X-Any", "value": "x-secret-x"}]},
        {"connectionString": "Server=db;User=sa;Pwd=x-secret-x"},
        {"text": "connectionString=x-secret-x"},
        {"tokens": ["x-secret-x-1", "x-secret-x-2"]},
        {"argv": ["mysql", "-uroot", "-px-secret-x"]},
        {"argv": ["docker", "exec", "db", "/usr/bin/mysqldump", "-px-secret-x"]},
        {"command": "mysql", "args": ["-h", "db", "-px-secret-x"]},
        {"argv": ["curl", "-u", "me:x-secret-x"]},
        {"argv": ["x", "--db-password", "x-secret-x"]},
        {"x-secret-x sk": {"Authorization": "x-secret-x"}, "password": "x-secret-x"},
    ],
    ids=str,
)
def test_values_are_found_by_their_keys(value: dict[str, Any]) -> None:
    out = redacted(value)
    assert "x-secret-x" not in out.replace('"x-secret-x sk"', "")
    assert REDACTED in out


@pytest.mark.parametrize(
    "secret", ['p"w\\1', "two\nlines of a very long value", "a/b c?d", "ünd-1"]
)
def test_a_known_value_is_found_in_every_spelling(secret: str) -> None:
    once = json.dumps({"a": secret})
    for text in (
        secret,
        once,
        json.dumps({"x": once}),
        f"see {once} and",
        f"see {json.dumps(once)} and",
    ):
        assert secret not in json.loads(redacted({"text": text}, secret))["text"]
        assert json.dumps(secret)[1:-1] not in redacted({"text": text}, secret)


def test_the_password_of_a_known_address_is_known_too() -> None:
    assert (
        redacted(["it says correct-horse"], "postgres://me:correct-horse@db/x")
        == '["it says «redacted»"]'
    )


def test_deeply_nested_json_is_removed() -> None:
    text = "hunter2-hunter2"
    for _ in range(12):
        text = json.dumps({"password": text} if _ == 0 else {"a": text})
    assert "hunter2" not in redacted({"a": text})


@pytest.mark.parametrize("levels", [200, 900, 20_000])
def test_many_levels_of_objects_are_removed(levels: int) -> None:
    text = '{"a":' * levels + '"hunter2-hunter2"' + "}" * levels
    for whole in (text, f"output:\n{text}\n"):
        assert "hunter2" not in Redactor(["hunter2-hunter2"]).text(whole)


def test_the_directory_is_not_a_secret() -> None:
    env = {"PWD": "/home/me/work", "OLDPWD": "/home/me", "MYSQL_PWD": "hunter2-hunter2"}
    assert secret_values(env) == ["hunter2-hunter2"]
