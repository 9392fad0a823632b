"""Secrets recognized by the text around them.

Examples are `TOKEN=x`, `--password x`, `"apiKey": "x"`, `Authorization: …`,
`https://user:password@host`, PEM, and command lines. The running time is linear in the length of
the text, because no repeated pattern is tried from two positions.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from acp_nvim.agent.wire.secret_names import is_secret, strength
from acp_nvim.patterns import late

_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
MAX_QUOTED: Final = 16 << 10
"""Maximum length of a quoted value, in characters, which keeps the search linear."""

# -- names with values ----------------------------------------------------------------------------

_WORDS: Final = (
    *("token", "secret", "pass", "pwd", "key", "auth", "cred", "cookie", "bearer", "jwt", "dsn"),
    *("session", "sig", "pat", "otp", "userinfo", "webhook", "conn"),
)
"""Parts of names. Each name that `strength` classifies contains one of them."""
_NAME: Final = late(r"[\w.$-]++")
_SEPARATOR: Final = late(
    r"(?:\\*+[\"'`]|\])?\s{0,4}(?::=|=>|->|={1,3}|:(?!//))\s{0,4}|>|(?<=\])\s{0,4}=\s{0,4}"
)
_BLANKS: Final = late(r"[ \t]{1,4}")
MAX_NAME: Final = 100
_OPEN: Final = late(r"(?:[bfru]{1,2}(?=[\"']))?(\\*+(?:\"\"\"|'''|[\"'`]))")
_BARE: Final = late(
    r"(?:(?:Bearer|Basic|Token|ApiKey|Digest|Negotiate|AWS4-HMAC-SHA256)[ \t]+)?"
    r"(?:[^\s\"'`&;,<>\\|]|\\(?![nrt\"'`])|[&;,|](?![\s&|]|[\w.-]+=|$))++",
    re.IGNORECASE,
)
_LINE: Final = late(r"(?:[^\r\n\\]|\\(?![nr]))++")
_HEADERS: Final = {
    *("authorization", "cookie", "set-cookie", "proxy-authorization", "x-api-key", "x-auth-token"),
}
"""Names whose value is the rest of the line after a colon."""
_CODE: Final = late(
    r"[A-Za-z_]\w*(?:\.\w+)*[(\[{]"  # a call or an index
    r"|(?:self|this|process|os|env|environ|config|settings|options|opts|args|params|req|request"
    r"|ctx|props|state|import\.meta)(?:\.|\[|\Z)"
    r"|[(\[{*&!<>=+%@/]|\.\.\.|-?\d{1,6}\b(?![\w.-])"
    r"|\$(?:\w+|\{[\w:.-]+\}|\([^)]*\)?|ENV\{)|\\?\$\{"
    r"|(?:str|string|int|integer|number|bool|boolean|bytes|any|object|void|None|null|nil|undefined"
    r"|unknown|true|false|Optional|SecretStr|String|char|Option|Vec|list|dict|text|redacted"
    r"|x{3,}|required|optional)(?![\w-])"
)
"""Source code, types, numbers and variable names, which are not values."""
_REFERENCES: Final = (
    r"\Z|\$(?-i:[A-Z_][A-Z0-9_]*)\Z|\$(?:ENV)?\{[\w:.-]*\}\Z|<[^<>]{1,60}>\Z|\{\{[^{}]*\}\}\Z"
    r"|\{\w*\}\Z|%\(?\w{0,20}\)?s\Z|%\w{1,30}%\Z"
    r"|[*x.•…]+\Z|«redacted»\Z"
)
_REFERENCE: Final = late(_REFERENCES, re.IGNORECASE)
_QUOTED_PLACEHOLDER: Final = late(
    _REFERENCES + r"|(?:string|str|number|boolean|null|none|true|false|password|token)\Z",
    re.IGNORECASE,
)
"""Placeholders in quotes."""

# -- other surroundings ---------------------------------------------------------------------------

_PEM: Final = late(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PEM_END: Final = late(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PEM_BODY: Final = late(
    r"(?:(?:[\s\"',]|\\+[nrt]|[A-Z][\w-]{2,20}: [^\r\n\\]{1,80}(?=[\r\n\\]))*+"
    r"[A-Za-z0-9+/=]{16,})++"
)
_USER: Final = late(r"(?<=://)[^/\s@:?#\"'<>\\]*+:[^/\s@\"'<>\\]++(?=@)")
_USER_ONLY: Final = late(r"(?<=://)[^/\s@:?#\"'<>\\]{6,}+(?=@)")
_SCHEMES: Final = late(
    r"(?i)\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|redis|rediss|amqps?|mssql|sqlserver|ftps?|sftp"
    r"|smtps?|imaps?|ldaps?|clickhouse|cockroachdb|nats|couchdb)(?:\+[\w]{1,20})?://"
)
_DATABASE_USER: Final = late(r"[^/\s@:?#\"'<>\\]*+:[^\s\"'<>\\]{1,200}(?=@[\w.\[-])")
_QUERY: Final = late(r"(?P<start>[?&#;])(?P<name>[\w.%-]{1,60}+)=(?P<value>[^&\s\"'<>#\\;]++)")
_IN_QUERY: Final = {"key", "code", "sig", "signature", "auth", "sid", "x_amz_credential", "state"}
_BEARER: Final = late(r"(?i)\b(bearer[ \t]+)([\w.~+/=-]{6,}+)")
_BASIC: Final = late(r"(?i)\b(basic[ \t]+)([A-Za-z0-9+/]{6,}+={0,2})")
_USER_OPTION: Final = late(
    r"((?<!\S)(?:-u|--user|--proxy-user|-U)[ \t=]{0,3}[\"']?)([^\s\"':@/]*+:[^\s\"']++)"
)
_PROGRAMS: Final = late(
    r"(?<![\w-])((?:sshpass|(?:docker|podman|registry)\s+login|mysql\w*|mariadb\w*|redis-cli|mongo(?:sh)?|htpasswd|az"
    r"|sqlcmd|smbclient|openssl|zip|7z)\b[^\n|;&]{0,200}?\s(?:-[pPa][ \t]?))(?=[\"']?[^\s\"'-])"
    r"([\"']?[^\s\"']++[\"']?)"
)
_TAKES_PASSWORD: Final = late(r"sshpass|mysql\w*|mariadb[\w-]*|redis-cli|mongo(?:sh)?|sqlcmd|7z\w*")
_PASSWORD_ARGUMENT: Final = late(r"-[pPa](?!\d{1,5}\Z).")
_NETRC: Final = late(r"(?i)(\blogin\s{1,8}\S{1,80}\s{1,8}password\s{1,8})(\S+)")
_PORT: Final = late(r":(?:\d{2,5}|\*):[^:\s]{1,80}:")
_PGPASS: Final = late(
    r"(?m)(?:^|(?<=[\"'`]))([\w.*-]{1,80}:(?:\d{1,5}|\*):[^:\s]{1,80}:[^:\s]{1,80}:)([^\s\"'`]+)(?=[\"'`]|$)"
)
_KUBERNETES: Final = late(r"(?i)\bkind[\"']?\s{0,3}:\s{0,3}[\"']?Secret\b")
_YAML_DATA: Final = late(r"(?m)^([ \t]+[\w.-]{1,80}:[ \t]*[\"']?)([^\s\"':]{4,})(?=[\"']?[ \t]*$)")
_YAML_METADATA: Final = late(r"\s*(?:name|namespace|kind|type|apiVersion|app[\w.-]*):")


def redact(text: str, mark: str) -> str:
    """Return `text` with a mark in place of secrets recognized by the text around them."""
    lowered = lower(text)
    if "private key" in lowered:
        text = _mark_pem_keys(text, mark)
    if "://" in lowered:
        text = _mark_urls(text, mark)
    if "=" in lowered:
        text = _QUERY.sub(lambda match: _mark_parameter(match, mark), text)
    text = _mark_named_values(text, mark)
    if "bearer" in lowered:
        text = _BEARER.sub(lambda m: m[1] + mark if _is_bearer(m[2]) else m[0], text)
    if "basic" in lowered:
        text = _BASIC.sub(lambda m: m[1] + mark if _is_basic(m[2]) else m[0], text)
    return _mark_commands(text, lowered, mark)


def lower(text: str) -> str:
    """Return `text` in lower case, with each character at the same index."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_LOWER)


