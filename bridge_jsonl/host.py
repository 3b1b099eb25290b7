"""The host: takes plugins from the guardian and gives each an instance's server.

Source: `contract.handshake.Attach`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket

import msgspec

from bridge_jsonl.plugin import Plugin
from contract.handshake import Attach
from contract.log import speaker
from provider_kit.server import InstanceServer

log = logging.getLogger(__name__)

MESSAGE_LIMIT = 64 * 1024
"""Bytes that an `Attach` may have."""

_MOST_DESCRIPTORS = 16


class Host:
    """The instances of one bridge."""

    def __init__(self, attach_fd: int) -> None:
        self._socket = socket.socket(fileno=attach_fd)
        self._socket.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._instances: set[asyncio.Task[None]] = set()
        self._loop.add_reader(self._socket, self._receive)

    async def stop(self) -> None:
        """Takes no more plugins and lets go of all."""
        self._stop_receiving()
        for instance in self._instances:
            instance.cancel()
        if self._instances:
            await asyncio.wait(self._instances)

    def _receive(self) -> None:
        # Room for more descriptors than are meant, so that none is lost unclosed.
        try:
            message, descriptors, flags, _ = socket.recv_fds(self._socket, MESSAGE_LIMIT, _MOST_DESCRIPTORS)
        except BlockingIOError:
            return
        if not message and not descriptors:
            log.info("the guardian is gone")
            self._stop_receiving()
            return
        try:
            attach = _attach(message, descriptors, flags)
        except ValueError as wrong:
            log.error("not attached", extra={"reason": str(wrong)})
            _close(descriptors)
            return
        instance = self._loop.create_task(_run(attach, *descriptors))
        self._instances.add(instance)
        instance.add_done_callback(self._instances.discard)

    def _stop_receiving(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()


def _attach(message: bytes, descriptors: list[int], flags: int) -> Attach:
    if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
        raise ValueError("the message is too long")
    if len(descriptors) != 2:
        raise ValueError(f"the message carries {len(descriptors)} descriptors, not 2")
    try:
        attach = msgspec.json.decode(message, type=Attach)
    except msgspec.MsgspecError as unreadable:
        raise ValueError(f"the message cannot be read: {unreadable}") from None
    bytes.fromhex(attach.handshake.key)
    return attach


async def _run(attach: Attach, stdin: int, stdout: int) -> None:
    """One instance, until its process is gone or the bridge stops."""
    speaker.set(attach.handshake.module)
    plugin = Plugin(attach)
    server = InstanceServer(attach.handshake, plugin)
    try:
        plugin.start(stdin, stdout)
    except OSError as failure:
        log.error("not attached", extra={"reason": str(failure)})
        _close([stdin, stdout])
        await server.mesh.close()
        return
    try:
        await server.start()
        await plugin.gone()
        plugin.lost()
    except OSError as failure:
        log.error("not attached", extra={"reason": str(failure)})
    finally:
        await plugin.close()
        await server.stop()


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
