"""Form: what a drawing is written in."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """A form of drawing."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
