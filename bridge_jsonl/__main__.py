"""The program: `python -P -m bridge_jsonl`, started by the router."""

from __future__ import annotations

from bridge_jsonl.host import Host
from contract.handshake import HostHandshake, read_host_handshake
from provider_kit.program import lifeline, start


async def _run(handshake: HostHandshake) -> None:
    host = Host(handshake.attach_fd)
    await lifeline()
    await host.stop()


if __name__ == "__main__":
    start(read_host_handshake, _run)
