"""A plugin that misbehaves, and one that dies."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import Any

import grpc
import pytest

from contract.errors import DETAILS_KEY
from tests.bridge.conftest import Start
from tests.bridge.harness import Bridge, Instance, Router, RouterCall, code

MIB = 1024 * 1024


def answer(result: str = "null") -> str:
    """The line with which the probe answers, for `say`."""
    return f'{{"id":"$ID","result":{result}}}\n'


async def test_rubbish_before_the_first_frame_does_no_harm(attach: Start, router: Router) -> None:
    instance = await attach(options={"first": "\ufeff\r\n\nDebugger attached.\r\n" + "é" * 300 + "\n"})
    await instance.up()
    await router.until(lambda: router.report(instance).stray_lines == 2)
    assert router.report(instance).last_stray_line == "é" * 200
    assert not router.report(instance).HasField("failure")
    log = instance.log.read_text()
    assert "Debugger attached.\n" in log
    assert "é" * 200 + "\n" in log


async def test_output_may_be_split_anywhere(probe: Instance) -> None:
    whole = '{ "id" : "$ID",\t"result" : "é" }'
    assert await probe.run("say", text=f"\ufeff{whole}\r\n\r\n  \n") == "é"
    assert await probe.run("say", text=f"rubbish\n{whole}\nrubbish\n") == "é"


async def test_a_last_line_without_its_end_is_an_answer(probe: Instance) -> None:
    assert await probe.run("die", text='{"id":"$ID","result":"last words"}', status=0) == "last words"


@pytest.mark.parametrize("id_", ["999", "nobody", "0", "-1", "9" * 5000])
async def test_an_answer_that_nobody_waits_for_is_ignored(probe: Instance, router: Router, id_: str) -> None:
    wrong = f'{{"id":"{id_}","error":{{"message":"what was that"}}}}\n'
    assert await probe.run("say", text=wrong + answer("1")) == 1
    assert "answer to no open call, id '" in probe.log.read_text()
    assert "what was that" in probe.log.read_text()
    assert router.report(probe).stray_lines == 0


UNREAD = '{"id":"invalid","error":{"message":"unexpected end of line"}}\n'
"""What the SDK answers to a line that it cannot read."""


async def test_nobody_waits_for_the_answer_to_a_request_that_the_plugin_cannot_read(probe: Instance) -> None:
    with pytest.raises(grpc.aio.AioRpcError, match=r"could not read service\.invoke: unexpected end of line"):
        await probe.run("say", text=UNREAD)
    assert await probe.run("pid") == probe.process.pid


async def test_what_was_cancelled_before_leaves_nobody_waiting_either(probe: Instance) -> None:
    doomed = asyncio.create_task(probe.run("hold", execution="doomed"))
    await probe.held("doomed")
    doomed.cancel()
    await probe.seen(lambda seen: any(entry[0] == "execution.cancel" for entry in seen))
    with pytest.raises(grpc.aio.AioRpcError, match=r"could not read service\.invoke"):
        await probe.run("say", text=UNREAD)


async def test_of_two_requests_the_one_that_is_left_without_an_answer_was_not_read(probe: Instance) -> None:
    read = asyncio.create_task(probe.run("hold", execution="read"))
    await probe.held("read")
    unread = asyncio.create_task(probe.run("say", text=UNREAD, execution="unread"))
    await probe.held("unread")
    seen = await probe.seen()
    [number] = [entry[1] for entry in seen if entry[2] == "read"]
    assert await probe.run("say", text=f'{{"id":"{number}","result":"read"}}\n' + answer("2")) == 2
    assert await read == "read"
    with pytest.raises(grpc.aio.AioRpcError, match=r"could not read service\.invoke: unexpected end of line"):
        await unread
    assert await probe.run("pid") == probe.process.pid


async def test_a_second_answer_is_ignored(probe: Instance) -> None:
    assert await probe.run("say", text=answer("1") + answer("2")) == 1
    assert await probe.run("pid") == probe.process.pid


@pytest.mark.parametrize(
    "line",
    [
        '{"id":"$ID","result":NaN}',
        '{"id": "$ID", "result": "\\ud83d"}',
        '{"id":"$ID","result":1,"error":{"message":"both"}}',
        '{"id":"$ID","error":"text"}',
        '{"id":"$ID","result":1,"params":{}}',
    ],
)
async def test_an_answer_that_is_not_a_frame_fails_its_call_instead_of_hanging_it(
    probe: Instance, router: Router, line: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as broken:
        await probe.run("say", text=line + "\n")
    assert code(broken) == ("wuu", "protocol_violation")
    assert (broken.value.details() or "").startswith("the answer to service.invoke is not a frame: ")
    await router.until(lambda: router.report(probe).stray_lines == 1)
    assert await probe.run("pid") == probe.process.pid


async def test_a_request_that_is_not_a_frame_is_answered(probe: Instance) -> None:
    frame = '{"id":"own-1","method":"host.service.call","params":{"service":"\\ud800"}}\n'
    [told] = await probe.run("expect", id="own-1", text=frame)
    assert told["error"]["code"] == "invalid_request"


async def test_too_many_stray_lines_fail_the_plugin_and_no_other(
    attach: Start, probe: Instance, router: Router
) -> None:
    flooding = await (await attach()).up()
    assert await flooding.run("say", text="".join(f"{n}\n" for n in range(256)) + answer("1")) == 1
    await router.until(lambda: router.report(flooding).stray_lines == 256)
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await flooding.run("say", text="one too many\n")
    assert code(failed) == ("wuu", "protocol_violation")
    await router.until(lambda: router.report(flooding).HasField("failure"))
    report = router.report(flooding)
    assert (report.stray_lines, report.last_stray_line) == (257, "one too many")
    assert report.failure.code == "protocol_violation"
    with pytest.raises(grpc.aio.AioRpcError) as later:
        await flooding.run("pid")
    assert code(later) == ("wuu", "protocol_violation")
    assert await probe.run("pid") == probe.process.pid


async def test_a_mebibyte_of_stray_lines_fails_the_plugin(probe: Instance, router: Router) -> None:
    line = "x" * (MIB // 4 - 1) + "y\n"
    assert await probe.run("say", text=line * 4 + answer("1")) == 1
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await probe.run("say", text="z\n")
    assert code(failed) == ("wuu", "protocol_violation")
    await router.until(lambda: router.report(probe).failure.code == "protocol_violation")


async def test_a_failed_plugin_is_read_on_until_it_is_gone(attach: Start, router: Router) -> None:
    instance = await (await attach()).up()
    with pytest.raises(grpc.aio.AioRpcError):
        # More than a pipe holds, so the plugin only gets to exit because somebody reads.
        await instance.run("die", text="stray\n" * 300 + "x" * 4 * MIB, status=7)
    assert await instance.exited() == 7


async def test_a_line_past_64_mib_fails_its_plugin_alone_and_is_never_held_whole(
    own_bridge: Bridge, router: Router
) -> None:
    other = await (await own_bridge.attach()).up()
    large = await (await own_bridge.attach()).up()
    before = own_bridge.rss
    try:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await large.run("grow", bytes=300 * MIB)
        assert code(failed) == ("wuu", "limit_exceeded")
        await router.until(lambda: router.report(large).failure.code == "limit_exceeded")
        assert await other.run("pid") == other.process.pid
        assert own_bridge.peak - before < 100 * MIB
    finally:
        await other.end()
        await large.end()


async def test_60_mib_go_both_ways(probe: Instance) -> None:
    size = 60 * MIB
    text = await probe.invoke(json.dumps({"do": "large", "bytes": size}).encode())
    assert len(text) == size + 2
    padding = "x" * size
    assert await probe.run("size", padding=padding) > size


async def test_a_frame_past_64_mib_to_the_plugin_fails_its_call_alone(probe: Instance) -> None:
    padding = b"x" * (64 * MIB - 100)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await probe.invoke(b'{"do":"size","padding":"' + padding + b'"}')
    assert code(refused) == ("wuu", "limit_exceeded")
    assert await probe.run("pid") == probe.process.pid


async def test_a_plugin_that_does_not_read_takes_64_mib_and_no_more_calls(probe: Instance) -> None:
    await probe.run("stall")
    padding = "x" * (33 * MIB)
    calls = [asyncio.create_task(probe.run("size", padding=padding)) for _ in range(4)]
    done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await next(iter(done))
    assert code(refused) == ("wuu", "admission_full")
    os.killpg(probe.process.pid, signal.SIGKILL)
    for call in waiting:
        with pytest.raises(grpc.aio.AioRpcError):
            await call


async def test_death_ends_what_is_in_flight_without_details(probe: Instance) -> None:
    held = asyncio.create_task(probe.run("hold", execution="held"))
    await probe.held("held")
    dying = asyncio.create_task(probe.run("die", text='{"id":"$ID","resu', status=3))
    for call in (held, dying):
        with pytest.raises(grpc.aio.AioRpcError) as lost:
            await call
        assert lost.value.code() == grpc.StatusCode.UNAVAILABLE
        assert lost.value.details() == "the plugin closed its output"
        trailers: Any = lost.value.trailing_metadata()
        assert DETAILS_KEY not in dict(tuple(trailers or ()))
    assert await probe.exited() == 3


async def test_a_plugin_that_closes_its_input_is_gone(probe: Instance) -> None:
    await probe.run("close_input")
    with pytest.raises(grpc.aio.AioRpcError) as lost:
        await probe.run("pid")
    assert lost.value.code() == grpc.StatusCode.UNAVAILABLE


async def test_death_cancels_what_the_plugin_had_asked(probe: Instance, router: Router) -> None:
    async def hang(call: RouterCall) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError

    router.answer = hang
    asking = asyncio.create_task(probe.run("ask", params={"service": "test.other", "method": "ask"}))
    await router.until(lambda: bool(router.of(probe)))
    os.killpg(probe.process.pid, signal.SIGKILL)
    with pytest.raises(grpc.aio.AioRpcError) as lost:
        await asking
    assert lost.value.code() == grpc.StatusCode.UNAVAILABLE
    async with asyncio.timeout(30):
        await router.of(probe)[0].cancelled.wait()


async def test_half_a_line_at_the_end_is_a_stray_line(probe: Instance, router: Router) -> None:
    with pytest.raises(grpc.aio.AioRpcError):
        await probe.run("die", text='{"id":"$ID","result":{"a":')
    await router.until(lambda: router.report(probe).stray_lines == 1)
    assert router.report(probe).last_stray_line.endswith('"result":{"a":')
