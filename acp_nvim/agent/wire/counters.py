"""What `:Acp info` counts of one connection."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Counters:
    """Totals since the connection began. Bytes are those of the wire, line ends included."""

    bytes_in: int = 0
    bytes_out: int = 0
    notifications_in: int = 0
    requests_in: int = 0
    responses_in: int = 0
    notifications_out: int = 0
    requests_out: int = 0
    refused: int = 0
    """Requests of the agent that got an error for an answer."""
    failures: int = 0
    """Errors in our own handlers."""
    violations: Counter[str] = field(default_factory=Counter)
    """Breaches of the protocol by the agent, by kind (`jsonrpc.Violation`)."""
