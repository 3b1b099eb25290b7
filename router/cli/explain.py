"""`wuu-mesh explain`: who serves a service, what chose it, and what it overrode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from contract.declaration import parse_service
from contract.errors import MeshError
from router.cli.answer import emit
from router.cli.composition import accepted, read_or_fail
from router.cli.exits import EXIT_ERROR, EXIT_USAGE, explained, fail
from router.cli.given import repeated
from router.cli.offer import Found, Offer
from router.cli.picture import file_of_running, named, picture
from router.cli.terminal import console, printable
from router.composition.choice import listed
from router.composition.nearest import nearest
from router.home import Home
from wuu.mesh.v1.control_pb2 import GetGraphResponse, GraphEdge, GraphNode, GraphService, GraphStep

Served = GraphService | GraphEdge
"""A service as everybody gets it, or as one module does."""


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
            fail(EXIT_USAGE, f"the composition has no module {consumer}{nearest(consumer, nodes)}")
        found = list(_found(shown, nodes, name, major, consumer))
        offering: list[Offer] = []
        silent: list[str] = []
        if not found or any(not each.provider for each in found):
            file = composition or (file_of_running(home) if shown.generation.id else None)
            _, composed, discovery = read_or_fail(file, home)
            found_there = Found(home, composed, discovery, {node.module: node.state for node in shown.nodes})
            offering = list(found_there.offers(name, major))
            silent = found_there.silent()
        if json:
            emit(
                {
                    "generation": shown.generation.id or None,
                    "consumer": consumer or None,
                    "services": [_json(each, nodes, shown, consumer) for each in found],
                    "offers": [
                        {
                            "module": each.module,
                            "version": each.version,
                            "service": each.service,
                            "root": str(each.root),
                            "remedy": each.remedy,
                        }
                        for each in offering
                    ],
                    "unknown": silent,
                }
            )
        else:
            _print(console(), shown, nodes, found, service, consumer)
            _tell_offers(console(), offering, silent)
    if not found or any(not each.provider for each in found):
        raise typer.Exit(EXIT_ERROR)


def _found(
    shown: GetGraphResponse, nodes: dict[str, GraphNode], name: str, major: int | None, consumer: str
) -> Iterator[Served]:
    rows: Iterable[Served] = nodes[consumer].edges if consumer else shown.services
    for row in rows:
        if row.service == name and major in (None, row.major):
            yield row


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


def _print(
    out: Console,
    shown: GetGraphResponse,
    nodes: dict[str, GraphNode],
    found: Sequence[Served],
    service: str,
    consumer: str,
) -> None:
    def line(text: str) -> None:
        out.print(printable(text), soft_wrap=True)

    line(f"({named(shown)})")
    if not found:
        if consumer:
            required = [f"{e.service}@{e.major}" for e in nodes[consumer].edges]
            known = f"; it requires {', '.join(required)}" if required else "; it requires nothing"
            line(f"{consumer} does not require {service}{known}")
        else:
            names = {each.service for each in shown.services}
            name = service.partition("@")[0]
            line(f"nobody serves {service}: service_not_found{nearest(name, names)}")
    for each in found:
        whom = consumer or "everybody"
        label = f"{each.service}@{each.major}"
        if each.provider:
            node = nodes[each.provider]
            state = "" if node.state in ("ready", "active") else f", which is {node.state}"
            line(f"{label} for {whom}: {each.provider}{state}")
            line(f"  chosen by {_chosen(each, bool(consumer))}")
        else:
            line(f"{label} for {whom}: nobody")
            line(f"  {each.code}: {each.message}")
            if each.source:
                line(f"  chosen by {each.source}")
        for step in each.overridden:
            line(f"  over {_overridden(step)}")
        for link in chain(shown, each):
            line(f"  which stands in front of {link.provider}, chosen by {_chosen(link, True)}")
        if not consumer:
            for module, edge in _consumers(shown, each):
                line(f"  {module} {_use(edge, each)}")


def _tell_offers(out: Console, offering: Sequence[Offer], silent: Sequence[str]) -> None:
    for offer in offering:
        said = f"would provide it: {offer.module} {offer.version} ({offer.service}) in {offer.root}"
        out.print(printable(said), soft_wrap=True)
        out.print(printable(f"  → {offer.remedy}"), soft_wrap=True)
    if silent:
        out.print(f"may provide it: {listed(silent)}, of which nothing is known before a first start")
        out.print(f"  → {repeated('`wuu-mesh check --start` asks those that the composition names')}")


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
    served: Served, nodes: dict[str, GraphNode], shown: GetGraphResponse, consumer: str
) -> dict[str, Any]:
    provider = served.provider or None
    return {
        "service": served.service,
        "major": served.major,
        "provider": provider,
        "state": nodes[served.provider].state if provider else None,
        "source": served.source or None,
        "error": None if provider else {"code": served.code, "message": served.message},
        "overridden": steps_json(served.overridden),
        "delegates": [
            {
                "provider": e.provider or None,
                "source": e.source or None,
                "overridden": steps_json(e.overridden),
            }
            for e in chain(shown, served)
        ],
        "consumers": []
        if consumer
        else [
            {
                "module": module,
                "provider": e.provider or None,
                "source": e.source or None,
                "optional": e.optional,
                "error": None if e.provider else {"code": e.code, "message": e.message},
                "overridden": steps_json(e.overridden),
            }
            for module, e in _consumers(shown, served)
        ],
    }


def steps_json(steps: Iterable[GraphStep]) -> list[dict[str, str | None]]:
    """What was said before, as `--json` prints it; a provider of null is a removal."""
    return [{"provider": step.provider or None, "source": step.source} for step in steps]
