"""JSON at the edge: what the contract knows passes unchanged, and nothing else passes."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from contract.contracts import own_contracts
from contract.errors import MeshError
from contract.transcoder import (
    request_from_json,
    request_to_json,
    response_from_json,
    response_to_json,
    to_json,
    to_message,
)
from tests.contract.schema import PLACE, TAKE

KINDS = TAKE.input_type
EVERY = {
    "text": "",
    "flag": False,
    "small": 0,
    "natural": 0,
    "large": 0,
    "exact": "0",
    "exact_natural": "0",
    "real": 0.0,
    "raw": "",
    "inners": [],
    "numbers": [],
    "parent": None,
    "GoCased": "",
    "labels": {},
    "shelves": {},
    "sides": {},
}
"""What an empty message says: every field that cannot be absent."""

text = st.text()
small = st.integers(-(2**31), 2**31 - 1)

members = st.fixed_dictionaries(
    {"parent": st.none() | text},
    optional={
        "text": text,
        "maybe_text": text,
        "flag": st.booleans(),
        "small": small,
        "natural": st.integers(0, 2**32 - 1),
        "large": st.integers(-(2**53), 2**53),
        "exact": st.integers(-(2**63), 2**63 - 1).map(str),
        "exact_natural": st.integers(0, 2**64 - 1).map(str),
        "real": st.floats(allow_nan=False, allow_infinity=False),
        "raw": st.binary().map(lambda raw: base64.b64encode(raw).decode()),
        "colour": st.sampled_from(["deep-red", "sky-blue"]),
        "inner": st.fixed_dictionaries({"text": text}),
        "inners": st.lists(st.fixed_dictionaries({"text": text}), max_size=3),
        "numbers": st.lists(small, max_size=3),
        "names": st.lists(text, max_size=3),
        "GoCased": text,
        "labels": st.dictionaries(text, text, max_size=3),
        "shelves": st.dictionaries(small.map(str), text, max_size=3),
        "sides": st.dictionaries(st.sampled_from(["true", "false"]), text),
    },
)
choice: st.SearchStrategy[dict[str, Any]] = (
    st.just({}) | text.map(lambda t: {"left": t}) | st.booleans().map(lambda b: {"right": b})
)


def taken(params: bytes) -> Any:
    return json.loads(request_to_json(TAKE, request_from_json(TAKE, params)))


def rejection(params: bytes) -> MeshError:
    with pytest.raises(MeshError) as refused:
        request_from_json(TAKE, params)
    assert refused.value.code == "invalid_params"
    return refused.value


@given(one=members, other=choice)
def test_every_kind_of_field_survives_both_ways(one: dict[str, Any], other: dict[str, Any]) -> None:
    sent = {**one, **other}
    assert taken(json.dumps(sent).encode()) == {**EVERY, **sent}


@given(members)
def test_json_is_the_same_whether_it_is_escaped_or_not(sent: dict[str, Any]) -> None:
    escaped = json.dumps(sent, ensure_ascii=True).encode()
    plain = json.dumps(sent, ensure_ascii=False).encode()
    assert request_from_json(TAKE, escaped) == request_from_json(TAKE, plain)


def test_an_empty_message_says_what_cannot_be_absent_and_nothing_else() -> None:
    assert taken(b'{"parent":null}') == EVERY


@pytest.mark.parametrize(
    "value",
    [b'{"a": 1.0,\n "a":2, "b" : 1e400}', b"null", b'"\\u0041"', b"[ ]", b"-0", b"12345678901234567890123"],
)
def test_a_json_value_keeps_its_bytes(value: bytes) -> None:
    request = request_from_json(TAKE, b'{"parent":null,"value":' + value + b"}")
    assert b'"value":' + value + b"}" in request_to_json(TAKE, request).replace(
        b',"parent":null,"GoCased":"","labels":{},"shelves":{},"sides":{}', b""
    )


def test_an_absent_list_and_an_empty_one_differ() -> None:
    assert "names" not in taken(b'{"parent":null}')
    assert taken(b'{"parent":null,"names":[]}')["names"] == []


@pytest.mark.parametrize(
    ("params", "pointer", "rule"),
    [
        (b'{"parent":null,"txet":""}', "/txet", "no such field"),
        (b'{"parent":null,"goCased":""}', "/goCased", "no such field"),
        (b'{"parent":null,"text":"","text":""}', "/text", "appears twice"),
        (b'{"parent":null,"inner":{"text":"","text":""}}', "/inner/text", "appears twice"),
        (b'{"parent":null,"inners":[{},{"no":1}]}', "/inners/1/no", "no such field"),
        (b'{"parent":null,"a/b~c":1}', "/a~1b~0c", "no such field"),
        (b'{"parent":null,"large":9007199254740993}', "/large", "2^53"),
        (b'{"parent":null,"small":2147483648}', "/small", "from -2147483648"),
        (b'{"parent":null,"natural":-1}', "/natural", "from 0"),
        (b'{"parent":null,"small":1.5}', "/small", "an integer"),
        (b'{"parent":null,"small":"1"}', "/small", "an integer"),
        (b'{"parent":null,"exact":1}', "/exact", "a decimal string"),
        (b'{"parent":null,"exact":"01"}', "/exact", "a decimal string"),
        (b'{"parent":null,"exact":"' + b"9" * 5000 + b'"}', "/exact", "a decimal string"),
        (b'{"parent":null,"exact":"9223372036854775808"}', "/exact", "from -9223372036854775808"),
        (b'{"parent":null,"exact_natural":"-1"}', "/exact_natural", "from 0"),
        (b'{"parent":null,"text":null}', "/text", "must not be null"),
        (b'{"parent":null,"text":1}', "/text", "a string"),
        (b'{"parent":null,"flag":"true"}', "/flag", "true or false"),
        (b'{"parent":null,"raw":"a-_="}', "/raw", "base64"),
        (b'{"parent":null,"raw":"YQ"}', "/raw", "base64"),
        (b'{"parent":null,"raw":"\xc3\xa9\xc3\xa9"}', "/raw", "base64"),
        (b'{"parent":null,"colour":"COLOUR_1"}', "/colour", "deep-red, sky-blue"),
        (b'{"parent":null,"colour":""}', "/colour", "deep-red, sky-blue"),
        (b'{"parent":null,"inner":[]}', "/inner", "an object"),
        (b'{"parent":null,"names":{}}', "/names", "an array"),
        (b'{"parent":null,"names":[1]}', "/names/0", "a string"),
        (b'{"parent":null,"labels":{"a":1}}', "/labels/a", "a string"),
        (b'{"parent":null,"shelves":{"a":"b"}}', "/shelves/a", "an integer"),
        (b'{"parent":null,"shelves":{"01":"b"}}', "/shelves/01", "an integer"),
        (b'{"parent":null,"shelves":{"2147483648":"b"}}', "/shelves/2147483648", "from -2147483648"),
        (b'{"parent":null,"sides":{"True":"b"}}', "/sides/True", "true or false"),
        (b'{"parent":null,"left":"","right":true}', "/right", "excludes left"),
        (b'{"text":""}', "/parent", "must be present"),
        (b"[]", "", "an object"),
        (b"null", "", "an object"),
        (b'{"parent":null,"real":NaN}', "", "malformed"),
        (b'{"parent":null,"real":1e999}', "/real", "a number"),
        (b'{"parent":null,}', "", "malformed"),
        (b'{"parent":null} {}', "", "malformed"),
        (b'{"parent":"\xff"}', "", "not UTF-8 at byte 11"),
        (b'\xef\xbb\xbf{"parent":null}', "", "malformed"),
    ],
)  # fmt: skip
def test_what_the_contract_does_not_know_is_refused_with_a_pointer(
    params: bytes, pointer: str, rule: str
) -> None:
    refused = rejection(params)
    assert refused.details["pointer"] == pointer
    assert rule in refused.message


@pytest.mark.parametrize(
    "surrogate", [r"\ud800", r"\udc00", r"\ud800x", r"\ud800\ud800", r"\ud83d", r"a\udfff"]
)
@pytest.mark.parametrize(
    "place", ['{"parent":"%s"}', '{"parent":null,"value":{"a":"%s"}}', '{"parent":null,"labels":{"%s":""}}']
)
def test_a_lone_surrogate_is_refused(place: str, surrogate: str) -> None:
    assert "lone surrogate" in rejection((place % surrogate).encode()).message


def test_a_pair_of_surrogates_is_a_character() -> None:
    assert taken(rb'{"parent":"\ud83d\ude00"}')["parent"] == "😀"


@given(st.binary())
def test_no_bytes_do_anything_but_pass_or_be_refused(params: bytes) -> None:
    try:
        request_from_json(TAKE, params)
    except MeshError as refused:
        assert refused.code == "invalid_params"


def test_a_positional_method_takes_and_gives_arrays() -> None:
    request = request_from_json(PLACE, b'[["a","b"]]')
    assert request_to_json(PLACE, request) == b'[["a","b"]]'
    response = response_from_json(PLACE, b'["x"]')
    assert response_to_json(PLACE, response) == b'["x"]'


def test_a_positional_method_takes_no_more_arguments_than_it_has() -> None:
    with pytest.raises(MeshError, match="at most 1 arguments"):
        request_from_json(PLACE, b'[["a"],1]')


def test_no_params_are_no_arguments() -> None:
    assert request_from_json(PLACE, b"") == b""
    read = own_contracts().contract("state.documents", 1)
    assert read is not None
    assert request_from_json(read.methods_by_name["Export"], b"") == b""


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("large", 2**53 + 1, "past 2^53"),
        ("real", float("nan"), "not a JSON number"),
        ("colour", 9, "no value of"),
    ],
)
def test_a_response_that_has_no_json_is_a_protocol_violation(field: str, value: Any, rule: str) -> None:
    message = GetMessageClass(KINDS)(**{field: value})
    with pytest.raises(MeshError, match=rule.replace("^", r"\^")) as refused:
        response_to_json(TAKE, message.SerializeToString())
    assert refused.value.code == "protocol_violation"
    assert refused.value.details["pointer"] == f"/{field}"


@pytest.mark.parametrize("broken", [b"{", b"NaN", b'"\xff"', b"1 2", b'"\\ud800"'])
def test_a_json_value_that_is_not_json_never_reaches_a_line(broken: bytes) -> None:
    message = GetMessageClass(KINDS)(value={"utf8": broken})
    with pytest.raises(MeshError, match="/value: not JSON"):
        response_to_json(TAKE, message.SerializeToString())


def test_bytes_that_are_no_message_are_refused() -> None:
    with pytest.raises(MeshError) as refused:
        response_to_json(TAKE, b"\xff\xff")
    assert refused.value.code == "protocol_violation"


@given(members)
def test_a_message_and_its_json_say_the_same(sent: dict[str, Any]) -> None:
    message = to_message(KINDS, json.dumps(sent).encode())
    assert to_message(KINDS, to_json(message)) == message
