"""`python -m tests.agents_sdk.http_server PORT [CERTIFICATE KEY]`: serve the agent of `example.py`.

This is the Python SDK's own server, over Streamable HTTP and WebSocket. With TLS it uses HTTP/2.
"""

from __future__ import annotations

import asyncio
import socket
import sys

import hypercorn.asyncio
from acp.http.asgi import create_asgi_app
from hypercorn.config import Config

from tests.agents_sdk.example import Example


async def main(port: str, certificate: str = "", key: str = "") -> None:
    """Print both addresses and serve forever."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", int(port)))
    config = Config()
    config.bind = [f"fd://{listening.fileno()}"]
    config.alpn_protocols = ["h2", "http/1.1"]
    config.accesslog, config.access_log_format = "-", "%(m)s HTTP/%(H)s %(s)s"
    if certificate:
        config.certfile, config.keyfile = certificate, key
    listening.listen()
    secure = "s" if certificate else ""
    for scheme in ("ws", "http"):
        print(f"{scheme}{secure}://localhost:{listening.getsockname()[1]}/acp", flush=True)
    app = create_asgi_app(lambda connection: Example())  # type: ignore[arg-type, return-value]
    await hypercorn.asyncio.serve(app, config)  # type: ignore[arg-type]


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
