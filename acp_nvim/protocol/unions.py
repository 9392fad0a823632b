"""Selection of the union member for a value that has no complete tag on the wire."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from acp_nvim.protocol import schema as s

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _resource(value: Mapping[str, Any]) -> type[s.Plain]:
    return s.BlobResourceContents if value.get("text") is None else s.TextResourceContents


def _auth(value: Mapping[str, Any]) -> type[s.Plain]:
    kinds: dict[str, type[s.Plain]] = {
        "terminal": s.AuthMethodTerminal,
        "env_var": s.AuthMethodEnvVar,
    }
    return kinds.get(str(value.get("type")), s.AuthMethodAgent)


def _mcp(value: Mapping[str, Any]) -> type[s.Plain]:
    kinds: dict[str, type[s.Plain]] = {
        "http": s.McpServerHttp,
        "sse": s.McpServerSse,
        "acp": s.McpServerAcp,
    }
    return kinds.get(str(value.get("type")), s.McpServerStdio)


def _select(value: Mapping[str, Any]) -> type[s.Plain]:
    return s.SessionConfigSelectGroup if "group" in value else s.SessionConfigSelectOption


def _select_2(value: Mapping[str, Any]) -> type[s.Plain]:
    from acp_nvim.protocol.v2 import schema as v2

    is_grouped = "groupId" in value
    return v2.SessionConfigSelectGroup if is_grouped else v2.SessionConfigSelectOption


def _multi(value: Mapping[str, Any]) -> type[s.Plain]:
    if "anyOf" in value:
        return s.TitledMultiSelectItems
    is_known = value.get("type") == "string"
    return s.StringMultiSelectItems if is_known else s.UnknownMultiSelectItems


_PICKERS: Final[dict[type[s.Untagged], Callable[[Mapping[str, Any]], type[s.Plain]]]] = {
    s.EmbeddedResourceResource: _resource,
    s.AuthMethod: _auth,
    s.McpServer: _mcp,
    s.SessionConfigSelectItem: _select,
    s.MultiSelectItems: _multi,
}


def member(union: type[s.Untagged], value: Mapping[str, Any]) -> type[s.Plain]:
    """Return the member type of a union for an object on the wire."""
    return (_PICKERS.get(union) or _v2_pickers()[union])(value)


@cache
def _v2_pickers() -> dict[type[s.Untagged], Callable[[Mapping[str, Any]], type[s.Plain]]]:
    """Return the selectors of version 2, whose types are loaded only for its agents."""
    from acp_nvim.protocol.v2 import schema as v2

    return {v2.SessionConfigSelectItem: _select_2}


def unknown_form(value: Mapping[str, Any], tag_field: str) -> dict[str, Any]:
    """Return `value` in the form of an `Unknown*` struct."""
    return {**value, tag_field: "?", "?tag": str(value.get(tag_field, "")), "?raw": value}


def read_untagged(union: type, value: Any) -> Any:
    """Decode a `schema.Untagged`, as msgspec's `dec_hook`. Raise ValidationError if it fails."""
    if not isinstance(value, dict):
        raise msgspec.ValidationError(f"Expected `object`, got `{type(value).__name__}`")
    chosen = member(union, value)
    if chosen is s.UnknownMultiSelectItems:
        value = unknown_form(value, "type")
    return msgspec.convert(value, chosen, dec_hook=read_untagged)
