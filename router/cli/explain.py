"""`wuu-mesh explain`: who serves a service, what chose it, and what it overrode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from contract.declaration import parse_service
from contract.errors import MeshError
from router.cli.answer import emit
from router.cli.composition.named import accepted
from router.cli.exits import EXIT_ERROR, EXIT_USAGE, explained, fail, say
from router.cli.explanation import UNKNOWN
from router.cli.given import repeated
from router.cli.graph.picture import named, picture, source_of
from router.cli.offer import SERVES, Found, Offer, Wanted
from router.cli.terminal import console, printable
from router.composition.listed import listed
from router.composition.nearest import nearest
from router.composition.rejected import Rejected
from router.generations.kernel import KERNEL_SERVICES
from router.home import Home
from wuu.mesh.v1.control_pb2 import GetGraphResponse
from wuu.mesh.v1.graph_pb2 import GraphEdge, GraphNode, GraphService, GraphStep

Served = GraphService | GraphEdge
"""A service as everybody gets it, or as one module does."""

ROUTER = "the router itself"
"""The provider of what the kernel serves; no module is called so."""


def explain(root: Path | None, service: str, consumer: str, composition: Path | None, *, json: bool) -> None:
    """Explains a service, for everybody or for one consumer."""
    try:
        name, major = parse_service(service)
    except MeshError as wrong:
        fail(EXIT_USAGE, wrong.message, "Write it as state.documents@1, or without the major.")
    with explained(), accepted(json=json):
        home = Home.at(root)
        shown = picture(home, composition)
        nodes = {node.module: node for node in shown.nodes}
        if consumer and consumer not in nodes:
            wrong_name = f"the composition has no module {consumer}{nearest(consumer, nodes)}"
            fail(EXIT_USAGE, wrong_name, repeated("`wuu-mesh graph` shows the modules that there are."))
        found = rows(shown, name, major, consumer)
        lacking = [each for each in found if error_of(each, nodes) is not None]
        offering, silent = _offers(home, composition, shown, lacking, consumer) if lacking else ([], [])
        if json:
            emit(
                {
                    "generation": shown.generation.id or None,
                    "consumer": consumer or None,
                    "services": [_json(each, nodes, shown, consumer) for each in found],
                    "offers": [_offer_json(each) for each in offering],
                    "unknown": silent,
                }
            )
        else:
            out = console()
            out.print(printable(f"({named(shown, composition)})"), soft_wrap=True)
            for each in found:
                for line in _lines(shown, nodes, each, consumer):
                    out.print(printable(line), soft_wrap=True)
            _tell_offers(out, offering, silent)
    if lacking:
        raise typer.Exit(EXIT_ERROR)


def rows(shown: GetGraphResponse, name: str, major: int | None, consumer: str) -> list[Served]:
    """The service as everybody or as the consumer gets it, once for each major that is meant; never empty."""
    kernel = [each for each in sorted(KERNEL_SERVICES) if each[0] == name and major in (None, each[1])]
    if kernel:
        return [GraphService(service=name, major=each, provider=ROUTER, source=ROUTER) for _, each in kernel]
    given: Iterable[Served] = shown.services
    if consumer:
        given = next(node for node in shown.nodes if node.module == consumer).edges
    found: list[Served] = [row for row in given if row.service == name and major in (None, row.major)]
    return found or [_missing(shown, name, major, consumer)]


def _missing(shown: GetGraphResponse, name: str, major: int | None, consumer: str) -> GraphService:
    """A service that nobody offers to whom it is asked for, and why."""
    code, message = (
        _missing_to(shown, consumer, _label(name, major)) if consumer else _missing_to_all(shown, name, major)
    )
    if major is None:
        # Who requires it says which major is meant, where all say the same.
        wanted = {edge.major for node in shown.nodes for edge in node.edges if edge.service == name}
        major = wanted.pop() if len(wanted) == 1 else None
    return GraphService(service=name, major=major or 0, code=code, message=message)


def _missing_to_all(shown: GetGraphResponse, name: str, major: int | None) -> tuple[str, str]:
    others = [_label(each.service, each.major) for each in shown.services if each.service == name]
    label = _label(name, major)
    if others:
        only = f"no module of the composition provides {label}, only {listed(others)}"
        return "service_version_mismatch", only
    hint = nearest(name, {each.service for each in shown.services})
    return "service_not_found", f"no module of the composition provides {label}{hint}"


def _missing_to(shown: GetGraphResponse, consumer: str, label: str) -> tuple[str, str]:
    node = next(node for node in shown.nodes if node.module == consumer)
    if node.state == "disabled":
        return "module_revoked", f"{consumer} calls nobody: it is {node.reason or node.state}"
    if node.state == UNKNOWN:
        return "service_unavailable", f"{consumer} was never started: what it requires is not known"
    required = listed([_label(e.service, e.major) for e in node.edges]) if node.edges else "nothing"
    return "service_not_authorized", f"{consumer} does not require {label}; it requires {required}"


def error_of(row: Served, nodes: Mapping[str, GraphNode]) -> tuple[str, str] | None:
    """The code and the reason of what does not serve now; None of what does."""
    if not row.provider:
        return row.code, row.message
    node = nodes.get(row.provider)
    if node is None or node.state in SERVES:
        return None
    why = f"is {node.state}: {node.reason}" if node.reason else f"is {node.state}"
    return "service_unavailable", f"{_label(row.service, row.major)} is served by {row.provider}, which {why}"


def _label(service: str, major: int | None) -> str:
    return f"{service}@{major}" if major else service


def _offers(
    home: Home,
    composition: Path | None,
    shown: GetGraphResponse,
    lacking: Sequence[Served],
    consumer: str,
) -> tuple[list[Offer], list[str]]:
    """What would serve what is lacking, and the packages of which nothing is known."""
    wanted = [
        Wanted(
            service=each.service,
            major=each.major or None,
            consumer=consumer,
            ambiguous=each.code == "service_ambiguous",
        )
        for each in lacking
        # Nobody who serves it would change that.
        if each.code not in ("service_not_authorized", "module_revoked")
    ]
    if not wanted:
        return [], []
    runs = bool(shown.generation.id)
    try:
        sources, composed, discovery = source_of(home, composition, shown)
    except Rejected as rejected:
        if not runs:
            raise
        # What runs was explained; what else there is cannot be told from packages that are gone.
        for problem in rejected.problems:
            say(f"what would provide it is not known: {problem}")
        return [], []
    found = Found(
        home=home,
        composition=sources,
        composed=composed,
        discovery=discovery,
        states={node.module: node.state for node in shown.nodes},
        runs=runs,
    )
    return [offer for each in wanted for offer in found.offers(each)], found.silent()


def chain(shown: GetGraphResponse, served: Served) -> list[GraphEdge]:
    """The edges from a provider to its delegate, from that to its own, and so on."""
    nodes = {node.module: node for node in shown.nodes}
    links: list[GraphEdge] = []
    provider = served.provider
    seen = {provider}
    while provider in nodes:
        link = next((e for e in nodes[provider].edges if _key(e) == _key(served)), None)
        provided = any(_is(each, served) for each in nodes[provider].provides)
        if link is None or not provided or link.provider in seen:
            break
        links.append(link)
        provider = link.provider
        seen.add(provider)
    return links


def _key(served: Served) -> tuple[str, int]:
    return served.service, served.major


def _is(provided: str, served: Served) -> bool:
    name, _, version = provided.partition("@")
    return name == served.service and version.partition(".")[0] == str(served.major)


def _consumers(shown: GetGraphResponse, served: Served) -> list[tuple[str, GraphEdge]]:
    return [(node.module, e) for node in shown.nodes for e in node.edges if _key(e) == _key(served)]


# --- for people ---


def _lines(
    shown: GetGraphResponse, nodes: Mapping[str, GraphNode], row: Served, consumer: str
) -> Iterator[str]:
    label, whom = _label(row.service, row.major or None), consumer or "everybody"
    if row.provider == ROUTER:
        yield f"{label} for {whom}: {ROUTER}, which serves it to every module that requires it"
        return
    yield f"{label} for {whom}: {row.provider or 'nobody'}"
    if (error := error_of(row, nodes)) is not None:
        yield f"  {error[0]}: {error[1]}"
    if row.source:
        yield f"  chosen by {_chosen(row, bool(consumer))}"
    for step in row.overridden:
        yield f"  over {_overridden(step)}"
    for link in chain(shown, row):
        if link.provider:
            yield f"  which stands in front of {link.provider}, chosen by {_chosen(link, True)}"
        else:
            yield f"  which stands in front of nobody: {link.code}: {link.message}"
    if not consumer:
        for module, edge in _consumers(shown, row):
            yield f"  {module} {_use(edge, row)}"


def _tell_offers(out: Console, offering: Sequence[Offer], silent: Sequence[str]) -> None:
    for offer in offering:
        said = f"would provide it: {offer.module} {offer.version} ({offer.service}) in {offer.root}"
        out.print(printable(f"{said}, which {offer.why}"), soft_wrap=True)
        end = f": {offer.line}" if offer.line else ""
        out.print(printable(f"  → {repeated(offer.remedy)}{end}"), soft_wrap=True)
    if silent:
        said = f"may provide it: {listed(silent)}, of which nothing is known before a first start"
        out.print(printable(said), soft_wrap=True)
        ask = repeated("name one in the composition, and `wuu-mesh check --start` asks it")
        out.print(printable(f"  → {ask}"), soft_wrap=True)


def _chosen(served: Served, is_edge: bool) -> str:
    if is_edge and isinstance(served, GraphEdge) and not served.local:
        return f"{served.source}, for everybody"
    return served.source


def _overridden(step: GraphStep) -> str:
    return f"{step.provider}, by {step.source}" if step.provider else f"its removal at {step.source}"


def _use(edge: GraphEdge, served: Served) -> str:
    verb = "may use" if edge.optional else "requires"
    if not edge.provider:
        return f"{verb} it and has nobody: {edge.code}: {edge.message}"
    if edge.provider == served.provider and not edge.local:
        return f"{verb} it"
    return f"{verb} it of {edge.provider}, chosen by {edge.source}"


# --- for programs ---


def _json(
    row: Served, nodes: Mapping[str, GraphNode], shown: GetGraphResponse, consumer: str
) -> dict[str, Any]:
    node, error = nodes.get(row.provider), error_of(row, nodes)
    return {
        "service": row.service,
        "major": row.major or None,
        "provider": row.provider or None,
        "state": node.state if node is not None else None,
        "source": row.source or None,
        "error": _error_json(error),
        "overridden": steps_json(row.overridden),
        "delegates": [_edge_json(edge, nodes) for edge in chain(shown, row)],
        "consumers": []
        if consumer
        else [
            {"module": module, "optional": edge.optional, **_edge_json(edge, nodes)}
            for module, edge in _consumers(shown, row)
        ],
    }


def _edge_json(edge: GraphEdge, nodes: Mapping[str, GraphNode]) -> dict[str, Any]:
    return {
        "provider": edge.provider or None,
        "source": edge.source or None,
        "error": _error_json(error_of(edge, nodes)),
        "overridden": steps_json(edge.overridden),
    }


def _error_json(error: tuple[str, str] | None) -> dict[str, str] | None:
    return None if error is None else {"code": error[0], "message": error[1]}


def _offer_json(offer: Offer) -> dict[str, str]:
    return {
        "module": offer.module,
        "version": offer.version,
        "service": offer.service,
        "root": str(offer.root),
        "why": offer.why,
        "remedy": offer.remedy,
        "line": offer.line,
    }


def steps_json(steps: Iterable[GraphStep]) -> list[dict[str, str | None]]:
    """What was said before, as `--json` prints it; a provider of null is a removal."""
    return [{"provider": step.provider or None, "source": step.source} for step in steps]
