"""Fault: why a candidate is dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from contract.errors import MeshError


@dataclass(frozen=True, slots=True)
class Fault:
    """One reason for which a candidate is dropped."""

    module: str
    error: MeshError


class Dropped(Exception):
    """The candidate failed before its commit."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{fault.module}: {fault.error}" for fault in self.faults))
