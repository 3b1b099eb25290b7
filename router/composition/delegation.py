"""Delegation: a module that provides a service and forwards to another provider of it.

Source: 局部扩展 provider.
"""

from __future__ import annotations

from router.composition.declared import Declared
from router.composition.graph import Binding


def differences(binding: Binding, declared: Declared) -> tuple[str, ...]:
    """What keeps the consumer of `binding` from forwarding to its provider, method by method.

    Empty where the binding is not a delegation. Methods that only one of the two declares are left alone:
    the decorator may add some, and serve some itself.
    """
    key = (binding.service, binding.major)
    outer = declared.provided[binding.consumer].get(key)
    inner = declared.provided.get(binding.provider, {}).get(key)
    if outer is None or inner is None:
        return ()
    targets = {method.name: method for method in inner.methods}
    return tuple(
        f"{binding.consumer} delegates {binding.service}@{binding.major} to {binding.provider}, but the "
        f"{side} schema of method '{method.name}' is {ours} there and {theirs} in {binding.provider}"
        for method in outer.methods
        if (target := targets.get(method.name)) is not None
        for side, ours, theirs in (
            ("input", method.input_schema, target.input_schema),
            ("output", method.output_schema, target.output_schema),
        )
        if ours != theirs
    )
