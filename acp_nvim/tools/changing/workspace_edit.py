"""Edits from language servers, applied to texts (LSP 3.17, WorkspaceEdit and TextEdit).

`operations` parses a server's edit, and `apply_operations` returns the resulting texts. Nothing is
written. As in LSP, a text with a final newline has an empty last line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from acp_nvim.edits.text import EMPTY, Text, parse
from acp_nvim.protocol.uris import unquote_path
from acp_nvim.tools.asking.positions import to_column
from acp_nvim.tools.ports import Encoding
from acp_nvim.tools.server.tool import ToolError

Resolve = Callable[[str], str]
"""Function that returns the real path of an absolute path."""


class Point(msgspec.Struct, frozen=True):
    """LSP position: 0-based line, character in the server's encoding."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    """LSP range. The end is exclusive."""

    start: Point
    end: Point


class TextEdit(msgspec.Struct, frozen=True, rename="camel"):
    """Replacement of a range. Annotations are ignored, because the user is always asked."""

    range: Range
    new_text: str


class Edits(msgspec.Struct, frozen=True):
    """Edits of one document, relative to its original text.

    `version` is the document version that the server used, or None if unknown.
    """

    path: str
    edits: Sequence[TextEdit]
    version: int | None = None


class Create(msgspec.Struct, frozen=True):
    """Creation of an empty file."""

    path: str
    overwrite: bool = False
    ignore: bool = False
    """Whether to keep an existing file."""


class Rename(msgspec.Struct, frozen=True):
    """Move of a file to another path."""

    path: str
    new_path: str
    overwrite: bool = False
    ignore: bool = False
    """Whether to skip the move if the target exists."""


class Delete(msgspec.Struct, frozen=True):
    """Deletion of a file."""

    path: str
    ignore: bool = False
    """Whether to skip a missing file."""


Operation = Edits | Create | Rename | Delete


class Result(msgspec.Struct, frozen=True):
    """Texts of all changed files, and the origins of moved ones.

    The text of a deleted file is None.
    """

    texts: Mapping[str, Text | None]
    moved: Mapping[str, str]
    """Old paths, by new path."""


# -- parsing --------------------------------------------------------------------------------------

_NO_EDIT: Final = "the language server's edit is not valid"
_SNIPPET: Final = "the edit contains snippets, which only a user can fill in"


def operations(edit: Any, resolve: Resolve) -> list[Operation]:
    """Parse a WorkspaceEdit. Raise ToolError if it is invalid or unsupported."""
    if not isinstance(edit, Mapping):
        raise ToolError(_NO_EDIT)
    steps = edit.get("documentChanges")
    if steps:
        if not isinstance(steps, list):
            raise ToolError(_NO_EDIT)
        return [_operation(step, resolve) for step in steps]
    changes = edit.get("changes") or {}
    if not isinstance(changes, Mapping):
        raise ToolError(_NO_EDIT)
    return [Edits(resolve(path_of(uri)), text_edits(change)) for uri, change in changes.items()]


def text_edits(value: Any) -> list[TextEdit]:
    """Parse a list of TextEdits from `textDocument/formatting`. Raise ToolError."""
    listed = value if isinstance(value, list) else []
    if not all(isinstance(edit, Mapping) for edit in listed):
        raise ToolError(_NO_EDIT)
    if any("snippet" in edit or edit.get("insertTextFormat") == 2 for edit in listed):
        raise ToolError(_SNIPPET)
    found_edits: list[TextEdit] = _convert(listed, list[TextEdit])
    return found_edits


def paths_of(steps: Iterable[Operation]) -> list[str]:
    """Return the distinct real paths in these operations."""
    paths: list[str] = []
    for step in steps:
        paths += [step.path, *([step.new_path] if isinstance(step, Rename) else [])]
    return list(dict.fromkeys(paths))