def _mark_pem_keys(text: str, mark: str) -> str:
    """Mark PEM keys up to their end, or as long as the text looks like a key."""
    pieces, at = [], 0
    begins = [*_PEM.finditer(text)]
    ends = [end.start() for end in _PEM_END.finditer(text)]
    after = [*(begin.start() for begin in begins[1:]), len(text)]
    for begin, following in zip(begins, after, strict=False):
        first = begin.end()
        number = bisect_left(ends, first)
        body = _PEM_BODY.match(text, first) if first >= at else None
        last = body.end() if body is not None else first
        if number < len(ends) and ends[number] <= following:
            last = ends[number]
        if first >= at and last > first:
            pieces += [text[at:first], mark]
            at = last
    return "".join([*pieces, text[at:]])


def _mark_urls(text: str, mark: str) -> str:
    text = _mark_databases(text, mark)
    return _USER_ONLY.sub(mark, _USER.sub(mark, text))


def _mark_databases(text: str, mark: str) -> str:
    """Mark the user and the password in database URLs.

    The last `@` ends the password, since passwords are not always encoded.
    """
    pieces, at = [], 0
    for scheme in _SCHEMES.finditer(text):
        user = _DATABASE_USER.match(text, scheme.end()) if scheme.end() >= at else None
        if user is not None:
            pieces += [text[at : scheme.end()], mark]
            at = user.end()
    return "".join([*pieces, text[at:]])


