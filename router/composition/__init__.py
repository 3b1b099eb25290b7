"""Composition: documents + declarations → graph. Pure: no process, no socket, no clock."""

from router.composition.composed import Composed, compose
from router.composition.document import Document, ModuleEntry, Selection, parse_document
from router.composition.graph import Absent, Binding, Graph, Node, Selected
from router.composition.rejected import Problem, Rejected
from router.composition.resolve import Known, resolve

__all__ = [
    "Absent",
    "Binding",
    "Composed",
    "Document",
    "Graph",
    "Known",
    "ModuleEntry",
    "Node",
    "Problem",
    "Rejected",
    "Selected",
    "Selection",
    "compose",
    "parse_document",
    "resolve",
]