def path_of(uri: str) -> str:
    """Return the path of a `file:` URI. Raise ToolError for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise ToolError(f"{uri} is not a valid address: {error}") from error
    path = unquote_path(parts.path)
    is_local = parts.scheme == "file" and parts.netloc in ("", "localhost")
    if not is_local or not path or "\0" in path:
        raise ToolError(f"{uri} is not a file on this machine")
    return path


def _operation(step: Any, resolve: Resolve) -> Operation:
    if not isinstance(step, Mapping):
        raise ToolError(_NO_EDIT)
    kind = step.get("kind")
    options = step.get("options") or {}
    if not isinstance(options, Mapping):
        raise ToolError(_NO_EDIT)
    can_overwrite = bool(options.get("overwrite"))
    can_ignore = bool(options.get("ignoreIfExists")) and not can_overwrite
    match kind:
        case None:
            document = _convert(step.get("textDocument"), _Document)
            path = resolve(path_of(document.uri))
            return Edits(path, text_edits(step.get("edits")), document.version)
        case "create":
            return Create(resolve(path_of(str(step.get("uri")))), can_overwrite, can_ignore)
        case "rename":
            old, new = (resolve(path_of(str(step.get(key)))) for key in ("oldUri", "newUri"))
            return Rename(old, new, can_overwrite, can_ignore)
        case "delete":
            can_be_missing = bool(options.get("ignoreIfNotExists"))
            return Delete(resolve(path_of(str(step.get("uri")))), can_be_missing)
        case _:
            raise ToolError(f"the language server wants to {kind} a file, which is not supported")


class _Document(msgspec.Struct, frozen=True):
    uri: str
    version: int | None = None


def _convert(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ToolError(f"the language server's edit is not valid: {error}") from error


# -- applying -------------------------------------------------------------------------------------


def apply_operations(
    steps: Iterable[Operation],
    files: Mapping[str, Text | None],
    versions: Mapping[str, int],
    encoding: Encoding,
) -> Result:
    """Apply all steps in order. Raise ToolError.

    `files` has the current texts of all `paths_of` the steps, `versions` the document versions sent
    to the server.
    """
    texts = dict(files)
    origins = {path: path for path, text in files.items() if text is not None}
    for step in steps:
        match step:
            case Edits(path, edits, version):
                known = versions.get(path)
                if version and known is not None and version != known:
                    raise ToolError(f"{path} has changed since the server read it; try again")
                texts[path] = apply(_text_of(texts, path), edits, encoding)
            case Create(path):
                _require_no_file(texts, step)
                if texts[path] is None or step.overwrite:
                    texts[path] = EMPTY
                    origins.pop(path, None)
            case Rename(path, new_path):
                text = _text_of(texts, path)
                _require_no_file(texts, step)
                if texts[new_path] is None or step.overwrite:
                    texts[new_path], texts[path] = text, None
                    _move(origins, path, new_path)
            case Delete(path):
                if not step.ignore:
                    _text_of(texts, path)
                texts[path] = None
                origins.pop(path, None)
    moved = {new: old for new, old in origins.items() if new != old}
    changed = {path: text for path, text in texts.items() if text != files[path]}
    return Result({**changed, **{new: texts[new] for new in moved}}, moved)


def _text_of(texts: Mapping[str, Text | None], path: str) -> Text:
    text = texts[path]
    if text is None:
        raise ToolError(f"{path}: no such file")
    return text


def _require_no_file(texts: Mapping[str, Text | None], step: Create | Rename) -> None:
    """Raise ToolError if a file exists where a file is to be created or moved."""
    path = step.new_path if isinstance(step, Rename) else step.path
    if texts[path] is not None and not (step.overwrite or step.ignore):
        raise ToolError(f"{path}: the file already exists")


def _move(origins: dict[str, str], old: str, new: str) -> None:
    origins.pop(new, None)
    if old in origins:
        origins[new] = origins.pop(old)


def apply(text: Text, edits: Sequence[TextEdit], encoding: Encoding) -> Text:
    """Return the text with these edits, which all refer to the original text.

    Raise ToolError if two of them change the same place.
    """
    content = str(text)
    lines = content.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(point: Point) -> int:
        if point.line >= len(lines):
            return len(content)
        row = max(point.line, 0)
        return starts[row] + to_column(lines[row], point.character, encoding)

    spans: list[tuple[int, int, str]] = []
    for edit in edits:
        first, last = sorted((offset(edit.range.start), offset(edit.range.end)))
        spans.append((first, last, _without_cr(edit.new_text, text)))
    return parse(_replace_spans(content, spans))


def _replace_spans(content: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """Replace all spans.

    Insertions at one place keep their order and precede a replacement that begins there.
    """
    parts: list[str] = []
    at = 0
    for first, last, new in sorted(spans, key=lambda span: (span[0], span[1] > span[0])):
        if first < at:
            raise ToolError("the language server's edits overlap")
        parts += [content[at:first], new]
        at = last
    return "".join([*parts, content[at:]])


def _without_cr(new: str, text: Text) -> str:
    """Return new text without CR at line endings, unless the file has such line endings.

    An editor does not show CRs.
    """
    if "\r\n" not in new or any(line.endswith("\r") for line in text.lines):
        return new
    return new.replace("\r\n", "\n")
