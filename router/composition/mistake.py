"""Mistake: what keeps a text from being JSON, in the words of someone who wrote it by hand."""

from __future__ import annotations

import re

_BLANK = " \t\r\n"
_WORD = re.compile(r"[^\W\d][\w$-]*")
_LITERALS = {
    "true": "true",
    "false": "false",
    "null": "null",
    "none": "null",
    "nil": "null",
    "undefined": "null",
}

_WORDS = {
    "Expecting property name": "a name in double quotes is missing here",
    "Expecting ':'": "a colon is missing between a name and its value",
    "Expecting ','": "a comma is missing before this",
    "Expecting value": "a value is missing here",
    "Extra data": "the JSON has ended before this",
    "Unterminated string": "the string that begins here has no end",
    "Invalid control character": "a line break or a control character stands in a string; write \\n",
    "Invalid \\u": "\\u takes four hexadecimal digits",
    "Invalid \\escape": "the backslash escapes nothing; write \\\\ for one",
}
"""By how the parser of the standard library begins."""


def explain(text: str, offset: int, parsed: str) -> tuple[int, str]:
    """Where the mistake is and what it is, given where the parser of the standard library stopped and why."""
    before = text[:offset].rstrip(_BLANK)
    here = text[offset:]
    if not text.strip(_BLANK):
        return 0, "the file is empty"
    if not parsed.startswith(("Expecting", "Illegal", "Extra")):
        return offset, _said(parsed)
    if parsed.startswith("Illegal trailing comma"):
        return offset, _trailing(text[offset + 1 :].lstrip(_BLANK)[:1])
    if here.startswith(("//", "/*", "#")):
        return offset, "JSON has no comments"
    if here[:1] in ("}", "]") and before.endswith(","):
        return len(before) - 1, _trailing(here[0])
    if here.startswith(",") and before.endswith((",", "[", "{")):
        return offset, "there is one comma too many"
    if here[:1] in ("}", "]") and parsed.startswith("Expecting ','"):
        return offset, f"{here[0]} does not close the bracket that is open here"
    if here.startswith("'"):
        return offset, "JSON writes strings in double quotes"
    if not here.strip(_BLANK):
        return len(before), "the text ends before the JSON does"
    return offset, _number(text[:offset], here) or _word(here, parsed) or _said(parsed)


def _trailing(bracket: str) -> str:
    return f"there is a trailing comma; JSON has none before {bracket}"


def _number(before: str, here: str) -> str:
    """What is wrong with a number that is not written as JSON writes it."""
    if re.match(r"[+.]\.?\d", here) or (here.startswith(".") and before[-1:].isdigit()):
        return "a number has no + before it, and digits on both sides of its point"
    if here[0].isdigit() and before.endswith("0"):
        return "a number begins with no 0 before other digits"
    return ""


def _word(here: str, parsed: str) -> str:
    """What is wrong with a word where JSON has none."""
    word = _WORD.match(here)
    if word is None or not parsed.startswith(("Expecting value", "Expecting property name")):
        return ""
    literal = _LITERALS.get(word.group().lower())
    if literal is not None and parsed.startswith("Expecting value"):
        return f"{word.group()} is not JSON; write {literal}"
    return f"{word.group()[:40]} is not JSON; names and text stand in double quotes"


def _said(parsed: str) -> str:
    return next((words for start, words in _WORDS.items() if parsed.startswith(start)), "this is not JSON")
