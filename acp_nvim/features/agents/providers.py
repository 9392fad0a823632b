"""Verbs for providers, the services that host an agent's models (rfds/custom-llm-endpoint)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acp_nvim import wording
from acp_nvim.agent.agent_env import PLACEHOLDER
from acp_nvim.agent.connection import Connection
from acp_nvim.app import Host
from acp_nvim.features.agents import words
from acp_nvim.nvim.environment import agent_environment
from acp_nvim.protocol import schema
from acp_nvim.protocol.errors import RemoteProtocolError, RequestError
from acp_nvim.verbs import Args, verb


@verb("provider")
async def provider(host: Host, args: Args) -> None:
    """List the providers of an agent, then set or disable the chosen one."""
    connection = await host.agents.get(host.sessions.agent_name(args.get("agent")))
    if not connection.is_alive:
        host.echo("error", connection.error or connection.exit_summary())
        return
    if not connection.agent.capabilities.providers:
        host.echo("warn", words.NO_PROVIDERS.format(agent=connection.title))
        return
    try:
        await _change_provider(host, connection, args.get("id"))
    except (RequestError, RemoteProtocolError) as error:
        host.echo("error", wording.FAILED.format(what="provider", reason=error))


async def _change_provider(host: Host, connection: Connection, wanted: object) -> None:
    listed = await connection.agent.list_providers()
    chosen = await _choose_provider(host, connection, listed, wanted)
    if chosen is None:
        return
    actions = [words.OPTION_PROVIDER_SET]
    if chosen.current and not chosen.required:
        actions.append(words.OPTION_PROVIDER_OFF)
    at = await host.choose(_provider_line(chosen), actions, "provider")
    if at == 0:
        await _configure_provider(host, connection, chosen)
    elif at == 1:
        await connection.agent.disable_provider(chosen.provider_id)
        host.echo("info", words.PROVIDER_OFF.format(provider=chosen.provider_id))


async def _choose_provider(
    host: Host, connection: Connection, listed: Sequence[schema.ProviderInfo], wanted: object
) -> schema.ProviderInfo | None:
    if wanted:
        chosen = next((provider for provider in listed if provider.provider_id == wanted), None)
        if chosen is None:
            names = ", ".join(provider.provider_id for provider in listed)
            host.echo("error", words.NO_SUCH_PROVIDER.format(provider=wanted, providers=names))
        return chosen
    if not listed:
        host.echo("info", words.NO_PROVIDERS.format(agent=connection.title))
        return None
    prompt = words.CHOOSE_PROVIDER.format(agent=connection.title)
    at = await host.choose(prompt, [_provider_line(provider) for provider in listed], "provider")
    return None if at is None else listed[at]


def _provider_line(provider: schema.ProviderInfo) -> str:
    """Return the line of a provider in a list, with the address to which its requests go."""
    if not provider.current:
        return words.PART_PROVIDER_OFF.format(provider=provider.provider_id)
    address = f"{provider.current.api_type} {provider.current.base_url}"
    needed = words.PART_PROVIDER_NEEDED if provider.required else ""
    return words.PART_PROVIDER.format(provider=provider.provider_id, where=address, needed=needed)


async def _configure_provider(
    host: Host, connection: Connection, provider: schema.ProviderInfo
) -> None:
    """Ask for the kind of API, its address and its headers, and pass them to the agent.

    Header values are not echoed.
    """
    kinds = list(provider.supported)
    at: int | None = 0
    if len(kinds) > 1:
        at = await host.choose(
            words.CHOOSE_API.format(provider=provider.provider_id), kinds, "provider"
        )
    if at is None or not kinds:
        return
    current_url = provider.current.base_url if provider.current else ""
    url = await host.ask_text(words.ASK_URL.format(provider=provider.provider_id), current_url)
    if not url:
        return
    headers = await _ask_headers(host)
    if headers is None:
        return
    connection.traffic.add_secrets(value for value in headers.values() if value)
    await connection.agent.set_provider(provider.provider_id, kinds[at], url.strip(), headers)
    host.echo("info", words.PROVIDER_SET.format(provider=provider.provider_id, url=url.strip()))


async def _ask_headers(host: Host) -> dict[str, str] | None:
    """Ask for headers. Return them by name, or None if the user cancels.

    `$ENV{NAME}` in values is replaced.
    """
    names = await host.ask_text(words.ASK_HEADERS)
    headers: dict[str, str] = {}
    for name in (names or "").replace(",", " ").split():
        value = await host.nvim.asking.ask_secret(words.ASK_HEADER.format(header=name))
        if value is None:
            return None
        headers[name] = _fill_placeholders(value, agent_environment())
    return None if names is None else headers


def _fill_placeholders(value: str, env: Mapping[str, str]) -> str:
    return PLACEHOLDER.sub(lambda match: env.get(match[1], ""), value)
