"""`python -m tests.support.agent_server [HOST:]PORT`: serve tutors, and print the addresses."""

from __future__ import annotations

import asyncio
import sys

from tests.support.agent_server.server import serve_tutors

if __name__ == "__main__":
    asyncio.run(serve_tutors(sys.argv[1]))
