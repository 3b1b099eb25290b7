"""The table of what h2spec asks in vain."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.http2.excused import EXCUSED


def test_every_excused_case_says_which_why_and_where_its_point_is_made() -> None:
    source = ast.parse((Path(__file__).parent / "test_in_flight.py").read_text())
    tests = {each.name for each in source.body if isinstance(each, ast.AsyncFunctionDef | ast.FunctionDef)}
    for each in EXCUSED:
        assert re.fullmatch(r"(generic|http2|hpack)/\d+(\.\d+)*", each.section), each
        assert each.reason.endswith("."), each
        assert not each.instead or each.instead in tests, each
    rows = [(each.section, each.case) for each in EXCUSED]
    assert rows == sorted(set(rows))
