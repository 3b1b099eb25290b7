"""HTTP/2 by hand: requests that no gRPC library would send."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""RFC 9113, section 3.4."""

SETTINGS = bytes(3) + b"\x04" + bytes(5)
"""An empty SETTINGS frame."""

END_HEADERS_AND_STREAM = 0x5


def send(path: Path, *headers: tuple[bytes, bytes]) -> None:
    """Sends one request without a body on a Unix socket and waits until the peer closes, or answered."""
    block = b"".join(_literal(name, value) for name, value in headers)
    frame = len(block).to_bytes(3) + bytes((1, END_HEADERS_AND_STREAM)) + (1).to_bytes(4) + block
    with closing(socket.socket(socket.AF_UNIX)) as peer:
        peer.settimeout(5)
        peer.connect(str(path))
        peer.sendall(PREFACE + SETTINGS + frame)
        received = b""
        while not _answered(received):
            try:
                chunk = peer.recv(65536)
            except ConnectionError:
                return
            if not chunk:
                return
            received += chunk


def grpc_request(path: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """The headers of a gRPC call to `path`."""
    return (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path),
        (b":authority", b"localhost"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
    )


def _literal(name: bytes, value: bytes) -> bytes:
    """RFC 7541, section 6.2.2: never indexed, no Huffman code."""
    return b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value


def _answered(received: bytes) -> bool:
    """Whether a whole HEADERS or RST_STREAM frame of stream 1 has come."""
    while len(received) >= 9:
        size, kind = int.from_bytes(received[:3]), received[3]
        stream = int.from_bytes(received[5:9])
        if stream == 1 and kind in (1, 3) and len(received) >= 9 + size:
            return True
        received = received[9 + size :]
    return False
