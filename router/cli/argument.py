"""Argument: JSON as an operator types it, or pipes it in."""

from __future__ import annotations

import os
import sys

from contract.errors import MeshError
from contract.transcoder import Rejected, check_json


def read_json(argument: str) -> bytes:
    """The JSON of an argument, in the bytes that were given; `-` reads standard input.

    Raises `invalid_params`.
    """
    given = sys.stdin.buffer.read() if argument == "-" else os.fsencode(argument)
    text = given.strip(b" \t\r\n")
    try:
        check_json(text)
    except Rejected as rejected:
        raise MeshError(
            "invalid_params",
            f"the input is not JSON: {rejected}",
            remedy="Put JSON into single quotes, or write - and pipe it in.",
        ) from None
    return text
