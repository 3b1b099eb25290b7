"""A dynamic service in Python, written with the kit: numbers that are added up while the process lives."""

import msgspec

from provider_kit import Call, Dynamic, MeshError, Module, serve


class Addition(msgspec.Struct, forbid_unknown_fields=True):
    by: int


class Counter(Module):
    def __init__(self) -> None:
        self.provides = [Dynamic("example.counter", {"add": self.add})]
        self.total = 0

    async def add(self, params: bytes, call: Call) -> bytes:
        try:
            self.total += msgspec.json.decode(params or b"{}", type=Addition).by
        except msgspec.ValidationError as wrong:
            raise MeshError("invalid_params", str(wrong)) from None
        return msgspec.json.encode({"total": self.total, "caller": call.caller})


serve(Counter())
