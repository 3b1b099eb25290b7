"""The replacement table: its six situations, through the product, for a native provider and for a plugin.

Source: 在产品中验证替换. The consumer is a native module in every case; the product is asked through it.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.composition import Entry, probe, select
from tests.support.mesh import Mesh, running
from tests.support.process import PATIENCE, Process

HERE = Path(__file__).parent / "keeper"
GATE = probe("gate", provides=["probe.gate@1"])
CONSUMER = probe("consumer", provides=["probe.consumer@1"], requires=["keeper.words@1", "probe.gate@1"])


@pytest.fixture(params=["native", "plugin"])
async def product(request: pytest.FixtureRequest) -> AsyncIterator[Product]:
    """A mesh in which `first` is selected and `second` could be."""
    async with running(GATE) as mesh:
        made = Product(mesh, request.param)
        assert (await made.select("first")).outcome == "committed"
        yield made


class Product:
    """The mesh with its two keepers."""

    def __init__(self, mesh: Mesh, kind: str) -> None:
        self.mesh = mesh
        self.kind = kind
        self.first, self.second = self.keeper("first"), self.keeper("second")

    def keeper(self, name: str, words: str | None = None) -> Entry:
        """A keeper, whose words are in a file of its name, or in another."""
        kept = self.mesh.directory / f"{words or name}.json"
        runtime = {"protocol": "wuu-plugin-v1"} if self.kind == "plugin" else {}
        script = str(HERE / f"{self.kind}.py")
        argv = (sys.executable, "-P", script, name, str(kept), str(self.mesh.directory / "record"))
        return Entry(id=name, argv=argv, runtime=runtime)

    async def select(self, name: str, *keepers: Entry) -> Any:
        """Edits one line of the composition and applies it."""
        entries = keepers or (self.first, self.second)
        return await self.mesh.apply(GATE, CONSUMER, *entries, services=[select("keeper.words@1", name)])

    async def ask(self, method: str, params: object = None, *, before: str = "") -> dict[str, Any]:
        """Asks the product, which asks the keeper of its generation; first it waits at the gate `before`."""
        asked: list[dict[str, Any]] = [{"service": "keeper.words@1", "method": method, "params": params}]
        if before:
            asked.insert(0, {"service": "probe.gate@1", "method": "wait", "params": {"key": before}})
        outcome: dict[str, Any] = (await self.mesh.call("probe.consumer@1", "each", asked))[-1]
        return outcome

    async def waiting(self, method: str, key: str) -> asyncio.Task[dict[str, Any]]:
        """An operation that has been admitted and waits at the gate."""
        asked = asyncio.create_task(self.ask(method, before=key))
        await self.mesh.call("probe.gate@1", "hanging", {"key": key})
        return asked

    async def let(self, key: str) -> None:
        await self.mesh.call("probe.gate@1", "let", {"key": key})

    async def told(self, line: str) -> None:
        """Returns once a keeper, or the consumer, has told so."""
        async with asyncio.timeout(PATIENCE):
            while line not in self.mesh.recorded():  # noqa: ASYNC110 (a file does not say when it grows)
                await asyncio.sleep(0.01)


async def test_selecting_a_replacement_brings_the_operation_to_it_and_to_nobody_else(
    product: Product,
) -> None:
    assert (await product.ask("who"))["result"]["keeper"] == "first"
    assert (await product.select("second")).outcome == "committed"
    for calls in (1, 2):
        answer = (await product.ask("who"))["result"]
        assert (answer["keeper"], answer["calls"]) == ("second", calls)
    # `first` runs on and was not asked.
    first = await product.mesh.call("keeper.words@1", "who", module="first")
    assert first["calls"] == 2


async def test_removing_the_selected_provider_leaves_the_consumer_without_and_nothing_takes_its_place(
    product: Product,
) -> None:
    await product.mesh.switch("first", enabled=False)
    row = product.mesh.module("consumer")
    said = r"requires keeper\.words@1 of first \(.*composition\.json:\d+\), which is disabled"
    assert row["state"] == "blocked"
    assert re.fullmatch(said, row["error"]["message"])
    assert (await product.mesh.call("keeper.words@1", "who", module="second"))["calls"] == 1


async def test_a_selected_provider_that_fails_is_reported_with_its_own_error_and_nothing_takes_its_place(
    product: Product,
) -> None:
    product.mesh.without_packages()
    Process(product.mesh.module("first")["pid"]).kill()
    await product.mesh.happens("module", "first", "failed")
    error = (await product.ask("who"))["error"]
    assert error["code"] == "service_unavailable"
    assert "first was killed by SIGKILL" in error["message"]
    assert (await product.mesh.call("keeper.words@1", "who", module="second"))["calls"] == 1


async def test_changing_the_composition_while_work_is_active_leaves_it_its_bindings(product: Product) -> None:
    old = await product.waiting("who", "old")
    await product.select("second")
    young = await product.waiting("who", "young")
    await product.let("young")
    await product.let("old")
    assert (await old)["result"]["keeper"] == "first"
    assert (await young)["result"]["keeper"] == "second"


async def test_a_revocation_reaches_the_generations_that_are_retained(product: Product) -> None:
    old = await product.waiting("who", "old")
    await product.select("second")
    await product.mesh.switch("first", enabled=False)
    await product.let("old")
    assert (await old)["error"]["code"] == "module_revoked"
    assert (await product.ask("who"))["result"]["keeper"] == "second"


async def test_a_cancel_ends_the_wait_and_release_comes_after_the_cleanup_of_dependants(
    product: Product,
) -> None:
    call = asyncio.create_task(product.ask("wait"))
    await product.told("first waits")
    call.cancel()
    await product.told("first cancelled")
    await product.select("second", product.second)
    await product.told("first released")
    await product.mesh.happens("module", "first", "stopped")
    told = [line for line in product.mesh.recorded() if line.startswith(("first", "consumer"))]
    assert told.index("consumer shutdown") < told.index("first released")
    # Its timer has no effect any more.
    assert "first tick" in told and "first tick" not in told[told.index("first released") :]
    assert (await product.ask("who"))["result"]["keeper"] == "second"


async def test_naming_another_owner_in_the_request_changes_no_authority(product: Product) -> None:
    claims = {"caller": "wuu.operator", "owner": "first", "plugin_id": "first", "session_id": "another"}
    assert (await product.ask("who", claims))["result"]["caller"] == "consumer"


async def test_replacing_a_stateful_provider_takes_an_explicit_migration_which_keeps_data_and_receipts(
    product: Product,
) -> None:
    put = {"id": "t-1", "word": "hello"}
    assert (await product.ask("put", put))["result"] == {"keeper": "first", "revision": 1}
    # Another configuration moves nothing by itself.
    await product.select("second")
    assert (await product.ask("read"))["result"]["words"] == []
    await product.select("first")
    migrated = product.keeper("third")
    shutil.copy(product.mesh.directory / "first.json", product.mesh.directory / "third.json")
    await product.select("third", product.first, migrated)
    assert (await product.ask("read"))["result"] == {"keeper": "third", "words": ["hello"]}
    assert (await product.ask("put", put))["result"] == {"keeper": "third", "revision": 1}


async def test_a_stateful_provider_that_fails_to_prepare_leaves_the_active_composition(
    product: Product,
) -> None:
    (product.mesh.directory / "torn.json").write_text('{"words": [')
    await product.ask("put", {"id": "t-1", "word": "hello"})
    ended = await product.select("torn", product.first, product.keeper("torn"))
    assert ended.outcome == "dropped"
    assert [each.where for each in ended.problems] == ["module torn"]
    assert "the words cannot be read" in ended.problems[0].message
    assert (await product.ask("read"))["result"] == {"keeper": "first", "words": ["hello"]}
    assert json.loads((product.mesh.directory / "first.json").read_text())["receipts"] == {"t-1": 1}
