"""Other places for agents: a container with another path for the workspace, a real sshd."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.waiting import until

SSHD: Final = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
THERE: Final = "/workspace"


def container(work: Path) -> list[str] | None:
    """Return words that run a command in a container, where `work` is `THERE` and nothing else.

    Return None if bwrap does not work here.
    """
    if shutil.which("bwrap") is None:
        return None
    words = ["bwrap", "--die-with-parent", "--unshare-pid", "--tmpfs", "/"]
    for entry in sorted(Path("/").iterdir()):
        if entry.is_symlink():
            words += ["--symlink", str(entry.readlink()), str(entry)]
        elif entry.is_dir() and entry.name not in ("proc", "dev", THERE[1:]):
            words += ["--bind", str(entry), str(entry)]
    words += ["--proc", "/proc", "--dev", "/dev", "--bind", str(work), THERE]
    words += ["--tmpfs", str(work)]
    works = subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0
    return words if works else None


class Ssh(NamedTuple):
    """Running sshd on the loopback."""

    config: Path
    """Configuration of a client that may log in."""
    stranger: Path
    """Configuration of a client whose key is refused."""


class Network(NamedTuple):
    """Two hosts, each in a network namespace, with a cable between them."""

    here: list[str]
    """Words that run a command on the client's host."""
    there: list[str]
    address: str
    """Address of the other host."""

    def plug(self, *, is_in: bool) -> None:
        """Put in the cable or pull it out. No connection notices that at once."""
        state = "up" if is_in else "down"
        subprocess.run([*self.here, "ip", "link", "set", "cable", state], check=True)


def has_networks() -> bool:
    """Return whether `network` works here. It needs root."""
    probe = ["unshare", "-n", "ip", "link", "add", "cable", "type", "veth"]
    programs = ("unshare", "nsenter", "ip")
    if os.geteuid() != 0 or not all(shutil.which(program) for program in programs):
        return False
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@contextmanager
def network() -> Iterator[Network]:
    """Make a network of two hosts."""
    holders = [subprocess.Popen(["unshare", "-n", "sleep", "infinity"]) for _ in range(2)]
    here, there = (["nsenter", "-n", "-t", str(holder.pid)] for holder in holders)
    own = Path("/proc/self/ns/net").readlink()
    try:
        until(lambda: _namespace(holders[0]) != own != _namespace(holders[1]), timeout=2)
        peer = ["peer", "name", "cable", "netns", str(holders[1].pid)]
        subprocess.run([*here, "ip", "link", "add", "cable", "type", "veth", *peer], check=True)
        for words, address in ((here, "10.99.0.1/24"), (there, "10.99.0.2/24")):
            subprocess.run([*words, "ip", "address", "add", address, "dev", "cable"], check=True)
            subprocess.run([*words, "ip", "link", "set", "cable", "up"], check=True)
        yield Network(here, there, "10.99.0.2")
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def _namespace(process: subprocess.Popen[bytes]) -> Path | None:
    with suppress(OSError):
        return Path(f"/proc/{process.pid}/ns/net").readlink()
    return None


@contextmanager
def sshd(home: Path, network: Network | None = None) -> Iterator[Ssh]:
    """Run an sshd with its own port and keys, on the other host of a network if there is one."""
    assert SSHD is not None
    address = network.address if network is not None else "127.0.0.1"
    here, there = (network.here, network.there) if network is not None else ([], [])
    home.mkdir(mode=0o700)
    for name in ("host", "user", "stranger"):
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / name)]
        subprocess.run(keygen, check=True)
    (home / "authorized").write_bytes((home / "user.pub").read_bytes())
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    options = {
        "HostKey": home / "host",
        "AuthorizedKeysFile": home / "authorized",
        "ListenAddress": f"{address}:{port}",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
    }
    alive: tuple[str, ...] = ()
    if network is not None:
        options |= {"ClientAliveInterval": "1", "ClientAliveCountMax": "3"}
        alive = ("ServerAliveInterval 1", "ServerAliveCountMax 3")
    settings = home / "sshd_config"
    settings.write_text("".join(f"{name} {value}\n" for name, value in options.items()))
    known = home / "known"
    known.write_text(f"[{address}]:{port} {(home / 'host.pub').read_text()}")
    configs: list[Path] = []
    for name in ("user", "stranger"):
        lines = (
            *("Host box", f"HostName {address}", f"Port {port}", f"User {getpass.getuser()}"),
            *alive,
            *(f"IdentityFile {home / name}", "IdentitiesOnly yes", f"UserKnownHostsFile {known}"),
        )
        configs.append(home / f"{name}_config")
        configs[-1].write_text("\n".join(lines) + "\n")
    Path("/run/sshd").mkdir(exist_ok=True)
    words = [*there, SSHD, "-D", "-e", "-f", str(settings)]
    server = subprocess.Popen(words, stderr=subprocess.DEVNULL)

    def listens() -> bool:
        scan = [*here, "ssh-keyscan", "-T", "1", "-p", str(port), address]
        return bool(subprocess.run(scan, capture_output=True, check=False).stdout)

    try:
        until(listens)
        yield Ssh(configs[0], configs[1])
    finally:
        server.terminate()
        server.wait()


def processes_there(key: str) -> list[int]:
    """Return the processes of agents and their terminals whose environment contains this text."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                environment = (entry / "environ").read_bytes()
                if key.encode() in environment and b"-there\0" in environment:
                    found.append(int(entry.name))
    return found