def _mark_parameter(match: re.Match[str], mark: str) -> str:
    name, value = match["name"], match["value"]
    plain = name.lower().replace("-", "_")
    is_secret = (plain in _IN_QUERY and len(value) >= 10) or strength(name) is not None
    return (
        f"{match['start']}{name}={mark}"
        if is_secret and _QUOTED_PLACEHOLDER.match(value) is None
        else match[0]
    )


def _mark_named_values(text: str, mark: str) -> str:
    """Mark the values of secret names. Each name is examined once."""
    pieces, at = [], 0
    for start, end in _name_spans(text):
        if start < at:
            continue
        sep = _SEPARATOR.match(text, end)
        if sep is None and text[start] == "-":
            sep = _BLANKS.match(text, end)
        span = _value_span(text, start, sep) if sep is not None else None
        if span is not None:
            pieces += [text[at : span[0]], mark]
            at = span[1]
    return "".join([*pieces, text[at:]]) if pieces else text


def _name_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of names that contain one of `_WORDS`, in order."""
    lowered = lower(text)
    starts: list[int] = []
    for word in _WORDS:
        at = lowered.find(word)
        while at >= 0:
            starts.append(at)
            at = lowered.find(word, at + len(word))
    last = 0
    for at in sorted(starts):
        if at < last:
            continue
        start = at
        while start > last and at - start < MAX_NAME and _is_in_name(text[start - 1]):
            start -= 1
        name = _NAME.match(text, at)
        assert name is not None
        last = name.end()
        yield start, last


def _is_in_name(char: str) -> bool:
    return char.isalnum() or char in "_.$-"


def _value_span(text: str, start: int, sep: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of a name's secret value, or None if it is not secret."""
    name, after = text[start : sep.start()].lstrip("$-"), sep.end()
    level = strength(name)
    if level is None:
        return None
    if ":" in sep[0] and name.lower() in _HEADERS:
        return _header_span(text, start, after)
    quote = _OPEN.match(text, after)
    if quote is not None:
        first, last = _quoted_span(text, quote)
        value, placeholder = text[first:last], _QUOTED_PLACEHOLDER.match(text[first:last])
    else:
        is_setting = _is_setting(name, sep[0]) and not text.startswith("$", after)
        placeholder = None if is_setting else _CODE.match(text, after)
        bare = _BARE.match(text, after) if placeholder is None else None
        if bare is None:
            return None
        (first, last), value = bare.span(), bare[0]
    if (
        placeholder is not None
        or name.endswith(value)
        or (level == "weak" and not is_secret(value))
    ):
        return None
    return first, last


