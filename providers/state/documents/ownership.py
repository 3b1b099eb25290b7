"""Ownership: whose a namespace is, in documents of the reserved namespace that no commit writes.

Source: 消费者拥有的权威命名空间.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from contract.errors import MeshError
from providers.state.documents.bounds import NAMESPACE_OWNERS
from providers.state.documents.transaction import Write

if TYPE_CHECKING:
    from providers.state.documents.caller import Caller
    from providers.state.documents.store import View

VERSION = 1


class Owner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The value of a document that says whose a namespace is."""

    version: int
    """VERSION."""
    namespace: str
    """As the key of the document."""
    owner: str
    """The module."""


_OWNER = msgspec.json.Decoder(Owner)


def owner_document(namespace: str, owner: str) -> Write:
    """The document that gives a namespace to a module."""
    return Write(NAMESPACE_OWNERS, namespace, msgspec.json.encode(Owner(VERSION, namespace, owner)))


def read_owner(key: str, value: bytes) -> str:
    """The owner that such a document names. ValueError for one that was not written like this."""
    try:
        said = _OWNER.decode(value)
    except msgspec.MsgspecError as unreadable:
        raise ValueError(str(unreadable)) from None
    if (said.version, said.namespace) != (VERSION, key) or not said.owner:
        raise ValueError(f"it speaks of '{said.namespace}' in version {said.version}")
    return said.owner


def owner_of(view: View, namespace: str) -> str | None:
    """The module that owns a namespace; None where nobody does. Raises `host_error` for damage."""
    value = view.get(NAMESPACE_OWNERS, namespace)
    if value is None:
        return None
    try:
        return read_owner(namespace, value)
    except ValueError as damaged:
        raise MeshError("host_error", f"the owner of '{namespace}' cannot be read: {damaged}") from None


def check_owned(view: View, namespaces: Iterable[str], caller: Caller) -> None:
    """Raises `namespace_ownership` where one belongs to another."""
    if caller.sees_all:
        return
    for namespace in dict.fromkeys(namespaces):
        owner = owner_of(view, namespace)
        if owner is not None and owner != caller.module:
            raise MeshError(
                "namespace_ownership",
                f"'{namespace}' belongs to {owner}, not to {caller.module}",
                namespace=namespace,
                owner=owner,
            )


def check_all_owned(view: View, caller: Caller) -> None:
    """Raises `namespace_ownership` where anything in the store belongs to another."""
    if not caller.sees_all:
        owned = [row.key for row in view.scan(NAMESPACE_OWNERS, "", None, reverse=False)]
        check_owned(view, owned, caller)


def claimed(view: View, namespaces: Iterable[str], caller: Caller) -> tuple[Write, ...]:
    """What makes namespaces the caller's that are not yet; empty where all are.

    Raises `namespace_ownership` for one that is another's, or that has documents and no owner.
    """
    writes = []
    for namespace in namespaces:
        owner = owner_of(view, namespace)
        if owner == caller.module:
            continue
        if owner is not None:
            check_owned(view, (namespace,), caller)
        if next(view.scan(namespace, "", None, reverse=False), None) is not None:
            raise MeshError(
                "namespace_ownership",
                f"'{namespace}' holds documents without an owner: they are migrated, never taken",
                namespace=namespace,
            )
        writes.append(owner_document(namespace, caller.module))
    return tuple(writes)
