"""Defaults for settings that were never set. Everything else is left to the provider behind it."""

import msgspec

from provider_kit import Call, Module, delegate, describe_dynamic, requirement, serve

SETTINGS = "state.plugin-settings@1"
METHODS = ("read", "update", "read-state", "update-state")
DEFAULTS = {"example.editor": {"theme": "light", "tab_width": 4}}


class SettingsDecorator(Module):
    requires = (requirement(SETTINGS),)

    def __init__(self) -> None:
        contract = describe_dynamic("state.plugin-settings", METHODS, preparation=("read", "read-state"))
        self.provides = [delegate(contract, {"read": self.read})]

    async def read(self, params: bytes, call: Call) -> bytes:
        found = msgspec.json.decode(await call.mesh.invoke(SETTINGS, "read", params))
        defaults = DEFAULTS.get(msgspec.json.decode(params)["subject"], {})
        return msgspec.json.encode({**found, "values": {**defaults, **found["values"]}})


serve(SettingsDecorator())