def is_reference(value: str) -> bool:
    """Return whether a value is a placeholder: `${NAME}`, `<password>`, `***`."""
    return _REFERENCE.match(value) is not None


def _is_setting(name: str, sep: str) -> bool:
    """Return whether `NAME=value` is from a shell or environment file, not source code."""
    return sep == "=" and name == name.upper()


def _quoted_span(text: str, quote: re.Match[str]) -> tuple[int, int]:
    first, mark = quote.end(), quote[1]
    furthest = first + MAX_QUOTED
    last = text.find(mark, first, furthest)
    while mark in ('"', "'") and last > first and _is_escaped(text, last):
        last = text.find(mark, last + 1, furthest)
    if last < 0:
        line = _LINE.match(text, first)
        last = line.end() if line else first
    return first, last


def _is_escaped(text: str, at: int) -> bool:
    """Return whether an odd number of backslashes precedes an index, within eight characters."""
    before = text[max(0, at - 8) : at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _header_span(text: str, start: int, after: int) -> tuple[int, int] | None:
    """Return the span of the rest of the line, or up to the quote that encloses the header."""
    quote = _OPEN.match(text, after)
    if quote is not None:
        return _quoted_span(text, quote)
    if _CODE.match(text, after):
        return None
    opened = text[start - 1] if start and text[start - 1] in "\"'`" else None
    end = text.find(opened, after, after + MAX_QUOTED) if opened else -1
    if end >= 0 and "\n" not in text[after:end]:
        return after, end
    line = _LINE.match(text, after)
    return line.span() if line is not None else None


def _is_bearer(value: str) -> bool:
    return len(value) >= 20 or any(char.isdigit() for char in value)


def _is_basic(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        return False


def _mark_commands(text: str, lowered: str, mark: str) -> str:
    if "-u" in lowered:
        text = _USER_OPTION.sub(lambda m: m[0] if _is_id(m[2]) else m[1] + mark, text)
    if " -p" in lowered or " -a" in lowered:
        text = _PROGRAMS.sub(rf"\g<1>{mark}", text)
    if "login" in lowered and "password" in lowered:
        text = _NETRC.sub(rf"\g<1>{mark}", text)
    if _PORT.search(text) is not None:
        text = _PGPASS.sub(rf"\g<1>{mark}", text)
    if "kind" in lowered and "secret" in lowered and _KUBERNETES.search(text):
        text = _YAML_DATA.sub(lambda m: m[0] if _YAML_METADATA.match(m[0]) else m[1] + mark, text)
    return text


def is_password_option(program: str, argument: str) -> bool:
    """Return whether an argument such as `-pPASSWORD` gives this program a password."""
    return _PASSWORD_ARGUMENT.match(argument) is not None and has_password_option(program)


def has_password_option(program: str) -> bool:
    """Return whether a program accepts a password directly after `-p`."""
    return _TAKES_PASSWORD.fullmatch(program.rpartition("/")[2]) is not None


def _is_id(value: str) -> bool:
    """Return whether the value is a numeric user and group, or `$A:$B`."""
    return value.replace(":", "").isdigit() or "$" in value
