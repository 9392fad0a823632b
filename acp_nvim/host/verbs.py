"""Verbs outside of features: options, and answers to questions of the host."""

from __future__ import annotations

from acp_nvim.agent.notify import notify
from acp_nvim.app import Host
from acp_nvim.verbs import Args, verb


@verb("setup")
def setup(host: Host, args: Args) -> None:
    """Set the options. Lua sends them at the start and after each `setup()`."""
    host.session_list.skip_to(int(args.get("next_session", 1)))
    host.options.replace(args)
    host.sessions.open_index(host.options.data_file("sessions.json"), host.problem)
    for connection in host.agents.connections.values():
        connection.apply_options()
    host.files.home.set_data(host.options.data())
    host.screen.on_options_changed()
    host.screen.state(["host"], "running")
    notify(host.observers.on_setup, args)


@verb("ping")
def ping(host: Host, args: Args) -> None:
    """Answer the health check."""
    host.screen.push("reply", args["id"], True)


@verb("picked")
def picked(host: Host, args: Args) -> None:
    """Pass on the answer to `Asking.choose`."""
    host.nvim.asking.on_answer(args.get("id"), args.get("index"))


@verb("typed")
def typed(host: Host, args: Args) -> None:
    """Pass on the answer to `Asking.ask_text` or `ask_secret`."""
    host.nvim.asking.on_answer(args.get("id"), args.get("text"))


@verb("async_reply")
def async_reply(host: Host, args: Args) -> None:
    """Pass on the reply of an asynchronous Lua function."""
    error = args.get("error")
    host.nvim.async_calls.on_reply(
        args["id"], args.get("value"), None if error is None else str(error)
    )
