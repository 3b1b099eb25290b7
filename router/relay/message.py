"""Messages: how many pass in one direction of a call, and how large, by their length prefixes alone."""

from __future__ import annotations

from struct import Struct

from contract.transport import MESSAGE_LIMIT

PREFIX = Struct(">BL")
"""Whether a message is compressed, and its length."""


class TooLarge(Exception):
    """A message is larger than may pass."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Messages:
    """The messages of one direction, as their bytes come. Nothing is kept of them but half a prefix."""

    __slots__ = ("_left", "_prefix", "count")

    def __init__(self) -> None:
        self.count = 0
        """How many have begun."""
        self._left = 0
        """Bytes of the present one that are still to come."""
        self._prefix = b""

    def take(self, payload: memoryview) -> None:
        """Takes the next bytes. Raises `TooLarge` as soon as a prefix says so."""
        size = len(payload)
        if not self._left and not self._prefix and size >= PREFIX.size:
            # Nearly always: one message, and whole.
            _, length = PREFIX.unpack_from(payload)
            if length + PREFIX.size == size:
                self.count += 1
                return
        at = 0
        while at < size:
            if self._left:
                step = min(self._left, size - at)
                self._left -= step
                at += step
                continue
            missing = PREFIX.size - len(self._prefix)
            self._prefix += bytes(payload[at : at + missing])
            at += missing
            if len(self._prefix) == PREFIX.size:
                _, self._left = PREFIX.unpack(self._prefix)
                self._prefix = b""
                self.count += 1
                if self._left > MESSAGE_LIMIT:
                    raise TooLarge(self._left)

    @property
    def whole(self) -> bool:
        """Whether the last message has come to its end."""
        return not self._left and not self._prefix


def prefixed(message: bytes) -> bytes:
    """A message that is not compressed, as it stands on the wire."""
    return PREFIX.pack(0, len(message)) + message
