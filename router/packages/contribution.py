"""Contribution: what a package brings beside its process, as its manifest declares it.

Source: *Plugin authoring reference*. The types are the source's; what the values mean (tokens of a theme,
files of a skin) is for those who show them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

_NotEmpty = Annotated[str, msgspec.Meta(min_length=1)]
_Object = dict[str, Any]


class Theme(msgspec.Struct, frozen=True, kw_only=True):
    """Colours for content."""

    id: _NotEmpty
    name: _NotEmpty
    base: Literal["light", "dark"] = "light"
    tokens: Mapping[str, str] = {}


class Skin(msgspec.Struct, frozen=True, kw_only=True, rename={"user_image": "userImage"}):
    """A look of the window's frame."""

    id: _NotEmpty
    name: _NotEmpty
    placement: Literal["frame", "canvas"] = "frame"
    user_image: bool = False
    light: _Object
    dark: _Object


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of the package. `default` has the type that `type` says."""

    type: Literal["boolean", "string", "number", "enum", "secret"]
    title: str = ""
    default: Any = None
    scope: Literal["user", "workspace"] = "user"
    apply: Literal["live", "next-operation", "restart"] = "live"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command for people."""

    id: _NotEmpty
    kind: Literal["prompt_template", "runtime_action", "side_conversation"]


class Contributes(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"workspace_tools": "workspaceTools", "settings_pages": "settingsPages"},
):
    """`contributes`."""

    themes: tuple[Theme, ...] = ()
    skins: tuple[Skin, ...] = ()
    settings: Mapping[str, Setting] = {}
    commands: tuple[Command, ...] = ()
    presenters: tuple[_Object, ...] = ()
    navigation: tuple[_Object, ...] = ()
    workspace_tools: tuple[_Object, ...] = ()
    settings_pages: tuple[_Object, ...] = ()


class Desktop(msgspec.Struct, frozen=True, kw_only=True):
    """`desktop`: the part of the package that runs where people look."""

    entry: _NotEmpty
    """A self-contained ESM module, as a path within the package."""
    required_services: tuple[_Object, ...] = ()
    """The services that it calls."""


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Packages that are shown as one. It installs, requires, enables and trusts nothing."""

    id: str = ""
    name: str = ""
    description: str = ""


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """`interface`: how the package is shown."""

    family: Family = Family()


class StorageTransfer(msgspec.Struct, frozen=True, kw_only=True, rename={"key_prefix": "keyPrefix"}):
    """One side of a storage prefix's way from one package to another."""

    id: _NotEmpty
    plugin: _NotEmpty
    scope: Literal["user"]
    domain: _NotEmpty
    key_prefix: _NotEmpty


class StorageTransfers(msgspec.Struct, frozen=True, kw_only=True):
    """`storageTransfers`."""

    exports: tuple[StorageTransfer, ...] = ()
    imports: tuple[StorageTransfer, ...] = ()
