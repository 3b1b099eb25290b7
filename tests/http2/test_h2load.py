"""h2load: what another HTTP/2 library makes of the router when it calls it many times at once."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path

import pytest

from tests.http2.peer import frame
from tests.support.bare import WIRE
from tests.support.mesh import Mesh


@pytest.mark.parametrize(
    ("calls", "connections", "streams", "size", "options"),
    [
        pytest.param(20_000, 1, 100, 100, (), id="one-connection"),
        pytest.param(20_000, 50, 20, 100, (), id="many-connections"),
        pytest.param(2_000, 1, 1, 0, (), id="one-by-one"),
        pytest.param(500, 5, 20, 200_000, (), id="large-messages"),
        pytest.param(200, 5, 20, 200_000, ("-w", "10"), id="windows-of-1-kib"),
        pytest.param(200, 5, 20, 200_000, ("-W", "16", "-w", "16"), id="a-connection-of-64-kib"),
        pytest.param(2_000, 5, 20, 100, ("--encoder-header-table-size", "0"), id="no-table"),
        pytest.param(2_000, 5, 20, 100, ("--header-table-size", "0"), id="no-table-for-answers"),
    ],
)
async def test_every_call_is_answered(
    control: Path,
    tmp_path: Path,
    calls: int,
    connections: int,
    streams: int,
    size: int,
    options: tuple[str, ...],
) -> None:
    """With the very bytes that it sent, as far as their number tells."""
    message = tmp_path / "message"
    message.write_bytes(frame(bytes(size)))
    output = await h2load(
        f"--requests={calls}",
        f"--clients={connections}",
        f"--max-concurrent-streams={streams}",
        f"--data={message}",
        "--header=content-type: application/grpc",
        "--header=te: trailers",
        "--header=wuu-service: bare.wire@1",
        f"--base-uri=unix:{control}",
        *options,
        f"http://localhost/{WIRE}/Echo",
    )
    assert f"{calls} succeeded, 0 failed, 0 errored, 0 timeout" in output, output
    # What is refused is a success of HTTP, and brings no data.
    assert re.search(rf"\({calls * (size + 5)}\) data", output), output


async def test_no_execution_is_left_behind(mesh: Mesh) -> None:
    await mesh.idle()


async def h2load(*arguments: str) -> str:
    """What h2load prints."""
    if shutil.which("h2load") is None:
        pytest.fail("the long suite of HTTP/2 needs h2load, of the package nghttp2-client", pytrace=False)
    process = await asyncio.create_subprocess_exec(
        "h2load", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return output.decode()
