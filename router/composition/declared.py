"""Declared: what the modules of a composition provide and require, indexed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from contract.declaration import major_of
from router.composition.document import Key
from wuu.mesh.v1.declaration_pb2 import Declaration, ServiceDescriptor


@dataclass(frozen=True, slots=True)
class Declared:
    """What modules declare, by module and by service."""

    provided: Mapping[str, Mapping[Key, ServiceDescriptor]]
    """What each module provides; a module whose declaration is not known is missing."""
    required: Mapping[str, Mapping[Key, bool]]
    """What each module requires, in its own order, and whether it does without; missing as above."""
    providers: Mapping[Key, tuple[str, ...]]
    """The enabled modules that provide each service, sorted."""
    majors: Mapping[str, tuple[int, ...]]
    """The majors that enabled modules provide of each service, sorted."""
    silent: tuple[str, ...]
    """The enabled modules whose declaration is not known, sorted."""


def index(declarations: Mapping[str, Declaration | None], enabled: Collection[str]) -> Declared:
    """Indexes declarations that satisfy `contract.declaration.check_declaration`."""
    spoken = {module: each for module, each in declarations.items() if each is not None}
    provided = {
        module: {(service.name, major_of(service.version)): service for service in each.provided_services}
        for module, each in spoken.items()
    }
    required = {
        module: {(service.name, service.major): service.required for service in each.required_services}
        for module, each in spoken.items()
    }
    providers: dict[Key, list[str]] = {}
    for module in sorted(enabled):
        for key in provided.get(module, ()):
            providers.setdefault(key, []).append(module)
    majors: dict[str, list[int]] = {}
    for service, major in sorted(providers):
        majors.setdefault(service, []).append(major)
    return Declared(
        provided=provided,
        required=required,
        providers={key: tuple(modules) for key, modules in providers.items()},
        majors={service: tuple(numbers) for service, numbers in majors.items()},
        silent=tuple(module for module in sorted(enabled) if module not in spoken),
    )
