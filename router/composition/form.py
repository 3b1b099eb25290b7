"""Form: the shape of a composition document, version 4, as types.

The reader takes the names of fields and their versions from here, and the JSON Schema for editors is made of
them. Source: 产品 profile 与渲染器绑定, and the composition of *局部扩展 provider*.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from contract.declaration import SERVICE_NAME
from router.composition.bundle import BUNDLES, PROFILES
from router.limits import MAX_TIMEOUT

VERSION = 4
"""The version that is written; those below are read as the subsets that they are."""

VERSIONS = (2, 3, VERSION)
"""Every version that is read."""

_Module = Annotated[str, Meta(min_length=1, description="The id of a module.")]
_Service = Annotated[
    str,
    Meta(
        pattern=rf"^(?:{SERVICE_NAME.pattern})$(?!\n)",
        description="The name of a service: `state.documents`.",
    ),
]
_Major = Annotated[int, Meta(ge=1, description="The major version of the service: `1`.")]
_Seconds = Annotated[
    float,
    Meta(
        gt=0,
        le=MAX_TIMEOUT,
        description="Seconds that bound every step (start, initialize, prepare, activate, service-changed); "
        "without it, what the manifest says.",
    ),
]
_Config = Annotated[
    dict[str, Any],
    Meta(
        description="The operator's configuration of the module: paths, DSNs, endpoints. What it means is "
        "the module's own affair; the settings that a package declares are kept elsewhere."
    ),
]
_Endpoint = Annotated[
    str,
    Meta(
        pattern=r"^dns:///.+$(?!\n)",
        description="Where the module is served, instead of being started: `dns:///host:port`.",
    ),
]
_Pattern = Annotated[
    str,
    Meta(min_length=1, description='A directory, or a pattern such as "./plugins/*", relative to this file.'),
]
_File = Annotated[
    str,
    Meta(
        min_length=1, pattern=r"^[^/]", description="The path of another composition, relative to this file."
    ),
]


if TYPE_CHECKING:
    _Profile = str
    _Bundle = str
else:
    _Profile = Literal[tuple(PROFILES)]
    _Bundle = Literal[tuple(BUNDLES)]


class _Form(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class Entry(_Form, frozen=True):
    """What the composition says about one module."""

    enabled: Annotated[
        bool, Meta(description="Whether it is started. A disabled module stays in the composition.")
    ] = True
    config: _Config | UnsetType = UNSET
    timeout: _Seconds | UnsetType = UNSET
    endpoint: _Endpoint | UnsetType = UNSET


_Modules = dict[_Module, bool | Entry]


class Choice(_Form, frozen=True):
    """The provider of one service: for every consumer, or for one."""

    service: _Service
    major: _Major
    provider: _Module
    consumer: Annotated[
        _Module | UnsetType,
        Meta(description="The module that the choice is for; without it, all that have none of their own."),
    ] = UNSET


class RemovalForm(_Form, frozen=True):
    """The one selection that a patch takes away."""

    service: _Service
    major: _Major
    consumer: Annotated[
        _Module | UnsetType,
        Meta(description="The consumer that the selection is for; without it, the one for all."),
    ] = UNSET


class PatchForm(_Form, frozen=True):
    """A change to what stands before it. Removals come first, then modules and services."""

    modules: Annotated[
        _Modules | UnsetType, Meta(description="Modules to add, or fields of their entries to change.")
    ] = UNSET
    services: Annotated[
        list[Choice] | UnsetType, Meta(description="Selections to add; one for the same edge is replaced.")
    ] = UNSET
    remove_services: Annotated[
        list[RemovalForm] | UnsetType, Meta(description="Selections to take away; each must be there.")
    ] = UNSET


class DocumentForm(_Form, frozen=True):
    """A composition of Wuu Mesh: which modules run, and which of them serves what to whom."""

    version: Annotated[Literal[2, 3, 4], Meta(description="The version of this form; write 4.")]
    profile: Annotated[
        _Profile | UnsetType,
        Meta(description="What the product adds where this document leaves it open."),
    ] = UNSET
    bundles: Annotated[
        list[_Bundle] | UnsetType,
        Meta(description="The bundles that apply, in order, in the place of those of the profile."),
    ] = UNSET
    include: Annotated[
        list[_File] | UnsetType, Meta(description="Compositions that apply before this one, in order.")
    ] = UNSET
    packages: Annotated[
        list[_Pattern] | UnsetType, Meta(description="Where packages are found. That grants no trust.")
    ] = UNSET
    modules: Annotated[
        _Modules | UnsetType,
        Meta(description="All the modules there are; without it, those of the bundles. `{}` is none."),
    ] = UNSET
    services: Annotated[list[Choice] | UnsetType, Meta(description="Which module serves a service.")] = UNSET
    patches: Annotated[
        list[PatchForm] | UnsetType, Meta(description="Changes to all of the above, in order.")
    ] = UNSET
    schema: Annotated[
        str | UnsetType, Meta(description="The JSON Schema that an editor completes this document by.")
    ] = msgspec.field(default=UNSET, name="$schema")


SINCE = {
    (DocumentForm, "bundles"): 3,
    (DocumentForm, "include"): 4,
    (PatchForm, "remove_services"): 3,
    (Choice, "consumer"): 4,
    (RemovalForm, "consumer"): 4,
    (Entry, "timeout"): 4,
    (Entry, "endpoint"): 4,
}
"""The version that brought a field; the others have been there since 2."""


@cache
def fields_of(form: type[Struct]) -> tuple[str, ...]:
    """The names of the fields, as they stand in a document."""
    return form.__struct_encode_fields__
