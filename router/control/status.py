"""Status: the mesh as it is now, in the messages of the control API."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from contract.declaration import major_of
from router.composition.graph import Selected
from router.generations.candidate import Candidate
from router.generations.generation import Generation
from router.instances.instance import Instance
from router.version import VERSION
from wuu.mesh.v1 import control_pb2

_PAGE = os.sysconf("SC_PAGE_SIZE")

if TYPE_CHECKING:
    from router.mesh import Mesh


def status(mesh: Mesh, started: float) -> control_pb2.GetStatusResponse:
    """The mesh; `started` is when its router was, in the clock of `time.time()`."""
    generation = mesh.admission.generation
    composition = generation.composition if generation is not None else mesh.composition
    return control_pb2.GetStatusResponse(
        generation=generation_status(mesh),
        modules=[_module(mesh, module) for module in sorted(modules(mesh))],
        services=list(_services(generation)) if generation is not None else [],
        router=control_pb2.RouterStatus(
            pid=os.getpid(),
            rss_bytes=_rss(os.getpid()),
            version=VERSION,
            home=str(mesh.home.root),
            composition=str(composition.given or ""),
            sources=[str(path) for path in composition.files],
            started_unix_ms=round(started * 1000),
            executions=len(mesh.admission.executions),
        ),
    )


def generation_status(mesh: Mesh) -> control_pb2.GenerationStatus:
    """The generation that new work takes."""
    generation = mesh.admission.generation
    return control_pb2.GenerationStatus(
        id=generation.id if generation else "",
        state=mesh.generation_state,
        diagnostics=generation.diagnostics if generation else (),
    )


def modules(mesh: Mesh) -> set[str]:
    """The modules of the composition that runs, or is about to."""
    generation, candidate = mesh.admission.generation, mesh.transitions.candidate
    if generation is not None:
        return set(generation.graph.nodes)
    return set(candidate.composed.modules) if candidate is not None else set()


def _module(mesh: Mesh, module: str) -> control_pb2.ModuleStatus:
    generation, candidate = mesh.admission.generation, mesh.transitions.candidate
    instance: Instance | None = None
    if generation is not None:
        instance = generation.instances.get(module) or generation.failed.get(module)
        package_version = generation.known[module].version if module in generation.known else ""
        row = _of_generation(generation, module, instance)
    else:
        assert candidate is not None, "there is a module"
        instance = candidate.instances.get(module)
        known = candidate.packages.get(module)
        package_version = known.manifest.version if known else ""
        row = _of_candidate(candidate, module, instance)
    row.id, row.version = module, package_version
    if instance is not None:
        _describe(row, instance)
    return row


def _of_generation(
    generation: Generation, module: str, instance: Instance | None
) -> control_pb2.ModuleStatus:
    node = generation.graph.nodes[module]
    if instance is not None and instance.failure is not None:
        failure = instance.failure
        return control_pb2.ModuleStatus(state="failed", error=failure.message, error_code=failure.code)
    if node.state != "ready":
        known = generation.known.get(module)
        broken = node.state == "blocked" and known is not None and known.unavailable
        return control_pb2.ModuleStatus(
            state="failed" if broken else node.state, error=node.reason, error_code=node.reason_code
        )
    assert instance is not None, "a ready module has an instance"
    return control_pb2.ModuleStatus(state=instance.state)


def _of_candidate(candidate: Candidate, module: str, instance: Instance | None) -> control_pb2.ModuleStatus:
    if instance is not None and instance.failure is not None:
        failure = instance.failure
        return control_pb2.ModuleStatus(state="failed", error=failure.message, error_code=failure.code)
    if not candidate.entry(module).enabled:
        return control_pb2.ModuleStatus(state="disabled")
    broken = candidate.discovery.broken.get(module)
    if broken is not None:
        return control_pb2.ModuleStatus(state="failed", error=broken.message, error_code="invalid_request")
    return control_pb2.ModuleStatus(state=instance.state if instance is not None else "starting")


def _services(generation: Generation) -> Iterator[control_pb2.ServiceStatus]:
    for module, instance in sorted(generation.instances.items()):
        for provided in instance.declaration.provided_services if instance.declaration else ():
            major = major_of(provided.version)
            selected = generation.graph.services.get((provided.name, major))
            source = selected.source if isinstance(selected, Selected) and selected.provider == module else ""
            yield control_pb2.ServiceStatus(
                service=provided.name,
                major=major,
                version=provided.version,
                provider=module,
                source=source,
            )


def _describe(row: control_pb2.ModuleStatus, instance: Instance) -> None:
    row.protocol = instance.package.runtime.protocol
    row.instance = instance.id
    row.stray_lines = instance.stray_lines
    row.last_stray_line = instance.last_stray_line
    row.start_ms = instance.start_ms
    if instance.child is not None and not instance.child.exited.done():
        row.pid = instance.child.pid
        row.rss_bytes = _rss(instance.child.pid)
    if instance.declaration is not None:
        row.provides.extend(f"{s.name}@{s.version}" for s in instance.declaration.provided_services)
        row.requires.extend(
            f"{r.name}@{r.major}" + ("" if r.required else "?")
            for r in instance.declaration.required_services
        )


def _rss(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except OSError:
        return 0  # It has ended.
    return int(pages) * _PAGE
