"""Other places for agents: a container with another path for the workspace, a real sshd."""

from __future__ import annotations

import getpass
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


@contextmanager
def sshd(home: Path) -> Iterator[Ssh]:
    """Run an sshd with its own port and keys."""
    assert SSHD is not None
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
        "ListenAddress": f"127.0.0.1:{port}",
        "PidFile": "none",
        "StrictModes": "no",
        "UsePAM": "no",
        "PasswordAuthentication": "no",
    }
    settings = home / "sshd_config"
    settings.write_text("".join(f"{name} {value}\n" for name, value in options.items()))
    known = home / "known"
    known.write_text(f"[127.0.0.1]:{port} {(home / 'host.pub').read_text()}")
    configs: list[Path] = []
    for name in ("user", "stranger"):
        lines = (
            *("Host box", "HostName 127.0.0.1", f"Port {port}", f"User {getpass.getuser()}"),
            *(f"IdentityFile {home / name}", "IdentitiesOnly yes", f"UserKnownHostsFile {known}"),
        )
        configs.append(home / f"{name}_config")
        configs[-1].write_text("\n".join(lines) + "\n")
    Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen([SSHD, "-D", "-e", "-f", str(settings)], stderr=subprocess.DEVNULL)

    def listens() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

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
