"""The bridge's own process: many plugins, and its end."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import msgspec
import pytest

from contract.handshake import Attach
from tests.bridge.conftest import Start
from tests.bridge.harness import PATIENCE, Bridge, Instance, Router, code


async def test_each_plugin_is_an_instance_of_its_own(attach: Start, router: Router) -> None:
    first, second = await (await attach()).up(), await (await attach()).up()
    assert first.handshake.listen != second.handshake.listen
    assert await first.run("pid") == first.process.pid
    assert await second.run("pid") == second.process.pid
    asked = {"service": "test.other", "method": "ask"}
    await first.run("ask", params=asked)
    await second.run("ask", params=asked)
    assert len(router.of(first)) == len(router.of(second)) == 1


async def test_the_death_of_one_plugin_is_its_own(attach: Start) -> None:
    first, second = await (await attach()).up(), await (await attach()).up()
    with pytest.raises(grpc.aio.AioRpcError):
        await first.run("die")
    assert await second.run("pid") == second.process.pid


async def test_a_context_for_another_instance_is_refused(attach: Start) -> None:
    first, second = await (await attach()).up(), await (await attach()).up()
    first.key = second.key
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await first.run("pid")
    assert code(refused) == ("wuu", "unauthenticated")


@contextmanager
def pipes(count: int) -> Iterator[list[tuple[int, int]]]:
    """Pipes whose ends at this side are closed at the end."""
    made = [os.pipe() for _ in range(count)]
    try:
        yield made
    finally:
        for read, _ in made:
            os.close(read)


def ended(read: int) -> bool:
    """Whether a pipe ends, in time."""
    ready, _, _ = select.select([read], [], [], PATIENCE)
    return bool(ready) and os.read(read, 1) == b""


def message(instance: Instance, log: str) -> bytes:
    """What the guardian sends with a plugin's descriptors."""
    return msgspec.json.encode(Attach(handshake=instance.handshake, log=log, timeout=30))


@pytest.mark.parametrize(
    ("sent", "count", "says"),
    [
        (b"{}", 0, "carries 0 descriptors"),
        (b"{}", 1, "carries 1 descriptors"),
        (b"{}", 3, "carries 3 descriptors"),
        (b'{"log":', 2, "cannot be read"),
        (b"{}", 2, "missing required field"),
        (b" " * 100_000, 2, "too long"),
        (b"BAD KEY", 2, "non-hexadecimal"),
    ],
)
async def test_what_cannot_be_attached_is_logged_and_closed(
    bridge: Bridge, attach: Start, sent: bytes, count: int, says: str
) -> None:
    if sent == b"BAD KEY":
        instance = Instance(bridge, 30)
        instance.handshake = msgspec.structs.replace(instance.handshake, key="no hex")
        sent = message(instance, str(instance.log))
        await instance.channel.close()
    before = bridge.log.read_text()
    with pipes(count) as made:
        ends = [write for _, write in made]
        socket.send_fds(bridge.socket, [sent], ends)
        for end in ends:
            os.close(end)
        # The pipes end when the bridge has closed what it was sent.
        assert all([await asyncio.to_thread(ended, read) for read, _ in made])
    # Messages are taken in their order, so the bridge has seen the bad one once it serves the next.
    await attach()
    [line] = bridge.log.read_text().removeprefix(before).splitlines()
    assert says in json.loads(line)["reason"]


@pytest.mark.parametrize("what", ["log", "socket"])
async def test_an_instance_that_cannot_start_is_logged_and_closed(
    bridge: Bridge, attach: Start, directory: Path, what: str
) -> None:
    instance = Instance(bridge, 30)
    missing = str(directory / "missing" / what)
    if what == "socket":
        instance.handshake = msgspec.structs.replace(instance.handshake, listen=missing)
    before = bridge.log.read_text()
    with pipes(2) as made:
        (plugin_stdin, ours_in), (ours_out, plugin_stdout) = made
        stdout = os.dup(ours_out)
        log = missing if what == "log" else str(instance.log)
        socket.send_fds(bridge.socket, [message(instance, log)], [ours_in, stdout])
        for descriptor in (ours_in, stdout):
            os.close(descriptor)
        assert await asyncio.to_thread(ended, plugin_stdin)
        os.close(plugin_stdout)
    await attach()
    said = bridge.log.read_text().removeprefix(before)
    assert "not attached" in said
    assert missing in said
    assert "Traceback" not in said
    await instance.channel.close()


async def test_the_bridge_stops_with_its_lifeline_and_ends_every_input(own_bridge: Bridge) -> None:
    first, second = await own_bridge.attach(), await own_bridge.attach()
    await first.up()
    assert await own_bridge.stop() == 0
    # The probe exits when its input ends.
    assert await first.exited() == 0
    assert await second.exited() == 0
    await first.end()
    await second.end()


async def test_the_bridge_stops_with_sigterm(own_bridge: Bridge) -> None:
    instance = await (await own_bridge.attach()).up()
    held = asyncio.create_task(instance.run("hold", execution="held"))
    await instance.held("held")
    own_bridge.process.send_signal(signal.SIGTERM)
    with pytest.raises(grpc.aio.AioRpcError) as lost:
        await held
    assert lost.value.code() == grpc.StatusCode.UNAVAILABLE
    assert await own_bridge.stop() == 0
    await instance.end()


async def test_the_bridge_lives_on_without_the_guardian(own_bridge: Bridge) -> None:
    instance = await (await own_bridge.attach()).up()
    own_bridge.socket.close()
    assert await instance.run("pid") == instance.process.pid
    await instance.end()


async def test_a_router_that_is_gone_does_not_break_the_bridge(directory: Path, own_bridge: Bridge) -> None:
    router = Router(directory / "another-router")
    await router.start()
    own_bridge.router = router
    instance = await (await own_bridge.attach()).up()
    await router.stop()
    line = '{"id":"$ID","result":1}\n'
    assert await instance.run("say", text="stray\n" + line) == 1
    [answer] = await instance.run("ask", params={"service": "test.other", "method": "ask"})
    assert answer["error"]["code"] == "service_unavailable"
    assert await instance.run("pid") == instance.process.pid
    await instance.end()
    assert await own_bridge.stop() == 0
    assert "report lost" in own_bridge.log.read_text()
    assert "Traceback" not in own_bridge.log.read_text()


async def test_the_program_says_that_the_router_starts_it() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "bridge_jsonl"),
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 2
    assert said.decode() == "no handshake on standard input: this program is started by the router\n"
