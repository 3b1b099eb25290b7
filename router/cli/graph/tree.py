"""Tree: a graph for people, consumers above their providers, with what chose each."""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from router.cli.terminal import printable, styled
from wuu.mesh.v1.control_pb2 import GetGraphResponse
from wuu.mesh.v1.graph_pb2 import GraphEdge, GraphNode, GraphService


def tree(shown: GetGraphResponse, title: str) -> Tree:
    """The graph as a tree. A module is told in full once, and named where it comes again.

    It goes as deep as the longest chain of providers, which may be deeper than calls of Python can be.
    """
    root = Tree(title)
    nodes = {node.module: node for node in shown.nodes}
    everybody = {(each.service, each.major): each for each in shown.services}
    served = {edge.provider for node in shown.nodes for edge in node.edges}
    told: set[str] = set()
    pending: list[tuple[Tree, GraphNode, GraphEdge | None]] = [
        (root, node, None) for module, node in reversed(nodes.items()) if module not in served
    ]
    while pending:
        parent, node, edge = pending.pop()
        branch = parent.add(_label(node, edge, again=node.module in told))
        if node.module in told:
            continue
        told.add(node.module)
        branch.add(Text(printable(f"named by {node.source}"), "dim"))
        for provided in node.provides:
            branch.add(Text(_provided(provided, node, everybody), "dim"))
        for other in node.after:
            branch.add(Text(f"starts after {other}", "dim"))
        for each in node.edges:
            if not each.provider:
                branch.add(Text(printable(f"{_use(each)} → nobody: {each.code}{_why(each, node)}")))
        pending += [(branch, nodes[each.provider], each) for each in reversed(node.edges) if each.provider]
    unserved = [each for each in shown.services if not each.provider]
    if unserved:
        branch = root.add("for everybody nobody serves")
        for lack in unserved:
            branch.add(printable(f"{lack.service}@{lack.major}: {lack.code}: {lack.message}"))
    return root


def _label(node: GraphNode, edge: GraphEdge | None, *, again: bool) -> Text:
    label = Text()
    if edge is not None:
        label.append(f"{_use(edge)} → ")
    label.append(node.module, "bold")
    label.append(" ")
    label.append_text(styled(node.state))
    if edge is not None:
        whom = ", for it alone" if edge.local else ""
        label.append(printable(f" ({edge.source}{whom})"))
    if again:
        label.append(" …" if node.edges or node.provides else "")
    elif node.reason:
        label.append(printable(f": {node.reason}"))
    return label


def _use(edge: GraphEdge) -> str:
    return f"{edge.service}@{edge.major}{'?' if edge.optional else ''}"


def _why(edge: GraphEdge, node: GraphNode) -> str:
    """Why nobody serves it, where that is not why the module does not run, which is told above it."""
    return "" if edge.message == f"{node.module} {node.reason}" else f": {edge.message}"


def _provided(provided: str, node: GraphNode, everybody: dict[tuple[str, int], GraphService]) -> str:
    name, _, version = provided.partition("@")
    chosen = everybody.get((name, int(version.partition(".")[0])))
    if chosen is None or chosen.provider != node.module:
        return f"provides {provided}"
    return printable(f"provides {provided} for everybody ({chosen.source})")
