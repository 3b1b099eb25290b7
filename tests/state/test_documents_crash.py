"""Kill -9 in the middle of concurrent commits and compactions, again and again on one store."""

from __future__ import annotations

import asyncio
import os
import random
from dataclasses import dataclass, field

from contract.errors import MeshError
from tests.state.conftest import Make
from tests.state.instance import Instance, Place, transaction, write
from wuu.state.documents.v1 import documents_pb2 as pb

ROUNDS = int(os.environ.get("WUU_TEST_CRASH_ROUNDS", "2"))
WORKERS = 6


@dataclass
class Round:
    """What the workers of one round were told."""

    target: int
    """After so many acknowledgements the process is killed."""
    acknowledged: list[pb.CommitResponse] = field(default_factory=list)
    enough: asyncio.Event = field(default_factory=asyncio.Event)


async def work(store: Instance, name: str, told: Round) -> None:
    """Commits pairs of documents until the instance is gone."""
    attempt = 0
    while True:
        attempt += 1
        transaction_id = f"{name}-{attempt}"
        writes = [write(side, transaction_id, b'{"by": "%s"}' % name.encode()) for side in ("left", "right")]
        try:
            revision = (await store.read("left", keys=[])).revision
            told.acknowledged.append(await store.commit(transaction(transaction_id, revision, *writes)))
        except MeshError as error:
            if error.code == "state_conflict":
                continue
            assert error.outcome == "unknown", error
            return
        if len(told.acknowledged) >= told.target:
            told.enough.set()


async def tidy(store: Instance) -> None:
    """Compacts again and again until the instance is gone."""
    while True:
        try:
            await store.ask(pb.CompactRequest())
        except MeshError as error:
            assert error.outcome == "unknown", error
            return


async def test_every_acknowledged_commit_outlives_a_kill(make: Make, place: Place) -> None:
    acknowledged: list[pb.CommitResponse] = []
    dice = random.Random(place.engine)
    for number in range(ROUNDS):
        store = await make(place).start()
        told = Round(dice.randint(5, 60))
        workers = [asyncio.create_task(work(store, f"{number}-{n}", told)) for n in range(WORKERS)]
        if number % 2:
            workers.append(asyncio.create_task(tidy(store)))
        await told.enough.wait()
        await store.kill()
        await asyncio.gather(*workers)
        acknowledged += told.acknowledged

    store = await make(place).start()
    export = await store.export()
    receipts = {receipt.id: receipt for receipt in export.receipts}
    for answer in acknowledged:
        kept = receipts[answer.id]
        assert (kept.revision, kept.digest) == (answer.revision, answer.digest)
    assert [receipt.revision for receipt in export.receipts] == [
        str(revision) for revision in range(1, len(receipts) + 1)
    ]
    assert export.revision == str(len(receipts))
    written = {(document.namespace, document.key) for document in export.documents}
    assert written == {(side, transaction_id) for transaction_id in receipts for side in ("left", "right")}
    # Beyond the acknowledged there is at most what was in flight at each kill.
    assert len(receipts) - len(acknowledged) <= ROUNDS * WORKERS
