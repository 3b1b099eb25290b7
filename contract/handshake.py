"""The handshake: the first line on an instance's standard input.

Standard input then stays open as the lifeline: its end means stop. An environment variable would stay
readable in `/proc`, so nothing secret goes there.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

Shaped = TypeVar("Shaped", bound=msgspec.Struct)


class Handshake(msgspec.Struct, frozen=True, kw_only=True):
    """What an instance needs to stand in the mesh. One JSON object on one line."""

    version: Literal[1] = 1
    """The version of the handshake; another is refused."""
    module: str
    """The module's id."""
    instance: str
    """The instance's id: the audience of every context that it accepts."""
    listen: str
    """The absolute path of the Unix socket to listen on."""
    router: str
    """The gRPC target of the router: `unix:/…`."""
    token: str
    """What the instance sends as `wuu-token` on every call to the router."""
    key: str
    """The key of the contexts that it accepts: 32 bytes in hex."""


class HostHandshake(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a process that hosts instances (the bridge): where their descriptors arrive."""

    version: Literal[1] = 1
    """The version of the handshake; another is refused."""
    attach_fd: int
    """A SOCK_SEQPACKET socket. Each message is one `Attach` and carries two descriptors."""


class Attach(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin process for the bridge to speak for, sent with (its stdin, its stdout)."""

    handshake: Handshake
    """The instance that the plugin is."""
    log: str
    """The absolute path of the instance's log; diagnostics are appended to it."""
    timeout: float
    """Seconds that bound every step (start, initialize, prepare, activate, service-changed)."""


def read_handshake(line: bytes) -> Handshake:
    """The handshake in the first line of standard input; ValueError says what is wrong with it."""
    return _read(line, Handshake)


def read_host_handshake(line: bytes) -> HostHandshake:
    """The same for a process that hosts instances."""
    return _read(line, HostHandshake)


def _read(line: bytes, shape: type[Shaped]) -> Shaped:
    if not line:
        raise ValueError("no handshake on standard input: this program is started by the router")
    try:
        return msgspec.json.decode(line, type=shape)
    except msgspec.MsgspecError as unreadable:
        raise ValueError(
            f"the handshake cannot be read ({unreadable}): this program is started by the router"
        ) from None
