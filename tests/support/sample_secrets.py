"""Made-up secrets in the form of real ones, for tests of redaction: `for kind in KINDS`.

They are put together from pieces, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import string
from typing import Any, NamedTuple

_random = random.Random(12)
ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"


class Kind(NamedTuple):
    name: str
    text: str
    """Text in the traffic."""
    secrets: tuple[str, ...]
    """Part of it that must not be in the log."""


def some(length: int, alphabet: str = ALNUM) -> str:
    drawn = "".join(_random.choice(alphabet) for _ in range(length - 2))
    return drawn + (alphabet[-1] + alphabet[0])


def _b64(length: int) -> str:
    return base64.b64encode(_random.randbytes(length)).decode()


def _url64(length: int) -> str:
    return base64.urlsafe_b64encode(_random.randbytes(length)).decode().rstrip("=")


def _shaped() -> list[Kind]:
    """Return secrets that are recognized by their form alone."""
    shapes = {
        "aws access key": "AK" + "IA" + some(16, "ABCDEFGHJKLMNPQRSTUVWXYZ234567"),
        "github token": "gh" + "p_" + some(36),
        "github oauth": "gh" + "o_" + some(36),
        "github app": "gh" + "s_" + some(36),
        "github refresh": "gh" + "r_" + some(36),
        "github fine-grained": "github_" + "pat_" + some(22) + "_" + some(59),
        "gitlab token": "gl" + "pat-" + some(20),
        "gitlab deploy": "gl" + "dt-" + some(20),
        "gitlab runner": "gl" + "rt-" + some(20),
        "gitlab trigger": "gl" + "ptt-" + some(40, HEX),
        "gitlab registration": "GR13" + "48941" + some(20),
        "slack bot": "xox" + "b-123456789012-123456789012-" + some(24),
        "slack user": "xox" + "p-123456789012-123456789012-123456789012-" + some(32, HEX),
        "slack app": "xap" + "p-1-A0123456789-1234567890123-" + some(64, HEX),
        "slack webhook": "https://hooks.slack" + ".com/services/T0123ABCD/B0123ABCD/" + some(24),
        "stripe live": "sk" + "_live_" + some(24),
        "stripe restricted": "rk" + "_live_" + some(24),
        "stripe test": "sk" + "_test_" + some(24),
        "stripe webhook": "wh" + "sec_" + some(32),
        "npm": "np" + "m_" + some(36),
        "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + some(80),
        "openai": "sk" + "-" + some(20) + "T3BlbkFJ" + some(20),
        "openai project": "sk" + "-proj-" + _url64(90),
        "anthropic": "sk" + "-ant-api03-" + _url64(70) + "AA",
        "openrouter": "sk" + "-or-v1-" + some(64, HEX),
        "hugging face": "h" + "f_" + some(34),
        "groq": "gs" + "k_" + some(52),
        "xai": "xa" + "i-" + some(80),
        "replicate": "r" + "8_" + some(37),
        "perplexity": "pp" + "lx-" + some(48),
        "nvidia": "nv" + "api-" + _url64(48),
        "langsmith": "ls" + "v2_pt_" + some(32, HEX) + "_" + some(10, HEX),
        "google api": "AI" + "za" + some(35),
        "google oauth token": "ya" + "29." + _url64(60),
        "google oauth secret": "GOC" + "SPX-" + some(28),
        "jwt": ".".join(["ey" + "J" + some(33), "ey" + "J" + some(60), _url64(32)]),
        "digitalocean": "do" + "p_v1_" + some(64, HEX),
        "docker": "dck" + "r_pat_" + some(27),
        "databricks": "da" + "pi" + some(32, HEX),
        "doppler": "dp" + ".pt." + some(43),
        "dynatrace": "dt0" + "c01." + some(24).upper() + "." + some(64).upper(),
        "hashicorp vault": "hv" + "s." + _url64(70),
        "terraform": some(14) + ".atlas" + "v1." + some(64),
        "grafana": "gl" + "sa_" + some(32) + "_" + some(8, HEX),
        "linear": "lin" + "_api_" + some(40),
        "notion": "nt" + "n_" + "12345678901" + some(35),
        "postman": "PM" + "AK-" + some(24, HEX) + "-" + some(34, HEX),
        "planetscale": "psca" + "le_tkn_" + some(43),
        "pulumi": "pu" + "l-" + some(40, HEX),
        "rubygems": "ruby" + "gems_" + some(48, HEX),
        "sendgrid": "S" + "G." + some(22) + "." + some(43),
        "sendinblue": "xkey" + "sib-" + some(64, HEX) + "-" + some(16, LOWER),
        "shopify": "shp" + "at_" + some(32, HEX),
        "square": "EA" + "AA" + some(60),
        "telegram": "1234567890:" + "A" + "A" + some(33),
        "twilio": "S" + "K" + some(32, HEX),
        "tailscale": "tsk" + "ey-auth-" + some(16) + "-" + some(32),
        "age": "AGE-" + "SECRET-KEY-1" + some(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUAL"),
        "atlassian": "ATA" + "TT3" + _url64(140),
        "mailgun": "ke" + "y-" + some(32, HEX),
        "discord webhook": "https://discord" + ".com/api/webhooks/123456789012345678/" + some(68),
        "figma": "fi" + "gd_" + some(40),
        "supabase": "sb" + "p_" + some(40, HEX),
        "crypt hash": "$2b$12$" + some(53),
    }
    return [Kind(name, text, (text.split("/")[-1][-18:],)) for name, text in shapes.items()]


def _named() -> list[Kind]:
    """Return secrets that are recognized by a name beside them."""
    value = {n: some(20) for n in range(60)}
    texts = {
        "environment file": "DB_PASSWORD={}",
        "environment file, quoted": 'SECRET_KEY_BASE="{}"',
        "export": "export OPENAI_KEY={}",
        "assignment": "api_key = '{}'",
        "assignment in a dialect": "$apiToken := `{}`",
        "json member": '{{"clientSecret": "{}", "n": 1}}',
        "json member, spaced": '{{ "access_token" : "{}" }}',
        "escaped json": 'data = "{{\\"refresh_token\\":\\"{}\\"}}"',
        "yaml": "password: {}\nuser: me",
        "xml": "<password>{}</password>",
        "properties": "spring.datasource.password={}",
        "aws secret": "aws_secret_access_key = {}",
        "aws session": "AWS_SESSION_TOKEN={}",
        "azure storage": "DefaultEndpointsProtocol=https;AccountName=me;AccountKey={}==;E=x",
        "azure bus": "Endpoint=sb://x/;SharedAccessKeyName=r;SharedAccessKey={}=",
        "sql server": "Server=db;User Id=sa;Password={};Encrypt=yes",
        "npmrc": "//registry.npmjs.org/:_authToken={}",
        "netrc": "machine example.com login me password {}",
        "pgpass": "db.example.com:5432:main:me:{}",
        "docker config": '{{"auths": {{"x": {{"auth": "{}"}}}}}}',
        "long option": "deploy --api-token {} --fast",
        "long option with =": "deploy --client-secret={} --fast",
        "curl user": "curl -u me:{} https://example.com",
        "curl long user": "curl --user 'me:{}' https://example.com",
        "mysql": "mysql -h db -u root -p{} main",
        "sshpass": "sshpass -p {} ssh host",
        "docker login": "docker login -u me -p {} registry.example.com",
        "redis": "redis-cli -h db -a {} ping",
        "authorization": "Authorization: Bearer {}",
        "authorization in a command": 'curl -H "Authorization: token {}" https://x',
        "bearer": "it sent bearer {} along",
        "digest": 'Authorization: Digest username="me", response="{}"',
        "api key header": "X-Api-Key: {}",
        "cookie": "Cookie: theme=dark; sid={}; a=b",
        "set-cookie": "Set-Cookie: sid={}; HttpOnly; Path=/",
        "url": "https://me:{}@example.com/x.git",
        "url with a user only": "https://{}@example.com/x.git",
        "postgres": "postgres://me:{}/@db:5432/main",
        "mongodb": "mongodb+srv://me:p@{}@db/main",
        "redis url": "redis://:{}@db:6379/0",
        "query": "https://example.com/a?b=1&access_token={}&c=2",
        "signed url": "https://b.s3.amazonaws.com/x?X-Amz-Signature={}&X-Amz-Expires=9",
        "azure signature": "https://a.blob.core.windows.net/c?sv=1&sig={}%3D",
        "oauth code": "http://localhost/cb?code={}&state=1",
        "kubernetes": "apiVersion: v1\nkind: Secret\ndata:\n  anything: {}\n",
        "passphrase of words": 'passphrase: "{} horse battery"',
        "python dict": "{{'password': '{}'}}",
        "ruby hash": ":secret => '{}'",
        "go struct": 'Config{{Password: "{}"}}',
        "adafruit": "adafruit_thing = " + "{}" + some(12, LOWER),
        "heroku": "HEROKU_THING_KEY={}",
    }
    found = []
    for number, (name, text) in enumerate(texts.items()):
        found.append(Kind(name, text.format(value[number]), (value[number],)))
    basic = base64.b64encode(f"me:{some(12)}".encode()).decode()
    return [*found, Kind("basic", f"Authorization: Basic {basic}", (basic,))]


def _keys() -> list[Kind]:
    """Return private keys: in lines, in one line, and cut."""
    kinds = []
    for name in ("RSA ", "", "EC ", "OPENSSH ", "ENCRYPTED "):
        body = [_b64(48) for _ in range(4)]
        begin, end = (f"-----{word} {name}PRIVATE" + " KEY-----" for word in ("BEGIN", "END"))
        lines = "\n".join([begin, *body, end])
        kinds.append(Kind(f"{name}key", f"it is\n{lines}\nso", tuple(body)))
        if not name:
            kinds.append(Kind("escaped key", lines.replace("\n", "\\n"), tuple(body)))
            kinds.append(Kind("cut key", "\n".join([begin, *body]), tuple(body)))
    body = [_b64(48) for _ in range(3)]
    pgp = "\n".join(["-----BEGIN PGP PRIVATE" + " KEY BLOCK-----", "", *body, "=abcd"])
    kinds.append(Kind("pgp key", pgp + "\n-----END PGP PRIVATE" + " KEY BLOCK-----", tuple(body)))
    account = {"type": "service_account", "private_key": kinds[1].text, "client_email": "a@b.c"}
    kinds.append(Kind("service account", json.dumps(account), kinds[1].secrets))
    return kinds


KINDS = [*_shaped(), *_named(), *_keys()]


def places(text: str) -> dict[str, Any]:
    """Return messages that contain a secret in each possible place."""
    inner = json.dumps({"stdout": text, "code": 0})
    return {
        "a value": {"content": text},
        "text": {"content": {"type": "text", "text": f"I have found this:\n{text}\nand went on."}},
        "JSON in a string": {"rawOutput": inner},
        "JSON in JSON in a string": {"rawOutput": json.dumps({"result": inner})},
        "an environment": {"env": [{"name": "ANYTHING", "value": text}]},
        "a command line": {"command": f"cd x && echo '{text}' | program --verbose"},
    }
