"""Limits: what the peer has said about itself in its SETTINGS. Source: RFC 9113, section 6.5.2."""

from __future__ import annotations

from collections.abc import Mapping

from hyperframe.frame import SettingsFrame

from router.relay.http2.frame import (
    DEFAULT_WINDOW,
    LARGEST_FRAME_LIMIT,
    LARGEST_WINDOW,
    SMALLEST_FRAME_LIMIT,
    Code,
    Violation,
)


class Limits:
    """The limits of one peer."""

    __slots__ = ("frame", "header_list", "streams", "window")

    def __init__(self) -> None:
        self.window = DEFAULT_WINDOW
        """Bytes that may be sent on a stream that begins."""
        self.frame = SMALLEST_FRAME_LIMIT
        """Bytes that a frame may have."""
        self.streams: int | None = None
        """Streams that may be open; None where it has not said."""
        self.header_list: int | None = None
        """Bytes of a header list; None where it has not said."""

    def take(self, settings: Mapping[int, int], *, of_server: bool) -> None:
        """Takes in what it says now. Raises `Violation` for what it may not say."""
        for key, value in settings.items():
            match key:
                case SettingsFrame.INITIAL_WINDOW_SIZE:
                    if value > LARGEST_WINDOW:
                        raise Violation(Code.FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE is too large")
                    self.window = value
                case SettingsFrame.MAX_FRAME_SIZE:
                    if not SMALLEST_FRAME_LIMIT <= value <= LARGEST_FRAME_LIMIT:
                        raise Violation(Code.PROTOCOL_ERROR, "SETTINGS_MAX_FRAME_SIZE is out of its bounds")
                    self.frame = value
                case SettingsFrame.MAX_CONCURRENT_STREAMS:
                    self.streams = value
                case SettingsFrame.MAX_HEADER_LIST_SIZE:
                    self.header_list = value
                case SettingsFrame.ENABLE_PUSH if value > (0 if of_server else 1):
                    raise Violation(Code.PROTOCOL_ERROR, "SETTINGS_ENABLE_PUSH is out of its bounds")
