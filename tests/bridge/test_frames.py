"""Lines and frames, without a process."""

from __future__ import annotations

import codecs
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from bridge_jsonl import frames
from bridge_jsonl.frames import Answer, Fault, LineTooLong, Request, Splitter, Stray

LINE_ENDS = st.sampled_from([b"\n", b"\r\n"])
TEXTS = st.one_of(
    st.sampled_from([b"", b" ", b"\t ", codecs.BOM_UTF8, b"{}", b'{"id":"1","result":null}']),
    st.binary(max_size=40).map(lambda text: text.replace(b"\n", b"")),
    st.text(max_size=20).map(lambda text: text.replace("\n", "").encode("utf-8", "surrogatepass")),
    st.text(max_size=20).map(lambda text: text.replace("\n", "").encode("utf-16")),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def split(text: bytes, cuts: list[int], limit: int = 1 << 20) -> list[bytes]:
    """The lines of a text that arrives in pieces; `TOO LONG` where the splitter gives up."""
    splitter = Splitter(limit)
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    lines: list[bytes] = []
    try:
        for start, end in itertools.pairwise(edges):
            lines.extend(map(bytes, splitter.feed(text[start:end])))
        lines.extend(map(bytes, splitter.end()))
    except LineTooLong:
        lines.append(b"TOO LONG")
    return lines


def plain(line: bytes) -> bytes:
    """A line as the splitter is to give it out, said otherwise."""
    return line.removesuffix(b"\r").removeprefix(codecs.BOM_UTF8)


@given(st.lists(st.tuples(TEXTS, LINE_ENDS)), TEXTS, st.lists(st.integers(0, 1 << 16), max_size=12))
def test_lines_are_the_same_wherever_the_output_is_split(
    written: list[tuple[bytes, bytes]], last: bytes, cuts: list[int]
) -> None:
    text = b"".join(line + end for line, end in written) + last
    expected = [line for line in map(plain, text.split(b"\n")) if line.strip()]
    assert split(text, cuts) == expected


@given(
    st.lists(st.integers(0, 30), max_size=6), st.lists(st.integers(0, 1 << 16), max_size=12), st.booleans()
)
def test_a_line_past_the_limit_ends_the_output_wherever_it_is_split(
    sizes: list[int], cuts: list[int], ended: bool
) -> None:
    limit = 16
    text = b"\n".join(b"x" * size for size in sizes) + (b"\n" if ended else b"")
    expected: list[bytes] = []
    for size in sizes:
        if size > limit:
            expected.append(b"TOO LONG")
            break
        expected += [b"x" * size] if size else []
    assert split(text, cuts, limit) == expected


def test_a_line_past_the_limit_is_not_held_while_it_arrives() -> None:
    splitter = Splitter(limit=10)
    assert list(splitter.feed(b"123456")) == []
    with pytest.raises(LineTooLong):
        list(splitter.feed(b"78901"))
    assert list(splitter.end()) == []


@pytest.mark.parametrize(
    ("line", "id_", "method", "params"),
    [
        (
            b'{"id":"plugin-1","method":"host.service.call","params":{"a":1}}',
            "plugin-1",
            "host.service.call",
            b'{"a":1}',
        ),
        (b' { "params" : [ 1 ] , "method" : "m", "id":"x" } ', "x", "m", b"[ 1 ]"),
        (b'{"id":"1","method":"prepare"}', "1", "prepare", None),
        (b'{"id":"1","method":"m","params":null}', "1", "m", b"null"),
        (b'{"id":"1","method":"m","jsonrpc":"2.0"}', "1", "m", None),
    ],
)
def test_a_request_is_read(line: bytes, id_: str, method: str, params: bytes | None) -> None:
    frame = frames.read(line)
    assert isinstance(frame, Request)
    assert (frame.id, frame.method) == (id_, method)
    assert (None if frame.params is None else bytes(frame.params)) == params


@pytest.mark.parametrize("copy", [bytes, bytearray])
def test_a_result_keeps_its_bytes(copy: Any) -> None:
    frame = frames.read(copy(b'{"id":"7","result":{ "b" : 1.50e+2, "a":"\\u00e9\xc3\xa9" }}'))
    assert isinstance(frame, Answer)
    assert isinstance(frame.result, Raw)
    assert bytes(frame.result) == b'{ "b" : 1.50e+2, "a":"\\u00e9\xc3\xa9" }'


def test_an_error_has_a_message_and_perhaps_a_code() -> None:
    assert frames.read(b'{"id":"7","error":{"message":"no"}}') == Answer("7", Fault("no"))
    assert frames.read(b'{"id":"7","error":{"code":"c","message":"no","x":1}}') == Answer(
        "7", Fault("no", "c")
    )


@pytest.mark.parametrize(
    "line",
    [
        b"Debugger attached.",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b'{"id":1,"result":null}',
        b'{"id":null,"result":null}',
        b'{"id":"","result":null}',
        b'{"result":null}',
        b'{"id":"1"}',
        b'{"id":"1","result":1,"error":{"message":""}}',
        b'{"id":"1","error":"text"}',
        b'{"id":"1","error":{"code":"c"}}',
        b'{"id":"1","error":{"message":1}}',
        b'{"id":"1","result":1,"params":{}}',
        b'{"id":"1","method":"m","result":1}',
        b'{"id":"1","method":1}',
        b'{"id":"1","result":NaN}',
        b'{"id":"1","result":"\xff"}',
        b'{"id":"1","result":"\\ud800"}',
        b'{"id":"1","result":1',
        b'{"id":"1","result":' + b"[" * 5000 + b"]" * 5000 + b"}",
        '{"id":"1","result":1}'.encode("utf-16"),
    ],
)
def test_any_other_line_is_stray(line: bytes) -> None:
    assert isinstance(frames.read(line), Stray)


@pytest.mark.parametrize(
    ("line", "id_", "kind"),
    [
        (b'{"id":"12","result":NaN}', "12", "answer"),
        (b'{"id": "12", "result": "\\ud83d"}', "12", "answer"),
        (b'{"id":"12","error":"text"}', "12", "answer"),
        (b'{"id":"p-1","method":"host.service.call","params":{"x":"\\udc00"}}', "p-1", "request"),
        (b'{"id":"12","re', "", "answer"),
        (b'{"result":NaN,"id":"12"}', "", "answer"),
    ],
)
def test_a_stray_line_tells_whom_it_would_have_been_for(line: bytes, id_: str, kind: str) -> None:
    frame = frames.read(line)
    assert isinstance(frame, Stray)
    assert (frame.id, frame.kind) == (id_, kind)


@given(st.binary(max_size=200))
def test_whatever_is_written_is_read_somehow(line: bytes) -> None:
    assert isinstance(frames.read(line), Request | Answer | Stray)


def test_utf8_is_checked_across_the_parts_in_which_it_is_checked() -> None:
    text = "é" * (3 << 19)
    good = b'{"id":"1","result":"' + b"x" + text.encode() + b'"}'
    assert isinstance(frames.read(good), Answer)
    assert isinstance(frames.read(good[:-2] + b"\xc3" + good[-2:]), Stray)


@given(JSON, st.sampled_from([None, 1, 2]), st.booleans())
def test_a_frame_is_one_line_and_says_what_it_was_given(
    value: Any, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    line = frames.result("plugin-1", text)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    assert json.loads(line) == {"id": "plugin-1", "result": json.loads(text)}


def test_a_frame_is_one_line_for_readers_that_know_more_line_ends_than_we_do() -> None:
    text = '{"a\u2028b":"\u2029"}'
    line = frames.request("1", "m", frames.spliced(text.encode()))
    assert line == b'{"id":"1","method":"m","params":{"a\\u2028b":"\\u2029"}}\n'
    assert json.loads(line)["params"] == json.loads(text)


def test_json_in_a_frame_keeps_its_bytes_but_for_line_ends() -> None:
    assert frames.result("1", b'{ "a":\r\n\t1.0E2 }') == b'{"id":"1","result":{ "a":  \t1.0E2 }}\n'
    assert frames.request("2", "prepare") == b'{"id":"2","method":"prepare"}\n'
    assert frames.error("3", "c", "é\n") == '{"id":"3","error":{"message":"é\\n","code":"c"}}\n'.encode()
