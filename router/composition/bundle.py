"""Bundle: modules and selections that come together. Source: 产品 profile 与渲染器绑定."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bundle:
    """Modules and selections that come together."""

    name: str
    modules: tuple[str, ...]
    selections: tuple[tuple[str, int, str], ...]
    """(service, major, provider), for every consumer."""


BASE = Bundle(
    name="wuu.base",
    modules=("wuu.state.sqlite",),
    selections=(("state.documents", 1, "wuu.state.sqlite"),),
)
"""What every product stands on."""

DESKTOP = Bundle(name="wuu.desktop", modules=(), selections=())
"""What a desktop adds. The shell and its renderers are not served by a mesh, so it has no modules here."""

BUNDLES: Mapping[str, Bundle] = {bundle.name: bundle for bundle in (BASE, DESKTOP)}
"""Every bundle, by name."""

PROFILES: Mapping[str, tuple[str, ...]] = {
    "headless": (BASE.name,),
    "desktop": (BASE.name, DESKTOP.name),
}
"""The bundles of each profile, in the order in which they apply."""
