"""`wuu-mesh status`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from router.cli.answer import emit
from router.cli.exits import explained
from router.cli.session import Session
from router.cli.terminal import console, print_table, printable, styled, table
from router.composition.reason import DISABLED
from wuu.mesh.v1 import control_pb2

if TYPE_CHECKING:
    from rich.table import Table


def show(root: Path | None, *, json: bool) -> None:
    """Prints the status of the mesh of a home."""
    with explained(), Session.of(root) as session:
        answer = session.status()
    if json:
        emit(status_json(answer))
    else:
        _print(answer)


def status_json(answer: control_pb2.GetStatusResponse) -> dict[str, Any]:
    """The status as `--json` prints it."""
    return {
        "generation": {"id": answer.generation.id, "state": answer.generation.state},
        "diagnostics": list(answer.generation.diagnostics),
        "modules": [
            {
                "id": module.id,
                "version": module.version,
                "state": module.state,
                "pid": module.pid or None,
                "rss_bytes": module.rss_bytes or None,
                "provides": list(module.provides),
                "requires": list(module.requires),
                "error": {"code": module.error_code, "message": module.error} if module.error else None,
                "protocol": module.protocol,
                "instance": module.instance or None,
                "start_ms": module.start_ms,
                "stray_lines": module.stray_lines,
                "last_stray_line": module.last_stray_line or None,
            }
            for module in answer.modules
        ],
        "services": [
            {
                "service": service.service,
                "major": service.major,
                "version": service.version,
                "provider": service.provider,
                "source": service.source or None,
            }
            for service in answer.services
        ],
        "router": {
            "pid": answer.router.pid,
            "rss_bytes": answer.router.rss_bytes,
            "version": answer.router.version,
            "home": answer.router.home,
            "composition": answer.router.composition or None,
            "started_unix_ms": answer.router.started_unix_ms,
            "executions": answer.router.executions,
            "sources": list(answer.router.sources),
        },
    }


def _print(answer: control_pb2.GetStatusResponse) -> None:
    from rich.text import Text

    out = console()
    router = answer.router
    out.print(
        Text.assemble(
            "generation ",
            (answer.generation.id or "–", "bold"),
            " ",
            styled(answer.generation.state),
            f" · router pid {router.pid}, {_mib(router.rss_bytes)} · {router.executions} executions",
        )
    )
    files = " over ".join(reversed(router.sources)) or "the product’s own"
    out.print(f"home {router.home} · composition {files}", soft_wrap=True)
    print_table(out, modules_table(answer))
    for reason in reasons(answer):
        out.print(reason)
    for diagnostic in answer.generation.diagnostics:
        out.print(printable(f"note: {diagnostic}"))
    if not answer.services:
        return
    services = table("service", "version", "provider", "selected by")
    for service in answer.services:
        services.add_row(
            f"{service.service}@{service.major}", service.version, service.provider, service.source or "–"
        )
    out.print()
    print_table(out, services)


def modules_table(answer: control_pb2.GetStatusResponse) -> Table:
    """The modules, a row each."""
    rows = table("module", "version", "state", "pid", "memory")
    for module in answer.modules:
        rows.add_row(
            module.id,
            module.version or "–",
            styled(module.state),
            str(module.pid or "–"),
            _mib(module.rss_bytes),
        )
    return rows


def reasons(answer: control_pb2.GetStatusResponse) -> Iterator[str]:
    """Why modules do not serve that should, and what is odd about those that do; a line each."""
    for module in answer.modules:
        if module.error and module.error != DISABLED:
            yield reason(module)
        if module.stray_lines:
            yield f"module {module.id}: {module.stray_lines} lines on stdout were no frames; see its log"


def reason(module: control_pb2.ModuleStatus) -> str:
    """Why a module does not serve, with the code of its failure."""
    return printable(f"module {module.id} {module.state}: {module.error_code}: {module.error}")


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB" if size else "–"
