"""The word-count example on its wire."""

from __future__ import annotations

from tests.examples.mesh import EXAMPLES
from tests.examples.plugin import Plugin


async def test_it_answers_every_request_once_and_ends_with_its_input() -> None:
    async with Plugin(EXAMPLES / "word-count") as plugin:
        for method in ("prepare", "activate", "shutdown"):
            number = await plugin.ask(method)
            assert await plugin.read() == {"id": number, "result": None}
        assert await plugin.end() == 0


async def test_an_unknown_request_is_an_error_and_a_cancellation_is_answered_by_nothing() -> None:
    async with Plugin(EXAMPLES / "word-count") as plugin:
        await plugin.ask("execution.cancel", {"execution_id": "x1"})
        number = await plugin.ask("capability.invoke", {})
        answer = await plugin.read()
        assert (answer["id"], answer["error"]["code"]) == (number, "method_not_found")


async def test_a_method_that_the_service_does_not_have_is_an_error() -> None:
    async with Plugin(EXAMPLES / "word-count") as plugin:
        await plugin.ask("service.invoke", {"service": "example.text.analysis", "method": "guess"})
        assert (await plugin.read())["error"]["code"] == "method_not_found"


async def test_a_call_without_params_lacks_its_text() -> None:
    async with Plugin(EXAMPLES / "word-count") as plugin:
        await plugin.ask(
            "service.invoke", {"service": "example.text.analysis", "method": "analyze", "params": None}
        )
        error = (await plugin.read())["error"]
        assert error == {"code": "invalid_params", "message": "/text: must be a string"}
