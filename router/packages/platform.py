"""Platform: the host that packages are for, and why one is not for this host."""

from __future__ import annotations

import platform
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from router.packages.manifest import Manifest

WUU_VERSION = "2026.1108.0"
"""The release of Wuu whose documents this mesh implements, which `minimum_wuu_version` is compared with."""

CALVER = re.compile(r"[0-9]{4}\.[0-9]{1,4}\.[0-9]{1,6}")
"""The form of Wuu's versions: the year, month and day, and a count."""

PLATFORM = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9_]+)?")
"""The form of a platform: a system, and behind a hyphen an architecture."""

_SYSTEMS = {"macos": "darwin", "windows": "win32"}
_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}


def unsuitable(manifest: Manifest) -> str:
    """Why a package cannot run on this host, with the remedy; empty where it can."""
    needed = manifest.minimum_wuu_version
    if needed and _ordered(needed) > _ordered(WUU_VERSION):
        return f"it needs Wuu {needed} and this mesh stands for {WUU_VERSION}; use an older version of it"
    system, architecture = here()
    platforms = {_canonical(named) for named in manifest.platforms}
    if platforms and not platforms & {system, f"{system}-{architecture}"}:
        named = ", ".join(manifest.platforms)
        return (
            f"it is for {named} and not for {system}-{architecture}; use one that is made for this platform"
        )
    return ""


def here() -> tuple[str, str]:
    """The system and the architecture of this host, as manifests name them."""
    machine = platform.machine().lower()
    return sys.platform, _ARCHITECTURES.get(machine, machine)


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _canonical(named: str) -> str:
    system, hyphen, architecture = named.partition("-")
    return _SYSTEMS.get(system, system) + hyphen + _ARCHITECTURES.get(architecture, architecture)
