"""Argument: what an operator types, or pipes in. What is wrong with it is a mistake of usage."""

from __future__ import annotations

import codecs
import os
import sys

from contract.transcoder import Rejected, check_json
from router.cli.exits import EXIT_USAGE, fail
from router.composition.position import Malformed, locate
from router.packages.manifest import MODULE_ID, MODULE_ID_LIMIT

_REMEDY = "Put JSON into single quotes, or write - and pipe it in."


def read_json(argument: str) -> bytes:
    """The JSON of an argument, in the bytes that were given; `-` reads standard input."""
    if argument == "-":
        named, given = "standard input", sys.stdin.buffer.read().removeprefix(codecs.BOM_UTF8)
    else:
        named, given = "the argument", os.fsencode(argument)
    text = given.strip(b" \t\r\n")
    if not text:
        fail(EXIT_USAGE, f"{named} is empty", _REMEDY)
    try:
        check_json(text)
    except Rejected as rejected:
        fail(EXIT_USAGE, f"{named} is not JSON: {_place(given) or rejected.rule}", _REMEDY)
    return text


def read_object(argument: str) -> bytes:
    """The JSON object of an argument, as `read_json` reads it."""
    text = read_json(argument)
    if not text.startswith(b"{"):
        fail(EXIT_USAGE, "the arguments of a tool are one JSON object", "Write {} where there are none.")
    return text


def check_module(module: str) -> None:
    """Ends the command where no module can have this id."""
    if not MODULE_ID.fullmatch(module) or len(module) > MODULE_ID_LIMIT:
        shown = module if len(module) <= MODULE_ID_LIMIT else f"{module[:MODULE_ID_LIMIT]}…"
        remedy = f"It matches ^[a-z0-9][a-z0-9._-]*$ and has at most {MODULE_ID_LIMIT} characters."
        fail(EXIT_USAGE, f"'{shown}' is not the id of a module", remedy)


def _place(given: bytes) -> str:
    """Line, column and mistake; empty where this reader sees none."""
    try:
        locate(given)
    except Malformed as malformed:
        return str(malformed)
    return ""
