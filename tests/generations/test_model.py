"""A walk at random through what operators, crashes and callers do, against a small model of the rules.

Every call is answered once. No call reaches a revoked module. Captured work never changes its provider.
Dependants close before their providers. Each generation retires once.

`WUU_TEST_MODEL_WALKS` says how many walks are made: few by default, so that the suite stays short.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from contract.errors import MeshError
from tests.support.composition import Entry, probe, select
from tests.support.mesh import Mesh
from tests.support.process import PATIENCE, Process
from wuu.mesh.v1.control_pb2 import (
    CancelExecutionRequest,
    CancelExecutionResponse,
    ListEventsRequest,
    ListEventsResponse,
)

WALKS = int(os.environ.get("WUU_TEST_MODEL_WALKS", "1"))
STEPS = 12

WORDS = ("one", "two")
GATE = probe("gate", provides=["probe.gate@1"])
B = probe("b", provides=["probe.b@1"], requires=["wuu.mesh.contributions@1"])
A = probe(
    "a",
    provides=["probe.a@1"],
    requires=["probe.word@1", "probe.b@1", "probe.gate@1"],
    tools=["context"],
)
ENTRIES: tuple[Entry, ...] = (GATE, *(probe(word, provides=["probe.word@1"]) for word in WORDS), B, A)
REQUIRED = {"a": {"b", "gate"}}
"""What each module is bound to, the selected word aside."""

Answer = TypeVar("Answer")


@dataclass(eq=False)
class Held:
    """A call of `a` that waits at the gate, and calls the word of its generation then."""

    key: str
    answer: asyncio.Task[Any]
    execution: str
    generation: str
    a: str
    """The instance that serves it."""
    provider: str
    word: str
    """The instance of the provider that it captured."""
    revoked: bool = False
    """The provider that it captured has been disabled since."""


class Walk(RuleBasedStateMachine):
    """One mesh, and what is to be true of it."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.mesh = Mesh(*ENTRIES, services=[select("probe.word@1", "one")])
        self.selected = "one"
        self.disabled: set[str] = set()
        self.held: list[Held] = []
        self.gone: set[str] = set()
        """Instances that crashed."""
        self.count = 0

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        async def bounded() -> Answer:
            async with asyncio.timeout(2 * PATIENCE):
                return await work

        return self.runner.run(bounded())

    @property
    def ready(self) -> bool:
        """Whether `a` serves."""
        return self.selected not in self.disabled and "b" not in self.disabled

    @property
    def served(self) -> list[Held]:
        """The calls whose own instance has not crashed."""
        return [held for held in self.held if held.a not in self.gone]

    @initialize()
    def up(self) -> None:
        self.mesh.start()

    # --- what operators do ---

    @rule(word=st.sampled_from(WORDS))
    def apply(self, word: str) -> None:
        if word in self.disabled or self.selected in self.disabled:
            return  # The file enables them again, which `enable` does as well.
        ended = self.run(self.mesh.apply(*ENTRIES, services=[select("probe.word@1", word)]))
        same = word == self.selected and not self.disabled
        assert ended.outcome == ("unchanged" if same else "committed"), ended
        self.selected, self.disabled = word, set()

    @rule(module=st.sampled_from(["", "a", "b", *WORDS]))
    def reload(self, module: str) -> None:
        if module in self.disabled or (module == "a" and not self.ready):
            return
        assert self.run(self.mesh.reload(module)).outcome == "committed"

    @rule(module=st.sampled_from([*WORDS, "b"]))
    def disable(self, module: str) -> None:
        known = module in self.disabled
        ended = self.run(self.mesh.switch(module, enabled=False))
        assert ended.outcome == ("unchanged" if known else "committed"), ended
        self.disabled.add(module)
        for held in self.held:
            held.revoked = held.revoked or held.provider == module

    @rule(module=st.sampled_from([*WORDS, "b"]))
    def enable(self, module: str) -> None:
        ended = self.run(self.mesh.switch(module, enabled=True))
        assert ended.outcome == ("committed" if module in self.disabled else "unchanged"), ended
        self.disabled.discard(module)

    # --- what goes wrong ---

    @rule(module=st.sampled_from(["a", "b", *WORDS]))
    def crash(self, module: str) -> None:
        if module in self.disabled or (module == "a" and not self.ready):
            return
        row = self.mesh.module(module)
        self.gone.add(row["instance"])
        Process(row["pid"]).kill()
        self.run(self.until(lambda: self.mesh.module(module)["instance"] != row["instance"]))
        self.run(self.mesh.settled())

    async def until(self, holds: Any) -> None:
        answer = ListEventsResponse()
        while not holds():
            request = ListEventsRequest(cursor=answer.cursor, wait_ms=1000)
            answer = await self.mesh.control(request, ListEventsResponse, "ListEvents")

    @rule()
    def restart_the_router(self) -> None:
        self.run(self.check_generations())
        router = self.mesh.router
        router.signal(signal.SIGKILL)
        assert router.ends()
        for held in self.held:
            assert isinstance(self.run(self.outcome(held)), MeshError)
        self.held.clear()
        self.run(self.mesh.hang_up())
        started = self.mesh.cli("up", "--detach")
        assert started.returncode == 0, started.stderr

    # --- what callers do ---

    @rule()
    def call(self) -> None:
        asked = [{"service": "probe.word@1", "method": "context"}]
        try:
            (outcome,) = self.run(self.mesh.call("probe.a@1", "each", asked))
        except MeshError as error:
            assert not self.ready, error
            assert error.code == "service_unavailable"
        else:
            assert self.ready
            assert outcome["result"]["audience"] == self.mesh.module(self.selected)["instance"]

    @precondition(lambda self: self.ready)
    @rule()
    def call_there_and_back(self) -> None:
        tool = {"service": "wuu.mesh.contributions@1", "tool": "a/context"}
        asked = {"service": "probe.b@1", "method": "call", "params": tool}
        outcome = self.run(self.mesh.call("probe.a@1", "call", asked))
        inner = outcome["result"]["result"]
        assert inner["audience"] == outcome["context"]["audience"] == self.mesh.module("a")["instance"]
        assert inner["generation"] == outcome["context"]["generation"]
        assert inner["hops"] == 2

    @precondition(lambda self: self.ready and len(self.held) < 4)
    @rule()
    def hold(self) -> None:
        self.count += 1
        key = f"k{self.count}"
        self.held.append(self.run(self.begin(key)))

    async def begin(self, key: str) -> Held:
        asked = [
            {"service": "probe.gate@1", "method": "wait", "params": {"key": key}},
            {"service": "probe.word@1", "method": "context"},
        ]
        before = {each.id for each in await self.mesh.executions()}
        answer = asyncio.create_task(self.mesh.call("probe.a@1", "each", asked))
        await self.mesh.call("probe.gate@1", "hanging", {"key": key})
        (mine,) = [e for e in await self.mesh.executions() if e.id not in before and e.owner == "a"]
        return Held(
            key=key,
            answer=answer,
            execution=mine.id,
            generation=mine.generation,
            a=self.mesh.module("a")["instance"],
            provider=self.selected,
            word=self.mesh.module(self.selected)["instance"],
        )

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        held = data.draw(st.sampled_from(self.held), label="held")
        self.held.remove(held)
        self.run(self.mesh.call("probe.gate@1", "let", {"key": held.key}))
        self.check(held, self.run(self.outcome(held)))

    def check(self, held: Held, outcome: Any) -> None:
        if held.a in self.gone:
            assert isinstance(outcome, MeshError) and outcome.code == "service_unavailable", outcome
            return
        assert not isinstance(outcome, MeshError), outcome
        waited, word = outcome
        assert waited.get("result") == held.key, outcome
        if held.revoked:
            assert word["error"]["code"] == "module_revoked", word
        elif held.word in self.gone:
            assert word["error"]["code"] == "service_unavailable", word
        else:
            assert word["result"]["audience"] == held.word, word
            assert word["result"]["generation"] == held.generation, word

    @precondition(lambda self: self.served)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        held = data.draw(st.sampled_from(self.served), label="held")
        self.held.remove(held)
        request = CancelExecutionRequest(id=held.execution)
        ended = self.run(self.mesh.control(request, CancelExecutionResponse, "CancelExecution"))
        assert ended.cancelled == 2
        outcome = self.run(self.outcome(held))
        assert isinstance(outcome, MeshError) and outcome.code == "execution_cancelled", outcome

    async def outcome(self, held: Held) -> Any:
        try:
            return await held.answer
        except MeshError as error:
            return error

    # --- what is true at the end ---

    async def check_generations(self) -> None:
        """Every generation that is closed was closed once, and dependants ended before their providers."""
        events = await self.mesh.events()
        closed = Counter(e.subject for e in events if (e.kind, e.state) == ("generation", "closed"))
        assert set(closed.values()) <= {1}, closed
        for record in (await self.mesh.generations()).values():
            ended = [each.module for each in record.revocations if each.cause != "failed"]
            for module, providers in REQUIRED.items():
                for provider in (*providers, *WORDS):
                    if module in ended and provider in ended:
                        assert ended.index(module) < ended.index(provider), record

    async def close(self) -> None:
        try:
            if self.mesh.running:
                for held in tuple(self.held):
                    await self.mesh.call("probe.gate@1", "let", {"key": held.key})
                    self.check(held, await self.outcome(held))
                self.held.clear()
                await self.mesh.idle()
                await self.alone()
                await self.check_generations()
        finally:
            await self.mesh.close()

    async def alone(self) -> None:
        """Returns once the newest generation is the only one that lives."""
        async with asyncio.timeout(PATIENCE):
            while living := [
                each
                for each in (await self.mesh.generations()).values()
                if each.state in ("retained", "closing")
            ]:
                await self.mesh.happens("generation", living[0].id, "closed")

    def teardown(self) -> None:
        try:
            self.run(self.close())
        finally:
            self.runner.close()


Walk.TestCase.settings = settings(
    max_examples=WALKS,
    stateful_step_count=STEPS,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
TestWalk = Walk.TestCase
